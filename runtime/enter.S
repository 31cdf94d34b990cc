/*
 * Where every hook arrives. A thread that is already on the hook's core leaves again at once.
 *
 * The patched program's stub jumps here with rcx pushed, above it a return address and the number
 * of the hook. All registers and flags must come back as they were, since a caller may keep any of
 * them (patcher/src/trampoline.rs), so most of a hook's time is spent on saving. That is why this
 * is not C: the short way needs three registers, and only the long way saves the others. The
 * backends share it: all of them leave a thread alone that is where it should be.
 *
 * The flags are kept without pushfq and its popfq of twenty cycles: AH takes five, AL the overflow.
 */
#include "offsets.h"

        .text

        .macro save
        endbr64
        pushq %rax
        lahf
        seto %al
        pushq %rax
        pushq %rdx
        movl 40(%rsp), %edx
        movq place@gottpoff(%rip), %rcx
        .endm

        .macro leave_hook
        popq %rdx
        popq %rax
        addb $0x7f, %al
        sahf
        popq %rax
        popq %rcx
        ret
        .endm

/* For every backend but off. */
        .globl enter
        .hidden enter
        .type enter, @function
        .p2align 5
enter:
        .cfi_startproc
        .cfi_undefined rip
        save
        shlq $HOOK_SHIFT, %rdx
        movq program+PROGRAM_HOOKS(%rip), %rax
        movl HOOK_CORE(%rax, %rdx), %eax
        cmpl %eax, %fs:PLACE_CORE(%rcx)
        jne slowly
        movq program+PROGRAM_BACKEND(%rip), %rax
        cmpq %rax, %fs:PLACE_BACKEND(%rcx)
        jne slowly
        movq %fs:PLACE_TALLIES(%rcx), %rax
        incq (%rax, %rdx)
1:      leave_hook

/* Once hops were switched off while the program runs: the former backend lets go of the thread. */
        .globl enter_off
        .hidden enter_off
        .p2align 5
enter_off:
        save
        leaq off_backend(%rip), %rax
        cmpq %rax, %fs:PLACE_BACKEND(%rcx)
        je 1b

slowly:
        pushq %rsi
        pushq %rdi
        pushq %r8
        pushq %r9
        pushq %r10
        pushq %r11
        pushq %rbp
        movq %rsp, %rbp
        movl 96(%rsp), %edi
        andq $-16, %rsp
        call enter_slowly
        movq %rbp, %rsp
        popq %rbp
        popq %r11
        popq %r10
        popq %r9
        popq %r8
        popq %rdi
        popq %rsi
        jmp 1b
        .cfi_endproc
        .size enter, . - enter

        .section .note.GNU-stack, "", @progbits
