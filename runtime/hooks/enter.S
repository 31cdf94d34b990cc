/*
 * Where every hook arrives. A thread that is already on the hook's core leaves at once.
 *
 * The patched program's stub jumps here with rcx pushed; above it are a return address and the
 * number of the hook. All registers and flags must return unchanged, since a caller may rely on any
 * of them (patcher/src/emit/trampoline.rs). So most of a hook's time is spent on saving. Therefore
 * this is assembly: the short path needs three registers, and only the long path saves the others.
 * All backends share the short path: none of them moves a thread that is where it should be.
 *
 * The hook of a function by an argument has a core on which no thread ever is, and so takes the
 * long path. There objects.c reads the argument from where its register was saved. It first checks
 * whether the thread is on that object's core.
 *
 * If a plan has delegated calls (calls.c), enter_call() replaces enter() and tracks the thread's
 * open calls. leave_call() runs before each return that can end one. At a return, nothing below
 * the stack pointer is needed any more. Functions whose returns are in files without hooks are
 * called from here, by call_through().
 *
 * The flags are saved without pushfq, since its popfq takes twenty cycles: with lahf and sahf in AH
 * this takes five, and AL holds the overflow flag.
 */
#include "offsets.h"

/* After everything is saved, the offset of the return address of the call that ends. */
#define EXIT_AT 40

        .text

        .macro push register
        pushq \register
        .cfi_adjust_cfa_offset 8
        .endm

        .macro pop register
        popq \register
        .cfi_adjust_cfa_offset -8
        .endm

        .macro save
        endbr64
        push %rax
        lahf
        seto %al
        push %rax
        push %rdx
        movq self@gottpoff(%rip), %rcx
        .endm

        .macro restore
        pop %rdx
        pop %rax
        addb $0x7f, %al
        sahf
        pop %rax
        pop %rcx
        ret
        .endm

/* The frame of a hook: before save, after it, and after call_slowly has saved the rest. Above it is
 * the frame of the hooked function's caller. The function itself is not yet, or no longer, on the
 * stack. */
#define ENTRY_FRAME 160
#define ENTRY_SAVED (ENTRY_FRAME + 24)
#define EXIT_FRAME 24
#define EXIT_SAVED (EXIT_FRAME + 24)
#define REST 56

/* The entry for every backend but off. */
        .globl enter
        .hidden enter
        .type enter, @function
        .p2align 5
enter:
        .cfi_startproc
        .cfi_def_cfa_offset ENTRY_FRAME
        save
        movl 40(%rsp), %edx
        shlq $HOOK_SHIFT, %rdx
        movq program+PROGRAM_HOOKS(%rip), %rax
        movzwl HOOK_CORE(%rax, %rdx), %eax
        cmpl %eax, %fs:STATE_CORE(%rcx)
        jne slowly
        movq program+PROGRAM_BACKEND(%rip), %rax
        cmpq %rax, %fs:STATE_BACKEND(%rcx)
        jne slowly
        movq %fs:STATE_TALLIES(%rcx), %rax
        incq (%rax, %rdx)
1:      restore

/* The entry after hops were switched off at run time: the former backend releases the thread. */
        .globl enter_off
        .hidden enter_off
        .p2align 5
enter_off:
        .cfi_def_cfa_offset ENTRY_FRAME
        save
        leaq off_backend(%rip), %rax
        cmpq %rax, %fs:STATE_BACKEND(%rcx)
        je 1b
        jmp slowly

/* The entry while hops rest under auto: it counts calls, and one of 64 checks whether the rest is
 * over. */
        .globl enter_counting
        .hidden enter_counting
        .p2align 5
enter_counting:
        .cfi_def_cfa_offset ENTRY_FRAME
        save
        movq program+PROGRAM_BACKEND(%rip), %rax
        cmpq %rax, %fs:STATE_BACKEND(%rcx)
        jne slowly
        movl 40(%rsp), %edx
        shlq $HOOK_SHIFT, %rdx
        addq %fs:STATE_TALLIES(%rcx), %rdx
        testb $(CALLS_BETWEEN_LOOKS - 1), (%rdx)
        jz slowly
        incq (%rdx)
        jmp 1b

/* The same if one function's calls stand for requests. Calls of the others are not counted once the
 * thread is released. lea and jrcxz compare without changing flags. */
        .globl enter_resting
        .hidden enter_resting
        .p2align 5
enter_resting:
        .cfi_def_cfa_offset ENTRY_FRAME
        endbr64
        push %rax
        movq self@gottpoff(%rip), %rcx
        movq %fs:STATE_BACKEND(%rcx), %rcx
        movq program+PROGRAM_MINUS_COUNT(%rip), %rax
        leaq (%rax, %rcx), %rcx
        jrcxz 3f
2:      pop %rax
        jmp enter_counting
3:      .cfi_def_cfa_offset ENTRY_FRAME + 8
        movl 24(%rsp), %ecx
        movq program+PROGRAM_MINUS_REQUEST(%rip), %rax
        leaq (%rax, %rcx), %rcx
        jrcxz 2b
        pop %rax
        pop %rcx
        ret

