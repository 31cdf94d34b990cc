/*
 * Functions that hop to a core at single calls of each request, e.g. the k-th; their other calls
 * stay.
 *
 * Each such call has a hook. The hooks of one function are consecutive, in the order of the calls,
 * and threads arrive at the first. It counts the calls and remembers which hook is next. So a call
 * that stays costs the same however many calls hop.
 *
 * A request begins at the entry of the function that counts requests, so a thread's request number
 * is its number of calls of that function. Each thread counts its own calls, and restarts when that
 * number has changed. Before its first request, a thread has no request to count in. It then is in
 * the request that an earlier thread left there, with more calls than any plan contains.
 *
 * While hops rest under auto, no call is counted. In requests that began before the rest ended, the
 * counts are too small; the next request is right again. Rejected: to reset counters at the
 * request's entry, since enter.S skips it if the thread is already on the right core.
 */
#include "objects.h"

static uint64_t requests_begun(void)
{
    return program.request == 0 ? 0 : self.tallies[program.request - 1].calls;
}

static bool is_at_call(uint32_t hook)
{
    return program.hooks[hook].argument > LAST_ARGUMENT;
}

void begin_counting_calls(void)
{
    for (uint32_t hook = 0; hook < program.hook_count; hook++)
        if (is_at_call(hook)) {
            counters_of(hook)[REQUEST] = requests_begun();
            counters_of(hook)[CALLS] = UINT32_MAX;
            counters_of(hook)[NEXT] = 0;
        }
}

bool stays_between_calls(uint32_t hook)
{
    if (!is_at_call(hook) || self.core < 0)
        return false;
    uint64_t *own = counters_of(hook), calls = own[CALLS] + 1;
    if (own[REQUEST] != requests_begun() || hook + 1 == program.request ||
        calls == program.hooks[hook + own[NEXT]].argument - LAST_ARGUMENT)
        return false;
    own[CALLS] = calls;
    bump(&self.tallies[hook].calls);
    return true;
}

int32_t core_at_call(uint32_t *hook)
{
    uint64_t *own = counters_of(*hook), request = requests_begun();
    if (own[REQUEST] != request) {
        own[REQUEST] = request;
        own[CALLS] = 0;
        own[NEXT] = 0;
    }
    uint32_t next = *hook + (uint32_t)own[NEXT];
    if (++own[CALLS] != program.hooks[next].argument - LAST_ARGUMENT)
        return -1;
    own[NEXT] += has_another_call(next);
    bump(&counters_of(next)[REACHED]);
    *hook = next;
    return (int32_t)(program.hooks[next].core - NO_CORE);
}

uint64_t calls_reached(uint32_t hook)
{
    return sum_of(hook, REACHED);
}

uint64_t sum_of(uint32_t hook, uint32_t counter)
{
    uint64_t sum = 0;
    for (const struct thread_counters *one = all_counters(); one != NULL; one = one->next)
        if (one->objects != NULL)
            sum += __atomic_load_n(&one->objects[hook * COUNTERS + counter], __ATOMIC_RELAXED);
    return sum;
}
