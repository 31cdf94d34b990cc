/*
 * Functions that replace libc's, and what they need at the start.
 */
#ifndef COREHOP_INTERPOSERS_H
#define COREHOP_INTERPOSERS_H

#include <linux/fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* interposers.c */
void prepare_interposers(void);
bool stands_in_for_libc(void);
/* clocks.c */
void prepare_clocks(void);
/* Requests of fcntl() that make the calling thread the one to which the kernel sends a file's
 * signals. */
static inline bool takes_signals_of_files(uintptr_t request)
{
    return (int)request == F_SETLEASE || (int)request == F_NOTIFY;
}
/* The kernel's numbers of threads' clocks are negative, with this bit. */
static inline bool is_of_a_thread(clockid_t clock)
{
    return clock == CLOCK_THREAD_CPUTIME_ID || (clock < 0 && (clock & 4) != 0);
}

#endif
