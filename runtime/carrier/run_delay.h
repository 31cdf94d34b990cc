/*
 * How long the kernel kept carriers waiting for their CPUs (run_delay.c).
 */
#ifndef COREHOP_RUN_DELAY_H
#define COREHOP_RUN_DELAY_H

#include <stdbool.h>
#include <stdint.h>

struct run_delay {
    int thread;    /* 0 or less for none */
    bool is_known; /* not if the thread has ended, or the kernel or a sandbox does not tell */
    uint64_t ns;
};

bool prepare_run_delays(void);
/* Called by the watchdog alone. */
void read_run_delays(struct run_delay *delays, uint32_t count);
/* Called while the watchdog does not read. */
void end_reader(void);
void reader_forked(void);

#endif
