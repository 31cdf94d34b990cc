/*
 * Functions that replace libc's, and what they need at the start.
 */
#ifndef COREHOP_INTERPOSERS_H
#define COREHOP_INTERPOSERS_H

#include <stdbool.h>
#include <time.h>

/* interposers.c */
void prepare_interposers(void);
bool stands_in_for_libc(void);
/* clocks.c */
void prepare_clocks(void);
/* The kernel's numbers of threads' clocks are negative, with this bit. */
static inline bool is_of_a_thread(clockid_t clock)
{
    return clock == CLOCK_THREAD_CPUTIME_ID || (clock < 0 && (clock & 4) != 0);
}

#endif
