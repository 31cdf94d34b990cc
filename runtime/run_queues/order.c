/*
 * In which order a core's holder takes fibers: in that in which they came.
 *
 * It is a file of its own so that an experiment can be linked in its place, with another order and
 * what is to be prepared and told of it (research/lab/runtime). The holder calls it for each fiber:
 * what it references is on lines that the fiber's run needs as well.
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
