/*
 * System calls that threads hand to another core (post.c): what the other parts of the runtime ask.
 */
#ifndef COREHOP_POSTED_H
#define COREHOP_POSTED_H

#include <stdbool.h>
#include <stdint.h>

#define ARGUMENTS 7

typedef long libc_function(long, long, long, long, long, long, long);

/* How a call becomes a request of a ring; table.h has that of each. */
enum shape {
    MADE_ALONE, /* it becomes none */
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
/* batch.c: what libc's function would do with these arguments, by the ring of the fiber's core. */
long post_in_batch(struct fiber *fiber, enum shape shape, libc_function *next,
                   const long *arguments);

/* Where calls are made. */
enum way { BY_HOP, BY_YIELDING, IN_BATCHES };

/* What makes a call that the program makes by syscall() where it is to be posted, or NULL: some
 * libraries make those that came late to libc so (libuv). */
libc_function *posted_past_libc(long number);

/* Whether COREHOP_SYSCALLS asks for any. */
bool calls_are_asked(void);
/* Reads it, for a plan of so many cores; gives how many cores there must be, or 0 after saying why
 * nothing is posted. */
uint32_t order_calls(uint32_t cores);
/* From now on they are posted while carriers carry threads; says why where that cannot be, as where
 * the backend is none that has carriers. */
void open_calls(bool by_carriers);
/* What the statistics say of one call; false if there is none of that number. */
struct posted {
    const char *name;
    uint64_t posted, declined;
};
bool posted_of(uint32_t number, struct posted *posted);
enum way posted_by(void);
/* The core of the plan that makes them, or -1. */
int32_t posted_to(void);

#endif
