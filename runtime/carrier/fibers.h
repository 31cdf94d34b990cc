/*
 * Threads as fibers, and the list of them all (fibers.c).
 */
#ifndef COREHOP_FIBERS_H
#define COREHOP_FIBERS_H

#include "cores.h"

struct scheduling own_scheduling(void);
/* The calling thread as a fiber, whose home runs that while it is away; NULL without memory, or
 * where it may not be one. */
struct fiber *enlist(void (*run_home)(void *));
void discharge(struct fiber *fiber);
/* By the carrier, when a fiber is to go on at home. Nothing of it is touched afterwards. */
void send_home(struct fiber *fiber);
void call_everyone_home(void);
/* Threads that are away, or have declined a hop since this look of load.c. */
uint32_t threads_under_way(uint32_t look);
/* Brings a thread home, for good: by its FS base, or its kernel id. */
void detain(uintptr_t thread);
void fibers_forked(struct fiber *own);

#endif
