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

/* order.c, or a file of an experiment that is linked in its place */
struct output_file;
void prepare_order(void);
/* By the holder: who comes next, or NULL. What was pushed comes by `take`: who was there, oldest
 * first, and how many. */
typedef struct fiber *taking(struct core *core, uint32_t *count);
struct fiber *take_next(struct core *core, taking *take);
void order_forked(void);
/* Keys of the statistics, each behind a comma. */
void write_order(struct output_file *out);
/* Tells hooks apart by where a thread counts their hops: the same distance in all threads. */
static inline uint32_t came_by(const uint64_t *hops)
{
    return (uint32_t)((uintptr_t)hops - (uintptr_t)self.tallies);
}

#endif
