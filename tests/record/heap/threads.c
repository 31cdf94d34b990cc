/* Threads that hand objects to each other: each slot holds one, and whoever takes it frees it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 4, SLOTS = 16, ROUNDS = 200 };
static _Atomic(long *) slots[SLOTS];

long serve(long round) {
    long *own = malloc(sizeof *own * (size_t)(1 + round % 20));
    own[0] = round;
    long *other = atomic_exchange(&slots[round * 7 % SLOTS], own);
    long sum = other ? other[0] : 0;
    free(other);
    return sum;
}

static void *work(void *argument) {
    long sum = 0;
    for (long round = 0; round < ROUNDS; round++) sum += serve(round);
    return sum == 1 ? argument : 0;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int place = 0; place < THREADS; place++)
        pthread_create(&threads[place], 0, work, threads);
    for (int place = 0; place < THREADS; place++) pthread_join(threads[place], 0);
    return 0;
}
