/*
 * Waiting without spinning: a waiting carrier lets the processor monitor its run queue.
 *
 * A carrier that polls its run queue finds a fiber at once, but its core uses power and competes
 * with the second hardware thread of that core. With UMONITOR and UMWAIT (Intel's WAITPKG) or
 * MONITORX and MWAITX (AMD's), a core stops until another one writes the line, or until a timeout.
 * Waking up takes a little longer than a poll. So a wait begins with polls, for COREHOP_PAUSE_US;
 * the gaps of short phases end within them. The processor's lightest state is requested, since
 * deeper ones take longer to leave. Linux ends UMWAIT after at most 100 000 cycles
 * (umwait_control). Here a stop ends after STOP_US, so that the clock still shows whether the
 * kernel ran something else on the CPU (spin_policy.c). Processors without either instruction poll
 * all the time; most virtual machines hide both.
 */
#define _GNU_SOURCE
#include "spin_policy.h"
#include "settings.h"

#include <cpuid.h>

#define PAUSE_US 20
#define STOP_US 50

/* Bits of CPUID. */
#define WAITPKG (1u << 5)
#define MONITORX (1u << 29)

/* Arguments of UMWAIT and MWAITX: the lightest state, and that there is a timeout. */
#define LIGHTEST_UMWAIT 1
#define LIGHTEST_MWAITX 0xf0
#define TIMED_MWAITX 2

static enum { NOT_AT_ALL, BY_UMWAIT, BY_MWAITX } way;
static uint64_t spinning, stopping;

void prepare_mwait(void)
{
    uint32_t a, b, c = 0, d;
    way = NOT_AT_ALL;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & WAITPKG) != 0)
        way = BY_UMWAIT;
    else if (__get_cpuid(0x80000001, &a, &b, &c, &d) && (c & MONITORX) != 0)
        way = BY_MWAITX;
    spinning = cycles_of(number_from("COREHOP_PAUSE_US", 1000000, PAUSE_US));
    stopping = cycles_of(STOP_US);
}

/* Each of these stops until the word is no longer `seen`, or for that many cycles, or ends earlier.
 */
static void umwait(const uintptr_t *word, uintptr_t seen, uint64_t cycles)
{
    uint64_t until = clock_now() + cycles;
    __asm__ volatile("umonitor %0" : : "r"(word) : "memory");
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == seen)
        __asm__ volatile("umwait %0"
                         :
                         : "r"(LIGHTEST_UMWAIT), "a"((uint32_t)until), "d"((uint32_t)(until >> 32))
                         : "cc", "memory");
}

static void mwaitx(const uintptr_t *word, uintptr_t seen, uint64_t cycles)
{
    __asm__ volatile("monitorx" : : "a"(word), "c"(0), "d"(0) : "memory");
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == seen)
        __asm__ volatile("mwaitx"
                         :
                         : "a"(LIGHTEST_MWAITX), "c"(TIMED_MWAITX), "b"((uint32_t)cycles)
                         : "memory");
}

void mwait(const struct core *core, uint64_t waited, uint64_t longest)
{
    if (way == NOT_AT_ALL || waited < spinning || waited >= longest)
        return;
    uint64_t left = longest - waited, cycles = left < stopping ? left : stopping;
    if (way == BY_UMWAIT)
        umwait(&core->run_queue, WATCHED, cycles);
    else
        mwaitx(&core->run_queue, WATCHED, cycles);
}

const char *way_to_wait(void)
{
    static const char *const names[] = {"pause", "umwait", "mwaitx"};
    return names[way];
}
