/*
 * The interface of objects.c and kth_calls.c: functions that hop by an argument, and functions that
 * hop at single calls of each request.
 */
#ifndef COREHOP_OBJECTS_H
#define COREHOP_OBJECTS_H

#include "thread_state.h"

/* A core number that no thread has. The hook of a function by argument has as its core NO_CORE plus
 * the number of calls before an object gets its core. A hook at a call has NO_CORE plus the core.
 */
#define NO_CORE 0x8000u
static inline uint32_t after_of(uint32_t hook)
{
    return program.hooks[hook].core - NO_CORE;
}

/* hook.argument: one of these. For a function at a call of a request, the number of the call,
 * counted from behind them. */
#define LAST_ARGUMENT 6u

/* hook.mode: another call of the same function as the previous hook. No thread arrives at it. */
#define ANOTHER_CALL 3

/* Counters of a function on one thread. By argument: new objects, calls about objects without a
 * core, and the other calls by core. At a call: how often that call came. The first hook of a
 * function's calls also has the thread's request in which calls are counted, the number of these
 * calls, and how many hooks further the next one is that hops. COUNTERS are enough for either. */
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

/* The core of a call of a function that hops at single calls of each request. Replaces the
 * function's first hook by the hook of that call. Returns -1 if it is another call. */
int32_t core_at_call(uint32_t *hook);
/* Counts a call of such a function at which its thread stays where it is. False, with nothing
 * counted, if it may be another call, or if the thread has no core yet. */
bool stays_between_calls(uint32_t hook);
/* Whether the following hook is for another call of the same function. */
static inline bool has_another_call(uint32_t hook)
{
    return hook + 1 < program.hook_count && program.hooks[hook + 1].mode == ANOTHER_CALL;
}
/* A thread has begun no request yet. */
void begin_counting_calls(void);
/* The number of requests in which that call came. */
uint64_t calls_reached(uint32_t hook);
uint64_t sum_of(uint32_t hook, uint32_t counter);

/* The core of the object that a call is about; -1 without an object, or if the object has no core
 * yet. For functions at single calls, the result of core_at_call(). */
int32_t core_by_argument(uint32_t *hook, uintptr_t at);
void objects_forked(void);
/* The number of objects that came at calls of this function, how many are still known, and its
 * calls. */
uint64_t objects_seen(uint32_t hook);
uint64_t objects_known(uint32_t hook);
/* The number of calls about objects without a core. */
uint64_t early_calls(uint32_t hook);
uint64_t calls_by_core(uint32_t hook, uint32_t core);

#endif
