/*
 * How long a core's holder waits awake (spin_policy.c), and how (mwait.c).
 */
#ifndef COREHOP_SPIN_POLICY_H
#define COREHOP_SPIN_POLICY_H

#include "cores.h"

/* spin_policy.c */
void prepare_spin_policy(void);
/* Whether the kernel ran something else on the CPU, given the time between two readings of the
 * clock. */
bool was_away(uint64_t between);
/* How long a core's holder waits awake, in cycles. */
uint64_t longest_wait(const struct core *core);
/* Its holder had no fiber to run for that long. */
void learn_gap(struct core *core, uint64_t gap);

/* How a core's carriers have waited: microseconds awake, and how often they slept and were woken by
 * a thread. Cores are numbered across all teams. */
struct waits {
    uint64_t spun_us, parks, wakes;
};
struct waits waits_of(uint32_t core);
/* Processor time that all carriers have spent waiting awake, in cycles. */
uint64_t cycles_waited(void);

/* mwait.c */
/* The instruction by which carriers wait, once they have waited for a while. */
const char *way_to_wait(void);
void prepare_mwait(void);
/* In a wait that has lasted `waited` cycles of at most `longest`: stops the CPU for a while, or
 * until a fiber comes to the holder's run queue. Returns at once if it cannot. */
void mwait(const struct core *core, uint64_t waited, uint64_t longest);

#endif
