/*
 * The carrier backend: a hop hands the thread, as it is, to a kernel thread on the other core. That
 * kernel thread, the carrier, is a worker in the sense of M:N threading.
 *
 * A hop needs no system call and no scheduler. The thread's registers are saved in memory, and its
 * address goes into the core's run queue. The carrier that watches the run queue continues the
 * thread. That costs a fraction of a microsecond while the carrier spins. The price is that the
 * program's thread is no longer one kernel thread. cores.h explains how the runtime hides that, and
 * docs/reference/carrier.md lists the limits.
 *
 * Therefore this backend is used only if it is requested by name. It refuses machines and programs
 * on which it would be wrong. If it meets something that it cannot do, the process falls back to
 * affinity.
 */
#define _GNU_SOURCE
#include "carrier.h"
#include "affinity.h"
#include "fibers.h"
#include "home.h"
#include "load.h"
#include "opening.h"
#include "pool.h"
#include "processors.h"
#include "run_queue.h"
#include "spin_policy.h"
#include "stalls.h"
#include "thread_state.h"
#include "vectors.h"

#include <asm/unistd.h>
#include <cpuid.h>
#include <errno.h>
#include <sys/auxv.h>

#define HAS_FSGSBASE 2
#define SHADOW_STACK_STATUS 0x5005

extern const unsigned int __rseq_size __attribute__((weak));

static const char not_prepared[] = "it was not prepared";
static const char *refusal = not_prepared;

const char *carrier_refusal(void)
{
    return refusal;
}

const char *carrier_found_against(void)
{
    return refusal == not_prepared ? NULL : refusal;
}

bool carriers_are_possible(void)
{
    return refusal == NULL;
}

void give_up(const char *reason)
{
    const char *none = NULL;
    if (!__atomic_compare_exchange_n(&refusal, &none, reason, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return;
    bool is_in_use = program.backend == &carrier_backend;
    if (is_in_use || auto_is_on())
        complain("carrier: %s: from here on affinity", reason);
    if (is_in_use)
        use_backend(&affinity_backend);
}

void give_up_now(const char *reason)
{
    bool has_carriers = refusal == NULL && __atomic_load_n(&pool.open, __ATOMIC_SEQ_CST);
    give_up(reason);
    stay_home();
    if (has_carriers) {
        close_pool();
        reopen_pool();
    }
}

/* Whether the kernel keeps state for this thread that a carrier cannot take over: a GS base, or an
 * area for restartable sequences, which reports on which CPU the thread's *home* is. The only way
 * to learn whether there is an area is to request one. This happens once a thread, so it is not
 * inlined into hop(). */
static __attribute__((noinline)) bool has_own_state(void)
{
    struct {
        uint32_t words[8];
    } __attribute__((aligned(32))) area = {{0}};
    const uint32_t signature = 0x53053053;
    uintptr_t base;
    __asm__ volatile("rdgsbase %0" : "=r"(base));
    if (base != 0)
        return true;
    long result = system_call(__NR_rseq, (long)&area, sizeof area, 0, signature, 0, 0);
    if (result == 0)
        system_call(__NR_rseq, (long)&area, sizeof area, 1, signature, 0, 0);
    else if (result != -ENOSYS)
        give_up("a thread uses restartable sequences");
    return result != 0 && result != -ENOSYS;
}

/* The slow part of a hook: true if the thread may run on carriers at all. */
static bool is_ready(void)
{
    if (self.backend != &carrier_backend)
        take_over(&carrier_backend);
    if (self.stopped || self.handlers != 0)
        return false;
    if (self.fiber != NULL)
        return true;
    if (self.followed && !self.bound && !has_own_state())
        self.fiber = enlist(run_home);
    if (self.fiber != NULL)
        return true;
    self.stopped = true;
    bump(&self.counters->failed_hops);
    return false;
}

/* Moves the calling thread to a core's carrier; false if it is at home instead. */
static inline bool move_to(struct fiber *fiber, struct core *to)
{
    fiber->going = (int32_t)(to - pool.cores);
    fetch(&to->run_queue);
    if (LIKELY(fiber->carrier != NULL))
        leave(fiber, &fiber->carrier->stack);
    else if (!depart(fiber))
        return false;
    if (LIKELY(fiber->carrier != NULL))
        return true;
    come_home(fiber);
    return false;
}

static inline void count_hop(uint64_t *hops, int32_t core)
{
    if (self.counted != core)
        bump(hops);
    self.counted = core;
}

/* The plan would move the thread, but it stays or goes home. Its next hook checks it again. */
static void decline(uint64_t *hops, int32_t core)
{
    self.core = -1;
    if (self.counted != core)
        bump(&self.counters->declined_hops);
    count_hop(hops, core);
}

static void hop(uint64_t *hops, int32_t core)
{
    if (!is_ready() || self.core == core)
        return;
    struct fiber *fiber = self.fiber;
    struct core *to = core_of(self.team, (uint32_t)core);
    if (UNLIKELY(is_paused(self.team))) {
        go_home(fiber);
        decline(hops, core);
        return;
    }
    /* After a hop that was declined it may be there already. */
    if (LIKELY(fiber->carrier == NULL || fiber->carrier->core != to)) {
        if (UNLIKELY(is_declined(fiber, to))) {
            decline(hops, core);
            return;
        }
        uint64_t began = hop_begins();
        fiber->counters = hops;
        /* This is cheaper than checking whether anybody needs it. */
        fiber->came_by = came_by(hops);
        /* If it is called home on the way, e.g. for a signal, it tries once more. */
        for (int tries = 0; UNLIKELY(!move_to(fiber, to)); tries++)
            if (tries == 1 || self.stopped)
                return;
        hop_ends(self.counters, began);
    }
    self.core = core;
    count_hop(hops, core);
}

static const char *reason_against(void)
{
    uint32_t a, b, c, d;
    uint64_t shadow = 0;
    if (program.refusal != NULL)
        return program.refusal;
    if (!program.is_starting)
        return "the program had started before its first patched file was loaded";
    __cpuid(1, a, b, c, d);
    if ((getauxval(AT_HWCAP2) & HAS_FSGSBASE) == 0)
        return "this machine or kernel has no FSGSBASE";
    if ((c & bit_OSXSAVE) == 0 || !prepare_vectors())
        return "this machine or kernel has no XSAVE";
    if (system_call(__NR_arch_prctl, SHADOW_STACK_STATUS, (long)&shadow, 0, 0, 0, 0) == 0 &&
        (shadow & 1) != 0)
        return "this program runs with a shadow stack";
    if (&__rseq_size != NULL && __rseq_size != 0)
        return "libc uses restartable sequences (start the program with "
               "GLIBC_TUNABLES=glibc.pthread.rseq=0)";
    const uint32_t *processors = choose_processors();
    if (processors == NULL)
        return "no CPUs to use";
    if (!prepare_pool(processors) || !prepare_stalls(core_count()) || !prepare_load())
        return "no memory";
    prepare_run_queues();
    prepare_order();
    prepare_spin_policy();
    prepare_mwait();
    if (!prepare_home())
        return "signal 16, which it needs, is in use";
    return NULL;
}

static bool prepare(void)
{
    refusal = reason_against();
    return refusal == NULL;
}

static void let_go(void)
{
    if (self.fiber != NULL)
        go_home(self.fiber);
}

static void forked(void)
{
    fibers_forked(self.fiber);
    load_forked();
    order_forked();
}

const struct backend carrier_backend = {
    .name = "carrier",
    .hop = hop,
    .prepare = prepare,
    .leave = let_go,
    .forked = forked,
};
