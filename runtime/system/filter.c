/*
 * A filter of system calls that exists when the program starts, such as a unit's SystemCallFilter=,
 * may kill the process for a call that the program itself never makes.
 *
 * Debian's unit of redis kills for sched_setaffinity. The only way to detect such a filter is to
 * make the call. So a child makes it: a copy of this process for which no other code waits. Its
 * exit status gives the answer. Each call has arguments that the kernel refuses. A filter that
 * returns an error kills no process, and the later caller sees the error. Without a filter nothing
 * is tried. Rejected: to read the filter, which needs CAP_SYS_ADMIN.
 */
#define _GNU_SOURCE
#include "filter.h"
#include "system.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>

struct tried {
    long number;
    const char *name;
    long first; /* argument; the others are zero */
};

static const struct tried of_moving[] = {
    {__NR_sched_setaffinity, "sched_setaffinity", -1},
    {__NR_sched_getaffinity, "sched_getaffinity", -1},
    {__NR_clone, "clone", CLONE_SIGHAND},
    {__NR_tgkill, "tgkill", 0},
    {__NR_rt_sigtimedwait, "rt_sigtimedwait", 0},
    {__NR_sched_yield, "sched_yield", 0},
};
static const struct tried of_rings[] = {
    {__NR_io_uring_setup, "io_uring_setup", 0},
    {__NR_io_uring_enter, "io_uring_enter", -1},
    {__NR_io_uring_register, "io_uring_register", -1},
};

static const struct tried of_reader[] = {
    {__NR_close_range, "close_range", -1},
};

#define COUNT(calls) (sizeof(calls) / sizeof *(calls))

/* If that cannot be read, there may be a filter. */
static bool has_filter(void)
{
    static const char line[] = "\nSeccomp:\t";
    char status[4096];
    long file = system_call(__NR_open, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
    if (file < 0)
        return true;
    long length = system_call(__NR_read, file, (long)status, sizeof status - 1, 0, 0, 0);
    system_call(__NR_close, file, 0, 0, 0, 0, 0);
    status[length > 0 ? length : 0] = '\0';
    const char *found = strstr(status, line);
    return found == NULL || found[sizeof line - 1] != '0';
}

/* Whether a child survives these calls. A child that cannot be started proves nothing. */
static bool survives(const struct tried *calls, size_t count)
{
    uint64_t mask;
    set_signals(~(uint64_t)0, &mask);
    /* No signal at its end, so that no wait of the program finds it. */
    long child = system_call(__NR_clone, 0, 0, 0, 0, 0, 0);
    if (child == 0) {
        for (size_t i = 0; i < count; i++)
            system_call(calls[i].number, calls[i].first, 0, 0, 0, 0, 0);
        for (;;)
            system_call(__NR_exit_group, 0, 0, 0, 0, 0, 0);
    }
    int status = 0;
    if (child > 0)
        system_call(__NR_wait4, child, (long)&status, __WALL, 0, 0, 0);
    set_signals(mask, NULL);
    return status == 0;
}

static const char *first_that_kills(const struct tried *calls, size_t count)
{
    if (!has_filter() || survives(calls, count))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!survives(&calls[i], 1))
            return calls[i].name;
    return NULL;
}

const char *call_that_kills(void)
{
    return first_that_kills(of_moving, COUNT(of_moving));
}

const char *ring_call_that_kills(void)
{
    return first_that_kills(of_rings, COUNT(of_rings));
}

bool close_range_kills(void)
{
    return first_that_kills(of_reader, COUNT(of_reader)) != NULL;
}
