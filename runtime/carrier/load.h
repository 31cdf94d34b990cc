/*
 * Hops that respect load (load.c), and CPUs that were lost (cpu_offline.c).
 */
#ifndef COREHOP_LOAD_H
#define COREHOP_LOAD_H

#include "cores.h"

/* load.c */
bool prepare_load(void);
/* Whether a hop would do more harm than good now. The thread then stays or goes home. */
bool is_declined(struct fiber *fiber, const struct core *to);
bool is_paused(uint32_t team);
/* Threads waited for one that blocks on one of the team's cores. */
void keep_queues_short(uint32_t team);
/* Called by the watchdog. Returns the microseconds until the next call, or 0 if no thread has
 * hopped for a while. */
uint64_t look_for_others(void);
void load_forked(void);
/* How often a team has stopped hopping because other programs used its CPUs, and how often it began
 * to keep its queues short because threads block. */
uint64_t pauses_of(uint32_t team);
uint64_t cuts_of(uint32_t team);

/* cpu_offline.c */
bool prepare_lost(void);
/* Whether the kernel keeps this carrier from the CPU of its core. Reports each change, and pins the
 * carrier again once that CPU is allowed. */
bool has_lost_cpu(uint32_t number, int thread);

#endif
