/*
 * How a core's holder waits: awake for as long as spin_policy.c decides, and then asleep, in its
 * ring if it has one. Only the holder waits, so at most one carrier per core spins.
 */
#include "spin_policy.h"
#include "ring.h"
#include "run_queue.h"

/* Number of polls of the run queue per reading of the clock. */
#define LOOKS 32

/* A wait that began at that time has ended; the holder was awake for `awake` of it. */
static void count_wait(struct core *core, uint64_t began, uint64_t awake)
{
    __atomic_store_n(&core->waited, core->waited + awake, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&pool.retire, __ATOMIC_RELAXED))
        learn_gap(core, clock_now() - began);
}

void wait_for_work(struct core *core)
{
    uint64_t began = clock_now(), waited = 0, longest = longest_wait(core);
    change(core, BUSY, WATCHED);
    while (waited < longest) {
        for (int looks = 0; looks < LOOKS; looks++) {
            if (has_fibers(core) || __atomic_load_n(&pool.retire, __ATOMIC_RELAXED) ||
                UNLIKELY(core->ring != NULL && has_results(core))) {
                /* A wait that has just begun does not justify a reading of the clock. */
                if (UNLIKELY(waited != 0))
                    count_wait(core, began, waited);
                return;
            }
            __builtin_ia32_pause();
        }
        uint64_t before = waited;
        waited = clock_now() - began;
        if (UNLIKELY(was_away(waited - before))) {
            core->longest_spin = 0;
            break;
        }
        mwait(core, waited, longest);
    }
    if (core->ring != NULL) {
        sleep_in_ring(core);
    } else if (change(core, WATCHED, ASLEEP)) {
        bump(&core->parks);
        /* An arriving fiber changes the word's lower half, on which the holder sleeps. */
        if (!__atomic_load_n(&pool.retire, __ATOMIC_SEQ_CST))
            futex_wait((uint32_t *)&core->run_queue, ASLEEP, NULL);
        if (!change(core, ASLEEP, WATCHED))
            bump(&core->wakes);
    }
    count_wait(core, began, waited);
}
