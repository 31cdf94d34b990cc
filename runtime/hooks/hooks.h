/*
 * Where hooks arrive (enter.S), and the slow ways from there.
 */
#ifndef COREHOP_HOOKS_H
#define COREHOP_HOOKS_H

#include <stdint.h>

/* enter.S: what the slot holds. It calls the slow ones for all but a thread that is there. `at` is
 * where the return address is of the call that begins or ends. */
void enter(void);
void enter_call(void); /* instead of enter(), where some function goes back */
void enter_off(void);
/* While auto has hops rest, the latter where `program.request` is set. */
void enter_counting(void);
void enter_resting(void);
void leave_call(void);
void call_through(void); /* calls a function of another file, and then is leave_call() */
/* hooks.c */
void enter_slowly(uint32_t hook, uintptr_t at);
/* Gives the calling thread its counters. */
void first_hook(void);
/* elsewhere.c: enter.S calls it where a thread may not be on a hook's core. Most calls of functions
 * that go by an argument end here, and whatever else goes on to enter_slowly(). */
void enter_elsewhere(uint32_t hook, uintptr_t at);
/* calls.c */
void leave_slowly(uintptr_t at);

#endif
