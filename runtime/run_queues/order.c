/*
 * The order in which a core's holder takes fibers: the order of their arrival.
 *
 * It is a separate file so that an experiment can replace it by another order, with its own
 * preparation and notifications (research/lab/runtime). The holder calls it for each fiber. It only
 * accesses lines that the fiber's run needs anyway.
 */
#include "run_queue.h"

void prepare_order(void)
{
}

void order_forked(void)
{
}

void write_order(struct output_file *out)
{
    (void)out;
}

struct fiber *take_next(struct core *core, taking *take)
{
    struct fiber *ready = core->ready;
    if (ready == NULL) {
        uint32_t count;
        ready = take(core, &count);
        if (ready == NULL)
            return NULL;
        if (UNLIKELY(count > 1))
            __atomic_store_n(&core->in_line, count, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&core->ready, ready->next, __ATOMIC_RELAXED);
    if (UNLIKELY(core->in_line != 0))
        __atomic_store_n(&core->in_line, core->in_line - 1, __ATOMIC_RELAXED);
    return ready;
}
