/*
 * The carrier pool: kernel threads that run fibers, at most one at a time on each core, and spares.
 *
 * Carriers are created without libc (bare.c). They do not access thread-local storage, since
 * between fibers the FS base is that of the last fiber.
 *
 * Each starts as a spare and waits to become the holder of its core (cores.h). A fiber that blocks
 * keeps its carrier, so there is one carrier more than there are blocked fibers. Carriers are never
 * freed: one that has ended is started again.
 */
#define _GNU_SOURCE
#include "pool.h"
#include "fibers.h"
#include "processors.h"
#include "ring.h"
#include "run_delay.h"
#include "run_queue.h"
#include "vectors.h"
#include "watchdog.h"

#include <asm/unistd.h>
#include <errno.h>
#include <sys/prctl.h>

#define STACK_SIZE 32768
/* Room for a signal frame, which is as large as all registers, and for what moves it (handlers.c).
 */
#define SIGNAL_STACK_SIZE 65536

/* If the kernel had no thread for the watchdog, the runtime tries again after this time. */
#define RETRY_US 1000000

static struct carrier *carriers;
static uint32_t lock;
static uint64_t stall_count, started_count;

uint64_t stalls(void)
{
    return __atomic_load_n(&stall_count, __ATOMIC_RELAXED);
}

uint64_t carriers_started(void)
{
    return __atomic_load_n(&started_count, __ATOMIC_RELAXED);
}

static void acquire(void)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0)
        system_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
}

