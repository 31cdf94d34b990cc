/*
 * Cost of system calls for the code between them. Dependent loads access a set of lines in
 * random order; a call follows after a fixed number of loads.
 *
 * usage: pollution KIB LOADS STRETCHES none|getppid|pwrite
 * Prints nanoseconds per load, without calls, and nanoseconds per call. pwrite() writes a page
 * of a file in the current folder.
 *
 * usage: pollution KIB LOADS STRETCHES none|getppid|pwrite BUCKET
 * Prints nanoseconds per load for each BUCKET loads after a call.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define PAGE 4096
#define PAGES 1024

struct line {
    struct line *next;
    char rest[56];
};

static uint32_t draw(void)
{
    static uint64_t state = 88172645463325252;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* Returns a cycle through all lines, in random order. */
static struct line *circle(size_t lines)
{
    struct line *all = aligned_alloc(PAGE, lines * sizeof *all);
    size_t *order = malloc(lines * sizeof *order);
    if (all == NULL || order == NULL)
        exit(1);
    for (size_t i = 0; i < lines; i++)
        order[i] = i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t other = draw() % (i + 1), kept = order[i];
        order[i] = order[other], order[other] = kept;
    }
    for (size_t i = 0; i < lines; i++)
        all[order[i]].next = &all[order[(i + 1) % lines]];
    free(order);
    return all;
}

static struct line *chase(struct line *at, long loads)
{
    for (long i = 0; i < loads; i++) {
        at = at->next;
        __asm__ volatile("" : "+r"(at));
    }
    return at;
}

static uint64_t tick(void)
{
    unsigned processor;
    _mm_lfence();
    uint64_t now = __rdtscp(&processor);
    _mm_lfence();
    return now;
}

static int file;
static char page[PAGE];

static void call(char kind)
{
    if (kind == 'g')
        syscall(SYS_getppid);
    else if (kind == 'p' && pwrite(file, page, PAGE, (off_t)(draw() % PAGES) * PAGE) != PAGE)
        exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **words)
{
    if (count < 5)
        return 2;
    struct line *at = circle((size_t)atol(words[1]) * 1024 / sizeof(struct line));
    long loads = atol(words[2]), stretches = atol(words[3]);
    char kind = words[4][0];
    long bucket = count > 5 ? atol(words[5]) : loads, buckets = loads / bucket;
    uint64_t *spent = calloc((size_t)buckets, sizeof *spent), of_calls = 0;
    file = open(".", O_TMPFILE | O_RDWR, 0600);
    if (spent == NULL || file < 0)
        return 1;
    for (int i = 0; i < PAGES; i++)
        if (pwrite(file, page, PAGE, (off_t)i * PAGE) != PAGE)
            return 1;
    at = chase(at, 100000);
    double began = now();
    uint64_t first = tick();
    for (long i = 0; i < stretches; i++) {
        uint64_t from = tick(), to = from;
        call(kind);
        from = tick();
        of_calls += from - to;
        for (long j = 0; j < buckets; j++, from = to) {
            at = chase(at, bucket);
            to = tick();
            spent[j] += to - from;
        }
    }
    double ns = (now() - began) / (double)(tick() - first);
    double each = ns / (double)stretches;
    for (long j = 0; j < buckets; j++)
        printf("%.4f\n", (double)spent[j] * each / (double)bucket);
    if (count == 5)
        printf("%.2f\n", (double)of_calls * each);
    return at == NULL;
}
