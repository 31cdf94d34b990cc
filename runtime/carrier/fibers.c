/*
 * Which threads may be fibers, and the list of all fibers that ever existed.
 *
 * A thread becomes a fiber at its first hop. It then gets what it needs away from home: a stack on
 * which its home sleeps, and room for vector registers. This memory is mapped, since a hook may run
 * inside malloc and so nothing here may come from malloc. Later threads reuse it. A thread does not
 * become a fiber if the kernel keeps state for it that no carrier can take over. Fibers are never
 * freed, so whoever walks the list needs no lock.
 */
#define _GNU_SOURCE
#include "fibers.h"
#include "bare.h"
#include "processors.h"
#include "vectors.h"

#include <asm/unistd.h>
#include <sys/resource.h>

#define STACK_SIZE 32768
#define REPEAT_NS 1000000

static struct fiber *fibers, *unused;
static int lock; /* the thread that changes these lists, or 0 */

/* False in a handler that interrupted the same thread while it held the lock. */
static bool acquire(int thread)
{
    int none = 0;
    while (!__atomic_compare_exchange_n(&lock, &none, thread, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        if (none == thread)
            return false;
        none = 0;
        system_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
    }
    return true;
}

struct scheduling own_scheduling(void)
{
    const int of_a_process = 1; /* IOPRIO_WHO_PROCESS: means a thread */
    struct scheduling own = {0};
    system_call(__NR_get_mempolicy, (long)&own.memory, 0, 0, 0, 0, 0);
    own.policy = (int)system_call(__NR_sched_getscheduler, 0, 0, 0, 0, 0, 0);
    own.nice = (int)system_call(__NR_getpriority, PRIO_PROCESS, 0, 0, 0, 0, 0);
    own.io = (int)system_call(__NR_ioprio_get, of_a_process, 0, 0, 0, 0, 0);
    return own;
}

/* Whether the kernel schedules this thread, or places its memory, differently from the carriers. */
static bool is_scheduled_apart(void)
{
    if (!__atomic_load_n(&pool.open, __ATOMIC_ACQUIRE))
        return false; /* no carriers exist yet, and they will inherit it */
    struct scheduling own = own_scheduling();
    return own.policy != pool.scheduling.policy || own.nice != pool.scheduling.nice ||
           own.io != pool.scheduling.io || own.memory != pool.scheduling.memory;
}

/* Whether the program has set the CPUs of this thread, or of one from which it has inherited them.
 */
static bool is_placed(int thread)
{
    struct mask mask;
    long size = system_call(__NR_sched_getaffinity, thread, (long)mask_size, (long)&mask, 0, 0, 0);
    return size == (long)mask_size && !is_same_mask(&mask, &own_mask);
}

/* The calling thread as a fiber. NULL without memory, or if this call interrupts the same function.
 */
struct fiber *enlist(void (*run_home)(void *))
{
    int thread = (int)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
    if (is_scheduled_apart() || is_placed(thread) || !acquire(thread))
        return NULL;
    struct fiber *fiber = unused;
    if (fiber != NULL) {
        unused = fiber->next;
    } else {
        uint8_t *memory = map_memory(STACK_SIZE + vectors_size);
        fiber = (struct fiber *)memory;
        if (memory != NULL) {
            fiber->vectors = memory + STACK_SIZE;
            fiber->listed = fibers;
            __atomic_store_n(&fibers, fiber, __ATOMIC_RELEASE);
        }
    }
    if (fiber != NULL) {
        __asm__ volatile("rdfsbase %0" : "=r"(fiber->thread_base));
        fiber->home = thread;
        fiber->parked = first_stack((uint8_t *)fiber + STACK_SIZE, run_home, fiber);
        fiber->wanted_home = 0;
        fiber->arrived = 0;
        fiber->detained = 0;
        fiber->declined_at = 0;
        fiber->waiting = fiber->left_wait = 0;
    }
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    return fiber;
}

/* The calling thread, at home, ends. */
void discharge(struct fiber *fiber)
{
    if (!acquire(fiber->home))
        return; /* in a handler that interrupted the same function: one entry is lost */
    fiber->home = 0;
    fiber->next = unused;
    unused = fiber;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

void send_home(struct fiber *fiber)
{
    int home = fiber->home;
    __atomic_store_n(&fiber->carrier, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&fiber->arrived, 1, __ATOMIC_SEQ_CST);
    system_call(__NR_tgkill, pool.process, home, POKE, 0, 0, 0);
}

static void call_home(struct fiber *fiber)
{
    __atomic_store_n(&fiber->wanted_home, 1, __ATOMIC_SEQ_CST);
    system_call(__NR_tgkill, pool.process, fiber->home, POKE, 0, 0, 0);
}

uint32_t threads_under_way(uint32_t look)
{
    uint32_t count = 0;
    struct fiber *fiber = __atomic_load_n(&fibers, __ATOMIC_ACQUIRE);
    for (; fiber != NULL; fiber = fiber->listed)
        count += __atomic_load_n(&fiber->away, __ATOMIC_RELAXED) != 0 ||
                 __atomic_load_n(&fiber->declined_at, __ATOMIC_RELAXED) == look;
    return count;
}

void call_everyone_home(void)
{
    struct fiber *fiber = __atomic_load_n(&fibers, __ATOMIC_ACQUIRE);
    for (; fiber != NULL; fiber = fiber->listed)
        if (__atomic_load_n(&fiber->away, __ATOMIC_SEQ_CST))
            call_home(fiber);
}

void detain(uintptr_t thread)
{
    const long pause_ns[2] = {0, REPEAT_NS};
    struct fiber *fiber = __atomic_load_n(&fibers, __ATOMIC_ACQUIRE);
    while (fiber != NULL &&
           (fiber->home == 0 || (fiber->thread_base != thread && (uintptr_t)fiber->home != thread)))
        fiber = fiber->listed;
    if (fiber == NULL)
        return;
    __atomic_store_n(&fiber->detained, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&fiber->away, __ATOMIC_SEQ_CST)) {
        call_home(fiber);
        system_call(__NR_nanosleep, (long)pause_ns, 0, 0, 0, 0, 0);
    }
}

void fibers_forked(struct fiber *own)
{
    lock = 0;
    unused = NULL;
    for (struct fiber *each = fibers; each != NULL; each = each->listed) {
        each->carrier = NULL;
        each->away = 0;
        each->wanted_home = 0;
        each->waiting = each->left_wait = 0;
        if (each == own) {
            each->home = (int)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
            continue;
        }
        each->next = unused;
        unused = each;
    }
}
