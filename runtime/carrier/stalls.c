/*
 * Cores whose fiber makes no progress while others wait behind it.
 *
 * A fiber that blocks in the kernel, or computes without end, holds up its core. The fiber itself
 * cannot report that. So the watchdog compares what it sees of each core with what it saw before. A
 * core at which nothing has changed gets another carrier (pool.c). If the kernel has no more
 * threads, the waiting fibers go home.
 */
#define _GNU_SOURCE
#include "stalls.h"
#include "fibers.h"
#include "load.h"
#include "pool.h"
#include "ring.h"
#include "run_queue.h"

#include <asm/unistd.h>

/* What the watchdog saw of a core when it last looked. */
struct sight {
    uintptr_t holder;
    uint64_t runs;
    uint64_t used_ns; /* processor time of the holder */
    uint64_t since;   /* when it was first seen to run this fiber */
};

/* After this time, others get the core of a fiber that keeps running: it may be waiting for one of
 * them in a loop. A fiber that blocks loses the core at the next look. */
#define PATIENCE_US 5000

static struct sight *sights;

bool prepare_stalls(uint32_t cores)
{
    sights = map_memory(cores * sizeof *sights);
    return sights != NULL;
}

/* Processor time that a carrier has used. It does not increase while its fiber blocks. */
static uint64_t processor_time_ns(uintptr_t holder)
{
    const struct carrier *carrier = (const struct carrier *)(holder & ~RUNNING);
    /* The kernel's number of a thread's clock, made unsigned since C must not shift negative
     * numbers. */
    uint64_t of_thread = ~(uint64_t)carrier->thread.id << 3 | 6;
    long time[2] = {0};
    system_call(__NR_clock_gettime, (long)of_thread, (long)time, 0, 0, 0, 0);
    return (uint64_t)time[0] * 1000000000 + (uint64_t)time[1];
}

/* Whether any thread waits for the holder of a core. `blocks` means that the holder's fiber blocks:
 * then threads may also wait in the core's ring for completions that only the holder would see. */
static bool is_awaited(const struct core *core, bool blocks)
{
    return has_fibers(core) || __atomic_load_n(&core->ready, __ATOMIC_RELAXED) != NULL ||
           (core->ring != NULL && needs_holder(core, blocks));
}

static bool is_held_up(uint32_t team, struct core *core, struct sight *sight)
{
    struct sight last = *sight;
    *sight = (struct sight){
        .holder = __atomic_load_n(&core->holder, __ATOMIC_ACQUIRE),
        .runs = __atomic_load_n(&core->runs, __ATOMIC_RELAXED),
    };
    if ((sight->holder & RUNNING) == 0)
        return false;
    sight->used_ns = processor_time_ns(sight->holder);
    sight->since = clock_now();
    if (last.holder != sight->holder || last.runs != sight->runs)
        return false;
    bool blocks = sight->used_ns == last.used_ns;
    bool runs_on = sight->since - last.since >= cycles_of(PATIENCE_US);
    sight->since = last.since;
    bool is_wanted = is_awaited(core, false);
    if (blocks && is_wanted)
        keep_queues_short(team);
    return blocks || (runs_on && is_wanted);
}

/* If the kernel has no more threads, those that wait behind a blocking fiber run at home. By then
 * the fiber's carrier may have finished and become a spare, which the watchdog finds at its next
 * look. */
static void send_queue_home(struct core *core, uintptr_t holder)
{
    static struct carrier nobody;
    uintptr_t mine = (uintptr_t)&nobody | RUNNING;
    struct fiber *fiber;
    if (!__atomic_compare_exchange_n(&core->holder, &holder, mine, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    if (core->ring != NULL && !submit_requests(core, true))
        take_results(core);
    while ((fiber = take_waiting(core)) != NULL) {
        if (fiber->left_wait != 0)
            cancel_wait(core, fiber);
        send_home(fiber);
    }
    __atomic_store_n(&core->holder, holder, __ATOMIC_RELEASE);
}

enum sighting relieve_stalls(void)
{
    enum sighting seen = NOBODY_WAITS;
    if (!__atomic_load_n(&pool.open, __ATOMIC_ACQUIRE))
        return seen;
    for (uint32_t i = 0; i < core_count(); i++) {
        struct core *core = &pool.cores[i];
        if (!is_awaited(core, (__atomic_load_n(&core->holder, __ATOMIC_RELAXED) & RUNNING) != 0)) {
            sights[i].holder = 0;
            continue;
        }
        if (is_held_up(i / program.cores, core, &sights[i])) {
            if (!relieve_core(core, sights[i].holder))
                send_queue_home(core, sights[i].holder);
            seen = STALL;
        } else if (seen == NOBODY_WAITS) {
            seen = SOME_WAIT;
        }
    }
    return seen;
}
