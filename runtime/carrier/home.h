/*
 * Leaving home and coming back (home.c), and staying there (stay.c).
 */
#ifndef COREHOP_HOME_H
#define COREHOP_HOME_H

#include "cores.h"

#include <ucontext.h>

/* The kernel's own layout of a signal's action. */
struct action {
    uintptr_t handler, flags, restorer;
    uint64_t mask;
};

/* home.c */
bool prepare_home(void);
/* Leaves home for where `going` points; false if this is not allowed now. */
bool depart(struct fiber *fiber);
/* To be called when a hop has ended at home. Returns the signal whose handler then has run, or 0.
 */
int come_home(struct fiber *fiber);
/* A handler has begun on a carrier with this frame. It continues at home as if it had begun there.
 */
void take_handler_home(struct fiber *fiber, int number, ucontext_t *frame);
/* To be called before a signal gets a handler, and after its action was set. */
void expect_handler(int number);
void note_action(int number);
/* Whether the kernel restarts a system call that this signal's handler interrupts. */
bool restarts(int number);
void go_home(struct fiber *fiber);
void run_home(void *fiber);
/* Signal 16 calls threads home, whatever action the program sets for it. */
extern bool poke_is_ours;
/* Handles a POKE from another sender: does what the program requests for it. It belongs to a higher
 * layer (handlers.c); start.c sets it here before a thread leaves home. */
extern void (*foreign_poke)(siginfo_t *info, void *context);

/* stay.c */
/* The calling thread goes home. */
void stay_home(void);
/* The calling thread goes home and never leaves again: the kernel keeps some state for it alone. */
void stay_for_good(void);

#endif
