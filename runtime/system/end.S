/*
 * The end of the runtime's code: build.rs links this file last.
 */
        .text
        .globl runtime_end
        .hidden runtime_end
runtime_end:

        .section .note.GNU-stack, "", @progbits
