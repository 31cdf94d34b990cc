/*
 * The affinity backend: a hop is one sched_setaffinity call of the calling thread.
 *
 * The kernel moves the thread. Everything that the program may rely on stays as it was: thread id,
 * signal mask, thread-local storage, errno. One hop costs tens of microseconds, so this backend
 * helps only with longer phases. The runtime remembers the core on which it last put a thread. A
 * hook on the right core then costs a few nanoseconds and no system call.
 *
 * A signal handler may run hooked functions during a hop and move the thread too. The remembered
 * core and the real one must agree, whichever finishes last. Therefore the core is remembered
 * first, and the call is repeated if a handler has changed it in between.
 *
 * Pinning has a consequence: a thread or process that a hopped thread creates would inherit its
 * single CPU, and a query of its mask would return that CPU. So pthread_create, fork, and all other
 * calls that start programs or threads (interposed.h) or query a mask (places.c) see the program's
 * own mask. The next hook pins the thread again. A thread that somebody else has placed is no
 * longer moved: it, another thread, or another process may set its affinity, by whatever call.
 * Therefore each hop first asks the kernel for the mask, which costs little beside the move.
 */
#define _GNU_SOURCE
#include "affinity.h"
#include "thread_state.h"
#include "processors.h"

#include <asm/unistd.h>
#include <stdlib.h>

/* One mask per plan core, team after team. */
static struct mask *masks;

static long set_mask(const struct mask *mask)
{
    return system_call(__NR_sched_setaffinity, 0, (long)mask_size, (long)mask, 0, 0, 0);
}

/* In move(), which a handler may interrupt: the remembered core and the mask may differ. */
static __thread bool is_moving __attribute__((tls_model("initial-exec")));

static bool stays_placed(void)
{
    note_placed(self.counters->owner);
    self.core = -1;
    return self.bound = self.stopped = true;
}

/* Whether the thread has another mask than the runtime gave it, or another thread gave it one that
 * may be the same. Then it stays there for good. */
static bool is_placed(void)
{
    struct mask mask;
    const struct mask *own = &own_mask;
    int32_t core;
    if (UNLIKELY(is_moving))
        return false;
    if (UNLIKELY(__atomic_load_n(&self.counters->is_placed, __ATOMIC_RELAXED)))
        return stays_placed();
    do {
        core = __atomic_load_n(&self.core, __ATOMIC_RELAXED);
        if (system_call(__NR_sched_getaffinity, 0, (long)mask_size, (long)&mask, 0, 0, 0) < 0)
            return false;
    } while (UNLIKELY(__atomic_load_n(&self.core, __ATOMIC_RELAXED) != core));
    if (core >= 0)
        own = &masks[self.team * program.cores + core];
    return UNLIKELY(!is_same_mask(&mask, own)) && stays_placed();
}

/* Moves the thread to `core`; true if it is there. Otherwise it stops hopping, and may run again
 * wherever the program may. */
static bool move(int32_t core)
{
    is_moving = true;
    __atomic_store_n(&self.counters->is_moved, 1, __ATOMIC_RELAXED);
    do {
        __atomic_store_n(&self.core, core, __ATOMIC_RELAXED);
        if (UNLIKELY(set_mask(&masks[self.team * program.cores + core]) < 0)) {
            self.stopped = true;
            self.core = -1;
            is_moving = false;
            set_mask(&own_mask);
            return false;
        }
    } while (UNLIKELY(__atomic_load_n(&self.core, __ATOMIC_RELAXED) != core));
    is_moving = false;
    return true;
}

static void hop_to(uint64_t *hops, int32_t core)
{
    uint64_t began = hop_begins();
    if (!move(core)) {
        bump(&self.counters->failed_hops);
        return;
    }
    hop_ends(self.counters, began);
    if (self.counted != core)
        bump(hops);
    self.counted = core;
}

static void hop(uint64_t *hops, int32_t core)
{
    if (self.backend != &affinity_backend)
        take_over(&affinity_backend);
    if (self.stopped || !begin_calls())
        return;
    if (!is_placed())
        hop_to(hops, core);
    end_calls();
}

static bool prepare(void)
{
    const uint32_t *processors = choose_processors();
    if (processors == NULL)
        return false;
    uint32_t cores = program.teams * program.cores;
    masks = calloc(cores, sizeof *masks);
    if (masks == NULL) {
        complain("no memory for the masks of %u cores: running without hops", cores);
        return false;
    }
    for (uint32_t core = 0; core < cores; core++)
        masks[core] = mask_of(processors[core]);
    return true;
}

/* Between these two the calling thread may run anywhere the program may. */
void affinity_suspend(void)
{
    if (self.backend != &affinity_backend || self.core < 0 || !begin_calls())
        return;
    if (!is_placed())
        set_mask(&own_mask);
    end_calls();
}

void affinity_release(void)
{
    affinity_suspend();
    if (self.backend == &affinity_backend)
        self.core = -1;
}

void affinity_resume(void)
{
    if (self.backend != &affinity_backend || self.core < 0 || !begin_calls())
        return;
    move(self.core);
    end_calls();
}

/* Whether hops gave the thread with these counters this mask, as far as the mask shows. */
static bool is_hopped(const struct thread_counters *counters, const struct mask *mask)
{
    bool is_ours = false;
    for (uint32_t core = 0; masks != NULL && core < program.teams * program.cores; core++)
        is_ours |= is_same_mask(mask, &masks[core]);
    return is_ours && __atomic_load_n(&counters->is_moved, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&counters->is_placed, __ATOMIC_RELAXED);
}

bool affinity_hides(int thread, const struct mask *mask)
{
    const struct thread_counters *counters = thread == 0 ? NULL : counters_of_thread(thread);
    return counters != NULL && is_hopped(counters, mask);
}

void affinity_ends(void)
{
    long process = system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    end_calls_for_good();
    if (masks == NULL)
        return;
    for (const struct thread_counters *of = all_counters(); of != NULL; of = of->next) {
        struct mask mask;
        int thread = __atomic_load_n(&of->owner, __ATOMIC_RELAXED);
        /* An ended thread's id may be that of another process. */
        if (thread == 0 || system_call(__NR_tgkill, process, thread, 0, 0, 0, 0) != 0)
            continue;
        long size =
            system_call(__NR_sched_getaffinity, thread, (long)mask_size, (long)&mask, 0, 0, 0);
        if (size > 0 && is_hopped(of, &mask))
            system_call(__NR_sched_setaffinity, thread, (long)mask_size, (long)&own_mask, 0, 0, 0);
    }
}

const struct backend affinity_backend = {
    .name = "affinity",
    .hop = hop,
    .prepare = prepare,
    .leave = affinity_suspend,
    .forked = affinity_suspend,
};
