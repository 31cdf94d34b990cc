/*
 * A core's run queue: any thread pushes fibers, and the core's holder takes them in order.
 *
 * Each transfer of a cache line between cores costs about as much as all the instructions of a hop.
 * So the run queue is one word that holds both fibers and the holder's state. Pushing is one
 * compare-and-swap that assumes an empty run queue instead of reading it first. The replaced value
 * shows whether the holder must be woken. The holder takes the whole list at once and reverses it,
 * so that order.c gets the order of arrival. It prefetches at once every line that the fiber will
 * need, from a memory of where they were last time, instead of meeting them one after the other. An
 * empty run queue is watched for as long as spin_policy.c decides, and then the holder sleeps on
 * it. Only the holder waits, so at most one carrier per core spins. Rejected: a ring buffer, which
 * needs room for the most fibers that may ever exist.
 */
#include "run_queue.h"
#include "watchdog.h"

#include <asm/unistd.h>

#define LINE 64
/* Lines of a stack, from the stack pointer upwards: those that a hop has written. */
#define STACK_LINES 8

/* The distance from a thread's FS base to its `self`, the same for every thread. */
static uintptr_t self_distance;

void prepare_run_queues(void)
{
    uintptr_t base;
    __asm__("rdfsbase %0" : "=r"(base));
    self_distance = (uintptr_t)&self - base;
}

/* A holder that also waits for results can only be woken by a signal. */
static void wake_holder(struct core *core)
{
    if (core->ring == NULL) {
        futex_wake((uint32_t *)&core->run_queue, 1);
        return;
    }
    uintptr_t holder = __atomic_load_n(&core->holder, __ATOMIC_ACQUIRE) & ~RUNNING;
    int thread = ((const struct carrier *)holder)->thread.id;
    system_call(__NR_tgkill, pool.process, thread, POKE, 0, 0, 0);
}

void hand_over(struct core *core, struct fiber *fiber)
{
    uintptr_t head = WATCHED;
    do {
        fiber->next = (struct fiber *)head;
        fiber->depth = head > BUSY ? ((struct fiber *)head)->depth + 1 : 1;
    } while (UNLIKELY(!__atomic_compare_exchange_n(&core->run_queue, &head, (uintptr_t)fiber, false,
                                                   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)));
    /* The fiber may be gone by now. */
    if (UNLIKELY(head == ASLEEP)) {
        wake_holder(core);
        wake_watchdog();
    } else if (UNLIKELY(head == BUSY))
        wake_watchdog();
}

static void fetch_surroundings(const struct surroundings *needed)
{
    for (size_t at = 0; at < STACK_LINES * LINE; at += LINE)
        fetch((const char *)needed->stack + at);
    fetch((const void *)(needed->thread_base + self_distance));
    fetch(needed->counters);
}

static struct surroundings *remembered(struct core *core, const struct fiber *fiber)
{
    return &core->remembered[((uintptr_t)fiber >> 12) % REMEMBERED];
}

/* Prefetches lines of a fiber that has come, before its first one arrives: mostly they are where
 * they were the last time that it came to this core. */
static void fetch_fiber(struct core *core, const struct fiber *fiber)
{
    const struct surroundings *guess = remembered(core, fiber);
    fetch(fiber);
    for (size_t at = 0; at < sizeof fiber->registers; at += LINE)
        fetch(fiber->registers + at);
    if (LIKELY(guess->of == fiber))
        fetch_surroundings(guess);
}

/* Reverses the list, in which the fiber pushed last comes first. */
static inline struct fiber *take_all(struct core *core, uintptr_t newest, uint32_t *count)
{
    struct fiber *oldest = NULL;
    /* The exchange must wait for a line anyway: the others arrive in that time. */
    fetch_fiber(core, (const struct fiber *)newest);
    newest = __atomic_exchange_n(&core->run_queue, BUSY, __ATOMIC_ACQUIRE);
    uint32_t taken_together = 0;
    while (newest > BUSY) {
        struct fiber *taken = (struct fiber *)newest;
        newest = (uintptr_t)taken->next;
        taken->next = oldest;
        oldest = taken;
        taken_together++;
    }
    *count = taken_together;
    return oldest;
}

/* Called by the holder: empties the run queue. Returns its fibers, oldest first, and their number.
 */
static struct fiber *take_pushed(struct core *core, uint32_t *count)
{
    uintptr_t newest = __atomic_load_n(&core->run_queue, __ATOMIC_RELAXED);
    *count = 0;
    return newest > BUSY ? take_all(core, newest, count) : NULL;
}

struct fiber *take_waiting(struct core *core)
{
    struct fiber *taken = take_next(core, take_pushed);
    if (taken == NULL)
        return NULL;
    struct surroundings now = {taken, taken->stack, taken->thread_base, taken->counters};
    *remembered(core, taken) = now;
    fetch_surroundings(&now);
    return taken;
}

void wake_watcher(struct core *core)
{
    if (change(core, ASLEEP, WATCHED))
        wake_holder(core);
}
