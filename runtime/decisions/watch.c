/*
 * The watchdog: the runtime's own thread, for events that no other thread is awake to see.
 *
 * While a fiber waits behind a running one, the watchdog looks at the cores now and then. It gives
 * a core that made no progress to a spare carrier. So a blocking call holds up its core no longer,
 * and a lock that one fiber holds cannot stop another for good. Each look takes a core from a
 * carrier for a while, in a virtual machine for tens of microseconds. So while nothing is wrong,
 * the watchdog looks less and less often.
 *
 * While threads hop, it also checks whether other programs use their CPUs (load.c). With a control
 * file it checks for orders (control.c). For auto it measures how fast the server is (auto.c). If
 * none of this is due, it sleeps until it is woken. While auto rests without hops, the watchdog and
 * the carriers end, so that a process without a gain is in its original state. The first hook after
 * the rest starts the watchdog again. It is a bare thread like the carriers, for the same reasons.
 */
#define _GNU_SOURCE
#include "watch.h"
#include "auto.h"
#include "clock.h"
#include "control.h"
#include "load.h"
#include "pool.h"
#include "processors.h"
#include "stalls.h"
#include "system.h"
#include "watchdog.h"

#include <asm/unistd.h>
#include <sys/prctl.h>

/* The first look after a stall or a sleep, and the longest time between two. */
#define LOOK_US 200
#define LONGEST_LOOK_US 800
/* Looks without a waiting thread before it sleeps. */
#define LOOKS 12
#define CONTROL_US 250000

static void prepare(void)
{
    set_signals(~0ull, NULL);
    if (mask_size != 0)
        system_call(__NR_sched_setaffinity, 0, (long)mask_size, (long)&own_mask, 0, 0, 0);
    system_call(__NR_prctl, PR_SET_NAME, (long)"corehop-watch", 0, 0, 0, 0);
    system_call(__NR_prctl, PR_SET_TIMERSLACK, 1, 0, 0, 0, 0);
}

/* Each of these does what is due. It returns the microseconds until it is due again, or 0 if that
 * is not before the watchdog is woken. */
static uint64_t relieve(void)
{
    static uint64_t look_us;
    static int idle;
    enum sighting seen = relieve_stalls();
    idle = seen == NOBODY_WAITS ? idle + 1 : 0;
    if (idle > LOOKS) {
        look_us = 0;
        return 0;
    }
    look_us = seen == STALL || look_us == 0 ? LOOK_US : look_us * 2;
    look_us = look_us < LONGEST_LOOK_US ? look_us : LONGEST_LOOK_US;
    return look_us;
}

static uint64_t obey(void)
{
    static uint64_t looked;
    if (!control_is_on())
        return 0;
    uint64_t since_us = nanoseconds_of(clock_now() - looked) / 1000;
    if (!control_is_asked() && since_us < CONTROL_US)
        return CONTROL_US - since_us;
    look_at_control();
    looked = clock_now();
    return CONTROL_US;
}

static uint64_t sooner(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

void keep_watch(void *argument)
{
    (void)argument;
    prepare();
    while (!__atomic_load_n(&pool.retire, __ATOMIC_SEQ_CST)) {
        uint64_t nap_us = relieve();
        uint64_t later_us = sooner(look_for_others(), sooner(obey(), look_at_load()));
        if (nap_us == 0 && auto_rests() && !control_is_on() && let_watchdog_leave(later_us))
            break;
        uint64_t next_us = nap_us != 0 ? nap_us : later_us;
        long pause[2] = {(long)(next_us / 1000000), (long)(next_us % 1000000) * 1000};
        if (nap_us != 0) {
            system_call(__NR_nanosleep, (long)pause, 0, 0, 0, 0, 0);
            continue;
        }
        __atomic_store_n(&watchdog_sleeps, 1, __ATOMIC_SEQ_CST);
        if (relieve_stalls() == NOBODY_WAITS && !control_is_asked() &&
            !__atomic_load_n(&pool.retire, __ATOMIC_SEQ_CST))
            futex_wait(&watchdog_sleeps, 1, later_us != 0 ? pause : NULL);
        __atomic_store_n(&watchdog_sleeps, 0, __ATOMIC_SEQ_CST);
    }
    system_call(__NR_exit, 0, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}
