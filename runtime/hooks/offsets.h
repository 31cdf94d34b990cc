/*
 * Offsets of C structures for enter.S. hooks.c and calls.c assert each of them.
 */
#ifndef COREHOP_OFFSETS_H
#define COREHOP_OFFSETS_H

#define STATE_TALLIES 0
#define STATE_BACKEND 16
#define STATE_OPEN 24
#define STATE_LAST_OPEN 32
#define STATE_ENDINGS 40
#define STATE_CORE 48
#define STATE_COUNTED 52
#define STATE_HANDLERS 56
#define PROGRAM_HOOKS 8
#define PROGRAM_BACKEND 32
#define PROGRAM_MINUS_COUNT 40
#define PROGRAM_MINUS_REQUEST 48
/* Calls of one function on one thread, while hops rest under auto; a power of two. */
#define CALLS_BETWEEN_LOOKS 64
/* Hooks and tallies have the same size, a power of two. */
#define HOOK_SHIFT 4
#define HOOK_CORE 8
#define HOOK_MODE_BIT 16 /* in the word at HOOK_CORE */
/* Once a hook has saved all registers, this far below the return address of the call that begins:
 * the hook's number, the red zone, what leads here, and then enter.S's own saves. */
#define ENTRY_AT 176
#define SAVED_RDX ENTRY_AT
#define SAVED_RCX (ENTRY_AT - 24)
#define SAVED_RSI (ENTRY_AT + 8)
#define SAVED_RDI (ENTRY_AT + 16)
#define SAVED_R8 (ENTRY_AT + 24)
#define SAVED_R9 (ENTRY_AT + 32)
#define CALL_AT 0
#define CALL_RETURNS_TO 8
#define CALL_HOOK 16
#define CALL_CAME_FROM 20
#define CALL_SIZE 24
#define ENDING_SHIFT 6

#endif
