/*
 * Changes of rights, of a process and of a thread.
 *
 * For the kernel, each thread has its own credentials, namespaces, and filters. libc applies a
 * change of user to all threads that it knows, which excludes carriers. So for the duration of such
 * a call, every thread of the program comes home and every carrier ends. Later carriers inherit the
 * rights of the thread that starts them. Servers drop their rights before they serve, when no
 * carriers exist yet and this costs nothing. Rejected: to repeat the call on each carrier, which
 * would have to undo it everywhere if it fails on one.
 *
 * Other changes affect only the calling thread: capabilities, namespaces, scheduling. If it is the
 * only thread, they affect the whole process. A change of one thread among several must reach no
 * other thread, so that thread stays home for good. Threads that it starts inherit rights and
 * namespaces, which carriers lack, so they stay home too.
 *
 * The kernel allows some changes of namespaces only to a process with one thread, which may be one
 * whose other threads have ended. So all carriers end for such a change.
 *
 * A program that installs a filter of system calls allows its own calls, not those of the runtime.
 * From then on it runs as if it were not patched.
 */
#define _GNU_SOURCE
#include "credentials.h"
#include "affinity.h"
#include "carrier.h"
#include "fibers.h"
#include "forks.h"
#include "home.h"
#include "originals.h"
#include "pool.h"
#include "rest.h"
#include "watchdog.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Flags of io_uring_setup() that headers older than Linux 6.1 lack. */
#define SINGLE_ISSUER (1u << 12)
#define DEFER_TASKRUN (1u << 13)

typedef int credential_function(long, long, long, long, long);

/* Whether a thread is the calling one. It is given by libc's handle or by the kernel's id. */
bool is_itself(uintptr_t thread)
{
    return thread == 0 || thread == (uintptr_t)pthread_self() || (int)thread == gettid();
}

/* Whether io_uring_setup() with such flags ties the ring to the thread that makes it. */
bool ties_a_ring(uint32_t flags)
{
    return (flags & (SINGLE_ISSUER | DEFER_TASKRUN)) != 0;
}

/* The pointer may be invalid, which the kernel has yet to report. */
bool is_tied(const void *parameters)
{
    struct io_uring_params found = {0};
    return read_memory(&found, parameters, sizeof found) && ties_a_ring(found.flags);
}

/* The watchdog also has its own rights, whichever backend moves threads. */
static bool must_close(void)
{
    return (__atomic_load_n(&pool.open, __ATOMIC_SEQ_CST) || watchdog_runs()) && is_own_process();
}

bool may_have_own_threads(void)
{
    return (carriers_are_possible() || watchdog_runs()) && is_own_process();
}

static int alone(void **kept, const char *name, long a, long b, long c, long d, long e)
{
    credential_function *next = (credential_function *)original(kept, name);
    /* Carriers that another thread starts meanwhile would keep the former rights. */
    if (!may_have_own_threads())
        return next(a, b, c, d, e);
    stay_home();
    close_pool();
    int result = next(a, b, c, d, e);
    reopen_pool();
    return result;
}

/* Assembler names define these: the prototypes here differ from those in the headers. */
#define EXPORT __attribute__((visibility("default")))

