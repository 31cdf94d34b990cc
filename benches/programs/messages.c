/*
 * Threads with a local component and a critical section, in place or elsewhere.
 *
 * The experiment is Srinivasan's micro-benchmark. Both components walk a circular path that
 * visits each line of a buffer once, in a random order; some lines of the section are modified.
 * The section runs in one of three places: on the thread's core, under a lock; in a server
 * thread; or in the thread itself on another core, if corehop hooks both functions. The server
 * takes messages from a queue and copies them, reads them in place, or takes several together.
 *
 * Waiting threads poll, and yield the CPU occasionally: sleeping threads would measure how fast
 * the kernel wakes them. The time-stamp counter measures the components without waiting. In a
 * server, that includes taking the message and answering it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define LINE_ELEMENTS 16
#define MOST_THREADS 64
#define MOST_BYTES 65536
#define MOST_AT_ONCE 4
#define HUGE_PAGE (2ul << 20)
#define FEW_LOOKS 256
#define MANY_LOOKS (1 << 20)

/* Index of the next line, and whether that line is to be modified. */
typedef uint32_t element;
#define MODIFIED 1u

struct path {
    volatile element *lines;
    element at;
    int length;
};

static struct thread {
    struct path local;
    uint64_t rounds, local_ticks, section_ticks;
    char *message;
    int replied __attribute__((aligned(64)));
} __attribute__((aligned(128))) threads[MOST_THREADS];

static struct path section;
static int lock __attribute__((aligned(128)));
static struct {
    struct thread *places[MOST_THREADS];
    uint32_t first, end;
} queue __attribute__((aligned(128)));
static uint64_t taken, found_one, server_ticks;
static int stopped, at_once, is_copying, message_bytes, looks_at_once;
static char copied[MOST_BYTES] __attribute__((aligned(64)));
static cpu_set_t processors[2];
static uint64_t state;

static uint64_t random_below(uint64_t bound)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return (mixed ^ mixed >> 31) % bound;
}

static int is_over(void)
{
    return __atomic_load_n(&stopped, __ATOMIC_RELAXED);
}

static void look_again(int *looks)
{
    if (++*looks % looks_at_once == 0)
        sched_yield();
    else
        _mm_pause();
}

