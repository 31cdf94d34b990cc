/*
 * Processor time of one thread: that of its home.
 *
 * The kernel counts what a kernel thread uses. So a thread on a carrier would read the carrier's
 * clock, which is another one after each hop and can run backwards. Therefore the thread goes home
 * to read its clock. That value is the time that it used at home. It never runs backwards, and
 * lacks the time that carriers used for the thread. Rejected: to add that time, which needs two
 * readings of a clock for each hop.
 *
 * Programs read clocks often, so these functions are defined here and not through interposed.h: for
 * all other clocks they cost one comparison.
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
typedef int usage_function(__rusage_who_t, struct rusage *);

static void *clock_itself, *usage_itself;

/* If this library comes after libc, the search finds nothing, but then nothing calls these
 * functions. */
void prepare_clocks(void)
{
    clock_itself = dlsym(RTLD_NEXT, "clock_gettime");
    usage_itself = dlsym(RTLD_NEXT, "getrusage");
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
    /* A clock is read before the runtime has started. */
    if (UNLIKELY(next == NULL))
        return with_errno(system_call(__NR_clock_gettime, clock, (long)time, 0, 0, 0, 0));
    return next(clock, time);
}

/* The type of `whose` is glibc's, from its header: an enumeration. */
EXPORT int getrusage(__rusage_who_t whose, struct rusage *usage)
{
    usage_function *next = (usage_function *)usage_itself;
    if (whose == RUSAGE_THREAD)
        stay_home();
    if (UNLIKELY(next == NULL))
        return with_errno(system_call(__NR_getrusage, (long)whose, (long)usage, 0, 0, 0, 0));
    return next(whose, usage);
}
