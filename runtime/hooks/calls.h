/*
 * Functions whose calls are delegated: at their end, threads return to their core (calls.c).
 */
#ifndef COREHOP_CALLS_H
#define COREHOP_CALLS_H

#include "thread_state.h"

/* A thread arrives at a function's entry; false if it must stay where it is. */
bool begin_call(uint32_t hook, uintptr_t at);
/* All calls below that stack address were left without a return. */
void leave_below(uintptr_t place);
struct ending ending_of(uint32_t hook);

/* Removes the calls left below a stack address. Returns the core to return to, or -1. */
static inline int32_t drop_below(uintptr_t at)
{
    int32_t core = -1;
    while (self.open->at < at) {
        const struct call *call = self.open;
        core = call->came_from;
        bump(&self.endings[call->hook].unwound);
        self.open--;
    }
    return core;
}

#endif
