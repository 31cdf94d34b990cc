/*
 * Two threads that store to neighboring counters, which share lines or do not.
 *
 * The threads alternate: each sweeps over all its counters, then passes the turn. The first store
 * of a sweep to a shared line therefore always takes the line from the other core, natively as
 * under an emulator. Only sweeps are timed, so waiting for the turn does not count. STRIDE_BYTES is
 * the distance of counters: 8, or a line. Prints the mean time of a store in nanoseconds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 2
#define SWEPT 256
#define FEW_LOOKS 4096

struct counter {
    volatile long count;
    char rest[STRIDE_BYTES - sizeof(long)];
};

struct counter counters[SWEPT * THREADS] __attribute__((aligned(4096)));
static struct { long whose; } turn __attribute__((aligned(64)));
static long sweeps;
static double elapsed_ns[THREADS];

__attribute__((noinline)) void sweep(long own) {
    for (long at = 0; at < SWEPT; at++) counters[at * THREADS + own].count++;
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Moves the thread to the CPU of this number among those that it may use. */
static void pin(long wanted) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || wanted-- != 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

static void *work(void *argument) {
    long own = (long)argument;
    pin(own);
    for (long done = 0; done < sweeps; done++) {
        for (long look = 1; __atomic_load_n(&turn.whose, __ATOMIC_ACQUIRE) != own; look++) {
            if (look % FEW_LOOKS == 0) sched_yield();
        }
        double begun = now_ns();
        sweep(own);
        elapsed_ns[own] += now_ns() - begun;
        __atomic_store_n(&turn.whose, (own + 1) % THREADS, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(int count, char **words) {
    pthread_t threads[THREADS];
    sweeps = count > 1 ? atol(words[1]) : 1;
    for (long own = 0; own < THREADS; own++)
        if (pthread_create(&threads[own], NULL, work, (void *)own) != 0) return 1;
    double total = 0;
    for (int own = 0; own < THREADS; own++) {
        pthread_join(threads[own], NULL);
        total += elapsed_ns[own];
    }
    printf("%.4f\n", total / THREADS / SWEPT / sweeps);
    return 0;
}
