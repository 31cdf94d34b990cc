/*
 * What changes or ties the calling thread alone (credentials.c).
 */
#ifndef COREHOP_CREDENTIALS_H
#define COREHOP_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

/* Before a call that changes the calling thread alone. The thread stays home for good, unless it is
 * the only one: then carriers that are started later inherit the change. */
void stay_apart(void);
/* The calling thread schedules or cancels another one, which comes home for good. */
void keep_another_home(uintptr_t thread);
/* Whether that is the calling thread, by libc's name for it or the kernel's; 0 always is. */
bool is_itself(uintptr_t thread);
/* Whether io_uring_setup() with such flags, or these parameters, ties the ring to the thread that
 * makes it. */
bool ties_a_ring(uint32_t flags);
bool is_tied(const void *parameters);

#endif
