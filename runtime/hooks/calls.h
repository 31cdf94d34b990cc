/*
 * The functions at the end of whose calls threads go back (calls.c).
 */
#ifndef COREHOP_CALLS_H
#define COREHOP_CALLS_H

#include "thread_state.h"

/* A thread comes to a function's entry; false if it is to stay where it is. */
bool begin_call(uint32_t hook, uintptr_t at);
/* What is below that place on the stack was left without a return. */
void leave_below(uintptr_t place);
struct ending ending_of(uint32_t hook);

/* Takes off what was left below a place on the stack; the core to go back to, or -1. */
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
