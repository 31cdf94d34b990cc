/*
 * How a core's holder waits awake: for how long (spin_policy.c), and how (mwait.c).
 */
#ifndef COREHOP_SPIN_POLICY_H
#define COREHOP_SPIN_POLICY_H

#include "cores.h"

/* spin_policy.c */
void prepare_spin_policy(void);
/* Whether the kernel had the CPU do something else, that long between two looks at the clock. */
bool was_away(uint64_t between);
/* How long a core's holder waits awake, in cycles. */
uint64_t longest_wait(const struct core *core);
/* Its holder had nobody to carry for so long. */
void learn_gap(struct core *core, uint64_t gap);

/* How a core's carriers have waited: microseconds awake, and how often they slept and
 * were woken by a thread. Cores are numbered through all teams. */
struct waits {
    uint64_t spun_us, parks, wakes;
};
struct waits waits_of(uint32_t core);
/* Processor time for which all carriers have waited awake, in cycles. */
uint64_t cycles_waited(void);

/* mwait.c */
/* By which instruction carriers wait, once they have waited for a while. */
const char *way_to_wait(void);
void prepare_mwait(void);
/* In a wait that has lasted for so many of at most so many cycles, all of the holder's run queue:
 * stops the CPU for a while, or until a fiber comes; where it cannot, returns at once. */
void mwait(const struct core *core, uint64_t waited, uint64_t longest);

#endif
