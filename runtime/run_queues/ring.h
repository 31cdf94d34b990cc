/*
 * A core's io_uring (ring.c): what posts to it, and what the carriers do for it.
 */
#ifndef COREHOP_RING_H
#define COREHOP_RING_H

#include "cores.h"

/* A fiber's request, on its stack; the fiber goes on once it has a result. */
struct request {
    uint8_t operation; /* IORING_OP_... */
    int32_t file;
    uint64_t address;
    uint32_t length;
    uint64_t offset;
    uint32_t flags;
    const int64_t *limit; /* waits for at most so long, seconds and nanoseconds; NULL: for ever */
    int32_t result;       /* as the kernel gives it */
};

/* What the statistics say of all rings. */
struct ring_counts {
    uint64_t requests, waits, enters;
};

/* Rings for all cores, whose requests are made by a thread of the kernel on that core of the team,
 * or by the carrier if it is negative. Gives the reason why there can be none, or NULL. */
const char *prepare_rings(int32_t core);
struct ring_counts all_ring_counts(void);
void close_rings(void);

/* By the holder of a core: the fiber's request is to be made. False if it cannot be posted. */
bool put_request(struct core *core, struct fiber *fiber);
/* Has the kernel make what was put, if that is due: at once, or as soon as there are enough. */
bool submit_requests(struct core *core, bool at_once);
/* Hands over to the core whose requests have results. */
void take_results(struct core *core);
/* Sleeps until there is a result or a fiber. */
void sleep_in_ring(struct core *core);
/* The fiber has left a wait that still is in the ring. */
void cancel_wait(struct core *core, struct fiber *fiber);

/* By anyone: has a fiber that waits in a ring go on; false if it does not wait. */
bool end_wait(struct fiber *fiber);
/* Whether the run queue's holder has something to do here; `blocks`, by whom it runs. */
bool has_results(const struct core *core);
bool needs_holder(const struct core *core, bool blocks);
/* Whether a request put now would be made with others, or by another core. */
bool is_worth_posting(const struct core *core);

#endif
