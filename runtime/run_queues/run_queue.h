/*
 * A core's run queue: how fibers come to it, and how its holder takes them and waits for them.
 */
#ifndef COREHOP_RUN_QUEUE_H
#define COREHOP_RUN_QUEUE_H

#include "cores.h"

/* run_queue.c */
/* Has a line brought here, to be written, without waiting for it. */
static inline void fetch(const void *line)
{
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
}
void prepare_run_queues(void);
void hand_over(struct core *core, struct fiber *fiber);
/* By the holder: empties the run queue; who was there, oldest first, and how many. */
struct fiber *take_pushed(struct core *core, uint32_t *count);
struct fiber *take_waiting(struct core *core);
void wake_watcher(struct core *core);

/* waiting.c */
void wait_for_work(struct core *core);
/* Another state of a run queue that is empty; false if it is in none such. */
static inline bool change(struct core *core, uintptr_t from, uintptr_t to)
{
    return __atomic_compare_exchange_n(&core->run_queue, &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_RELAXED);
}

/* cohort.c */
void prepare_cohorts(void);
/* How many fibers that came by one hook follow each other at most, though others wait. */
extern uint32_t most_in_turn;
/* By the holder, where that is more than one: the fiber whose turn it is, or NULL. What was pushed
 * comes by take_pushed(). */
typedef struct fiber *taking(struct core *core, uint32_t *count);
struct fiber *take_by_hook(struct core *core, taking *take);
/* Of all cores; nothing where fibers are taken in the order in which they come. */
struct cohorts all_cohorts(void);
void cohorts_forked(void);
/* Tells hooks apart by where a thread counts their hops: the same distance in all threads. */
static inline uint32_t came_by(const uint64_t *hops)
{
    return (uint32_t)((uintptr_t)hops - (uintptr_t)self.tallies);
}

#endif
