/*
 * Delegated calls: at their end, the thread returns to the core from which it came.
 *
 * Each thread keeps its open calls in the order of its stack: the address at which each return
 * address lies, and the core on which the thread was. The stack determines the rest. A return ends
 * the call whose return address it is about to use. If an entry finds an open call at the same
 * stack address with the same return address, a jump within that call led there. It continues that
 * call. Calls below the stack pointer were left by an exception or a longjmp past them. The thread
 * then returns to the core from which the outermost of them came. The next hook detects that, or
 * interposers.c if it sees the unwinding end. A replay uses the same rules to find where calls end
 * (traces/src/read/calls.rs).
 *
 * In a signal handler, which may have its own stack, no call begins or ends. A thread that changes
 * stacks leaves its calls: it stays where it is, and their ends find nothing to do.
 *
 * Rejected: to overwrite the return address, which breaks debuggers and exceptions.
 */
#include "calls.h"
#include "backend.h"
#include "hooks.h"
#include "offsets.h"

_Static_assert(offsetof(struct thread_state, open) == STATE_OPEN, "enter.S");
_Static_assert(offsetof(struct thread_state, last_open) == STATE_LAST_OPEN, "enter.S");
_Static_assert(offsetof(struct thread_state, endings) == STATE_ENDINGS, "enter.S");
_Static_assert(offsetof(struct thread_state, counted) == STATE_COUNTED, "enter.S");
_Static_assert(offsetof(struct thread_state, handlers) == STATE_HANDLERS, "enter.S");
_Static_assert(offsetof(struct hook, mode) == HOOK_CORE + HOOK_MODE_BIT / 8, "enter.S");
_Static_assert(offsetof(struct call, at) == CALL_AT, "enter.S");
_Static_assert(offsetof(struct call, returns_to) == CALL_RETURNS_TO, "enter.S");
_Static_assert(offsetof(struct call, hook) == CALL_HOOK, "enter.S");
_Static_assert(offsetof(struct call, came_from) == CALL_CAME_FROM, "enter.S");
_Static_assert(sizeof(struct call) == CALL_SIZE, "enter.S");
_Static_assert(sizeof(struct ending) == 1 << ENDING_SHIFT, "enter.S");
_Static_assert(offsetof(struct ending, returned) == 0, "enter.S");

static void go_back(uint32_t hook, int32_t core)
{
    const struct backend *backend = __atomic_load_n(&program.backend, __ATOMIC_RELAXED);
    if (self.core != core || self.backend != backend)
        backend->hop(&self.endings[hook].hops, core);
}

bool begin_call(uint32_t hook, uintptr_t at)
{
    bool goes_back = program.hooks[hook].mode == GOES_BACK;
    if (UNLIKELY(self.handlers != 0)) {
        if (goes_back)
            bump(&self.endings[hook].stayed);
        return !goes_back;
    }
    uint32_t left = self.open->hook;
    uintptr_t returns_to = *(const uintptr_t *)at;
    bool is_another = self.open->at == at && self.open->returns_to != returns_to;
    int32_t back = drop_below(at + is_another);
    if (!goes_back)
        return true;
    if (self.open->at == at) {
        bump(&self.endings[hook].continued);
        return true;
    }
    if (UNLIKELY(self.open == self.last_open)) {
        bump(&self.endings[hook].stayed);
        if (back >= 0)
            go_back(left, back);
        return false;
    }
    self.open[1] = (struct call){at, returns_to, hook, back >= 0 ? back : self.counted};
    self.open++;
    return true;
}

void leave_slowly(uintptr_t at)
{
    if (UNLIKELY(program.backend == &off_backend)) {
        take_over(&off_backend);
        return;
    }
    if (UNLIKELY(self.handlers != 0))
        return;
    uint32_t hook = self.open->hook;
    int32_t core = drop_below(at);
    if (self.open->at == at) {
        hook = self.open->hook;
        core = self.open->came_from;
        bump(&self.endings[hook].returned);
        self.open--;
    }
    if (core >= 0)
        go_back(hook, core);
}

void leave_below(uintptr_t at)
{
    if (self.open == NULL || self.open->at >= at || self.handlers != 0)
        return;
    if (UNLIKELY(program.backend == &off_backend)) {
        take_over(&off_backend);
        return;
    }
    uint32_t hook = self.open->hook;
    go_back(hook, drop_below(at));
}

struct ending ending_of(uint32_t hook)
{
    struct ending total = {0};
    for (const struct thread_counters *one = all_counters(); one != NULL; one = one->next) {
        if (one->endings == NULL)
            continue;
        const struct ending *ending = &one->endings[hook];
        total.returned += __atomic_load_n(&ending->returned, __ATOMIC_RELAXED);
        total.unwound += __atomic_load_n(&ending->unwound, __ATOMIC_RELAXED);
        total.continued += __atomic_load_n(&ending->continued, __ATOMIC_RELAXED);
        total.stayed += __atomic_load_n(&ending->stayed, __ATOMIC_RELAXED);
        total.hops += __atomic_load_n(&ending->hops, __ATOMIC_RELAXED);
    }
    return total;
}