/* All of these take at most five arguments, none of them floating-point, and return an int. */
#define ALONE(name)                                                        \
    EXPORT int caught_##name(long, long, long, long, long) __asm__(#name); \
    int caught_##name(long a, long b, long c, long d, long e)              \
    {                                                                      \
        static void *kept;                                                 \
        return alone(&kept, #name, a, b, c, d, e);                         \
    }

ALONE(setuid)
ALONE(setgid)
ALONE(seteuid)
ALONE(setegid)
ALONE(setreuid)
ALONE(setregid)
ALONE(setresuid)
ALONE(setresgid)
ALONE(setgroups)
ALONE(initgroups)
/* False once there was a second thread; libc does not count carriers. */
extern const char __libc_single_threaded __attribute__((weak));

static bool is_only_thread(void)
{
    return &__libc_single_threaded != NULL && __libc_single_threaded;
}

void stay_apart(void)
{
    if (!is_only_thread()) {
        stay_for_good();
    } else if (must_close()) {
        stay_home();
        close_pool();
        reopen_pool();
    }
}

void stay_inherited(void)
{
    self.is_inherited = true;
    stay_for_good();
}

void stay_apart_inherited(void)
{
    if (!is_only_thread())
        self.is_inherited = true;
    stay_apart();
}

bool leave_threads(bool needs_one_thread)
{
    bool is_only = is_only_thread();
    if (!is_only)
        stay_inherited();
    if ((!is_only && !needs_one_thread) || !must_close())
        return false;
    stay_home();
    close_pool();
    return true;
}

static int of_one_thread(void **kept, const char *name, long a, long b, long c, long d, long e)
{
    if (is_only_thread())
        return alone(kept, name, a, b, c, d, e);
    stay_for_good();
    return ((credential_function *)original(kept, name))(a, b, c, d, e);
}

EXPORT int caught_nice(long) __asm__("nice");
int caught_nice(long change)
{
    static void *kept;
    return of_one_thread(&kept, "nice", change, 0, 0, 0, 0);
}

bool needs_one_thread(long number, long first, long second)
{
    const long of_a_process = CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;
    if (number == __NR_unshare)
        return (first & of_a_process) != 0;
    /* Without a kind, any namespace may be meant. */
    return number == __NR_setns &&
           ((int)second == 0 || (second & (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME)) != 0);
}

static int with_rights(void **kept, const char *name, long number, long a, long b, long c)
{
    bool is_closed = leave_threads(needs_one_thread(number, a, b));
    int result = ((credential_function *)original(kept, name))(a, b, c, 0, 0);
    if (is_closed)
        reopen_pool();
    return result;
}

EXPORT int caught_capset(long, long) __asm__("capset");
int caught_capset(long header, long data)
{
    static void *kept;
    return with_rights(&kept, "capset", __NR_capset, header, data, 0);
}

EXPORT int caught_unshare(long) __asm__("unshare");
int caught_unshare(long flags)
{
    static void *kept;
    return with_rights(&kept, "unshare", __NR_unshare, flags, 0, 0);
}

EXPORT int caught_setns(long, long) __asm__("setns");
int caught_setns(long file, long kind)
{
    static void *kept;
    return with_rights(&kept, "setns", __NR_setns, file, kind, 0);
}

EXPORT int caught_close_range(long, long, long) __asm__("close_range");
int caught_close_range(long first, long last, long flags)
{
    static void *kept;
    if (unshares_files(flags))
        return with_rights(&kept, "close_range", __NR_close_range, first, last, flags);
    return ((credential_function *)original(&kept, "close_range"))(first, last, flags, 0, 0);
}

void keep_another_home(uintptr_t thread)
{
    /* This thread goes home too: otherwise two that schedule or cancel each other would deadlock.
     */
    stay_home();
    detain(thread);
}

/* A thread that another one schedules also comes home for good. */
static int of_a_thread(void **kept, const char *name, long thread, long b, long c)
{
    if (is_itself((uintptr_t)thread))
        return of_one_thread(kept, name, thread, b, c, 0, 0);
    keep_another_home((uintptr_t)thread);
    return ((credential_function *)original(kept, name))(thread, b, c, 0, 0);
}

EXPORT int caught_setpriority(long, long, long) __asm__("setpriority");
int caught_setpriority(long which, long who, long value)
{
    static void *kept;
    if ((int)which != PRIO_PROCESS)
        stay_home();
    else if (is_itself((uintptr_t)who))
        return of_one_thread(&kept, "setpriority", which, who, value, 0, 0);
    else
        keep_another_home((uintptr_t)who);
    return ((credential_function *)original(&kept, "setpriority"))(which, who, value, 0, 0);
}

EXPORT int caught_sched_setscheduler(long, long, long) __asm__("sched_setscheduler");
int caught_sched_setscheduler(long thread, long policy, long parameters)
{
    static void *kept;
    return of_a_thread(&kept, "sched_setscheduler", thread, policy, parameters);
}

/* libc has it under this name too. */
EXPORT int another_sched_setscheduler(long, long, long) __asm__("__sched_setscheduler")
    __attribute__((alias("sched_setscheduler")));

EXPORT int caught_sched_setparam(long, long) __asm__("sched_setparam");
int caught_sched_setparam(long thread, long parameters)
{
    static void *kept;
    return of_a_thread(&kept, "sched_setparam", thread, parameters, 0);
}

void rest_for_good(const char *reason)
{
    stay_for_good();
    if (program.backend == NULL || has_come_to_rest())
        return;
    if (must_close() || carriers_are_possible())
        close_pool_for_good();
    affinity_ends();
    come_to_rest(reason);
}

/* Whether prctl() with this option changes state of the calling thread alone. The other options
 * affect the process, or are read at home, when a program is started or the user changes. */
static bool changes_the_thread(int option)
{
    switch (option) {
    /* clang-format off */
    case PR_SET_TIMERSLACK: case PR_SET_TSC: case PR_SET_SECUREBITS: case PR_CAPBSET_DROP:
    case PR_CAP_AMBIENT: case PR_SET_NO_NEW_PRIVS: case PR_SET_SPECULATION_CTRL: case PR_MCE_KILL:
    case PR_SET_IO_FLUSHER: case PR_SCHED_CORE: case PR_SET_SYSCALL_USER_DISPATCH:
        /* clang-format on */
        return true;
    default:
        return false;
    }
}

EXPORT int caught_prctl(long option, long b, long c, long d, long e)
{
    static void *kept;
    if ((int)option == PR_SET_SECCOMP)
        rest_for_good(FILTERS);
    else if ((int)option == PR_SET_TSC && b == PR_TSC_SIGSEGV)
        rest_for_good("the program forbids the time-stamp counter");
    else if (changes_the_thread((int)option))
        stay_apart();
    stay_home();
    return ((credential_function *)original(&kept, "prctl"))((int)option, b, c, d, e);
}
