/*
 * Four threads that serve requests in parallel, each with code whose calls are hard to follow:
 * recursion, calls through pointers, tail calls, and longjmp. All store to lines that the others
 * load.
 *
 * The second argument of `serve` selects its work. The first request may be in any thread, while
 * the others run other code.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#define THREADS 4
#define REQUESTS 40

static struct {
    uint64_t of_all[512];
    uint64_t of_thread[THREADS][2048];
} data;

static _Thread_local jmp_buf caught;
static _Thread_local unsigned self;

__attribute__((noinline)) uint64_t count(uint64_t number)
{
    data.of_all[number % 512] += number;
    return data.of_thread[self][number * 97 % 2048]++;
}

__attribute__((noinline)) uint64_t walk(uint64_t number)
{
    uint64_t sum = 0;
    for (size_t i = number % 8; i < 2048; i += 24)
        sum += data.of_thread[self][i];
    return sum + data.of_all[sum % 512];
}

/* Ends with a tail call of `count`. */
__attribute__((noinline)) uint64_t count_behind(uint64_t number)
{
    return count(number * 5 + 1);
}

/* Ends with a tail call of a function that ends with a tail call. */
__attribute__((noinline)) uint64_t count_far_behind(uint64_t number)
{
    data.of_thread[self][number % 2048] = number;
    return count_behind(number + 3);
}

__attribute__((noinline)) uint64_t descend(uint64_t depth)
{
    if (depth == 0)
        return count_far_behind(depth);
    return descend(depth - 1) + count(depth) + 1;
}

/* Two functions that call each other; the innermost call leaves all of them by longjmp. */
uint64_t odd(uint64_t depth);

__attribute__((noinline)) uint64_t even(uint64_t depth)
{
    if (depth == 0)
        longjmp(caught, 1);
    return odd(depth - 1) + 2;
}

__attribute__((noinline)) uint64_t odd(uint64_t depth)
{
    count(depth);
    return even(depth - 1) + 3;
}

__attribute__((noinline)) uint64_t leave(uint64_t depth)
{
    if (setjmp(caught) == 0)
        return even(depth * 2);
    return walk(depth);
}

static uint64_t (*const parts[])(uint64_t) = {
    count, walk, count_behind, count_far_behind, descend, leave,
};

__attribute__((noinline)) uint64_t call_through(unsigned part, uint64_t number)
{
    uint64_t (*const volatile *chosen)(uint64_t) = &parts[part % 6];
    return (*chosen)(number % 6) + walk(number);
}

/* The request. Every fourth one ends with a tail call, also the first of a thread. */
__attribute__((noinline)) uint64_t serve(uint64_t number, unsigned part)
{
    uint64_t (*const volatile *chosen)(uint64_t) = &parts[part % 6];
    if (number % 4 == 0)
        return (*chosen)(number % 7);
    return call_through(part, number) + call_through(part + 1, number) + count(number);
}

static void *work(void *number)
{
    self = (unsigned)(uintptr_t)number;
    for (uint64_t i = 0; i < REQUESTS; i++)
        serve(i, self + i % 6);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 1; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    work(NULL);
    for (unsigned i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
