/*
 * Opening a core's io_uring: its memory, and its descriptor, which programs should not notice.
 *
 * Forked children have no rings: the memory is not mapped there, and the file is closed (pool.c).
 *
 * Without CAP_IPC_LOCK, all rings of a user count against one RLIMIT_MEMLOCK. So do closed rings,
 * in other programs too, until the kernel frees them some milliseconds later. So if there is no
 * memory, the runtime tries again before it gives up.
 */
#define _GNU_SOURCE
#include "ring_memory.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>

#define RESULTS 4096
/* How long the kernel's thread looks for requests before it sleeps. */
#define IDLE_MS 20
/* Above a program's own descriptors, and below the limit of select(). */
#define LOWEST_FILE 960
#define PATIENCE_US 500000
#define NAP_NS 1000000

static const char no_memory[] = "there is no memory for an io_uring (all of a user's count against "
                                "its limit on locked memory, ulimit -l)";

static bool is_mapped(const void *at)
{
    return (uintptr_t)at < (uintptr_t)-4095;
}

static void *map_ring(int file, size_t size, uint64_t offset)
{
    return (void *)system_call(__NR_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_POPULATE, file, (long)offset);
}

/* Whether this descriptor still belongs to a ring. The program may have closed it and opened
 * another file under its number. */
static bool is_a_ring(int file)
{
    static const char ring[] = "anon_inode:[io_uring]";
    char path[64], found[sizeof ring];
    format_text(path, sizeof path, "/proc/self/fd/%d", file);
    long size = system_call(__NR_readlink, (long)path, (long)found, sizeof found, 0, 0, 0);
    bool is_ring = size == sizeof ring - 1;
    for (long i = 0; is_ring && i < size; i++)
        is_ring = found[i] == ring[i];
    return size < 0 || is_ring;
}

void close_ring(struct ring *ring)
{
    if (is_mapped(ring->memory))
        system_call(__NR_munmap, (long)ring->memory, (long)ring->memory_size, 0, 0, 0, 0);
    if (is_mapped(ring->slots))
        system_call(__NR_munmap, (long)ring->slots, (long)ring->slots_size, 0, 0, 0, 0);
    if (is_a_ring(ring->file))
        system_call(__NR_close, ring->file, 0, 0, 0, 0, 0);
    ring->is_open = false;
}

/* Gives the ring a descriptor number that programs do not expect. */
static void move_file(struct ring *ring)
{
    long moved = system_call(__NR_fcntl, ring->file, F_DUPFD_CLOEXEC, LOWEST_FILE, 0, 0, 0);
    if (moved < 0)
        return;
    system_call(__NR_close, ring->file, 0, 0, 0, 0, 0);
    ring->file = (int)moved;
}

static void find_parts(struct ring *ring, const struct io_uring_params *order)
{
    char *memory = ring->memory;
    uint32_t *order_of_slots = (uint32_t *)(memory + order->sq_off.array);
    ring->entries = order->sq_entries;
    ring->mask = order->sq_entries - 1;
    ring->results_mask = order->cq_entries - 1;
    ring->head = (uint32_t *)(memory + order->sq_off.head);
    ring->tail = (uint32_t *)(memory + order->sq_off.tail);
    ring->flags = (uint32_t *)(memory + order->sq_off.flags);
    ring->results_head = (uint32_t *)(memory + order->cq_off.head);
    ring->results_tail = (uint32_t *)(memory + order->cq_off.tail);
    ring->results = (struct io_uring_cqe *)(memory + order->cq_off.cqes);
    for (uint32_t i = 0; i < ring->entries; i++)
        order_of_slots[i] = i;
}

static bool is_want_of_memory(long error)
{
    return error == -ENOMEM || error == -EAGAIN;
}

static const char *try_to_open(struct ring *ring, int32_t cpu)
{
    const uint32_t needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |
                            IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_FAST_POLL |
                            IORING_FEAT_SQPOLL_NONFIXED;
    struct io_uring_params order = {
        .flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
        .cq_entries = RESULTS,
    };
    if (cpu >= 0) {
        order.flags |= IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
        order.sq_thread_cpu = (uint32_t)cpu;
        order.sq_thread_idle = IDLE_MS;
    }
    long file = system_call(__NR_io_uring_setup, MOST_REQUESTS, (long)&order, 0, 0, 0, 0);
    if (file == -EPERM)
        return "this process may not use io_uring (kernel.io_uring_disabled, or a seccomp filter)";
    if (file < 0)
        return is_want_of_memory(file) ? no_memory : "this kernel opens no io_uring";
    ring->file = (int)file;
    ring->memory_size = order.sq_off.array + order.sq_entries * sizeof(uint32_t);
    size_t results_size = order.cq_off.cqes + order.cq_entries * sizeof(struct io_uring_cqe);
    if (ring->memory_size < results_size)
        ring->memory_size = results_size;
    ring->slots_size = order.sq_entries * sizeof(struct io_uring_sqe);
    ring->memory = map_ring(ring->file, ring->memory_size, IORING_OFF_SQ_RING);
    ring->slots = map_ring(ring->file, ring->slots_size, IORING_OFF_SQES);
    bool is_mapped_whole = is_mapped(ring->memory) && is_mapped(ring->slots);
    if (!is_mapped_whole || (order.features & needed) != needed) {
        close_ring(ring);
        return is_mapped_whole ? "this kernel's io_uring is too old (Linux 5.11 is needed)"
                               : no_memory;
    }
    system_call(__NR_madvise, (long)ring->memory, (long)ring->memory_size, MADV_DONTFORK, 0, 0, 0);
    system_call(__NR_madvise, (long)ring->slots, (long)ring->slots_size, MADV_DONTFORK, 0, 0, 0);
    move_file(ring);
    find_parts(ring, &order);
    ring->unsubmitted = ring->under_way = ring->waits = 0;
    ring->is_broken = false;
    ring->is_open = true;
    return NULL;
}

const char *open_ring(struct ring *ring, int32_t cpu)
{
    const long nap[2] = {0, NAP_NS};
    uint64_t deadline = clock_now() + cycles_of(PATIENCE_US);
    const char *reason;
    while ((reason = try_to_open(ring, cpu)) == no_memory && clock_now() < deadline)
        system_call(__NR_nanosleep, (long)nap, 0, 0, 0, 0, 0);
    if (reason != NULL)
        ring->opens_after = clock_now() + cycles_of(2 * PATIENCE_US);
    return reason;
}
