/*
 * The processor's own clock.
 *
 * A system call is too slow to time a hop of 0.2 us, so the time-stamp counter does it. The
 * counter's rate is measured once at start-up against the kernel's clock, for COUNT_NS. On x86-64
 * servers the counters of all cores run at one rate. On a busy machine, a thread may lose its CPU
 * between the two clocks, for many times COUNT_NS. So both are read again until the readings are
 * quick.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "system.h"

#include <asm/unistd.h>
#include <time.h>

#define COUNT_NS 200000
#define READINGS 8

static uint64_t cycles_per_second = 1000000000;

static uint64_t kernel_ns(void)
{
    struct timespec now = {0};
    system_call(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct moment {
    uint64_t cycles, ns;
};

/* Both clocks at one time: the quickest of a few readings. */
static struct moment read_both(void)
{
    struct moment now = {0, 0};
    uint64_t quickest = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t cycles = clock_now(), ns = kernel_ns(), took = clock_now() - cycles;
        if (took < quickest) {
            quickest = took;
            now = (struct moment){cycles + took / 2, ns};
        }
    }
    return now;
}

void prepare_clock(void)
{
    struct moment first = read_both(), last;
    while (kernel_ns() < first.ns + COUNT_NS)
        ;
    last = read_both();
    uint64_t cycles = last.cycles - first.cycles, ns = last.ns - first.ns;
    cycles_per_second = cycles / ns * 1000000000 + cycles % ns * 1000000 / ns * 1000;
}

uint64_t cycles_of(uint64_t microseconds)
{
    return cycles_per_second / 1000 * microseconds / 1000;
}

uint64_t nanoseconds_of(uint64_t cycles)
{
    return cycles / cycles_per_second * 1000000000 +
           cycles % cycles_per_second * 1000000000 / cycles_per_second;
}
