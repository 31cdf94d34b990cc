/*
 * The two things that C cannot express: to continue on another stack, and to start a kernel thread
 * on one.
 *
 * A stopped context is a stack pointer with the callee-saved registers and a return address above
 * it. Vector and floating-point state and the FS base are not switched here. A carrier has none of
 * its own, so home.c saves and restores them once for each hop, on the fiber's side. Rejected:
 * swapcontext, which makes a system call for the signal mask at every switch.
 */
        .text

/* void switch_stack(void **save, void *load) */
        .globl switch_stack
        .hidden switch_stack
        .type switch_stack, @function
        .p2align 4
switch_stack:
        .cfi_startproc
        endbr64
        pushq %rbx
        .cfi_adjust_cfa_offset 8
        pushq %rbp
        .cfi_adjust_cfa_offset 8
        pushq %r12
        .cfi_adjust_cfa_offset 8
        pushq %r13
        .cfi_adjust_cfa_offset 8
        pushq %r14
        .cfi_adjust_cfa_offset 8
        pushq %r15
        .cfi_adjust_cfa_offset 8
        movq %rsp, (%rdi)
        movq %rsi, %rsp
        popq %r15
        .cfi_adjust_cfa_offset -8
        popq %r14
        .cfi_adjust_cfa_offset -8
        popq %r13
        .cfi_adjust_cfa_offset -8
        popq %r12
        .cfi_adjust_cfa_offset -8
        popq %rbp
        .cfi_adjust_cfa_offset -8
        popq %rbx
        .cfi_adjust_cfa_offset -8
        popq %rcx                       /* a return would be predicted to the other stack */
        .cfi_adjust_cfa_offset -8
        notrack jmp *%rcx
        .cfi_endproc
        .size switch_stack, . - switch_stack

/* void *first_stack(void *top, void (*run)(void *), void *argument): a context that will call
 * run(argument), which never returns. */
        .globl first_stack
        .hidden first_stack
        .type first_stack, @function
first_stack:
        .cfi_startproc
        endbr64
        leaq first_step(%rip), %rcx
        movq %rcx, -24(%rdi)
        movq %rsi, -32(%rdi)            /* rbx */
        movq $0, -40(%rdi)              /* rbp: the outermost frame */
        movq %rdx, -48(%rdi)            /* r12 */
        leaq -72(%rdi), %rax
        ret
        .cfi_endproc
        .size first_stack, . - first_stack

        .type first_step, @function
first_step:
        .cfi_startproc
        .cfi_undefined rip
        movq %r12, %rdi
        call *%rbx
        ud2
        .cfi_endproc
        .size first_step, . - first_step

/* long start_thread(long flags, void *stack, int *parent_word, int *child_word): clone; the new
 * thread continues with the context at `stack`. */
        .globl start_thread
        .hidden start_thread
        .type start_thread, @function
start_thread:
        .cfi_startproc
        endbr64
        movq %rcx, %r10
        movl $56, %eax
        xorl %r8d, %r8d
        syscall
        testq %rax, %rax
        jz 1f
        ret
1:      .cfi_undefined rip
        popq %r15
        popq %r14
        popq %r13
        popq %r12
        popq %rbp
        popq %rbx
        ret
        .cfi_endproc
        .size start_thread, . - start_thread

        .section .note.GNU-stack, "", @progbits
