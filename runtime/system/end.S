/*
 * Where the runtime's code ends: build.rs links this file last.
 */
        .text
        .globl runtime_end
        .hidden runtime_end
runtime_end:

        .section .note.GNU-stack, "", @progbits
