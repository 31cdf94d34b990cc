/*
 * CPUs that the kernel takes from the plan while the server runs: offline, or removed from its
 * cpuset.
 *
 * The kernel then moves the carrier that was pinned there to any allowed CPU. Mostly another
 * carrier of the same team already runs there, and the two only delay each other. The thread's mask
 * is the only sign of that. So while threads hop, the watchdog reads the mask of each core's
 * holder. If the mask lacks the holder's CPU, the CPU is lost, and the team stops hopping, as it
 * does when other programs use its CPUs (load.c). If the mask has this CPU among others, the CPU is
 * back, because the kernel widens the masks of threads that it moves. The holder is then pinned
 * again. Rejected: to pin it whatever its mask is, since whoever moves a server with taskset does
 * so on purpose; and to choose another CPU, since other cores or teams already use the others.
 */
#define _GNU_SOURCE
#include "load.h"
#include "processors.h"

#include <asm/unistd.h>

/* For each core of each team, what has been reported. */
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
