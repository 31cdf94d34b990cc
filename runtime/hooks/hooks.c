/*
 * The slow path of a hook: counts the call, and has the backend move the thread if it must.
 */
#include "hooks.h"
#include "backend.h"
#include "calls.h"
#include "objects.h"
#include "offsets.h"
#include "watchdog.h"

_Static_assert(offsetof(struct thread_state, tallies) == STATE_TALLIES, "enter.S");
_Static_assert(offsetof(struct thread_state, backend) == STATE_BACKEND, "enter.S");
_Static_assert(offsetof(struct thread_state, core) == STATE_CORE, "enter.S");
_Static_assert(offsetof(struct program, hooks) == PROGRAM_HOOKS, "enter.S");
_Static_assert(offsetof(struct program, backend) == PROGRAM_BACKEND, "enter.S");
_Static_assert(offsetof(struct program, minus_count) == PROGRAM_MINUS_COUNT, "enter.S");
_Static_assert(offsetof(struct program, minus_request) == PROGRAM_MINUS_REQUEST, "enter.S");
_Static_assert(offsetof(struct hook, core) == HOOK_CORE, "enter.S");
_Static_assert(sizeof(struct hook) == 1 << HOOK_SHIFT, "enter.S");
_Static_assert(sizeof(struct tally) == 1 << HOOK_SHIFT && offsetof(struct tally, calls) == 0,
               "enter.S");

void first_hook(void)
{
    take_counters();
    if (program.by_argument)
        begin_counting_calls();
}

/* While hops rest, only hooks run code of the runtime: one of them notices that the rest is over.
 */
static inline void look_for_watchdog(void)
{
    uint64_t due = __atomic_load_n(&watchdog_is_due, __ATOMIC_RELAXED);
    /* A new thread inherits its creator's rights, which may be those of one client. */
    if (UNLIKELY(due != 0 && !self.bound && clock_now() >= due))
        watch.call();
}

void enter_slowly(uint32_t hook, uintptr_t at)
{
    const struct backend *backend = __atomic_load_n(&program.backend, __ATOMIC_RELAXED);
    if (UNLIKELY(backend == &off_backend)) {
        take_over(backend);
        return;
    }
    struct tally *tallies = self.tallies;
    if (UNLIKELY(tallies == NULL)) {
        first_hook();
        tallies = self.tallies;
    }
    bump(&tallies[hook].calls);
    if (backend == &count_backend && auto_is_on()) {
        look_for_watchdog();
        if (self.backend != backend)
            take_over(backend);
        return;
    }
    const struct hook *entered = &program.hooks[hook];
    if (UNLIKELY(entered->mode == IS_COUNTED))
        return;
    if (program.goes_back && !begin_call(hook, at))
        return;
    int32_t core = entered->argument == 0 ? entered->core : core_by_argument(&hook, at);
    if (core < 0 || (self.core == core && self.backend == backend))
        return;
    backend->hop(&tallies[hook].hops, core);
}
