/*
 * The processor's own clock, and conversions between cycles and time (clock.c).
 */
#ifndef COREHOP_CLOCK_H
#define COREHOP_CLOCK_H

#include <stdint.h>

void prepare_clock(void);
uint64_t cycles_of(uint64_t microseconds);
uint64_t nanoseconds_of(uint64_t cycles);

static inline uint64_t clock_now(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

#endif
