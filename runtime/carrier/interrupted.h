/*
 * What becomes of a system call that POKE has ended on a carrier (interrupted.c).
 */
#ifndef COREHOP_INTERRUPTED_H
#define COREHOP_INTERRUPTED_H

#include <stdbool.h>
#include <ucontext.h>

/* The thread stays where it is: a call that ended for nothing restarts. */
void begin_ended_call_again(ucontext_t *frame);
/* The thread is home, with this frame of a signal. The parameters: whether a handler of the program
 * will run now, and whether that handler has calls restart. */
void end_call(ucontext_t *frame, bool has_handler, bool restarts);
/* Whether a call has transferred less than it would have without POKE. */
bool is_cut_short(const ucontext_t *frame);
/* The thread is home, with its own mask, and no handler of the program has run: the call goes on.
 */
void transfer_rest(ucontext_t *frame);

#endif
