/*
 * A ring as the kernel has mapped it (ring_memory.c); for ring.c alone.
 */
#ifndef COREHOP_RING_MEMORY_H
#define COREHOP_RING_MEMORY_H

#include "ring.h"

#define MOST_REQUESTS 256

struct io_uring_sqe;
struct io_uring_cqe;

struct ring {
    int file;
    bool is_open, is_broken;
    uint64_t opens_after; /* after a lack of memory, the time of the next attempt */
    uint32_t entries, mask, results_mask;
    uint32_t *tail, *head, *flags;
    uint32_t *results_head, *results_tail;
    struct io_uring_sqe *slots;
    struct io_uring_cqe *results;
    void *memory;
    size_t memory_size, slots_size;
    uint32_t unsubmitted;
    uint32_t under_way; /* requests that move data, without a result yet */
    uint32_t waits;
    struct ring_counts counts;
};

/* Opens the ring, with a kernel thread on that CPU if it is not negative. Returns the reason for a
 * failure, or NULL. */
const char *open_ring(struct ring *ring, int32_t cpu);
void close_ring(struct ring *ring);

#endif
