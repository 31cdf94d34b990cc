/*
 * A core's inbox: travellers pushed by anyone, taken in order by the core's holder.
 *
 * Pushing is one compare-and-swap on a list of newest first. The holder takes the whole list at
 * once and turns it round, so each traveller is touched twice and none overtakes another. An empty
 * inbox is watched for SPIN_US, about what waking a sleeper costs, and then slept on; since only
 * the holder waits, at most one carrier a core spins. Rejected: a ring, which needs room for the
 * most travellers there may ever be.
 */
#include "carrier.h"

#define SPIN_US 50
/* Looks at the inbox for each look at the clock. */
#define LOOKS 32

void hand_over(struct core *core, struct traveller *traveller)
{
    struct traveller *head = __atomic_load_n(&core->inbox, __ATOMIC_RELAXED);
    do
        traveller->next = head;
    while (!__atomic_compare_exchange_n(&core->inbox, &head, traveller, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
    /* The traveller may be gone by now. */
    if (UNLIKELY(__atomic_load_n(&core->asleep, __ATOMIC_RELAXED)) &&
        __atomic_exchange_n(&core->asleep, 0, __ATOMIC_SEQ_CST))
        futex_wake(&core->asleep, 1);
    else if (UNLIKELY((__atomic_load_n(&core->holder, __ATOMIC_RELAXED) & RUNNING) != 0))
        wake_keeper();
}

struct traveller *take_waiting(struct core *core)
{
    struct traveller *ready = core->ready;
    if (ready == NULL && __atomic_load_n(&core->inbox, __ATOMIC_RELAXED) != NULL) {
        struct traveller *taken = __atomic_exchange_n(&core->inbox, NULL, __ATOMIC_ACQUIRE);
        while (taken != NULL) {
            struct traveller *newer = taken;
            taken = newer->next;
            newer->next = ready;
            ready = newer;
        }
    }
    if (ready != NULL)
        __atomic_store_n(&core->ready, ready->next, __ATOMIC_RELAXED);
    return ready;
}

static bool has_work(const struct core *core)
{
    return __atomic_load_n(&core->inbox, __ATOMIC_ACQUIRE) != NULL ||
           __atomic_load_n(&crew.retire, __ATOMIC_RELAXED) != 0;
}

void wait_for_work(struct core *core)
{
    uint64_t began = clock_now(), patience = cycles_of(SPIN_US);
    do {
        for (int looks = 0; looks < LOOKS; looks++) {
            if (has_work(core))
                return;
            __builtin_ia32_pause();
        }
    } while (clock_now() - began < patience);
    __atomic_store_n(&core->asleep, 1, __ATOMIC_SEQ_CST);
    if (!has_work(core))
        futex_wait(&core->asleep, 1, NULL);
    __atomic_store_n(&core->asleep, 0, __ATOMIC_SEQ_CST);
}
