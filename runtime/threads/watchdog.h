/*
 * The runtime's own thread (watchdog.c). watch.c has its work, which few other files need.
 */
#ifndef COREHOP_WATCHDOG_H
#define COREHOP_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

/* Its work belongs to higher layers; start.c sets it here before any hook opens. */
struct watch {
    void (*keep)(void *); /* watch.c: what the thread runs; takes nothing */
    void (*call)(void);   /* pool.c: starts it, once it is due */
};
extern struct watch watch;

bool start_watchdog(void);
/* The time in cycles at which a hook should start it again after it ended without work; 0 for
 * never. */
extern uint64_t watchdog_is_due;
/* Nonzero while it sleeps until it is woken. */
extern uint32_t watchdog_sleeps;
void wake_watchdog(void);
bool watchdog_runs(void);
/* It is about to end, and should be started again at that time. */
void watchdog_leaves(uint64_t until);
void await_watchdog(void);
void watchdog_forked(void);

#endif
