/*
 * Three threads that use many objects, some of them often, through functions that have the object
 * in different arguments. At its end the program prints the calls of each thread: a line for each
 * call, with the thread's number, the function, and the address.
 *
 * Every function soon loads from the object, so that a trace contains its argument.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 3
#define REQUESTS 400
#define OFTEN 12
#define OBJECTS 3000
#define MOST_CALLS (REQUESTS * 4)
#define CALLED __attribute__((noinline, noclone))

static struct object {
    volatile uint64_t count, sum, spare[6];
} objects[OBJECTS] __attribute__((aligned(64)));

static struct log {
    long thread;
    unsigned count;
    struct {
        const char *function;
        const void *about;
    } calls[MOST_CALLS];
} logs[THREADS];

static pthread_barrier_t begun;
static _Thread_local struct log *own;
static _Thread_local uint64_t state;

static void tell(const char *function, const void *about)
{
    own->calls[own->count].function = function;
    own->calls[own->count++].about = about;
}

/* Half of all calls use one of a few objects. */
static struct object *any(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t number = state >> 33;
    return &objects[number % 2 == 0 ? number / 2 % OFTEN : number / 2 % OBJECTS];
}

CALLED uint64_t visit(struct object *object)
{
    object->count++;
    return object->sum;
}

CALLED uint64_t change(uint64_t by, struct object *object)
{
    object->sum += by;
    return object->count;
}

/* Called with an object or NULL. */
CALLED uint64_t maybe(uint64_t from, uint64_t to, struct object *object)
{
    return object == NULL ? from : object->spare[to % 6] + object->spare[0];
}

/* Calls another function with another object. */
CALLED uint64_t both(struct object *object, struct object *other)
{
    uint64_t sum = object->sum;
    tell("visit", other);
    return visit(other) + sum;
}

CALLED uint64_t rest(uint64_t number)
{
    return own->calls[number % own->count].about == NULL;
}

CALLED uint64_t serve(uint64_t number)
{
    /* No other thread calls anything before the recording has begun. */
    if (number == 0)
        pthread_barrier_wait(&begun);
    struct object *object = any(), *other = any();
    tell("visit", object);
    uint64_t sum = visit(object);
    switch (number % 3) {
    case 0:
        tell("change", other);
        return sum + change(number, other) + rest(number);
    case 1:
        other = number % 2 == 0 ? NULL : other;
        tell("maybe", other);
        return sum + maybe(sum, number, other) + rest(sum);
    default:
        tell("both", object);
        return both(object, other) + rest(sum) + sum;
    }
}

static void *work(void *log)
{
    static volatile uint64_t sum;
    own = log;
    own->thread = syscall(SYS_gettid);
    state = (uint64_t)(own - logs);
    bool is_first = own == logs;
    if (!is_first)
        pthread_barrier_wait(&begun);
    for (uint64_t number = !is_first; number < REQUESTS; number++)
        sum += serve(number);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&begun, NULL, THREADS);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &logs[i]);
    work(&logs[0]);
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        for (unsigned call = 0; call < logs[i].count; call++)
            printf("%ld %s %lx\n", logs[i].thread, logs[i].calls[call].function,
                   (unsigned long)logs[i].calls[call].about);
    return 0;
}
