/*
 * Times a call that does nothing, single and in batches: getppid(), and no-op requests of an
 * io_uring.
 *
 * usage: ring BATCH CALLS [CPU]; prints nanoseconds per call, single and in batches. With CPU, a
 * kernel thread on that CPU takes the batches (SQPOLL); without it, io_uring_enter() submits
 * them.
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct io_uring_params params;
static int ring;
static uint8_t *shared;
static struct io_uring_sqe *requests;

static uint32_t *field(uint32_t offset)
{
    return (uint32_t *)(shared + offset);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *map(size_t size, off_t what)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
    if (at == MAP_FAILED)
        fail("mmap");
    return at;
}

static void set_up(uint32_t entries, const char *cpu)
{
    if (cpu != NULL) {
        params.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
        params.sq_thread_cpu = (uint32_t)atoi(cpu);
        params.sq_thread_idle = 1000;
    }
    ring = (int)syscall(SYS_io_uring_setup, entries, &params);
    if (ring < 0)
        fail("io_uring_setup");
    size_t of_requests = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
    size_t of_results = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    shared = map(of_requests > of_results ? of_requests : of_results, IORING_OFF_SQ_RING);
    requests = map(params.sq_entries * sizeof *requests, IORING_OFF_SQES);
    for (uint32_t i = 0; i < params.sq_entries; i++) {
        field(params.sq_off.array)[i] = i;
        memset(&requests[i], 0, sizeof requests[i]);
        requests[i].opcode = IORING_OP_NOP;
    }
}

/* Submits this many requests and takes their results. */
static void make(uint32_t batch)
{
    uint32_t *tail = field(params.sq_off.tail), *done = field(params.cq_off.tail);
    uint32_t until = __atomic_load_n(done, __ATOMIC_RELAXED) + batch;
    __atomic_store_n(tail, *tail + batch, __ATOMIC_SEQ_CST);
    uint32_t flags = __atomic_load_n(field(params.sq_off.flags), __ATOMIC_SEQ_CST);
    if ((params.flags & IORING_SETUP_SQPOLL) == 0) {
        if (syscall(SYS_io_uring_enter, ring, batch, batch, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
            fail("io_uring_enter");
    } else if (flags & IORING_SQ_NEED_WAKEUP) {
        syscall(SYS_io_uring_enter, ring, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
    }
    while (__atomic_load_n(done, __ATOMIC_ACQUIRE) != until)
        __builtin_ia32_pause();
    __atomic_store_n(field(params.cq_off.head), until, __ATOMIC_RELEASE);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    uint32_t batch = (uint32_t)atoi(words[1]), batches = (uint32_t)atoi(words[2]) / batch;
    set_up(batch, count > 3 ? words[3] : NULL);
    for (uint32_t i = 0; i < batches / 8; i++)
        make(batch);
    double began = now();
    for (uint32_t i = 0; i < batches * batch; i++)
        syscall(SYS_getppid);
    double between = now();
    for (uint32_t i = 0; i < batches; i++)
        make(batch);
    double calls = (double)batches * batch;
    printf("%.2f %.2f\n", (between - began) / calls, (now() - between) / calls);
    return 0;
}
