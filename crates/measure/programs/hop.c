/*
 * Measures what hops and hooks cost in a program patched by corehop. Prints raw samples, one per
 * line.
 *
 * The crate embeds the compiled program and patches first_core() and second_core().
 * `corehop calibrate` and benches/hop.rs run the trials one after the other and compute medians.
 * A hop is timed there and back, so that both clock readings are on one core. Only the hop to a
 * parked worker thread is timed one way, because on the way back the worker still spins.
 * Rejected: clock_gettime, which costs a tenth of a hop; it only sets the scale, once.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_SAMPLES 20000
#define MOST_THREADS 1000
#define CALLS 1000
/* Longer than worker threads spin in these trials (COREHOP_SPIN_US). */
#define PAUSE_US 200
#define READINGS 8

static double ns_per_cycle;
static double samples[MOST_SAMPLES];
static int sample_count, pause_us = PAUSE_US;
static cpu_set_t processors[2];
static int stopped;
static uint32_t word __attribute__((aligned(64)));

/* In some plans, the destination of this function depends on its argument. */
__attribute__((noinline)) void first_core(const void *object)
{
    __asm__ volatile("" : : "r"(object) : "memory");
}

__attribute__((noinline)) void second_core(void)
{
    __asm__ volatile("" : : : "memory");
}

static uint64_t now_cycles(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Reads both clocks at one time. Keeps the quickest of a few readings, because the thread may
 * lose its CPU between the two clocks. */
static uint64_t both_now(double *ns)
{
    uint64_t quickest = UINT64_MAX, at = 0;
    for (int i = 0; i < READINGS; i++) {
        uint64_t began = now_cycles();
        double now = now_ns();
        uint64_t took = now_cycles() - began;
        if (took < quickest) {
            quickest = took;
            at = began + took / 2;
            *ns = now;
        }
    }
    return at;
}

static void set_scale(void)
{
    double began_ns, ended_ns;
    uint64_t began = both_now(&began_ns);
    while (now_ns() - began_ns < 2e7)
        ;
    uint64_t ended = both_now(&ended_ns);
    ns_per_cycle = (ended_ns - began_ns) / (double)(ended - began);
}

static double since(uint64_t began)
{
    return (double)(now_cycles() - began) * ns_per_cycle;
}

static void *hop(void *unused)
{
    for (int i = -1000; i < sample_count; i++) {
        uint64_t began = now_cycles();
        first_core(&word);
        second_core();
        samples[i < 0 ? 0 : i] = since(began) / 2;
    }
    return unused;
}

static void *hop_to_parked(void *unused)
{
    for (int i = -3; i < sample_count; i++) {
        second_core();
        uint64_t began = now_cycles();
        while (since(began) < pause_us * 1e3)
            ;
        began = now_cycles();
        first_core(&word);
        samples[i < 0 ? 0 : i] = since(began);
    }
    return unused;
}

static void *call(void *unused)
{
    for (int i = -10; i < sample_count; i++) {
        uint64_t began = now_cycles();
        for (int n = 0; n < CALLS; n++)
            first_core(&word);
        samples[i < 0 ? 0 : i] = since(began) / CALLS;
    }
    return unused;
}

static void *set_affinity(void *unused)
{
    for (int i = -10; i < sample_count; i++) {
        uint64_t began = now_cycles();
        sched_setaffinity(0, sizeof *processors, &processors[0]);
        sched_setaffinity(0, sizeof *processors, &processors[1]);
        samples[i < 0 ? 0 : i] = since(began) / 2;
    }
    return unused;
}

static void await_word(uint32_t value)
{
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != value)
        ;
}

static void *answer(void *unused)
{
    sched_setaffinity(0, sizeof *processors, &processors[1]);
    for (int i = 0; i < sample_count; i++) {
        await_word((uint32_t)i * 2 + 1);
        __atomic_store_n(&word, (uint32_t)i * 2 + 2, __ATOMIC_RELEASE);
    }
    return unused;
}

/* Passes one word there and back: the lower bound for anything that moves from core to core. */
static void *ask(void *unused)
{
    pthread_t other;
    sched_setaffinity(0, sizeof *processors, &processors[0]);
    if (pthread_create(&other, NULL, answer, NULL) != 0)
        return unused;
    for (int i = 0; i < sample_count; i++) {
        uint64_t began = now_cycles();
        __atomic_store_n(&word, (uint32_t)i * 2 + 1, __ATOMIC_RELEASE);
        await_word((uint32_t)i * 2 + 2);
        samples[i] = since(began) / 2;
    }
    pthread_join(other, NULL);
    return unused;
}

static void *hop_until_stopped(void *hops)
{
    while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED)) {
        first_core(&word);
        second_core();
        *(uint64_t *)hops += 2;
    }
    return NULL;
}

static int start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    int error = pthread_create(thread, NULL, run, argument);
    if (error != 0)
        fprintf(stderr, "cannot start a thread: %s\n", strerror(error));
    return error;
}

/* Prints the hops per second of `count` threads, measured for `duration_ms` milliseconds. */
static int many(int count, int duration_ms)
{
    static pthread_t threads[MOST_THREADS];
    static uint64_t hops[MOST_THREADS][8]; /* a cache line each */
    uint64_t total = 0;
    double began = now_ns();
    for (int i = 0; i < count; i++)
        if (start(&threads[i], hop_until_stopped, hops[i]) != 0)
            return 1;
    usleep((useconds_t)duration_ms * 1000);
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        total += hops[i][0];
    }
    printf("%.1f\n", (double)total * 1e9 / (now_ns() - began));
    return 0;
}

static int sample(void *(*run)(void *), int count)
{
    pthread_t thread;
    sample_count = count;
    if (start(&thread, run, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    for (int i = 0; i < count; i++)
        printf("%.3f\n", samples[i]);
    return 0;
}

/* hop TRIAL COUNT [A B]: prints COUNT samples of the trial. A and B are CPUs. For "many", they are
 * the number of threads and the duration in milliseconds. For "parked", A is the time in
 * microseconds for which the CPU was left. */
int main(int count, char **words)
{
    int numbers[3] = {0};
    for (int i = 0; i < 3 && i + 2 < count; i++)
        numbers[i] = atoi(words[i + 2]);
    const char *trial = count > 2 ? words[1] : "";
    for (int i = 0; i < 2; i++) {
        CPU_ZERO(&processors[i]);
        CPU_SET(numbers[i + 1], &processors[i]);
    }
    if (numbers[0] < 1 || numbers[0] > MOST_SAMPLES)
        return 2;
    set_scale();
    if (strcmp(trial, "hop") == 0)
        return sample(hop, numbers[0]);
    if (strcmp(trial, "parked") == 0) {
        pause_us = numbers[1] > 0 ? numbers[1] : PAUSE_US;
        return sample(hop_to_parked, numbers[0]);
    }
    if (strcmp(trial, "call") == 0)
        return sample(call, numbers[0]);
    if (strcmp(trial, "setaffinity") == 0)
        return sample(set_affinity, numbers[0]);
    if (strcmp(trial, "word") == 0)
        return sample(ask, numbers[0]);
    if (strcmp(trial, "many") == 0 && numbers[1] >= 1 && numbers[1] <= MOST_THREADS)
        return many(numbers[1], numbers[2]);
    fprintf(stderr, "unknown trial %s\n", trial);
    return 2;
}
