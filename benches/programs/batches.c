/*
 * Threads that each send a byte through their own socket and receive it back, all on one CPU.
 * Measures the cost of system calls that never wait, by the number of threads.
 *
 * usage: batches THREADS ROUNDS; prints nanoseconds per call. With a runtime that makes the
 * calls asynchronously, the time includes the threads' switches. Without one, the threads run
 * one after the other, as they arrive.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 64

static long rounds;
static pthread_barrier_t start;

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *talk(void *unused)
{
    int ends[2];
    char byte = 1;
    (void)unused;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(1);
    /* One round trip first, which resolves symbols. */
    if (send(ends[0], &byte, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
        exit(1);
    pthread_barrier_wait(&start);
    for (long i = 0; i < rounds; i++)
        if (send(ends[0], &byte, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
            exit(1);
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[MOST_THREADS];
    int wanted = count > 2 ? atoi(words[1]) : 0;
    rounds = count > 2 ? atol(words[2]) : 0;
    if (wanted < 1 || wanted > MOST_THREADS || rounds < 1)
        return 2;
    pthread_barrier_init(&start, NULL, (unsigned)wanted + 1);
    for (int i = 0; i < wanted; i++)
        pthread_create(&threads[i], NULL, talk, NULL);
    pthread_barrier_wait(&start);
    double before = now_ns();
    for (int i = 0; i < wanted; i++)
        pthread_join(threads[i], NULL);
    printf("%.2f\n", (now_ns() - before) / (2.0 * (double)rounds * wanted));
    return 0;
}
