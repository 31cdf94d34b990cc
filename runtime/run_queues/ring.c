/*
 * A core's io_uring: its fibers put system calls there, which are then made many at a time.
 *
 * This is FlexSC's page of posted calls on an unmodified kernel. A fiber puts its request and lets
 * the next fiber of its core run. When no fiber is ready, or after COREHOP_BATCH requests, the
 * holder of the core enters the kernel once for all of them. Alternatively a kernel thread on
 * another core (SQPOLL) makes them as they come, and no thread enters the kernel.
 *
 * Requests that move data never block (batch.c): each has its result at once. Only waits for a file
 * to become ready stay in the ring. A fiber may leave its wait at any time to take a signal at
 * home. The holder with the result and the home that calls the fiber back race to change its
 * `waiting`; the first hands the fiber over. The wait that it left is then cancelled. A result that
 * still arrives for it is ignored, since it has the number of another wait.
 *
 * A ring belongs to its core, not to a carrier: a spare that takes over the core of a blocking
 * carrier takes over the ring too. Results arrive in memory that all threads see, but only the
 * holder looks.
 */
#define _GNU_SOURCE
#include "filter.h"
#include "ring_memory.h"
#include "run_queue.h"
#include "settings.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/io_uring.h>

#define MOST_TURN 4095ul
/* What headers older than Linux 6.0 lack: IORING_REGISTER_SYNC_CANCEL, of all requests. */
#define SYNC_CANCEL 24
#define EVERY_REQUEST (1u << 0 | 1u << 2)
/* The time between two looks at a ring that cannot wake a thread. */
#define NAP_NS 200000

struct cancellation {
    uint64_t address;
    int32_t file;
    uint32_t flags;
    int64_t limit[2];
    uint64_t unused[4];
};

static int32_t core_of_kernel;
static uint32_t batch;
static bool is_over;

static long enter_ring(struct ring *ring, uint32_t submit, uint32_t results, uint32_t flags,
                       const uint64_t *mask)
{
    return system_call(__NR_io_uring_enter, ring->file, submit, results, flags, (long)mask,
                       sizeof *mask);
}

/* The CPU of the ring's kernel thread for this core's team; -1 without such a thread. */
static int32_t cpu_of_kernel(const struct core *core)
{
    uint32_t team = (uint32_t)(core - pool.cores) / program.cores;
    return core_of_kernel < 0 ? -1 : (int32_t)core_of(team, (uint32_t)core_of_kernel)->processor;
}

const char *prepare_rings(int32_t core)
{
    struct ring *rings = map_memory(core_count() * sizeof *rings);
    core_of_kernel = core;
    batch = (uint32_t)number_from("COREHOP_BATCH", MOST_REQUESTS, 64);
    batch = batch == 0 ? 1 : batch;
    if (rings == NULL)
        return "no memory";
    if (ring_call_that_kills() != NULL)
        return "a filter of system calls kills for io_uring (in a unit, SystemCallFilter=@aio "
               "allows it)";
    const char *reason = open_ring(&rings[0], cpu_of_kernel(&pool.cores[0]));
    if (reason != NULL)
        return reason;
    close_ring(&rings[0]);
    for (uint32_t i = 0; i < core_count(); i++)
        pool.cores[i].ring = &rings[i];
    return NULL;
}

struct ring_counts all_ring_counts(void)
{
    struct ring_counts all = {0};
    for (uint32_t i = 0; i < core_count() && pool.cores[i].ring != NULL; i++) {
        const struct ring_counts *counts = &pool.cores[i].ring->counts;
        all.requests += __atomic_load_n(&counts->requests, __ATOMIC_RELAXED);
        all.waits += __atomic_load_n(&counts->waits, __ATOMIC_RELAXED);
        all.enters += __atomic_load_n(&counts->enters, __ATOMIC_RELAXED);
    }
    return all;
}

void close_rings(void)
{
    for (uint32_t i = 0; i < core_count(); i++)
        if (pool.cores[i].ring != NULL && pool.cores[i].ring->is_open)
            close_ring(pool.cores[i].ring);
}

bool has_rings(void)
{
    return pool.cores != NULL && pool.cores[0].ring != NULL;
}

/* The kernel ends a ring some time after its process. Until then, a wait in it keeps the socket,
 * and with that the address, from the next server. */
void end_rings(void)
{
    const struct cancellation every = {.file = -1, .flags = EVERY_REQUEST, .limit = {-1, -1}};
    __atomic_store_n(&is_over, true, __ATOMIC_SEQ_CST);
    uint32_t count = has_rings() ? core_count() : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ring *ring = pool.cores[i].ring;
        if (ring->is_open && !ring->is_broken)
            system_call(__NR_io_uring_register, ring->file, SYNC_CANCEL, (long)&every, 1, 0, 0);
    }
}

