/*
 * Calls that change or tie only the calling thread (credentials.c).
 */
#ifndef COREHOP_CREDENTIALS_H
#define COREHOP_CREDENTIALS_H

#include <linux/close_range.h>
#include <stdbool.h>
#include <stdint.h>

/* Why the process continues with affinity. */
#define CHANGES_PRIORITIES "a mutex changes its owner's priority"

/* To be called before a call that changes only the calling thread. The thread stays home for good,
 * unless it is the only one: then carriers that start later inherit the change. */
void stay_apart(void);
/* Likewise, if threads that the calling one starts inherit the change: they stay home too. */
void stay_apart_inherited(void);
/* The thread stays home for good, and so do threads that it starts. */
void stay_inherited(void);
/* To be called before a call that changes rights or namespaces of the calling thread. True if
 * reopen_pool() must follow the call. */
bool leave_threads(bool needs_one_thread);
/* Whether the kernel makes this change of namespaces only if the process has one thread, or its
 * threads have separate working directories. */
bool needs_one_thread(long number, long first, long second);
/* Whether the runtime has threads in this process, or another thread may start them at any time. */
bool may_have_own_threads(void);
/* Before a filter of system calls is installed, or the time-stamp counter is forbidden, the
 * runtime's threads end, since they make system calls and read the counter. */
void rest_for_good(const char *reason);
__attribute__((visibility("default"))) int caught_prctl(long option, long b, long c, long d,
                                                        long e) __asm__("prctl");
#define FILTERS "the program filters its system calls"
/* Whether close_range() with such flags first gives the calling thread a table of descriptors of
 * its own. */
static inline bool unshares_files(long flags)
{
    return (flags & CLOSE_RANGE_UNSHARE) != 0;
}
/* The calling thread schedules or cancels another one, which comes home for good. */
void keep_another_home(uintptr_t thread);
/* Whether that is the calling thread, by libc's handle or the kernel's id; 0 always is. */
bool is_itself(uintptr_t thread);
/* Whether io_uring_setup() with such flags, or these parameters, ties the ring to the creating
 * thread. */
bool ties_a_ring(uint32_t flags);
bool is_tied(const void *parameters);

#endif
