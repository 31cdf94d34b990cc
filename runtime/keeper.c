/*
 * The keeper: the runtime's own thread, which looks after what nobody else is awake to see.
 *
 * While a traveller waits behind another that runs, it looks at the cores now and then, and gives
 * one that made no progress to a spare carrier: a blocking call holds up its core for no longer,
 * and a lock held by one traveller cannot stop another for good. Each look takes a core from a
 * carrier for a while, in a virtual machine for tens of microseconds, so while all goes well it
 * looks more and more seldom. When nobody waits it sleeps until somebody does, or, with a control
 * file, until the next look at that. It is a bare thread like the
 * carriers, for their reasons.
 */
#define _GNU_SOURCE
#include "carrier.h"

#include <asm/unistd.h>
#include <sys/prctl.h>

/* The first look after a stall or a sleep, and the longest time between two. */
#define LOOK_NS 200000
#define LONGEST_LOOK_NS 800000
/* Looks without anyone waiting before it sleeps. */
#define LOOKS 12
#define CONTROL_NS 250000000
#define STACK_SIZE 65536

static int thread;
static void *stack;
static uint32_t asleep;

void wake_keeper(void)
{
    if (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST) &&
        __atomic_exchange_n(&asleep, 0, __ATOMIC_SEQ_CST))
        futex_wake(&asleep, 1);
}

static void prepare(void)
{
    const uint64_t blocked = ~0ull;
    system_call(__NR_rt_sigprocmask, SIG_SETMASK, (long)&blocked, 0, sizeof blocked, 0, 0);
    if (mask_size != 0)
        system_call(__NR_sched_setaffinity, 0, (long)mask_size, (long)&own_mask, 0, 0, 0);
    system_call(__NR_prctl, PR_SET_NAME, (long)"corehop-keeper", 0, 0, 0, 0);
    system_call(__NR_prctl, PR_SET_TIMERSLACK, 1, 0, 0, 0, 0);
}

static void keep(void *argument)
{
    const long control[2] = {0, CONTROL_NS};
    long look[2] = {0, LOOK_NS};
    uint64_t looked = 0, between = cycles_of(CONTROL_NS / 1000);
    int idle = 0;
    (void)argument;
    prepare();
    while (!__atomic_load_n(&crew.retire, __ATOMIC_SEQ_CST)) {
        enum sighting seen = relieve_stalls();
        idle = seen == NOBODY_WAITS ? idle + 1 : 0;
        look[1] = seen == STALL || look[1] == 0 ? LOOK_NS : look[1] * 2;
        look[1] = look[1] < LONGEST_LOOK_NS ? look[1] : LONGEST_LOOK_NS;
        if (control_is_on() && (control_is_asked() || clock_now() - looked >= between)) {
            look_at_control();
            looked = clock_now();
        }
        if (idle < LOOKS) {
            system_call(__NR_nanosleep, (long)look, 0, 0, 0, 0, 0);
            continue;
        }
        __atomic_store_n(&asleep, 1, __ATOMIC_SEQ_CST);
        if (relieve_stalls() == NOBODY_WAITS && !control_is_asked() &&
            !__atomic_load_n(&crew.retire, __ATOMIC_SEQ_CST))
            futex_wait(&asleep, 1, control_is_on() ? control : NULL);
        __atomic_store_n(&asleep, 0, __ATOMIC_SEQ_CST);
        look[1] = 0;
    }
    system_call(__NR_exit, 0, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

/* True when it runs, whoever started it. */
bool start_keeper(void)
{
    int none = 0;
    if (!__atomic_compare_exchange_n(&thread, &none, -1, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return true;
    uint8_t *memory = stack != NULL ? stack : map_memory(STACK_SIZE);
    stack = memory;
    if (memory != NULL && start_bare(keep, NULL, memory + STACK_SIZE, &thread))
        return true;
    __atomic_store_n(&thread, 0, __ATOMIC_SEQ_CST);
    return false;
}

void await_end(int *word)
{
    int running;
    /* The kernel clears the word and wakes it as one shared between processes. */
    while ((running = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != 0)
        system_call(__NR_futex, (long)word, 0, running, 0, 0, 0);
}

void await_keeper(void)
{
    await_end(&thread);
}

void keeper_forked(void)
{
    thread = 0;
    asleep = 0;
}
