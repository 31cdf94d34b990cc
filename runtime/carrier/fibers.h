/*
 * Threads as fibers, and the list of them all (fibers.c).
 */
#ifndef COREHOP_FIBERS_H
#define COREHOP_FIBERS_H

#include "cores.h"

struct scheduling own_scheduling(void);
/* The calling thread as a fiber. Its home runs `run_home` while it is away. NULL without memory, or
 * if the thread may not be a fiber. */
struct fiber *enlist(void (*run_home)(void *));
void discharge(struct fiber *fiber);
/* Called by the carrier when a fiber is to continue at home. Nothing accesses the fiber afterwards.
 */
void send_home(struct fiber *fiber);
void call_everyone_home(void);
/* The number of threads that are away, or have declined a hop since this look of load.c. */
uint32_t threads_under_way(uint32_t look);
/* Brings a thread home for good. The thread is given by its FS base or its kernel id. */
void detain(uintptr_t thread);
void fibers_forked(struct fiber *own);

#endif
