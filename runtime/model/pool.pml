/*
 * Worker threads (carriers) begin and end. A team opens if the kernel has enough threads for it. A
 * closing pool, for instance before a change of user, leaves no worker and no queued thread.
 *
 * Threads of the program leave home for core 0, may hop to core 1, and return home, up to a number
 * of times. In parallel, another thread closes and reopens the pool, and the watchdog gives cores
 * to spare workers. The kernel may refuse each start of a worker. The model omits offline CPUs:
 * they end no worker (cpu_offline.c), and their threads go home at their next hook.
 *
 * Bounds: one team of two cores, THREADS threads (2) that leave home at most TRIPS times each (1),
 * CARRIERS workers (3), one close. Run queues are assumed to be correct (run_queue.pml), and so is
 * the way home of a running thread (home.pml). The watchdog finds a core held up whenever its
 * holder runs and a thread waits, and may act on that late. The model omits the end of an idle pool
 * under `auto`.
 *
 * MUTATE_TEAM_OPENED_IN_PART: invalid end state
 * MUTATE_CARRIER_STARTED_LATE: assertion violated (is_alive[at]==0)
 * MUTATE_CLOSING_BEFORE_AWAY: invalid end state
 * MUTATE_CLOSE_UNAWAITED: invalid end state
 * MUTATE_SPARES_NOT_WOKEN: invalid end state
 */
#include "steps.promela"

#define THREADS 2
#define TRIPS 1
#define CORES 2
#define CARRIERS 3 /* numbered 1 to 3 */
#define HOLDS(carrier) ((carrier) << 1)
#define RUNNING 1

/* The pool. */
bool closing, retire, lock;
byte away; /* threads */
bool watchdog_is_alive;

/* Cores. */
chan queue[CORES] = [THREADS] of { byte };
byte holder[CORES];
bool is_open[CORES];
byte spares[CORES], below[CARRIERS + 1];

/* Workers. */
bool is_alive[CARRIERS + 1], awake[CARRIERS + 1];
byte core_of[CARRIERS + 1];

/* Threads of the program. */
bool is_away[THREADS], wanted_home[THREADS], arrived[THREADS];

/* A thread that has run here goes home or to the team's other core. */
/* mirrors: runtime/carrier/pool.c run stop */
inline run_thread(self) {
    holder[core] = HOLDS(self) | RUNNING;
    if
    :: arrived[thread] = true
    :: core == 0 -> queue[1]!thread
    fi;
    CAS(holder[core], HOLDS(self) | RUNNING, HOLDS(self))
}

/* A worker; its kernel thread may begin any time after it is started. */
/* mirrors: runtime/carrier/pool.c work next_fiber become_spare */
proctype work(byte self) {
    byte thread, core;
    bool swapped;
end_not_started:
    do
    :: atomic { is_alive[self] -> core = core_of[self] };
       do
       :: retire -> break
       :: !retire ->
end_is_spare:
          atomic { awake[self] -> awake[self] = false };
end_holds:
          if
          :: queue[core]?thread ->
             if
             :: atomic { wanted_home[thread] -> arrived[thread] = true; thread = 0 };
                goto end_holds
             :: !wanted_home[thread]
             fi;
             run_thread(self);
             thread = 0;
             if
             :: atomic { swapped -> swapped = false }; goto end_holds
             :: atomic { !swapped && !lock -> below[self] = spares[core]; spares[core] = self }
             fi
          :: (len(queue[core]) == 0) && retire
          fi
       od;
       atomic { core = 0; is_alive[self] = false }
    od
}

/* Starts a worker, perhaps one that has ended; 0 if the kernel has no more threads. */
/* mirrors: runtime/carrier/pool.c start_carrier */
inline start_carrier(number, core) {
    if
    :: !is_alive[1] -> number = 1
    :: is_alive[1] && !is_alive[2] -> number = 2
    :: is_alive[1] && is_alive[2] && !is_alive[3] -> number = 3
    :: number = 0
    fi;
    if
    :: number != 0 -> awake[number] = false; core_of[number] = core; is_alive[number] = true
    :: else
    fi
}

/* Workers that it could start stay for the next try. */
/* mirrors: runtime/carrier/pool.c open_team */
inline open_team() {
    opened = true;
    do
    :: core < CORES && opened && holder[core] == 0 ->
       start_carrier(number, core);
       opened = (number != 0);
       holder[core] = HOLDS(number);
       awake[number] = opened;
#ifdef MUTATE_TEAM_OPENED_IN_PART
       is_open[core] = opened;
#endif
       core++
    :: core < CORES && opened && holder[core] != 0 -> core++
    :: core == CORES || !opened -> break
    od;
    number = 0;
    core = 0;
#ifndef MUTATE_TEAM_OPENED_IN_PART
    is_open[0] = is_open[0] || opened;
    is_open[1] = is_open[1] || opened
#endif
}

