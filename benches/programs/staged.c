/*
 * Sessions that chase pointers through a loop of two phases, in place or delegated to two cores.
 *
 * The experiment is Curto's Accesstest. Each phase has its own working set, a circular path
 * through cache lines. Each element holds the index of the next one and whether that one is to
 * be written. Lines are visited by Zipf's law with exponent 1, each at least once per round and
 * at most as often as elements fit in it. A session takes a number of steps in one phase, then
 * in the other, and continues each where it stopped.
 *
 * In place, two threads on separate cores serve half of the sessions each. Delegated, each
 * session is a thread; benches/staged lets corehop hook both phases. The buffers use huge pages,
 * so that a cache holds as much as its size. With 0 accesses, a phase walks once around its
 * path, as in Accesstest; otherwise its length does not depend on its working set.
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

#define LINE_ELEMENTS 16
#define MOST_SESSIONS 1000
#define HUGE_PAGE (2ul << 20)

/* An element, and a position on a path: the next element's index, and whether it is written. */
typedef uint32_t element;
#define WRITTEN 1u

static struct session {
    element at[2];
    uint64_t touches;
} __attribute__((aligned(64))) sessions[MOST_SESSIONS];

static volatile element *paths[2];
static int lengths[2];
static int session_count, touches, stopped, delegated;
static cpu_set_t processors[2];
static uint64_t state;

static uint64_t random_below(uint64_t bound)
{
    state += 0x9e3779b97f4a7c15;
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return (mixed ^ mixed >> 31) % bound;
}

static void shuffle(uint32_t *values, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)random_below(i), kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

/* Returns how often the line of this rank is visited per round. */
static uint32_t visits(uint32_t rank, uint32_t lines, double harmonic)
{
    double share = (double)lines / harmonic / (rank + 1);
    return share < 1.5 ? 1 : share > LINE_ELEMENTS ? LINE_ELEMENTS : (uint32_t)(share + 0.5);
}

static int lay_path(int phase, uint32_t lines, double update_ratio)
{
    uint32_t *ranks = malloc(lines * sizeof *ranks), *order = NULL, count = 0;
    size_t size = ((size_t)lines * 64 + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    element *path = aligned_alloc(HUGE_PAGE, size);
    order = malloc((size_t)lines * LINE_ELEMENTS * sizeof *order);
    if (ranks == NULL || order == NULL || path == NULL)
        return 0;
    madvise(path, size, MADV_HUGEPAGE);
    double harmonic = 0;
    for (uint32_t line = 0; line < lines; line++) {
        ranks[line] = line;
        harmonic += 1.0 / (line + 1);
    }
    shuffle(ranks, lines);
    for (uint32_t line = 0; line < lines; line++)
        for (uint32_t n = visits(ranks[line], lines, harmonic); n > 0; n--)
            order[count++] = line * LINE_ELEMENTS + n - 1;
    shuffle(order, count);
    uint64_t bound = (uint64_t)(update_ratio * 1e6);
    element first = order[0] << 1, next = first;
    for (uint32_t i = count; i-- > 0;) {
        path[order[i]] = next;
        next = order[i] << 1 | (random_below(1000000) < bound ? WRITTEN : 0);
    }
    for (int i = 0; i < session_count; i++)
        sessions[i].at[phase] = order[random_below(count)] << 1;
    paths[phase] = path;
    lengths[phase] = touches > 0 ? touches : (int)count;
    free(ranks);
    free(order);
    return 1;
}

static inline void take_steps(struct session *session, int phase)
{
    volatile element *path = paths[phase];
    element at = session->at[phase];
    int length = lengths[phase];
    for (int i = 0; i < length; i++) {
        volatile element *here = &path[at >> 1];
        element next = *here;
        if (at & WRITTEN)
            *here = next;
        at = next;
    }
    session->at[phase] = at;
}

__attribute__((noinline)) void first_phase(struct session *session)
{
    take_steps(session, 0);
}

__attribute__((noinline)) void second_phase(struct session *session)
{
    take_steps(session, 1);
}

static void take_turn(struct session *session)
{
    first_phase(session);
    second_phase(session);
    uint64_t taken = (uint64_t)lengths[0] + (uint64_t)lengths[1];
    __atomic_store_n(&session->touches, session->touches + taken, __ATOMIC_RELAXED);
}

static void *serve(void *first)
{
    struct session *session = first;
    if (delegated)
        while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED))
            take_turn(session);
    sched_setaffinity(0, sizeof *processors, &processors[(session - sessions) % 2]);
    while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED))
        for (struct session *each = session; each < sessions + session_count; each += 2) {
            if (__atomic_load_n(&stopped, __ATOMIC_RELAXED))
                break;
            take_turn(each);
        }
    return NULL;
}

static double now_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t all_touches(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < session_count; i++)
        sum += __atomic_load_n(&sessions[i].touches, __ATOMIC_RELAXED);
    return sum;
}

/* Prints accesses per second after a warm-up, and the share of its two CPUs that this process
 * got. */
static int measure(int duration_ms)
{
    static pthread_t threads[MOST_SESSIONS];
    int count = delegated || session_count < 2 ? session_count : 2;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, serve, &sessions[i]) != 0)
            return 1;
    usleep((useconds_t)duration_ms * 300);
    double began = now_s(CLOCK_MONOTONIC), used = now_s(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t before = all_touches();
    usleep((useconds_t)duration_ms * 1000);
    uint64_t after = all_touches();
    double seconds = now_s(CLOCK_MONOTONIC) - began;
    used = now_s(CLOCK_PROCESS_CPUTIME_ID) - used;
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%.0f %.4f\n", (double)(after - before) / seconds, used / seconds / 2);
    return 0;
}

/* Prints a phase's path from its beginning for the simulator: each element as in the buffer. */
static void list(int phase)
{
    element first = sessions[0].at[phase], at = first;
    do {
        at = paths[phase][at >> 1];
        printf("%u\n", at);
    } while (at >> 1 != first >> 1);
}

/* staged in-place|delegated KIB UPDATES TOUCHES SESSIONS MILLISECONDS SEED A B: KIB per phase,
 * UPDATES as the share of accesses that write, TOUCHES as accesses per session and phase (0 for
 * once around), and the CPUs A and B of the threads in place.
 * staged list ... with 0 or 1 in place of MILLISECONDS prints that phase's path. */
int main(int count, char **words)
{
    if (count != 10) {
        fprintf(stderr, "needs nine arguments\n");
        return 2;
    }
    uint32_t lines = (uint32_t)(atof(words[2]) * 16);
    delegated = strcmp(words[1], "delegated") == 0;
    touches = atoi(words[4]);
    session_count = atoi(words[5]);
    state = (uint64_t)atoll(words[7]);
    for (int i = 0; i < 2; i++) {
        CPU_ZERO(&processors[i]);
        CPU_SET(atoi(words[8 + i]), &processors[i]);
    }
    if (lines < 2 || lines > 1 << 24 || session_count < 1 || session_count > MOST_SESSIONS ||
        touches < 0) {
        fprintf(stderr, "an argument is out of range\n");
        return 2;
    }
    for (int phase = 0; phase < 2; phase++)
        if (!lay_path(phase, lines, atof(words[3]))) {
            fprintf(stderr, "no memory\n");
            return 1;
        }
    if (strcmp(words[1], "list") != 0)
        return measure(atoi(words[6]));
    list(atoi(words[6]));
    return 0;
}