slowly:
        .cfi_def_cfa_offset ENTRY_SAVED
        leaq ENTRY_AT(%rsp), %rcx
        movl 40(%rsp), %edx
        .macro call_slowly function saved
        push %rsi
        push %rdi
        push %r8
        push %r9
        push %r10
        push %r11
        push %rbp
        .cfi_offset rbp, -(\saved + REST)
        movq %rsp, %rbp
        .cfi_def_cfa_register rbp
        movq %rdx, %rdi
        movq %rcx, %rsi
        andq $-16, %rsp
        call \function
        movq %rbp, %rsp
        .cfi_def_cfa_register rsp
        pop %rbp
        .cfi_restore rbp
        pop %r11
        pop %r10
        pop %r9
        pop %r8
        pop %rdi
        pop %rsi
        .endm
        call_slowly enter_elsewhere ENTRY_SAVED
        jmp 1b
        .cfi_endproc
        .size enter, . - enter

        .globl enter_call
        .hidden enter_call
        .type enter_call, @function
        .p2align 5
enter_call:
        .cfi_startproc
        .cfi_def_cfa_offset ENTRY_FRAME
        save
        movl 40(%rsp), %edx
        push %rsi
        push %rdi
        shlq $HOOK_SHIFT, %rdx
        movq program+PROGRAM_HOOKS(%rip), %rax
        movl HOOK_CORE(%rax, %rdx), %eax
        movq %fs:STATE_OPEN(%rcx), %rsi
        leaq 16+ENTRY_AT(%rsp), %rdi
        testq %rsi, %rsi
        jz 3f
        cmpq %rdi, CALL_AT(%rsi)        /* an open call at or below this address */
        jbe 3f
        btrl $HOOK_MODE_BIT, %eax
        jc 1f
        cmpl %eax, %fs:STATE_CORE(%rcx)
        jne 3f
        movq program+PROGRAM_BACKEND(%rip), %rax
        cmpq %rax, %fs:STATE_BACKEND(%rcx)
        jne 3f
        jmp 2f
1:      cmpl %eax, %fs:STATE_CORE(%rcx)
        jne 3f
        movq program+PROGRAM_BACKEND(%rip), %rax
        cmpq %rax, %fs:STATE_BACKEND(%rcx)
        jne 3f
        cmpq %rsi, %fs:STATE_LAST_OPEN(%rcx)
        je 3f
        cmpl $0, %fs:STATE_HANDLERS(%rcx)
        jne 3f
        movl %fs:STATE_COUNTED(%rcx), %eax
        movq %rdi, CALL_SIZE+CALL_AT(%rsi)
        movl %eax, CALL_SIZE+CALL_CAME_FROM(%rsi)
        movq (%rdi), %rax
        movq %rax, CALL_SIZE+CALL_RETURNS_TO(%rsi)
        movl 16+40(%rsp), %eax
        movl %eax, CALL_SIZE+CALL_HOOK(%rsi)
        addq $CALL_SIZE, %rsi
        movq %rsi, %fs:STATE_OPEN(%rcx)
2:      movq %fs:STATE_TALLIES(%rcx), %rax
        incq (%rax, %rdx)
        pop %rdi
        pop %rsi
        restore
3:      .cfi_def_cfa_offset ENTRY_SAVED + 16
        pop %rdi
        pop %rsi
        jmp slowly
        .cfi_endproc
        .size enter_call, . - enter_call

/* Called with one return address below the one to which the program returns. */
        .globl leave_call
        .hidden leave_call
        .type leave_call, @function
        .p2align 5
leave_call:
        .cfi_startproc
        .cfi_def_cfa_offset EXIT_FRAME
        save
        movq %fs:STATE_OPEN(%rcx), %rdx
        leaq EXIT_AT(%rsp), %rax
        testq %rdx, %rdx
        jz 1f
        cmpq %rax, CALL_AT(%rdx)
        ja 1f
        jb 2f
        movl CALL_CAME_FROM(%rdx), %eax
        cmpl %eax, %fs:STATE_CORE(%rcx)
        jne 2f
        movq program+PROGRAM_BACKEND(%rip), %rax
        cmpq %rax, %fs:STATE_BACKEND(%rcx)
        jne 2f
        movl CALL_HOOK(%rdx), %eax
        subq $CALL_SIZE, %rdx
        movq %rdx, %fs:STATE_OPEN(%rcx)
        shlq $ENDING_SHIFT, %rax
        addq %fs:STATE_ENDINGS(%rcx), %rax
        incq (%rax)
1:      restore
2:      .cfi_def_cfa_offset EXIT_SAVED
        leaq EXIT_AT(%rsp), %rdx
        call_slowly leave_slowly EXIT_SAVED
        jmp 1b
        .cfi_endproc
        .size leave_call, . - leave_call

/* Calls a function of another file, mostly of libc, in which no return can be hooked. Its address
 * is below the program's return address, which aligns the stack as a call requires. Below that, rcx
 * is pushed. From here on this frame is like any other function's, so exceptions, cancellations and
 * debuggers can unwind it. No register but rcx was changed. */
        .globl call_through
        .hidden call_through
        .type call_through, @function
        .p2align 5
call_through:
        .cfi_startproc
        .cfi_def_cfa_offset 24
        endbr64
        pop %rcx
        call *(%rsp)
        leaq 8(%rsp), %rsp
        .cfi_adjust_cfa_offset -8
        call 1f
        ret
1:      .cfi_adjust_cfa_offset 8
        push %rcx
        jmp leave_call
        .cfi_endproc
        .size call_through, . - call_through

        .section .note.GNU-stack, "", @progbits
