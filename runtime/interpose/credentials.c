/*
 * Changes of a process's rights, which must reach the carriers too.
 *
 * To the kernel each thread has credentials, namespaces and filters of its own; libc carries a
 * change of user to all threads it knows, and carriers are none of these. So for the time of such
 * a call every thread of the program is brought home and every carrier ends; later ones inherit
 * the rights of the thread that starts them. Servers drop their rights before they serve, when
 * there are no carriers yet and this costs nothing. Rejected: repeating the call on each carrier,
 * which would have to undo it everywhere when it fails on one.
 */
#define _GNU_SOURCE
#include "carrier.h"
#include "posted.h"

#include <asm/unistd.h>
#include <sys/prctl.h>

typedef int credential_function(long, long, long, long, long);
typedef long syscall_function(long, long, long, long, long, long, long);

/* The watchdog has rights of its own too, whoever moves threads. */
static bool must_close(void)
{
    return __atomic_load_n(&pool.open, __ATOMIC_SEQ_CST) || watchdog_runs();
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

/* Defined by their names in the assembler's sense: the prototypes here are those of no header. */
#define EXPORT __attribute__((visibility("default")))
EXPORT int caught_prctl(long, long, long, long, long) __asm__("prctl");
EXPORT long caught_syscall(long, long, long, long, long, long, long) __asm__("syscall");

/* All of these take at most five arguments, none of them floating-point, and give an int. */
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
ALONE(capset)
ALONE(unshare)
ALONE(setns)

int caught_prctl(long whole_option, long b, long c, long d, long e)
{
    static void *kept;
    int option = (int)whole_option;
    bool changes_rights = option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS ||
                          option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT ||
                          option == PR_SET_SECUREBITS || option == PR_SET_KEEPCAPS;
    if (changes_rights)
        return alone(&kept, "prctl", option, b, c, d, e);
    stay_home();
    return ((credential_function *)original(&kept, "prctl"))(option, b, c, d, e);
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
        /* clang-format on */
        return true;
    default:
        return false;
    }
}

/* A thread that makes such a call past libc means itself alone: it stays home from then on. */
long caught_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    static void *kept;
    if (number == __NR_gettid && place.fiber != NULL)
        return place.fiber->home;
    if (UNLIKELY(is_of_the_thread(number)) && carriers_are_possible()) {
        stay_home();
        place.ending = place.stopped = true;
    }
    libc_function *posted = posted_past_libc(number);
    if (UNLIKELY(posted != NULL))
        return (int)posted(a, b, c, d, e, f, 0); /* what libc's functions give */
    return ((syscall_function *)original(&kept, "syscall"))(number, a, b, c, d, e, f);
}
