/*
 * Kernel threads made by a bare clone instead of pthread_create.
 *
 * libc does not count or signal them, so its malloc still treats a program with one thread as
 * single-threaded. They can be created wherever a hook runs.
 */
#define _GNU_SOURCE
#include "bare.h"
#include "system.h"

#include <asm/unistd.h>
#include <sched.h>

bool start_bare(void (*run)(void *), void *argument, void *stack_top, struct bare_thread *thread)
{
    long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    void *stack = first_stack(stack_top, run, argument);
    long id = start_thread(flags, stack, &thread->id, &thread->id);
    if (id > 0)
        __atomic_store_n(&thread->last, (int)id, __ATOMIC_RELEASE);
    else
        __atomic_store_n(&thread->id, 0, __ATOMIC_RELEASE);
    return id > 0;
}

/* The kernel clears the id before the thread gives up the process's folders and is no longer
 * counted. Calls for processes with one thread fail until then. */
static void await_departure(int id)
{
    const long pause_ns[2] = {0, 20000};
    long process = system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    /* Another thread may have been given the number since. */
    for (int i = 0; i < 5000 && system_call(__NR_tgkill, process, id, 0, 0, 0, 0) == 0; i++)
        system_call(__NR_nanosleep, (long)pause_ns, 0, 0, 0, 0, 0);
}

void await_end(struct bare_thread *thread)
{
    int running;
    /* The kernel clears the word and wakes it as one shared between processes. */
    while ((running = __atomic_load_n(&thread->id, __ATOMIC_ACQUIRE)) != 0)
        system_call(__NR_futex, (long)&thread->id, 0, running, 0, 0, 0);
    int last = __atomic_exchange_n(&thread->last, 0, __ATOMIC_ACQ_REL);
    if (last > 0)
        await_departure(last);
}
