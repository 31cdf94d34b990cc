/*
 * A core's io_uring (ring.c): functions for those who post to it, and for the carriers.
 */
#ifndef COREHOP_RING_H
#define COREHOP_RING_H

#include "cores.h"

/* A fiber's request, on its stack; the fiber continues once there is a result. */
struct request {
    uint8_t operation; /* IORING_OP_... */
    int32_t file;
    uint64_t address;
    uint32_t length;
    uint64_t offset;
    uint32_t flags;
    const int64_t *limit; /* waits at most this long, in seconds and nanoseconds; NULL: forever */
    int32_t result;       /* as the kernel returns it */
};

/* The statistics of all rings. */
struct ring_counts {
    uint64_t requests, waits, enters;
};

/* Prepares rings for all cores. A kernel thread on that core of the team makes the requests, or the
 * carrier if the core is negative. Returns the reason why there can be no rings, or NULL. */
const char *prepare_rings(int32_t core);
struct ring_counts all_ring_counts(void);
void close_rings(void);
bool has_rings(void);
/* To be called when the process ends: cancels all waits, and takes no more requests. */
void end_rings(void);

/* Called by a core's holder to put the fiber's request. False if it cannot be posted. */
bool put_request(struct core *core, struct fiber *fiber);
/* Lets the kernel make what was put, if that is due: at once, or as soon as there are enough. */
bool submit_requests(struct core *core, bool at_once);
/* Hands over to the core the fibers whose requests have results. */
void take_results(struct core *core);
/* Sleeps until there is a result or a fiber. */
void sleep_in_ring(struct core *core);
/* Cancels a wait that the fiber has left and that is still in the ring. */
void cancel_wait(struct core *core, struct fiber *fiber);

/* Called by any thread: makes a fiber that waits in a ring continue; false if it does not wait. */
bool end_wait(struct fiber *fiber);
/* Whether the ring has work for the core's holder; `blocks` if the holder's fiber blocks. */
bool has_results(const struct core *core);
bool needs_holder(const struct core *core, bool blocks);
/* Whether a request put now would be made with others, or by another core. */
bool is_worth_posting(const struct core *core);

#endif