static uint32_t not_taken(const struct ring *ring)
{
    return *ring->tail - __atomic_load_n(ring->head, __ATOMIC_ACQUIRE);
}

/* The kernel's thread continues without the file until it has nothing to do, and then stops for
 * good. It never takes requests that it has not taken by then. */
static void await_kernel(const struct ring *ring)
{
    const long nap[2] = {0, NAP_NS};
    while (not_taken(ring) != 0 &&
           (__atomic_load_n(ring->flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP) == 0)
        system_call(__NR_nanosleep, (long)nap, 0, 0, 0, 0, 0);
    if (not_taken(ring) != 0)
        system_call(__NR_nanosleep, (long)nap, 0, 0, 0, 0, 0);
}

/* Most likely the program has closed the ring's file. Requests that the kernel has not taken are
 * made where their threads are, and no more are put. Results of the others still arrive. */
static void break_ring(struct core *core)
{
    struct ring *ring = core->ring;
    complain("COREHOP_SYSCALLS: the kernel takes no more calls from the ring of CPU %u: they are "
             "made where they are",
             core->processor);
    ring->is_broken = true;
    if (core_of_kernel >= 0)
        await_kernel(ring);
    uint32_t from = *ring->tail - not_taken(ring);
    for (uint32_t at = from; at != *ring->tail; at++) {
        uint64_t data = ring->slots[at & ring->mask].user_data;
        struct fiber *fiber = (struct fiber *)(data & ~MOST_TURN);
        if (fiber == NULL)
            continue;
        if ((data & MOST_TURN) != 0) {
            ring->waits--;
            end_wait(fiber);
        } else {
            ring->under_way--;
            fiber->request->result = -ENOSYS;
            hand_over(core, fiber);
        }
    }
    __atomic_store_n(ring->tail, from, __ATOMIC_RELEASE);
    ring->unsubmitted = 0;
}

bool submit_requests(struct core *core, bool at_once)
{
    struct ring *ring = core->ring;
    if (ring->unsubmitted == 0 || (!at_once && core_of_kernel < 0 && ring->unsubmitted < batch))
        return false;
    if (core_of_kernel >= 0) {
        ring->unsubmitted = 0;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (__atomic_load_n(ring->flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP) {
            bump(&ring->counts.enters);
            if (enter_ring(ring, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL) < 0)
                break_ring(core);
        }
        return true;
    }
    while (ring->unsubmitted != 0) {
        bump(&ring->counts.enters);
        long taken = enter_ring(ring, ring->unsubmitted, 0, 0, NULL);
        if (taken > 0)
            ring->unsubmitted -= (uint32_t)taken;
        else if (taken == -EBUSY || taken == -EAGAIN)
            take_results(core);
        else if (taken != -EINTR)
            break_ring(core);
    }
    take_results(core);
    return true;
}

static struct io_uring_sqe *next_slot(struct ring *ring, uint32_t after)
{
    struct io_uring_sqe *slot = &ring->slots[(*ring->tail + after) & ring->mask];
    *slot = (struct io_uring_sqe){0};
    return slot;
}

/* That many slots are filled: the kernel may see them from now on, linked ones together. */
static void push(struct ring *ring, uint32_t slots)
{
    ring->unsubmitted += slots;
    __atomic_store_n(ring->tail, *ring->tail + slots, __ATOMIC_RELEASE);
}

static uint32_t room(const struct ring *ring)
{
    return ring->entries - not_taken(ring);
}

static bool has_room(struct core *core, uint32_t needed)
{
    if (room(core->ring) < needed)
        submit_requests(core, true);
    return !core->ring->is_broken && room(core->ring) >= needed;
}

/* Sets a timeout for the request in the previous slot. */
static void add_limit(struct ring *ring, const int64_t *limit)
{
    struct io_uring_sqe *slot = next_slot(ring, 1);
    slot->opcode = IORING_OP_LINK_TIMEOUT;
    slot->addr = (uintptr_t)limit;
    slot->len = 1;
}

/* Opens the core's ring. After a lack of memory, it does not retry for each call. */
static bool opens(struct core *core)
{
    return clock_now() >= core->ring->opens_after &&
           open_ring(core->ring, cpu_of_kernel(core)) == NULL;
}

bool put_request(struct core *core, struct fiber *fiber)
{
    struct ring *ring = core->ring;
    const struct request *request = fiber->request;
    if (is_over || (!ring->is_open && !opens(core)))
        return false;
    if (ring->is_broken || !has_room(core, 2))
        return false;
    struct io_uring_sqe *slot = next_slot(ring, 0);
    bool waits = request->operation == IORING_OP_POLL_ADD;
    uint32_t turn = waits ? (uint32_t)(fiber->turn % MOST_TURN) + 1 : 0;
    slot->opcode = request->operation;
    slot->fd = request->file;
    slot->addr = request->address;
    slot->len = request->length;
    slot->off = request->offset;
    slot->msg_flags = request->flags; /* also poll32_events, or rw_flags */
    slot->flags = request->limit != NULL ? IOSQE_IO_LINK : 0;
    slot->user_data = (uintptr_t)fiber | turn;
    bump(&ring->counts.requests);
    if (waits) {
        bump(&ring->counts.waits);
        ring->waits++;
        fiber->turn++;
        fiber->waits_on = (int32_t)(core - pool.cores);
    } else
        ring->under_way++;
    if (request->limit != NULL)
        add_limit(ring, request->limit);
    push(ring, request->limit != NULL ? 2 : 1);
    /* From here on the fiber may be called back, so nothing accesses it any more. */
    __atomic_store_n(&fiber->waiting, turn, __ATOMIC_SEQ_CST);
    submit_requests(core, false);
    return true;
}

bool has_results(const struct core *core)
{
    const struct ring *ring = core->ring;
    return ring->is_open &&
           *ring->results_head != __atomic_load_n(ring->results_tail, __ATOMIC_ACQUIRE);
}

void take_results(struct core *core)
{
    struct ring *ring = core->ring;
    while (has_results(core)) {
        const struct io_uring_cqe *result =
            &ring->results[*ring->results_head & ring->results_mask];
        uint64_t data = result->user_data;
        int32_t value = result->res;
        uint32_t turn = data & MOST_TURN;
        struct fiber *fiber = (struct fiber *)(data & ~MOST_TURN);
        __atomic_store_n(ring->results_head, *ring->results_head + 1, __ATOMIC_RELEASE);
        if (fiber == NULL)
            continue;
        if (turn == 0)
            ring->under_way--;
        else
            ring->waits--;
        if (turn != 0 && !__atomic_compare_exchange_n(&fiber->waiting, &turn, 0, false,
                                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            continue;
        /* Whoever waits goes on where it is. */
        fiber->request->result = is_over && value == -ECANCELED ? -EINTR : value;
        hand_over(core, fiber);
    }
    if (ring->is_open &&
        UNLIKELY(__atomic_load_n(ring->flags, __ATOMIC_RELAXED) & IORING_SQ_CQ_OVERFLOW))
        enter_ring(ring, 0, 0, IORING_ENTER_GETEVENTS, NULL);
}

bool end_wait(struct fiber *fiber)
{
    uint32_t turn = __atomic_load_n(&fiber->waiting, __ATOMIC_SEQ_CST);
    if (turn == 0 || !__atomic_compare_exchange_n(&fiber->waiting, &turn, 0, false,
                                                  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return false;
    fiber->left_wait = turn;
    fiber->request->result = -EINTR;
    hand_over(&pool.cores[fiber->waits_on], fiber);
    return true;
}

void cancel_wait(struct core *core, struct fiber *fiber)
{
    if (core->ring->is_open && has_room(core, 1)) {
        struct io_uring_sqe *slot = next_slot(core->ring, 0);
        slot->opcode = IORING_OP_ASYNC_CANCEL;
        slot->addr = (uintptr_t)fiber | fiber->left_wait;
        push(core->ring, 1);
    }
    fiber->left_wait = 0;
}

/* A thread that hands a fiber to a core that sleeps here sends its holder POKE (run_queue.c). While
 * the ring is not open, nothing else can arrive. */
void sleep_in_ring(struct core *core)
{
    struct ring *ring = core->ring;
    const long nap[2] = {0, NAP_NS};
    uint64_t mask;
    uintptr_t state = WATCHED;
    set_signals(~0ull, &mask);
    if (__atomic_compare_exchange_n(&core->run_queue, &state, ASLEEP, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED) &&
        !has_results(core) && !__atomic_load_n(&pool.retire, __ATOMIC_SEQ_CST)) {
        bump(&core->parks);
        if (!ring->is_open || ring->is_broken)
            system_call(__NR_ppoll, 0, 0, ring->is_broken ? (long)nap : 0, (long)&mask, sizeof mask,
                        0);
        else if (enter_ring(ring, 0, 1, IORING_ENTER_GETEVENTS, &mask) == -EBADF)
            break_ring(core);
    }
    set_signals(mask, NULL);
    state = ASLEEP;
    if (!__atomic_compare_exchange_n(&core->run_queue, &state, WATCHED, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED))
        bump(&core->wakes);
}

bool needs_holder(const struct core *core, bool blocks)
{
    const struct ring *ring = core->ring;
    return ring->is_open && (has_results(core) || ring->unsubmitted != 0 || ring->under_way != 0 ||
                             (blocks && ring->waits != 0));
}

bool is_worth_posting(const struct core *core)
{
    return core_of_kernel >= 0 || has_fibers(core) ||
           __atomic_load_n(&core->ready, __ATOMIC_RELAXED) != NULL || core->ring->unsubmitted != 0;
}