/* With the lock held, in one step, because others see only the result. */
/* mirrors: runtime/carrier/pool.c open_pool */
inline open_pool() {
    atomic {
        !lock ->
        if
        :: closing -> opened = false
        :: !closing ->
           retire = false;
           watchdog_is_alive = true;
           open_team()
        fi
    }
}

/* mirrors: runtime/carrier/home.c depart run_home set_away */
proctype home(byte thread) {
    byte trips, number, core;
    bool opened;
    do
    :: trips < TRIPS ->
       trips++;
#ifdef MUTATE_CLOSING_BEFORE_AWAY
       opened = !closing;
       atomic { is_away[thread] = true; away++ };
#else
       atomic { is_away[thread] = true; away++ };
       opened = !closing;
#endif
       if
       :: opened && !is_open[0] -> open_pool()
       :: else
       fi;
       if
       :: opened ->
          queue[0]!thread;
          arrived[thread];
          atomic { arrived[thread] = false; wanted_home[thread] = false }
       :: else
       fi;
       atomic { is_away[thread] = false; away--; opened = false }
    :: break
    od
}

/* mirrors: runtime/carrier/pool.c end_carriers */
inline end_carriers() {
    atomic { !lock -> lock = true; retire = true };
    atomic {
#ifndef MUTATE_SPARES_NOT_WOKEN
        awake[1] = true;
        awake[2] = true;
        awake[3] = true;
#endif
        lock = false
    };
    at = 1;
    do
    :: atomic { at <= CARRIERS && !is_alive[at] -> at++ }
    :: at > CARRIERS -> break
    od
}

/* mirrors: runtime/carrier/pool.c forget_pool */
inline forget_pool() {
    atomic {
        at = 0;
        do
        :: at < CORES -> holder[at] = 0; is_open[at] = false; spares[at] = 0; at++
        :: else -> break
        od;
        at = 1
    }
}

/* mirrors: runtime/carrier/pool.c close_pool reopen_pool */
/* mirrors: runtime/carrier/fibers.c call_everyone_home */
proctype closes() {
    byte at;
    closing = true;
#ifndef MUTATE_CLOSE_UNAWAITED
    do
    :: away == 0 -> break
    :: away != 0 && is_away[0] && !wanted_home[0] -> wanted_home[0] = true
    :: away != 0 && is_away[1] && !wanted_home[1] -> wanted_home[1] = true
    od;
#endif
    end_carriers();
    !watchdog_is_alive; /* await_watchdog */
    forget_pool();
    /* Here the program changes its user. */
    atomic {
        do
        :: at <= CARRIERS -> assert(is_alive[at] == false); at++
        :: else -> break
        od
    };
    retire = false;
    closing = false
}

/* With the lock held, in one step. Of the shared variables, it only reads `retire`, which only the
 * lock's owner sets, and changes `holder` once. */
/* mirrors: runtime/carrier/pool.c relieve_core */
inline relieve_core() {
    atomic {
        !lock ->
#ifdef MUTATE_CARRIER_STARTED_LATE
        may = true;
#else
        may = !retire;
#endif
        spare = (may -> spares[core] : 0);
        if
        :: may && spare == 0 -> start_carrier(spare, core); is_new = true
        :: else
        fi;
        if
        :: spare != 0 -> CAS(holder[core], seen, HOLDS(spare))
        :: else
        fi;
        if
        :: swapped && !is_new -> spares[core] = below[spare]
        :: !swapped && is_new && spare != 0 -> below[spare] = spares[core]; spares[core] = spare
        :: else
        fi;
        awake[spare] = swapped || (spare != 0 && awake[spare]);
        spare = 0;
        seen = 0;
        may = false;
        is_new = false;
        swapped = false
    }
}

/* mirrors: runtime/decisions/watch.c keep_watch */
/* mirrors: runtime/carrier/stalls.c relieve_stalls */
proctype watchdog() {
    byte core, seen, spare;
    bool swapped, is_new, may;
end_sleeps:
    do
    :: watchdog_is_alive && retire -> watchdog_is_alive = false
    :: atomic {
           watchdog_is_alive && !retire && (holder[core] & RUNNING) && (len(queue[core]) != 0) ->
           seen = holder[core]
       };
       relieve_core()
    :: atomic {
           watchdog_is_alive && !retire && (holder[1 - core] & RUNNING) &&
           (len(queue[1 - core]) != 0) ->
           core = 1 - core
       }
    od
}

init {
    byte at;
    atomic {
        run watchdog();
        run closes();
        do
        :: at < THREADS -> run home(at); at++
        :: else -> break
        od;
        at = 1;
        do
        :: at <= CARRIERS -> run work(at); at++
        :: else -> break
        od;
        at = 0
    }
}
