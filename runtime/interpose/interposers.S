/*
 * A function for each interposed name. It precedes libc's because the loader searches this library
 * first. Each saves all argument registers, calls interposed_call() for the address of the
 * original, and jumps there. So no prototype is needed, and functions that return twice, as vfork
 * does, find their caller's stack.
 */
        .text

        .type interposed, @function
interposed:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        endbr64
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        pushq %rdx
        .cfi_adjust_cfa_offset 8
        pushq %rcx
        .cfi_adjust_cfa_offset 8
        pushq %r8
        .cfi_adjust_cfa_offset 8
        pushq %r9
        .cfi_adjust_cfa_offset 8
        pushq %rax
        .cfi_adjust_cfa_offset 8
        movq %rdx, %r8
        movq %rsi, %rdx
        movq %rdi, %rsi
        movl 56(%rsp), %edi
        leaq 64(%rsp), %rcx
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        call interposed_call
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        movq %rax, %r11
        popq %rax
        .cfi_adjust_cfa_offset -8
        popq %r9
        .cfi_adjust_cfa_offset -8
        popq %r8
        .cfi_adjust_cfa_offset -8
        popq %rcx
        .cfi_adjust_cfa_offset -8
        popq %rdx
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        leaq 8(%rsp), %rsp
        .cfi_adjust_cfa_offset -8
        jmp *%r11
        .cfi_endproc
        .size interposed, . - interposed

        .set index, 0
        .macro STUB name
        .globl \name
        .type \name, @function
        .p2align 4
\name:
        .cfi_startproc
        endbr64
        pushq $index
        .cfi_adjust_cfa_offset 8
        jmp interposed
        .cfi_endproc
        .size \name, . - \name
        .set index, index + 1
        .endm

#define INTERPOSED(name, rule) STUB name
#include "interposed.h"

        .section .note.GNU-stack, "", @progbits
