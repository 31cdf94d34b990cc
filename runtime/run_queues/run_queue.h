/*
 * A core's run queue: how fibers arrive, and how its holder takes them and waits for them.
 */
#ifndef COREHOP_RUN_QUEUE_H
#define COREHOP_RUN_QUEUE_H

#include "cores.h"

/* run_queue.c */
/* Prefetches a line for writing. */
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
/* Changes the state of an empty run queue; false if it is not in state `from`. */
static inline bool change(struct core *core, uintptr_t from, uintptr_t to)
{
    return __atomic_compare_exchange_n(&core->run_queue, &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_RELAXED);
}

/* order.c, or an experiment's file that replaces it */
struct output_file;
void prepare_order(void);
/* Called by the holder: returns the next fiber, or NULL. `take` returns the pushed fibers, oldest
 * first, and their number. */
typedef struct fiber *taking(struct core *core, uint32_t *count);
struct fiber *take_next(struct core *core, taking *take);
void order_forked(void);
/* Writes keys of the statistics, each after a comma. */
void write_order(struct output_file *out);
/* Identifies a hook by the offset of its counter in a thread, which is the same in all threads. */
static inline uint32_t came_by(const uint64_t *hops)
{
    return (uint32_t)((uintptr_t)hops - (uintptr_t)self.tallies);
}

#endif
