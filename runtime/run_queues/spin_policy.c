/*
 * How long a carrier without a fiber spins before it sleeps.
 *
 * Waking a sleeping carrier costs tens of microseconds, in a virtual machine more. A CPU that halts
 * may lose its caches to a neighbor, and hops exist for the sake of these caches. While a thread
 * runs one phase of a request elsewhere, this core has a gap of the same length, and the gap is
 * mostly about as long as last time. So each core remembers the lengths of its gaps. Its carrier
 * spins for twice the longest recent gap, from SHORTEST_US, about the cost of waking, up to
 * LONGEST_US. A longer gap means that the server has nothing to do, or that spinning costs more
 * than it can gain. After each such gap the core waits for a quarter less, so that a server's
 * timers soon find it asleep. After the last request no carrier is awake for longer than
 * LONGEST_US.
 *
 * If others want the CPU of a spinning carrier, the kernel suspends the carrier for milliseconds,
 * but one that sleeps runs as soon as it is woken. So a carrier whose clock has jumped between two
 * readings goes to sleep at once. Its core starts over with the shortest wait, which then at most
 * doubles from gap to gap. COREHOP_SPIN_US=N makes every core wait for N microseconds, whatever its
 * gaps. Rejected: to offer the CPU by sched_yield, which gives it away for as long; and to check
 * whether a thread is in the middle of a request. A thread that blocks in the kernel looks like one
 * that runs, and to distinguish them takes a system call each time.
 */
#define _GNU_SOURCE
#include "spin_policy.h"
#include "settings.h"

#define SHORTEST_US 50
#define LONGEST_US 20000
/* Consecutive readings of the clock are a microsecond or two apart. */
#define AWAY_US 100
/* Each shorter gap reduces the excess of the wait by 1/FORGETTING. */
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
