/*
 * COREHOP_SYSCALLS=open,read,write@1: calls of libc that are made on another core.
 *
 * Soares and Stumm's FlexSC passes system calls to other cores through shared memory. Then neither
 * the kernel's code and data nor mode switches disturb the program's caches. On an unmodified
 * kernel, a carrier replaces their system call threads: the calling thread hops to the carrier of
 * the plan core behind the @, makes the call there, and hops back. Another thread of the core that
 * it left runs in the meantime (FlexSC-Threads). The thread itself makes the call, by libc's own
 * function. So errno, signals, cancellation and credentials work as with hops
 * (docs/reference/carrier.md). With @yield no thread leaves: it lets the other threads of its core
 * run first, and then makes the call where it is. That shows what the move itself is worth. With
 * @batch, the ring of their core makes the calls of many threads together (batch.c).
 *
 * Symbols are interposed by functions that jump to libc's, until a call of that name is requested.
 * So a program without requested calls pays for one jump. Calls stay where they are in signal
 * handlers, in threads that may not leave home, and while carriers run no threads: these calls are
 * declined.
 *
 * Rejected: to intercept the system calls of libc itself, which needs a filter that slows each one.
 */
#define _GNU_SOURCE
#include "posted.h"
#include "carrier.h"
#include "home.h"
#include "hooks.h"
#include "originals.h"
#include "ring.h"
#include "run_queue.h"
#include "vectors.h"

#include <asm/unistd.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CORE 63

enum symbol {
#define POSTED(call, symbol, shape) AT_##symbol,
#include "table.h"
#undef POSTED
    SYMBOLS
};

static const struct {
    const char *call, *symbol;
    enum shape shape;
} table[SYMBOLS] = {
#define POSTED(call, symbol, shape) {#call, #symbol, shape},
#include "table.h"
#undef POSTED
};

/* A thread's counters at a call, under the first symbol of its name. */
struct counts {
    uint64_t posted, declined, hops;
};

static void *originals[SYMBOLS];
/* The function to jump to at once: NULL while the call may yet be requested, libc's if it stays. */
static libc_function *direct[SYMBOLS];
static uint32_t first_of[SYMBOLS];
static bool is_asked[SYMBOLS];
static bool is_open, is_settled;
static enum way way;
static int32_t core_of_calls;

bool calls_are_asked(void)
{
    const char *value = secure_getenv("COREHOP_SYSCALLS");
    return value != NULL && *value != '\0';
}

static void number_calls(void)
{
    for (uint32_t i = 0; i < SYMBOLS; i++)
        for (first_of[i] = 0; strcmp(table[first_of[i]].call, table[i].call) != 0;)
            first_of[i]++;
}

static bool ask_for(const char *name, size_t length)
{
    bool is_known = false;
    for (uint32_t i = 0; i < SYMBOLS; i++) {
        enum shape shape = table[i].shape;
        bool may = way == IN_BATCHES ? shape != MADE_ALONE : shape < POLLS;
        if (may && strlen(table[i].call) == length && memcmp(table[i].call, name, length) == 0)
            is_asked[i] = is_known = true;
    }
    return is_known;
}

/* @batch without a list: everything that rings can make. */
static void ask_for_all(void)
{
    for (uint32_t i = 0; i < SYMBOLS; i++)
        is_asked[i] = table[i].shape != MADE_ALONE;
}

static uint32_t refuse(const char *value, const char *reason)
{
    memset(is_asked, 0, sizeof is_asked);
    complain("COREHOP_SYSCALLS=%s: %s: system calls are made where they are", value, reason);
    return 0;
}

/* The core behind an @ or a colon; -1 if it is no core. */
static int32_t core_from(const char *digits)
{
    char *end;
    unsigned long core = strtoul(digits, &end, 10);
    bool is_number = *digits >= '0' && *digits <= '9' && *end == '\0';
    return !is_number ? -1 : core > MOST_CORE ? MOST_CORE + 1 : (int32_t)core;
}

/* Parses the text behind the @; false if it is invalid. */
static bool read_way(const char *behind)
{
    static const char batch[] = "batch";
    size_t length = sizeof batch - 1;
    core_of_calls = -1;
    way = IN_BATCHES;
    if (strcmp(behind, batch) == 0)
        return true;
    if (strncmp(behind, batch, length) == 0 && behind[length] == ':')
        return (core_of_calls = core_from(behind + length + 1)) >= 0;
    way = BY_YIELDING;
    if (strcmp(behind, "yield") == 0)
        return true;
    way = BY_HOP;
    return (core_of_calls = core_from(behind)) >= 0;
}

uint32_t order_calls(uint32_t cores)
{
    const char *value = secure_getenv("COREHOP_SYSCALLS"), *at = strrchr(value, '@');
    number_calls();
    if (at == NULL)
        return refuse(value, "it is not like read,write@1, names of calls and a core of the plan");
    if (!read_way(at + 1))
        return refuse(value,
                      "behind the @ is neither a core of the plan, yield, batch nor batch:1");
    if (at == value && way != IN_BATCHES)
        return refuse(value, "names of calls are missing, which @batch alone does without");
    if (at == value)
        ask_for_all();
    if (core_of_calls > MOST_CORE || (cores != 0 && core_of_calls > (int32_t)cores))
        return refuse(value, "no such core: one of the plan's, or the next one, at most 63");
    for (const char *name = value; name < at;) {
        size_t length = strcspn(name, ",@");
        if (!ask_for(name, length))
            return refuse(value, way == IN_BATCHES
                                     ? "not all of these are calls that can be made in batches "
                                       "(docs/reference/system-calls.md lists those that can)"
                                     : "not all of these are calls that can be posted "
                                       "(docs/reference/system-calls.md lists those that can)");
        name += length + 1;
    }
    more_size = SYMBOLS * sizeof(struct counts);
    uint32_t least = core_of_calls < 0 ? 1 : (uint32_t)core_of_calls + 1;
    return least > cores ? least : cores;
}

