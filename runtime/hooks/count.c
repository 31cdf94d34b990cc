/*
 * The count backend: counts calls and the hops that would occur, and moves no thread.
 *
 * A thread starts on plan core 0 and then is where its last hook put it, exactly as in the replay.
 * So the hops counted here are the hops that the plan predicts.
 */
#include "backend.h"
#include "thread_state.h"

static void hop(uint64_t *hops, int32_t core)
{
    if (self.backend != &count_backend)
        take_over(&count_backend);
    self.core = core;
    if (self.counted == core)
        return;
    bump(hops);
    self.counted = core;
}

static bool prepare(void)
{
    return true;
}

const struct backend count_backend = {
    .name = "count",
    .hop = hop,
    .prepare = prepare,
};
