/*
 * Calls that change or tie only the calling thread (credentials.c).
 */
#ifndef COREHOP_CREDENTIALS_H
#define COREHOP_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

/* To be called before a call that changes only the calling thread. The thread stays home for good,
 * unless it is the only one: then carriers that start later inherit the change. */
void stay_apart(void);
/* The calling thread schedules or cancels another one, which comes home for good. */
void keep_another_home(uintptr_t thread);
/* Whether that is the calling thread, by libc's handle or the kernel's id; 0 always is. */
bool is_itself(uintptr_t thread);
/* Whether io_uring_setup() with such flags, or these parameters, ties the ring to the creating
 * thread. */
bool ties_a_ring(uint32_t flags);
bool is_tied(const void *parameters);

#endif
