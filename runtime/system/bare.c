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

bool start_bare(void (*run)(void *), void *argument, void *stack_top, int *word)
{
    long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    if (start_thread(flags, first_stack(stack_top, run, argument), word, word) > 0)
        return true;
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    return false;
}

void await_end(int *word)
{
    int running;
    /* The kernel clears the word and wakes it as one shared between processes. */
    while ((running = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != 0)
        system_call(__NR_futex, (long)word, 0, running, 0, 0, 0);
}
