/*
 * CPUs that the kernel takes from the plan while the server runs: offline, or out of its cpuset.
 *
 * The kernel then moves the carrier that was pinned there to wherever it may run, mostly beside
 * another of its team, where the two only keep each other waiting. It tells that by the thread's
 * mask alone. So while threads hop the watchdog reads the mask of each core's holder. One without
 * its CPU has lost it, and the team stops hopping as it does where other programs use its CPUs
 * (load.c). One with its CPU among others has it back: the kernel widens the masks of those that it
 * moves. It is pinned again. Rejected: to pin it whatever its mask says, since who has moved a
 * server with taskset means it; and to choose another CPU, which other cores or teams have already.
 */
#define _GNU_SOURCE
#include "load.h"
#include "processors.h"

#include <asm/unistd.h>

/* Of each core of each team, what has been said. */
static bool *is_lost;

bool prepare_lost(void)
{
    is_lost = map_memory(core_count() * sizeof *is_lost);
    return is_lost != NULL;
}

static bool is_only(const struct mask *mask, uint32_t cpu)
{
    const struct mask only = mask_of(cpu);
    for (size_t i = 0; i < MASK_WORDS; i++)
        if (mask->words[i] != only.words[i])
            return false;
    return true;
}

static void say(uint32_t number, bool lost)
{
    uint32_t cpu = pool.cores[number].processor;
    if (is_lost[number] == lost)
        return;
    is_lost[number] = lost;
    if (lost)
        complain("CPU %u is offline, or this process may not use it any more: its threads stay "
                 "where the kernel puts them",
                 cpu);
    else
        complain("CPU %u is back: threads hop again", cpu);
}

bool has_lost_cpu(uint32_t number, int thread)
{
    struct mask mask = {{0}};
    uint32_t cpu = pool.cores[number].processor;
    if (system_call(__NR_sched_getaffinity, thread, sizeof mask, (long)&mask, 0, 0, 0) <= 0)
        return false;
    bool lost = !has_cpu(&mask, cpu);
    if (!lost && !is_only(&mask, cpu))
        pin(thread, cpu);
    say(number, lost);
    return lost;
}
