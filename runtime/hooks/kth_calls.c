/*
 * Functions that go to a core at single calls of each request, the k-th; their other calls stay.
 *
 * Each such call has a hook. Those of one function stand behind each other, in the order of the
 * calls, and threads come by the first: it counts the calls, and remembers which of the hooks is
 * next. So a call that stays costs the same however many hop.
 *
 * A request begins where the function is entered that counts requests, so how many requests a
 * thread has begun is how often it was there. Calls are counted thread by thread, anew once that
 * number has changed. Before its first request a thread has none that counts: what it is in then
 * has the number that an earlier thread left there, with more calls than any plan names.
 *
 * While auto has hops rest no call is counted, and of requests that began before the rest the calls
 * are too few; the next request is right again. Rejected: to reset counters at the request's entry,
 * which enter.S passes by where the thread is on the right core already.
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
