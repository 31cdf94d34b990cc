/*
 * The watchdog's kernel thread: its start, its sleep and its end. watch.c has its work.
 */
#include "watchdog.h"
#include "bare.h"
#include "system.h"

#define STACK_SIZE 65536

struct watch watch;
uint64_t watchdog_is_due;
uint32_t watchdog_sleeps;
static struct bare_thread thread;
static void *stack;
/* It is about to end, and will not see any more orders. */
static uint32_t leaves;

void wake_watchdog(void)
{
    if (__atomic_load_n(&watchdog_sleeps, __ATOMIC_SEQ_CST) &&
        __atomic_exchange_n(&watchdog_sleeps, 0, __ATOMIC_SEQ_CST))
        futex_wake(&watchdog_sleeps, 1);
}

void watchdog_leaves(uint64_t until)
{
    __atomic_store_n(&leaves, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&watchdog_is_due, until, __ATOMIC_RELAXED);
}

/* True if it runs, whichever thread started it. */
bool start_watchdog(void)
{
    int none = 0;
    if (__atomic_load_n(&leaves, __ATOMIC_SEQ_CST))
        await_watchdog();
    if (!__atomic_compare_exchange_n(&thread.id, &none, -1, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return true;
    uint8_t *memory = stack != NULL ? stack : map_memory(STACK_SIZE);
    stack = memory;
    leaves = 0;
    watchdog_is_due = 0;
    if (memory != NULL && start_bare(watch.keep, NULL, memory + STACK_SIZE, &thread))
        return true;
    __atomic_store_n(&thread.id, 0, __ATOMIC_SEQ_CST);
    return false;
}

bool watchdog_runs(void)
{
    return __atomic_load_n(&thread.id, __ATOMIC_SEQ_CST) != 0;
}

void await_watchdog(void)
{
    await_end(&thread);
}

void watchdog_forked(void)
{
    thread = (struct bare_thread){0};
    watchdog_sleeps = 0;
    leaves = 0;
    watchdog_is_due = 0;
}
