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
 * other thread, so that thread stays home for good.
 *
 * A program that installs a filter of system calls allows its own calls, not those of the runtime.
 * From then on it runs as if it were not patched.
 */
#define _GNU_SOURCE
#include "credentials.h"
#include "carrier.h"
#include "fibers.h"
#include "forks.h"
#include "home.h"
#include "originals.h"
#include "pool.h"
#include "posted.h"
#include "rest.h"
#include "watchdog.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>

/* Flags of io_uring_setup() that headers older than Linux 6.1 lack. */
#define SINGLE_ISSUER (1u << 12)
#define DEFER_TASKRUN (1u << 13)

typedef int credential_function(long, long, long, long, long);
typedef long syscall_function(long, long, long, long, long, long, long);

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

/* Reads the flags as the kernel does: the pointer may be invalid, which the kernel has yet to
 * report. */
bool is_tied(const void *parameters)
{
    struct io_uring_params found = {0};
    const struct iovec to = {&found, sizeof found}, from = {(void *)parameters, sizeof found};
    const long process = system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    const long size = system_call(__NR_process_vm_readv, process, (long)&to, 1, (long)&from, 1, 0);
    if (size == -EFAULT)
        return false;
    /* If it is not readable, treat it as a tied ring. */
    return size != sizeof found || ties_a_ring(found.flags);
}

/* The watchdog also has its own rights, whichever backend moves threads. */
static bool must_close(void)
{
    return (__atomic_load_n(&pool.open, __ATOMIC_SEQ_CST) || watchdog_runs()) && is_own_process();
}

static int alone(void **kept, const char *name, long a, long b, long c, long d, long e)
{
    credential_function *next = (credential_function *)original(kept, name);
    if (!must_close())
        return next(a, b, c, d, e);
    stay_home();
    close_pool();
    int result = next(a, b, c, d, e);
    reopen_pool();
    return result;
}

/* Assembler names define these: the prototypes here differ from those in the headers. */
#define EXPORT __attribute__((visibility("default")))
EXPORT int caught_prctl(long, long, long, long, long) __asm__("prctl");
EXPORT long caught_syscall(long, long, long, long, long, long, long) __asm__("syscall");

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

static int of_one_thread(void **kept, const char *name, long a, long b, long c, long d, long e)
{
    if (is_only_thread())
        return alone(kept, name, a, b, c, d, e);
    stay_for_good();
    return ((credential_function *)original(kept, name))(a, b, c, d, e);
}

/* Likewise. */
#define OF_ONE_THREAD(name)                                                \
    EXPORT int caught_##name(long, long, long, long, long) __asm__(#name); \
    int caught_##name(long a, long b, long c, long d, long e)              \
    {                                                                      \
        static void *kept;                                                 \
        return of_one_thread(&kept, #name, a, b, c, d, e);                 \
    }

OF_ONE_THREAD(capset)
OF_ONE_THREAD(unshare)
OF_ONE_THREAD(setns)
OF_ONE_THREAD(nice)

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

EXPORT int caught_sched_setparam(long, long) __asm__("sched_setparam");
int caught_sched_setparam(long thread, long parameters)
{
    static void *kept;
    return of_a_thread(&kept, "sched_setparam", thread, parameters, 0);
}

#define FILTERS "the program filters its system calls"

/* Before a filter of system calls is installed, or the time-stamp counter is forbidden, the
 * runtime's threads end, since they make system calls and read the counter. */
static void rest_for_good(const char *reason)
{
    stay_for_good();
    if (program.backend == NULL || has_come_to_rest())
        return;
    if (must_close() || carriers_are_possible())
        close_pool(); /* and it stays closed */
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
    case PR_SET_IO_FLUSHER: case PR_SCHED_CORE:
        /* clang-format on */
        return true;
    default:
        return false;
    }
}

int caught_prctl(long option, long b, long c, long d, long e)
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

static bool is_of_the_thread(long number)
{
    switch (number) {
    /* clang-format off */
    case __NR_rt_sigprocmask: case __NR_sigaltstack: case __NR_sched_setaffinity:
    case __NR_clone: case __NR_clone3: case __NR_vfork: case __NR_fork: case __NR_execve:
    case __NR_execveat: case __NR_exit: case __NR_set_robust_list: case __NR_setpriority:
    case __NR_setuid: case __NR_setgid: case __NR_setreuid: case __NR_setregid:
    case __NR_setresuid: case __NR_setresgid: case __NR_setgroups: case __NR_setfsuid:
    case __NR_setfsgid: case __NR_capset: case __NR_seccomp: case __NR_prctl:
    case __NR_unshare: case __NR_setns: case __NR_landlock_restrict_self:
    case __NR_set_mempolicy: case __NR_ioprio_set: case __NR_sched_setattr:
    case __NR_sched_setscheduler: case __NR_sched_setparam: case __NR_rseq:
    case __NR_arch_prctl: case __NR_set_tid_address: case __NR_perf_event_open:
    case __NR_ptrace: case __NR_personality: case __NR_ioperm: case __NR_iopl:
    case __NR_signalfd: case __NR_signalfd4: case __NR_add_key: case __NR_request_key:
    case __NR_keyctl:
        /* clang-format on */
        return true;
    default:
        return false;
    }
}

/* Signals that a thread may send to itself or wait for, sleeps, and operations under way in a ring
 * of the program. */
static bool is_made_at_home(long number)
{
    return number == __NR_kill || number == __NR_tkill || number == __NR_tgkill ||
           number == __NR_rt_sigqueueinfo || number == __NR_rt_tgsigqueueinfo ||
           number == __NR_pause || number == __NR_nanosleep || number == __NR_clock_nanosleep ||
           number == __NR_io_uring_enter;
}

/* Whether a ring of the program belongs to the calling thread from here on. */
static bool takes_a_ring(long number, long second)
{
    if (number == __NR_io_uring_setup)
        return is_tied((const void *)second);
    return number == __NR_io_uring_register &&
           (second == IORING_REGISTER_ENABLE_RINGS || second == IORING_REGISTER_RING_FDS);
}

/* Whether such a call makes a child with separate memory, in which it returns 0. */
static bool forks(long number, long first)
{
    if (number == __NR_clone)
        return (first & CLONE_VM) == 0;
    if (number == __NR_clone3)
        return (*(const uint64_t *)first & CLONE_VM) == 0;
    return number == __NR_fork;
}

/* A thread that makes such a call past libc affects only itself: it stays home from then on. */
long caught_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    static void *kept;
    if (number == __NR_gettid && self.fiber != NULL)
        return self.fiber->home;
    if (UNLIKELY(number == __NR_seccomp))
        rest_for_good(FILTERS);
    else if (UNLIKELY(is_of_the_thread(number)) && carriers_are_possible())
        stay_for_good();
    else if (carriers_are_possible() && UNLIKELY(takes_a_ring(number, b)))
        stay_for_good();
    else if (UNLIKELY(is_made_at_home(number)))
        stay_home();
    libc_function *posted = posted_past_libc(number);
    if (UNLIKELY(posted != NULL))
        return (int)posted(a, b, c, d, e, f, 0); /* the return value of libc's functions */
    long result = ((syscall_function *)original(&kept, "syscall"))(number, a, b, c, d, e, f);
    if (UNLIKELY(result == 0) && forks(number, a))
        process_forked();
    return result;
}