/* Why the requested calls cannot be posted; NULL if they can. */
static const char *reason_against(bool by_carriers)
{
    if (carriers_are_possible())
        return way == IN_BATCHES ? prepare_rings(core_of_calls) : NULL;
    return by_carriers ? carrier_refusal()
                       : "only COREHOP_BACKEND=carrier posts calls, and auto with a plan";
}

void open_calls(bool by_carriers)
{
    bool any = false;
    for (uint32_t i = 0; i < SYMBOLS; i++)
        any |= is_asked[i];
    const char *reason = any ? reason_against(by_carriers) : NULL;
    if (reason != NULL)
        refuse(secure_getenv("COREHOP_SYSCALLS"), reason);
    for (uint32_t i = 0; i < SYMBOLS; i++)
        if (is_asked[i])
            original(&originals[i], table[i].symbol);
    __atomic_store_n(&is_open, any && reason == NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&is_settled, true, __ATOMIC_RELEASE);
}

static struct counts *counts_of(const struct thread_counters *counters)
{
    return (struct counts *)((char *)counters + more_at);
}

bool posted_of(uint32_t number, struct posted *posted)
{
    uint32_t at = 0;
    if (!is_open)
        return false;
    for (; at < SYMBOLS; at++)
        if (is_asked[at] && first_of[at] == at && number-- == 0)
            break;
    if (at == SYMBOLS)
        return false;
    *posted = (struct posted){.name = table[at].call};
    for (const struct thread_counters *one = all_counters(); one != NULL; one = one->next) {
        posted->posted += __atomic_load_n(&counts_of(one)[at].posted, __ATOMIC_RELAXED);
        posted->declined += __atomic_load_n(&counts_of(one)[at].declined, __ATOMIC_RELAXED);
    }
    return true;
}

int32_t posted_to(void)
{
    return core_of_calls;
}

enum way posted_by(void)
{
    return way;
}

/* Lets the other fibers of its core run first; the thread is on a carrier. */
static void yield(struct fiber *fiber)
{
    fiber->going = (int32_t)(fiber->carrier->core - pool.cores);
    leave(fiber, &fiber->carrier->stack);
    if (fiber->carrier == NULL)
        come_home(fiber);
}

/* Moves the thread to where the call should be made; false if the call is made where the thread is.
 */
static bool goes(struct counts *counts, int32_t core)
{
    const struct backend *backend = __atomic_load_n(&program.backend, __ATOMIC_RELAXED);
    if (UNLIKELY(backend != &carrier_backend)) {
        if (self.backend == &carrier_backend)
            take_over(backend);
        return false;
    }
    if (self.core != core || self.backend != backend)
        backend->hop(&counts->hops, core);
    if (way != BY_HOP && self.core == core && self.fiber->carrier != NULL) {
        self.fiber->came_by = came_by(&counts->hops);
        if (way == BY_YIELDING)
            yield(self.fiber);
    }
    return self.core == core;
}

static void comes_back(struct counts *counts, int32_t core)
{
    const struct backend *backend = __atomic_load_n(&program.backend, __ATOMIC_RELAXED);
    if (backend == &carrier_backend && self.core != core)
        backend->hop(&counts->hops, core);
}

/* The body of a symbol's function, unless it jumps to libc's at once. */
static __attribute__((noinline)) long post(uint32_t at, const long *a)
{
    libc_function *next = (libc_function *)original(&originals[at], table[at].symbol);
    bool may = __atomic_load_n(&is_open, __ATOMIC_ACQUIRE) && is_asked[at];
    if (!may && __atomic_load_n(&is_settled, __ATOMIC_ACQUIRE))
        __atomic_store_n(&direct[at], next, __ATOMIC_RELAXED);
    if (!may || self.handlers != 0)
        return next(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    if (UNLIKELY(self.tallies == NULL))
        first_hook();
    struct counts *counts = &counts_of(self.counters)[first_of[at]];
    int32_t came_from = self.counted;
    if (!goes(counts, way == BY_HOP ? core_of_calls : came_from) || self.fiber->carrier == NULL) {
        bump(&counts->declined);
        self.counted = came_from;
        return next(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    }
    bump(&counts->posted);
    if (way == IN_BATCHES)
        return post_in_batch(self.fiber, table[at].shape, next, a);
    long result = next(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    comes_back(counts, came_from);
    return result;
}

/* The seventh argument is on the stack. If there are fewer, reading that address does no harm. */
#define POSTED(call, symbol, shape)                                                           \
    __attribute__((visibility("default"))) long posted_##symbol(long, long, long, long, long, \
                                                                long, long) __asm__(#symbol); \
    long posted_##symbol(long a, long b, long c, long d, long e, long f, long g)              \
    {                                                                                         \
        libc_function *next = __atomic_load_n(&direct[AT_##symbol], __ATOMIC_RELAXED);        \
        if (LIKELY(next != NULL))                                                             \
            return next(a, b, c, d, e, f, g);                                                 \
        return post(AT_##symbol, (const long[ARGUMENTS]){a, b, c, d, e, f, g});               \
    }
#include "table.h"

libc_function *posted_past_libc(long number)
{
    if (!__atomic_load_n(&is_open, __ATOMIC_ACQUIRE))
        return NULL;
    if (number == __NR_recvmmsg && is_asked[AT_recvmmsg])
        return posted_recvmmsg;
    if (number == __NR_sendmmsg && is_asked[AT_sendmmsg])
        return posted_sendmmsg;
    return NULL;
}
