/*
 * A filter of system calls that is in place when the program starts, such as a unit's
 * SystemCallFilter=, may kill the process for a call that the program itself never makes.
 *
 * Debian's unit of redis kills for sched_setaffinity. Whether a filter does so is known only by
 * making the call, so a child makes it: a copy of this process that nobody else waits for, whose
 * end tells. Each call is made with arguments that the kernel refuses. A filter that answers with
 * an error kills nobody, and whoever makes the call later sees the error. Without a filter nothing
 * is tried. Rejected: to read the filter, which takes CAP_SYS_ADMIN.
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

#define COUNT(calls) (sizeof(calls) / sizeof *(calls))

/* Where that cannot be read, there may be one. */
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

/* Whether a child lives that makes these calls. One that cannot be started shows nothing. */
static bool survives(const struct tried *calls, size_t count)
{
    uint64_t mask;
    set_signals(~(uint64_t)0, &mask);
    /* Without a signal at its end, so that no wait of the program's finds it. */
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
