/*
 * Processor time of one thread: that of its home.
 *
 * The kernel counts what a kernel thread uses, so a carried thread would read its carrier's clock,
 * which is another one after each hop and runs backwards. So the thread goes home to look: what it
 * reads is the time that it used there, which never runs backwards and lacks what carriers used for
 * it. Rejected: adding that up, which takes two looks at a clock for each hop.
 *
 * Programs read clocks often, so these are functions of their own and not of interposed.h: for all
 * clocks but these they cost a comparison.
 */
#define _GNU_SOURCE
#include "home.h"
#include "interposers.h"
#include "originals.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

typedef int clock_function(clockid_t, struct timespec *);
typedef int usage_function(int, struct rusage *);

static void *clock_itself, *usage_itself;

/* Nothing is found where this library comes after libc, and then nobody calls these. */
void prepare_clocks(void)
{
    clock_itself = dlsym(RTLD_NEXT, "clock_gettime");
    usage_itself = dlsym(RTLD_NEXT, "getrusage");
}

/* The kernel's numbers of threads' clocks are negative, with this bit. */
static bool is_of_a_thread(clockid_t clock)
{
    return clock == CLOCK_THREAD_CPUTIME_ID || (clock < 0 && (clock & 4) != 0);
}

static int with_errno(long result)
{
    return result < 0 ? (int)fail(result) : (int)result;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *time)
{
    clock_function *next = (clock_function *)clock_itself;
    if (UNLIKELY(is_of_a_thread(clock)))
        stay_home();
    /* Somebody looks at a clock before the runtime has started. */
    if (UNLIKELY(next == NULL))
        return with_errno(system_call(__NR_clock_gettime, clock, (long)time, 0, 0, 0, 0));
    return next(clock, time);
}

EXPORT int getrusage(int whose, struct rusage *usage)
{
    usage_function *next = (usage_function *)usage_itself;
    if (whose == RUSAGE_THREAD)
        stay_home();
    if (UNLIKELY(next == NULL))
        return with_errno(system_call(__NR_getrusage, whose, (long)usage, 0, 0, 0, 0));
    return next(whose, usage);
}