static void release(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

struct carrier *carrier_of_thread(int thread)
{
    struct carrier *carrier = __atomic_load_n(&carriers, __ATOMIC_ACQUIRE);
    while (carrier != NULL && __atomic_load_n(&carrier->thread.id, __ATOMIC_RELAXED) != thread)
        carrier = carrier->listed;
    return carrier;
}

bool is_on_signal_stack(const struct carrier *carrier, uintptr_t at)
{
    return at - (uintptr_t)carrier->signal_stack < SIGNAL_STACK_SIZE;
}

/* The fiber has stopped running here. False if another carrier holds the core by then. */
static bool stop(struct carrier *self)
{
    uintptr_t mine = (uintptr_t)self | RUNNING;
    return __atomic_compare_exchange_n(&self->core->holder, &mine, (uintptr_t)self, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The fiber has a request for the ring of the core on which it ran. Only the core's holder uses the
 * ring. */
static bool post(struct carrier *self, struct fiber *fiber)
{
    bool is_holder = stop(self);
    if (is_holder && put_request(self->core, fiber))
        return true;
    fiber->request->result = -ENOSYS;
    hand_over(self->core, fiber);
    return is_holder;
}

/* Runs one fiber until it leaves. False if another carrier holds the core by then. */
static bool run(struct carrier *self, struct fiber *fiber)
{
    struct core *core = self->core;
    self->user = fiber;
    __atomic_store_n(&fiber->carrier, self, __ATOMIC_RELAXED);
    __atomic_store_n(&core->runs, core->runs + 1, __ATOMIC_RELAXED);
    /* A fiber that arrives from now on finds the run queue busy, and wakes the watchdog. */
    __atomic_store_n(&core->holder, (uintptr_t)self | RUNNING, __ATOMIC_RELEASE);
    if (UNLIKELY(core->ready != NULL || (core->ring != NULL && needs_holder(core, true)))) {
        /* Either a watchdog about to sleep sees the waiting fiber, or this thread sees it asleep.
         */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        wake_watchdog();
    }
    __asm__ volatile("wrfsbase %0" : : "r"(fiber->thread_base) : "memory");
    switch_stack(&self->stack, fiber->stack);
    self->user = NULL;
    /* From here on the fiber may run elsewhere at any moment. */
    if (UNLIKELY(fiber->going == TO_RING))
        return post(self, fiber);
    if (UNLIKELY(fiber->going == HOME))
        send_home(fiber);
    else
        hand_over(&pool.cores[fiber->going], fiber);
    return stop(self);
}

/* The next fiber for the holder of a core; NULL when the pool retires. */
static struct fiber *next_fiber(struct core *core)
{
    for (;;) {
        if (UNLIKELY(core->ring != NULL))
            take_results(core);
        struct fiber *fiber = take_waiting(core);
        if (LIKELY(fiber != NULL)) {
            if (UNLIKELY(fiber->left_wait != 0))
                cancel_wait(core, fiber);
            if (LIKELY(!__atomic_load_n(&fiber->wanted_home, __ATOMIC_RELAXED)))
                return fiber;
            send_home(fiber);
        } else if (__atomic_load_n(&pool.retire, __ATOMIC_ACQUIRE)) {
            return NULL;
        } else if (core->ring == NULL || !submit_requests(core, true)) {
            wait_for_work(core);
        }
    }
}

static void become_spare(struct carrier *self)
{
    acquire();
    self->next = self->core->spares;
    self->core->spares = self;
    release();
}

static void prepare_thread(const struct carrier *self)
{
    const stack_t signal_stack = {.ss_sp = self->signal_stack, .ss_size = SIGNAL_STACK_SIZE};
    reset_vectors();
    pin(0, self->core->processor);
    system_call(__NR_sigaltstack, (long)&signal_stack, 0, 0, 0, 0, 0);
    system_call(__NR_prctl, PR_SET_NAME, (long)"corehop-carrier", 0, 0, 0, 0);
    set_signals(BLOCKED_BY_CARRIERS, NULL);
}

static void work(void *argument)
{
    struct carrier *self = argument;
    prepare_thread(self);
    while (!__atomic_load_n(&pool.retire, __ATOMIC_ACQUIRE)) {
        if (__atomic_exchange_n(&self->awake, 0, __ATOMIC_ACQUIRE) == 0) {
            futex_wait(&self->awake, 0, NULL);
            continue;
        }
        struct fiber *fiber;
        while ((fiber = next_fiber(self->core)) != NULL)
            if (UNLIKELY(!run(self, fiber))) {
                become_spare(self);
                break;
            }
    }
    system_call(__NR_exit, 0, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

/* A carrier for `core`, waiting to be woken. The caller holds the lock. NULL if the kernel has no
 * more threads. */
static struct carrier *start_carrier(struct core *core)
{
    struct carrier *carrier = carrier_of_thread(0);
    if (carrier == NULL) {
        uint8_t *memory = map_memory(STACK_SIZE + SIGNAL_STACK_SIZE);
        if (memory == NULL)
            return NULL;
        carrier = (struct carrier *)memory;
        carrier->stack_top = carrier->signal_stack = memory + STACK_SIZE;
        carrier->listed = carriers;
        __atomic_store_n(&carriers, carrier, __ATOMIC_RELEASE);
    }
    carrier->core = core;
    carrier->user = NULL;
    carrier->awake = 0;
    __atomic_store_n(&started_count, started_count + 1, __ATOMIC_RELAXED);
    return start_bare(work, carrier, carrier->stack_top, &carrier->thread) ? carrier : NULL;
}

static void wake(struct carrier *carrier)
{
    __atomic_store_n(&carrier->awake, 1, __ATOMIC_RELEASE);
    futex_wake(&carrier->awake, 1);
}

bool relieve_core(struct core *core, uintptr_t holder)
{
    acquire();
    /* Whoever ends the carriers already has their list by then. */
    if (__atomic_load_n(&pool.retire, __ATOMIC_ACQUIRE)) {
        release();
        return true;
    }
    struct carrier *spare = core->spares != NULL ? core->spares : start_carrier(core);
    if (spare != NULL) {
        bool is_new = spare != core->spares;
        bool taken = __atomic_compare_exchange_n(&core->holder, &holder, (uintptr_t)spare, false,
                                                 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        if (taken && !is_new)
            core->spares = spare->next;
        if (!taken && is_new) {
            spare->next = core->spares;
            core->spares = spare;
        }
        if (taken) {
            wake(spare);
            __atomic_store_n(&stall_count, stall_count + 1, __ATOMIC_RELAXED);
        }
    }
    release();
    return spare != NULL;
}

bool prepare_pool(const uint32_t *processors)
{
    uint32_t cores = program.teams * program.cores;
    pool.cores = map_memory(cores * sizeof *pool.cores);
    if (pool.cores == NULL)
        return false;
    for (uint32_t i = 0; i < cores; i++)
        pool.cores[i].processor = processors[i];
    return true;
}

/* Gives each core of a team a carrier; false if the kernel has no more threads. A thread on one
 * core hops to any other of its team, so all cores open together. Carriers that did start are kept
 * for the next attempt. */
static bool open_team(uint32_t team)
{
    for (uint32_t i = 0; i < program.cores; i++) {
        struct core *core = core_of(team, i);
        if (__atomic_load_n(&core->holder, __ATOMIC_RELAXED) != 0)
            continue;
        struct carrier *carrier = start_carrier(core);
        if (carrier == NULL)
            return false;
        __atomic_store_n(&core->holder, (uintptr_t)carrier, __ATOMIC_RELEASE);
        wake(carrier);
    }
    for (uint32_t i = 0; i < program.cores; i++)
        __atomic_store_n(&core_of(team, i)->open, 1, __ATOMIC_RELEASE);
    return true;
}

/* Called at a team's first departure. False if carriers cannot be started or may not be now. */
bool open_pool(uint32_t team)
{
    acquire();
    bool may = !__atomic_load_n(&pool.closing, __ATOMIC_ACQUIRE), open = false;
    if (may) {
        pool.process = (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
        if (!__atomic_load_n(&pool.open, __ATOMIC_ACQUIRE))
            pool.scheduling = own_scheduling();
        __atomic_store_n(&pool.retire, 0, __ATOMIC_RELEASE);
        /* This comes before the first carrier: carriers that an incomplete attempt started must end
         * with the pool. */
        __atomic_store_n(&pool.open, 1, __ATOMIC_RELEASE);
        open = start_watchdog() && open_team(team);
    }
    release();
    return open;
}

/* Called by a hook, with signals blocked, since a handler may run hooks. */
void call_watchdog(void)
{
    uint64_t before;
    set_signals(~0ull, &before);
    acquire();
    if (!__atomic_load_n(&pool.closing, __ATOMIC_ACQUIRE) && !start_watchdog())
        watchdog_is_due = clock_now() + cycles_of(RETRY_US);
    release();
    set_signals(before, NULL);
}

static void forget_pool(void)
{
    close_rings();
    end_reader();
    for (uint32_t i = 0; i < core_count(); i++) {
        struct core *core = &pool.cores[i];
        *core = (struct core){
            .processor = core->processor,
            .waited = core->waited,
            .parks = core->parks,
            .wakes = core->wakes,
            .ring = core->ring,
        };
    }
    pool.open = 0;
    pool.away = 0;
}

/* Ends all carriers, and the watchdog if another thread calls. */
static void end_carriers(void)
{
    acquire();
    __atomic_store_n(&pool.retire, 1, __ATOMIC_SEQ_CST);
    wake_watchdog();
    for (uint32_t i = 0; i < core_count(); i++)
        wake_watcher(&pool.cores[i]);
    for (struct carrier *carrier = carriers; carrier != NULL; carrier = carrier->listed)
        wake(carrier);
    release();
    for (struct carrier *carrier = carriers; carrier != NULL; carrier = carrier->listed)
        await_end(&carrier->thread);
}

/* The pool stays closed, from here on. */
static bool is_over;
/* The signals that a thread blocked before it closed the pool. */
static __thread uint64_t blocked_before __attribute__((tls_model("initial-exec")));

/* Brings every fiber home and ends every carrier and the watchdog, until reopen_pool(). Another
 * thread that changes credentials may wait until this one has taken its signal. */
void close_pool(void)
{
    uint64_t before;
    set_signals(~SIGNAL_BIT(CREDENTIALS), &before);
    blocked_before = before;
    while (__atomic_exchange_n(&pool.closing, 1, __ATOMIC_SEQ_CST) != 0) {
        if (__atomic_load_n(&is_over, __ATOMIC_SEQ_CST))
            return;
        system_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
    }
    while (__atomic_load_n(&pool.away, __ATOMIC_SEQ_CST) != 0) {
        const long pause_ns[2] = {0, 200000};
        call_everyone_home();
        system_call(__NR_nanosleep, (long)pause_ns, 0, 0, 0, 0, 0);
    }
    end_carriers();
    await_watchdog();
    forget_pool();
}

void close_pool_for_good(void)
{
    close_pool();
    __atomic_store_n(&is_over, true, __ATOMIC_SEQ_CST);
    set_signals(blocked_before, NULL);
}

void reopen_pool(void)
{
    if (__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        set_signals(blocked_before, NULL);
        return;
    }
    /* This comes first, since the next thread that closes the pool would set it again. */
    __atomic_store_n(&pool.retire, 0, __ATOMIC_SEQ_CST);
    if (control_is_on() || (auto_is_on() && watchdog_is_due == 0))
        start_watchdog();
    __atomic_store_n(&pool.closing, 0, __ATOMIC_SEQ_CST);
    set_signals(blocked_before, NULL);
}

/* Called by the watchdog. Ends the carriers unless one has a fiber; that fiber then comes home at
 * its next hook. */
static bool dismiss_pool(void)
{
    if (!__atomic_load_n(&pool.open, __ATOMIC_ACQUIRE))
        return true;
    if (__atomic_exchange_n(&pool.closing, 1, __ATOMIC_SEQ_CST) != 0)
        return false;
    bool is_home = __atomic_load_n(&pool.away, __ATOMIC_SEQ_CST) == 0;
    if (is_home) {
        end_carriers();
        forget_pool();
        __atomic_store_n(&pool.retire, 0, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&pool.closing, 0, __ATOMIC_SEQ_CST);
    return is_home;
}

bool let_watchdog_leave(uint64_t rest_us)
{
    if (!dismiss_pool())
        return false;
    acquire();
    bool may = !__atomic_load_n(&pool.open, __ATOMIC_ACQUIRE) &&
               !__atomic_load_n(&pool.closing, __ATOMIC_ACQUIRE);
    if (may)
        watchdog_leaves(clock_now() + cycles_of(rest_us));
    release();
    return may;
}

void pool_forked(void)
{
    lock = 0;
    pool.closing = 0;
    pool.retire = 0;
    for (struct carrier *carrier = carriers; carrier != NULL; carrier = carrier->listed)
        carrier->thread = (struct bare_thread){0};
    forget_pool();
    for (uint32_t i = 0; i < core_count(); i++)
        pool.cores[i].waited = pool.cores[i].parks = pool.cores[i].wakes = 0;
}
