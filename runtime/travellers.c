/*
 * Who may travel, and the list of all who ever did.
 *
 * A thread becomes a traveller at its first hop. What it needs away from home (a stack for home to
 * sleep on, room for vector registers) is mapped then and used again by later threads, since
 * nothing here may come from malloc: a hook may be in malloc. A thread for which the kernel keeps
 * something that no carrier can take over does not become one. Travellers are never freed, so
 * whoever walks the list needs no lock.
 */
#define _GNU_SOURCE
#include "carrier.h"

#include <asm/unistd.h>
#include <errno.h>

#define STACK_SIZE 32768
#define REPEAT_NS 1000000

static struct traveller *travellers, *unused;
static int lock; /* the thread that changes these lists, or 0 */

/* False if this is a handler that interrupted the same thread while it had the lock. */
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

/* Whether the kernel keeps something for this thread that a carrier cannot take over: a GS base, or
 * an area for restartable sequences, which says on which CPU the thread's *home* is. Asking for an
 * area is the one way to learn that there is one. */
static bool has_own_state(void)
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

/* The calling thread as a traveller; NULL without memory, or if this interrupts the same. */
struct traveller *enlist(void)
{
    int thread = (int)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
    if (has_own_state() || !acquire(thread))
        return NULL;
    struct traveller *traveller = unused;
    if (traveller != NULL) {
        unused = traveller->next;
    } else {
        uint8_t *memory = map_memory(STACK_SIZE + vectors_size);
        traveller = (struct traveller *)memory;
        if (memory != NULL) {
            traveller->vectors = memory + STACK_SIZE;
            traveller->listed = travellers;
            __atomic_store_n(&travellers, traveller, __ATOMIC_RELEASE);
        }
    }
    if (traveller != NULL) {
        __asm__ volatile("rdfsbase %0" : "=r"(traveller->thread_base));
        traveller->home = thread;
        traveller->parked = first_stack((uint8_t *)traveller + STACK_SIZE, keep_house, traveller);
        traveller->wanted_home = 0;
        traveller->arrived = 0;
        traveller->detained = 0;
    }
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    return traveller;
}

/* The calling thread, at home, ends. */
void discharge(struct traveller *traveller)
{
    if (!acquire(traveller->home))
        return; /* in a handler that interrupted the same: one place is lost */
    traveller->home = 0;
    traveller->next = unused;
    unused = traveller;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void call_home(struct traveller *traveller)
{
    __atomic_store_n(&traveller->wanted_home, 1, __ATOMIC_SEQ_CST);
    system_call(__NR_tgkill, crew.process, traveller->home, POKE, 0, 0, 0);
}

void call_everyone_home(void)
{
    struct traveller *traveller = __atomic_load_n(&travellers, __ATOMIC_ACQUIRE);
    for (; traveller != NULL; traveller = traveller->listed)
        if (__atomic_load_n(&traveller->away, __ATOMIC_SEQ_CST))
            call_home(traveller);
}

void detain(uintptr_t thread_base)
{
    const long pause_ns[2] = {0, REPEAT_NS};
    struct traveller *traveller = __atomic_load_n(&travellers, __ATOMIC_ACQUIRE);
    while (traveller != NULL && (traveller->thread_base != thread_base || traveller->home == 0))
        traveller = traveller->listed;
    if (traveller == NULL)
        return;
    __atomic_store_n(&traveller->detained, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&traveller->away, __ATOMIC_SEQ_CST)) {
        call_home(traveller);
        system_call(__NR_nanosleep, (long)pause_ns, 0, 0, 0, 0, 0);
    }
}

void travellers_forked(struct traveller *own)
{
    lock = 0;
    unused = NULL;
    for (struct traveller *each = travellers; each != NULL; each = each->listed) {
        each->carrier = NULL;
        each->away = 0;
        each->wanted_home = 0;
        if (each == own) {
            each->home = (int)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
            continue;
        }
        each->next = unused;
        unused = each;
    }
}
