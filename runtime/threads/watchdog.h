/*
 * A thread of the runtime's own (watchdog.c); what it watches is in watch.c, which few need.
 */
#ifndef COREHOP_WATCHDOG_H
#define COREHOP_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

/* What it does is of higher layers, which start.c names here before any hook opens. */
struct watch {
    void (*keep)(void *); /* watch.c: what the thread runs; takes nothing */
    void (*call)(void);   /* pool.c: starts it, once it is due */
};
extern struct watch watch;

bool start_watchdog(void);
/* When a hook is to start it, in cycles, since it has ended for want of work; 0 if none is to. */
extern uint64_t watchdog_is_due;
/* Not 0 while it sleeps until somebody wakes it. */
extern uint32_t watchdog_sleeps;
void wake_watchdog(void);
bool watchdog_runs(void);
/* It is about to end, and is to be started again then. */
void watchdog_leaves(uint64_t until);
void await_watchdog(void);
void watchdog_forked(void);

#endif
