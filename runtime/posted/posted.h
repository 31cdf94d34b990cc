/*
 * System calls that threads hand to another core (post.c): the interface for the rest of the
 * runtime.
 */
#ifndef COREHOP_POSTED_H
#define COREHOP_POSTED_H

#include <stdbool.h>
#include <stdint.h>

#define ARGUMENTS 7

typedef long libc_function(long, long, long, long, long, long, long);

/* How a call becomes a request of a ring; table.h has the shape of each call. */
enum shape {
    MADE_ALONE, /* it never becomes a request */
    READS,
    READS_CHECKED,
    WRITES,
    READS_VECTOR,
    WRITES_VECTOR,
    RECEIVES,
    RECEIVES_CHECKED,
    RECEIVES_FROM,
    RECEIVES_FROM_CHECKED,
    RECEIVES_MESSAGE,
    SENDS,
    SENDS_TO,
    SENDS_MESSAGE,
    POLLS,
    WAITS_FOR_EVENTS,
};

struct fiber;
/* batch.c: makes the call of libc's function by the ring of the fiber's core. */
long post_in_batch(struct fiber *fiber, enum shape shape, libc_function *next,
                   const long *arguments);

/* To be called before a socket gets a low-water mark: from then on libc receives. */
void expect_low_water_marks(void);

/* Where calls are made. */
enum way { BY_HOP, BY_YIELDING, IN_BATCHES };

/* The function for a system call that the program makes by syscall() and that should be posted, or
 * NULL. Some libraries use syscall() for calls that libc added late (libuv). */
libc_function *posted_past_libc(long number);

/* Whether COREHOP_SYSCALLS requests any call. */
bool calls_are_asked(void);
/* Parses COREHOP_SYSCALLS for a plan with that many cores. Returns the required number of cores, or
 * 0 after reporting why nothing is posted. */
uint32_t order_calls(uint32_t cores);
/* From now on calls are posted while carriers run threads. Reports the reason if that is
 * impossible, e.g. if the backend has no carriers. */
void open_calls(bool by_carriers);
/* The statistics of one call; false if there is no call of that number. */
struct posted {
    const char *name;
    uint64_t posted, declined;
};
bool posted_of(uint32_t number, struct posted *posted);
enum way posted_by(void);
/* The core of the plan that makes them, or -1. */
int32_t posted_to(void);

#endif