static void acquire(void)
{
    int looks = 0;
    while (__atomic_load_n(&lock, __ATOMIC_RELAXED) ||
           __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        look_again(&looks);
}

static void release(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static int lay_path(struct path *path, uint32_t count, uint32_t modified)
{
    size_t size = ((size_t)count * 64 + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    element *lines = aligned_alloc(HUGE_PAGE, size);
    uint32_t *order = malloc(count * sizeof *order);
    if (lines == NULL || order == NULL)
        return 0;
    madvise(lines, size, MADV_HUGEPAGE);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)random_below(i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
    /* The order is random, so the lines of its first part are representative. */
    uint32_t next = order[0] * LINE_ELEMENTS << 1 | (modified > 0 ? MODIFIED : 0);
    path->at = next;
    for (uint32_t i = count; i-- > 0;) {
        lines[order[i] * LINE_ELEMENTS] = next;
        next = order[i] * LINE_ELEMENTS << 1 | (i < modified ? MODIFIED : 0);
    }
    path->lines = lines;
    path->length = (int)count;
    free(order);
    return 1;
}

static void walk(struct path *path)
{
    volatile element *lines = path->lines;
    element at = path->at;
    int length = path->length;
    for (int i = 0; i < length; i++) {
        volatile element *here = &lines[at >> 1];
        element next = *here;
        if (at & MODIFIED)
            here[1]++;
        at = next;
    }
    path->at = at;
}

__attribute__((noinline)) void local_component(struct thread *thread)
{
    uint64_t began = __rdtsc();
    walk(&thread->local);
    thread->local_ticks += __rdtsc() - began;
}

__attribute__((noinline)) void critical_section(struct thread *thread)
{
    acquire();
    uint64_t began = __rdtsc();
    walk(&section);
    thread->section_ticks += __rdtsc() - began;
    release();
}

static void *run_in_place(void *own)
{
    struct thread *thread = own;
    while (!is_over()) {
        local_component(thread);
        critical_section(thread);
        __atomic_store_n(&thread->rounds, thread->rounds + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *ask(void *own)
{
    struct thread *thread = own;
    while (!is_over()) {
        local_component(thread);
        memset(thread->message, (int)thread->rounds, (size_t)message_bytes);
        __atomic_store_n(&thread->replied, 0, __ATOMIC_RELAXED);
        acquire();
        queue.places[queue.end % MOST_THREADS] = thread;
        __atomic_store_n(&queue.end, queue.end + 1, __ATOMIC_RELAXED);
        release();
        for (int looks = 0; !__atomic_load_n(&thread->replied, __ATOMIC_ACQUIRE);)
            if (is_over())
                return NULL;
            else
                look_again(&looks);
        __atomic_store_n(&thread->rounds, thread->rounds + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *serve(void *nothing)
{
    int looks = 0, found_none = 0;
    while (!is_over()) {
        if (__atomic_load_n(&queue.end, __ATOMIC_RELAXED) == queue.first) {
            found_none = 1;
            look_again(&looks);
            continue;
        }
        uint64_t began = __rdtsc();
        struct thread *asking[MOST_AT_ONCE];
        int count = 0;
        acquire();
        while (count < at_once && queue.first != queue.end)
            asking[count++] = queue.places[queue.first++ % MOST_THREADS];
        release();
        taken += (uint64_t)count;
        found_one += (uint64_t)(count - found_none);
        found_none = 0;
        for (int i = 0; i < count; i++) {
            if (is_copying)
                memcpy(copied, asking[i]->message, (size_t)message_bytes);
            else
                *(volatile char *)copied = *(volatile char *)asking[i]->message;
            walk(&section);
            __atomic_store_n(&asking[i]->replied, 1, __ATOMIC_RELEASE);
        }
        server_ticks += __rdtsc() - began;
    }
    return nothing;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct sums {
    uint64_t rounds, local_ticks, section_ticks, taken, found_one;
};

/* Returns the threads' totals so far; ticks may lag by a round. */
static struct sums sum(int count)
{
    struct sums sums = {0, 0, server_ticks, taken, found_one};
    for (int i = 0; i < count; i++) {
        sums.rounds += __atomic_load_n(&threads[i].rounds, __ATOMIC_RELAXED);
        sums.local_ticks += threads[i].local_ticks;
        sums.section_ticks += threads[i].section_ticks;
    }
    return sums;
}

static int start(pthread_t *thread, void *(*run)(void *), void *own, const cpu_set_t *cpus)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (cpus != NULL)
        pthread_attr_setaffinity_np(&attributes, sizeof *cpus, cpus);
    return pthread_create(thread, &attributes, run, own);
}

/* Prints rounds per second, ticks per round in both components, and the share of messages that
 * the server found without waiting. */
static int measure(const char *way, int count, int duration_ms)
{
    static pthread_t started[MOST_THREADS];
    int has_server = strcmp(way, "lock") != 0 && strcmp(way, "hop") != 0;
    int asking = has_server ? count - 1 : count;
    for (int i = 0; i < asking; i++) {
        const cpu_set_t *cpus = has_server ? &processors[0] : &processors[i % 2];
        if (strcmp(way, "hop") == 0)
            cpus = NULL;
        if (start(&started[i], has_server ? ask : run_in_place, &threads[i], cpus) != 0)
            return 1;
    }
    if (has_server && start(&started[asking], serve, NULL, &processors[1]) != 0)
        return 1;
    usleep((useconds_t)duration_ms * 300);
    double began = now_s();
    struct sums before = sum(asking);
    usleep((useconds_t)duration_ms * 1000);
    struct sums after = sum(asking);
    double seconds = now_s() - began;
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++)
        pthread_join(started[i], NULL);
    double rounds = (double)(after.rounds - before.rounds);
    double parts = rounds > 0 ? rounds : 1;
    double messages = (double)(after.taken - before.taken);
    double local = (double)(after.local_ticks - before.local_ticks);
    double sections = (double)(after.section_ticks - before.section_ticks);
    printf("%.0f %.0f %.0f %.4f\n", rounds / seconds, local / parts, sections / parts,
           messages > 0 ? (double)(after.found_one - before.found_one) / messages : 0);
    return 0;
}

/* messages lock|copying|zero-copy|batched|hop LOCAL SECTION MODIFIED BYTES THREADS MILLISECONDS
 * SEED A B: lines of the components, modified lines of the section, bytes per message, number of
 * all threads, and the CPUs; a server uses the second. */
int main(int count, char **words)
{
    if (count != 11) {
        fprintf(stderr, "needs ten arguments\n");
        return 2;
    }
    int numbers[9];
    for (int i = 0; i < 9; i++)
        numbers[i] = atoi(words[2 + i]);
    int thread_count = numbers[4];
    message_bytes = numbers[3];
    /* Two threads have a CPU each, and no other thread to yield to. */
    looks_at_once = thread_count > 2 ? FEW_LOOKS : MANY_LOOKS;
    state = (uint64_t)numbers[6];
    at_once = strcmp(words[1], "batched") == 0 ? MOST_AT_ONCE : 1;
    is_copying = strcmp(words[1], "copying") == 0;
    if (numbers[0] < 1 || numbers[1] < 1 || numbers[2] > numbers[1] || thread_count < 2 ||
        thread_count > MOST_THREADS || message_bytes < 1 || message_bytes > MOST_BYTES) {
        fprintf(stderr, "an argument is out of range\n");
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        CPU_ZERO(&processors[i]);
        CPU_SET(numbers[7 + i], &processors[i]);
    }
    int laid = lay_path(&section, (uint32_t)numbers[1], (uint32_t)numbers[2]);
    for (int i = 0; i < thread_count; i++) {
        threads[i].message = aligned_alloc(64, MOST_BYTES);
        laid = laid && threads[i].message != NULL &&
               lay_path(&threads[i].local, (uint32_t)numbers[0], 0);
    }
    if (!laid) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    return measure(words[1], thread_count, numbers[5]);
}
