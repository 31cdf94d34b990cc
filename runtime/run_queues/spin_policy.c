/*
 * How long a carrier with nobody to carry waits awake before it sleeps.
 *
 * Waking a sleeper costs tens of microseconds, in a virtual machine more, and a CPU that halts may
 * lose its caches to a neighbour: what the hop was made for. While a thread runs one phase of a
 * request elsewhere, this core's phase is over for as long as that takes, and it is mostly back
 * after about as long as last time. So each core remembers how long its gaps have been, and its
 * carrier waits awake for twice the longest that it has met lately, from SHORTEST_US, about what
 * waking costs, up to LONGEST_US. A gap longer than that is a server with nothing to do, or one
 * that would burn more in waiting than it could gain: it teaches the core to wait for less, a
 * quarter at each, so that a server's timers soon find it asleep. After the last request no carrier
 * is awake for longer than LONGEST_US.
 *
 * A carrier that waits awake on a CPU that others want is set aside by the kernel for milliseconds,
 * while one that sleeps is let in as soon as it is woken. So one whose clock has jumped between two
 * looks goes to sleep at once, and its core begins anew with the shortest wait, which then at most
 * doubles from gap to gap. COREHOP_SPIN_US=N has every core wait for N microseconds, whatever its
 * gaps. Rejected: to offer the CPU by sched_yield, which gives it away for as long; and to ask
 * whether some thread is in the middle of a request: one that blocks in the kernel looks like one
 * that runs, and to tell them apart takes a system call at each.
 */
#define _GNU_SOURCE
#include "spin_policy.h"
#include "settings.h"

#define SHORTEST_US 50
#define LONGEST_US 20000
/* Looks at the clock lie a microsecond or two apart. */
#define AWAY_US 100
/* Of what a wait was too long by, so much less at each shorter gap. */
#define FORGETTING 64

static uint64_t shortest, longest, away;

void prepare_spin_policy(void)
{
    const uint64_t none = UINT64_MAX;
    uint64_t chosen = number_from("COREHOP_SPIN_US", 1000000, none);
    shortest = cycles_of(chosen == none ? SHORTEST_US : chosen);
    longest = cycles_of(chosen == none ? LONGEST_US : chosen);
    away = cycles_of(AWAY_US);
}

bool was_away(uint64_t between)
{
    return between > away && shortest < longest;
}

uint64_t longest_wait(const struct core *core)
{
    uint64_t wait = core->longest_spin;
    return wait < shortest ? shortest : wait > longest ? longest : wait;
}

void learn_gap(struct core *core, uint64_t gap)
{
    uint64_t spin = longest_wait(core), wanted = 2 * gap;
    if (gap > longest)
        spin -= spin / 4;
    else if (wanted > spin)
        spin = wanted < 2 * spin ? wanted : 2 * spin;
    else
        spin -= (spin - wanted) / FORGETTING;
    core->longest_spin = spin;
}

uint64_t cycles_waited(void)
{
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < core_count(); i++)
        cycles += __atomic_load_n(&pool.cores[i].waited, __ATOMIC_RELAXED);
    return cycles;
}

struct waits waits_of(uint32_t core)
{
    if (pool.cores == NULL)
        return (struct waits){0};
    const struct core *of = &pool.cores[core];
    return (struct waits){
        .spun_us = nanoseconds_of(__atomic_load_n(&of->waited, __ATOMIC_RELAXED)) / 1000,
        .parks = __atomic_load_n(&of->parks, __ATOMIC_RELAXED),
        .wakes = __atomic_load_n(&of->wakes, __ATOMIC_RELAXED),
    };
}
