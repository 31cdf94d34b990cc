/*
 * Where hooks arrive (enter.S), and the slow paths from there.
 */
#ifndef COREHOP_HOOKS_H
#define COREHOP_HOOKS_H

#include <stdint.h>

/* enter.S: the functions in a file's slots. They call the slow ones unless the thread is already
 * there. `at` is the address of the return address of the call that begins or ends. */
void enter(void);
void enter_call(void); /* replaces enter() if a plan has delegated calls */
void enter_off(void);
/* While hops rest under auto; the latter if `program.request` is set. */
void enter_counting(void);
void enter_resting(void);
void leave_call(void);
void call_through(void); /* calls a function of another file, then acts as leave_call() */
/* hooks.c */
void enter_slowly(uint32_t hook, uintptr_t at);
/* Gives the calling thread its counters. */
void first_hook(void);
/* elsewhere.c: enter.S calls it if a thread may not be on a hook's core. Most calls of functions by
 * an argument end here; all others continue with enter_slowly(). */
void enter_elsewhere(uint32_t hook, uintptr_t at);
/* calls.c */
void leave_slowly(uintptr_t at);

#endif
