/*
 * syscall(): calls by number are treated as the function of that call.
 *
 * A thread that makes a call about itself goes home first. If the call changes the kernel's state
 * of the thread alone, the thread stays home from then on. credentials.c treats changes of rights.
 */
#define _GNU_SOURCE
#include "affinity.h"
#include "carrier.h"
#include "credentials.h"
#include "forks.h"
#include "handlers.h"
#include "home.h"
#include "interposers.h"
#include "originals.h"
#include "places.h"
#include "pool.h"
#include "posted.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

typedef long syscall_function(long, long, long, long, long, long, long);

/* The assembler name defines this: the prototype differs from that in the header. */
__attribute__((visibility("default"))) long caught_syscall(long, long, long, long, long, long,
                                                           long) __asm__("syscall");

/* Calls that change rights or namespaces, which new threads inherit. */
static bool changes_rights(long number, long third)
{
    switch (number) {
    /* clang-format off */
    case __NR_setuid: case __NR_setgid: case __NR_setreuid: case __NR_setregid:
    case __NR_setresuid: case __NR_setresgid: case __NR_setgroups: case __NR_capset:
    case __NR_unshare: case __NR_setns: case __NR_landlock_restrict_self:
    case __NR_set_mempolicy: case __NR_personality: case __NR_ioperm: case __NR_iopl:
        /* clang-format on */
        return true;
    default:
        return number == __NR_close_range && unshares_files(third);
    }
}

static bool is_of_the_thread(long number)
{
    switch (number) {
    /* clang-format off */
    case __NR_rt_sigprocmask: case __NR_sigaltstack: case __NR_clone: case __NR_clone3:
    case __NR_vfork: case __NR_fork: case __NR_execve: case __NR_execveat: case __NR_exit:
    case __NR_set_robust_list: case __NR_setpriority: case __NR_seccomp: case __NR_ioprio_set:
    case __NR_sched_setattr: case __NR_sched_setscheduler: case __NR_sched_setparam:
    case __NR_rseq: case __NR_arch_prctl: case __NR_set_tid_address: case __NR_perf_event_open:
    case __NR_ptrace: case __NR_signalfd: case __NR_signalfd4: case __NR_add_key:
    case __NR_request_key: case __NR_keyctl: case __NR_setfsuid: case __NR_setfsgid:
        /* clang-format on */
        return true;
    default:
        return false;
    }
}

/* Which of those change what new threads inherit: the user for files, and the session's keyring. */
static bool passes_on(long number, long first)
{
    return number == __NR_setfsuid || number == __NR_setfsgid ||
           (number == __NR_keyctl && first == KEYCTL_JOIN_SESSION_KEYRING);
}

/* Signals that a thread may send to itself or wait for, what the kernel tells a thread about
 * itself, sleeps, and operations under way in a ring of the program. */
static bool is_made_at_home(long number)
{
    switch (number) {
    /* clang-format off */
    case __NR_kill: case __NR_tkill: case __NR_tgkill: case __NR_rt_sigqueueinfo:
    case __NR_rt_tgsigqueueinfo: case __NR_pidfd_send_signal: case __NR_rt_sigpending:
    case __NR_rt_sigsuspend: case __NR_rt_sigtimedwait: case __NR_pause: case __NR_nanosleep:
    case __NR_clock_nanosleep: case __NR_sched_getaffinity: case __NR_sched_getscheduler:
    case __NR_sched_getparam: case __NR_sched_getattr: case __NR_getpriority:
    case __NR_ioprio_get: case __NR_get_mempolicy: case __NR_get_robust_list:
    case __NR_timer_create: case __NR_io_uring_enter:
        /* clang-format on */
        return true;
    default:
        return false;
    }
}

/* Likewise, depending on an argument: files whose signals the thread gets, waits with a mask of
 * signals, and clocks of one thread. */
static bool is_made_at_home_with(long number, long first, long second, long fourth, long fifth,
                                 long sixth)
{
    switch (number) {
    case __NR_fcntl:
        return takes_signals_of_files(second);
    case __NR_ppoll:
        return fourth != 0;
    case __NR_epoll_pwait:
    case __NR_epoll_pwait2:
        return fifth != 0;
    case __NR_pselect6:
    case __NR_io_pgetevents:
        return sixth != 0;
    case __NR_clock_gettime:
        return is_of_a_thread((clockid_t)first);
    case __NR_getrusage:
        return (int)first == RUSAGE_THREAD;
    default:
        return false;
    }
}

/* Calls that read the mask of CPUs, or pass it on. */
static bool is_unpinned(long number)
{
    switch (number) {
    /* clang-format off */
    case __NR_sched_getaffinity: case __NR_clone: case __NR_clone3: case __NR_vfork:
    case __NR_fork: case __NR_execve: case __NR_execveat:
        /* clang-format on */
        return true;
    default:
        return false;
    }
}

/* Whether such a call locks or unlocks a mutex that holds the kernel's id of its owner. */
static bool changes_priorities(long number, long operation)
{
    if (LIKELY(number != __NR_futex))
        return false;
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_CMP_REQUEUE_PI:
        return true;
    default:
        return false;
    }
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

long caught_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    static void *kept;
    bool is_closed = false;
    if (UNLIKELY(number == __NR_gettid))
        return gettid();
    if (UNLIKELY(number == __NR_prctl))
        return caught_prctl(a, b, c, d, e);
    if (UNLIKELY(number == __NR_rt_sigaction))
        return set_raw_action((int)a, (const void *)b, (void *)c, (size_t)d);
    if (UNLIKELY(number == __NR_sched_setaffinity)) {
        affinity_release();
        place((uintptr_t)a);
    }
    if (UNLIKELY(number == __NR_seccomp))
        rest_for_good(FILTERS);
    else if (UNLIKELY(number == __NR_exit) && may_have_own_threads())
        /* The kernel ends a process with its last thread, which the runtime's may not be. */
        rest_for_good("a thread ends by the system call exit");
    else if (UNLIKELY(changes_rights(number, c)) && carriers_are_possible())
        is_closed = leave_threads(needs_one_thread(number, a, b));
    else if (UNLIKELY(is_of_the_thread(number)) && carriers_are_possible())
        passes_on(number, a) ? stay_inherited() : stay_for_good();
    else if (UNLIKELY(changes_priorities(number, b)))
        give_up_now(CHANGES_PRIORITIES);
    else if (carriers_are_possible() && UNLIKELY(takes_a_ring(number, b)))
        stay_for_good();
    else if (UNLIKELY(is_made_at_home(number)) ||
             UNLIKELY(is_made_at_home_with(number, a, b, d, e, f)))
        stay_home();
    if (UNLIKELY(is_unpinned(number)))
        affinity_release();
    libc_function *posted = posted_past_libc(number);
    if (UNLIKELY(posted != NULL))
        return (int)posted(a, b, c, d, e, f, 0); /* the return value of libc's functions */
    long result = ((syscall_function *)original(&kept, "syscall"))(number, a, b, c, d, e, f);
    if (UNLIKELY(is_closed))
        reopen_pool();
    if (UNLIKELY(number == __NR_sched_getaffinity) && result > 0)
        show_own_mask((uintptr_t)a, (size_t)result, (void *)c);
    if (UNLIKELY(result == 0) && forks(number, a))
        process_forked();
    return result;
}
