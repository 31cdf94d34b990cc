/*
 * What others use of objects.c and kth_calls.c: the functions that go by an argument, and those
 * that go at single calls of each request.
 */
#ifndef COREHOP_OBJECTS_H
#define COREHOP_OBJECTS_H

#include "thread_state.h"

/* A hook of a function by argument has this and the calls before an object gets its core, as its
 * own core; one at a call has this and the core. */
#define NO_CORE 0x8000u
static inline uint32_t after_of(uint32_t hook)
{
    return program.hooks[hook].core - NO_CORE;
}

/* hook.argument: these, or of a function at a call of a request which call, counted on behind
 * them. */
#define LAST_ARGUMENT 6u

/* hook.mode: of another call of the function that the hook before it is of. Nobody comes by it. */
#define ANOTHER_CALL 3

/* Of a function, on one thread. By argument: the objects that came by it, its calls about objects
 * without a core, and the others by core. At a call: how often that call came; and of the first
 * hook of a function's calls, the thread's request that they are counted in, these calls, and how
 * many hooks behind it the next one is that hops. COUNTERS are enough for either. */
#define CAME 0
#define EARLY 1
#define BY_CORE 2
#define REACHED 0
#define REQUEST 1
#define CALLS 2
#define NEXT 3
static inline uint64_t *counters_of(uint32_t hook)
{
    return self.objects + hook * COUNTERS;
}

/* The core of a call of a function that goes at single calls of each request, and its hook in the
 * place of the function's first one; -1 if it is another. */
int32_t core_at_call(uint32_t *hook);
/* Counts a call of such a function at which its thread stays where it is; false, with nothing
 * counted, where it may be another call, or the thread is nowhere yet. */
bool stays_between_calls(uint32_t hook);
/* The hook that follows is of another call of the same function. */
static inline bool has_another_call(uint32_t hook)
{
    return hook + 1 < program.hook_count && program.hooks[hook + 1].mode == ANOTHER_CALL;
}
/* A thread has begun no request yet. */
void begin_counting_calls(void);
/* In how many requests that call came. */
uint64_t calls_reached(uint32_t hook);
uint64_t sum_of(uint32_t hook, uint32_t counter);

/* The core of the object that a call is about; -1 if it is about none, or about one that has no
 * core yet. Or what core_at_call() says. */
int32_t core_by_argument(uint32_t *hook, uintptr_t at);
void objects_forked(void);
/* How many came at calls of this function, how many of them are known still, and its calls. */
uint64_t objects_seen(uint32_t hook);
uint64_t objects_known(uint32_t hook);
/* Those about objects that had no core yet. */
uint64_t early_calls(uint32_t hook);
uint64_t calls_by_core(uint32_t hook, uint32_t core);

#endif
