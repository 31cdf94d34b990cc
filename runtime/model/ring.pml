/*
 * The ring of a core: fibers put requests there, and the core's holder submits them and takes the
 * results. No result is lost, no result wakes a fiber for a wait that it has left, and no fiber
 * waits forever if the holder is held up.
 *
 * DATA puts a request whose result is available as soon as it is submitted. WAITER waits for a file
 * twice, and its home may call it out of a wait. BLOCKER blocks in a call until both are done, on
 * the worker thread (carrier) that holds the core and thus the ring. A file becomes ready at some
 * time.
 *
 * Bounds: one core; a ring without a kernel thread, which has room and does not break; three
 * fibers, queued in four orders; two workers, or one if the kernel has no more threads; one call
 * home. A batch is two requests. Three actions are one step each: a push, the check of everything
 * that needs the core's holder, and an entry into the kernel.
 *
 * MUTATE_RING_NOT_PASSED: invalid end state
 * MUTATE_UNSUBMITTED_LEFT: invalid end state
 * MUTATE_POKE_BEFORE_SLEEP: invalid end state
 * MUTATE_TURN_UNCHECKED: assertion violated ((fiber==0)||(turn==current))
 * MUTATE_LEFT_BY_STORE: assertion violated ((is[fiber]==4)||(is[fiber]==2))
 * MUTATE_POST_BY_ANYONE: invalid end state
 * MUTATE_RESULTS_HELD_BACK: acceptance cycle
 */
#include "steps.promela"

#define DATA 0
#define WAITER 1
#define BLOCKER 2
#define FIBERS 3
#define BATCH 2
#define TURNS 3
#ifdef SEARCH_CYCLES
#define CALLS 0
#else
#define CALLS 1
#endif
#define CANCEL FIBERS /* request in the ring that cancels the wait of this turn */
#define HOLDS(carrier) ((carrier) << 1)
#define RUNNING 1
#define CARRIERS 2
#define STRANGER 3
chan queue = [FIBERS] of { byte };
byte state = WATCHED; /* of the run queue while it is empty */
byte holder = HOLDS(1);
byte spare; /* a worker that waits to hold the core, or 0 */
bool is_scarce, awake[CARRIERS + 1];

/* The ring: its requests, its results, and the counts of ring.c. */
chan put = [TURNS + 2] of { byte, byte };
chan results = [TURNS + 2] of { byte, byte };
byte unsubmitted, under_way, waits, is_late;
bool armed[TURNS];

byte waiting, left_wait; /* WAITER's turn, and the turn that it left and must cancel; or 0 */
bool wanted_home, arrived;
bool blocked[STRANGER + 1], poked[STRANGER + 1]; /* signals of workers */
bool asleep;                                     /* the watchdog */

/* Ghosts. */
mtype = { RUNS, IN_RING, QUEUED, AT_HOME, DONE };
mtype is[FIBERS] = QUEUED;
byte current, has_asked, waited, done, calls_home = CALLS;

/* mirrors: runtime/run_queues/ring.c needs_holder */
#ifdef MUTATE_RING_NOT_PASSED
#define needs_holder(blocks) false
#else
#define needs_holder(blocks) \
    ((len(results) != 0) || unsubmitted != 0 || under_way != 0 || ((blocks) && waits != 0))
#endif

/* mirrors: runtime/carrier/stalls.c is_awaited */
#define is_awaited ((len(queue) != 0) || needs_holder(holder & RUNNING))

/* A holder that sleeps in the ring is woken by a signal. */
/* mirrors: runtime/run_queues/run_queue.c hand_over wake_holder */
inline hand_over(which) {
    atomic {
        assert(is[which] == IN_RING || is[which] == AT_HOME);
        found = ((len(queue) == 0) -> state : FIRST_FIBER);
        is[which] = QUEUED;
        queue!which
    };
    if
    :: found == ASLEEP -> atomic { poked[holder >> 1] = blocked[holder >> 1] }
    :: else
    fi;
    atomic { asleep = asleep && found != ASLEEP && found != BUSY; found = 0 }
}

/* mirrors: runtime/run_queues/ring.c take_results */
inline take_results() {
    do
    :: (len(results) != 0) ->
       atomic {
           assert((holder >> 1) == self);
           results?fiber, turn;
           if
           :: fiber == DATA -> under_way--; swapped = true
           :: fiber == WAITER -> waits--
           fi
       };
       if
#ifdef MUTATE_TURN_UNCHECKED
       :: fiber == WAITER -> atomic { swapped = (waiting != 0); waiting = 0 }
#else
       :: fiber == WAITER -> CAS(waiting, turn, 0)
#endif
       :: else
       fi;
       if
       :: atomic { swapped -> assert(fiber == DATA || turn == current); swapped = false };
          hand_over(fiber)
       :: else
       fi
    :: (len(results) == 0) -> break
    od;
    atomic { turn = 0; fiber = FIBERS }
}

/* The kernel performs the requests that were put. */
/* mirrors: runtime/run_queues/ring.c submit_requests */
inline submit_requests(least) {
    if
    :: unsubmitted >= least ->
       atomic {
           do
           :: put?fiber, turn ->
              if
              :: fiber == DATA -> results!DATA, 0
              :: fiber == WAITER -> armed[turn] = true
              :: fiber == CANCEL && armed[turn] -> armed[turn] = false; results!WAITER, turn
              :: fiber == CANCEL && !armed[turn]
              fi
           :: (len(put) == 0) -> break
           od;
           turn = 0; fiber = FIBERS; unsubmitted = 0
       };
       take_results()
    :: unsubmitted < least
    fi
}

/* The awaited event happens; if `is_late`, perhaps after the wait was left. */
proctype file() {
end:
    do
    :: atomic { armed[1] && (waiting == 1 || is_late) -> armed[1] = false; results!WAITER, 1 }
    :: atomic { armed[2] && (waiting == 2 || is_late) -> armed[2] = false; results!WAITER, 2 }
    od
}
/* mirrors: runtime/run_queues/ring.c put_request */
inline put_request(which) {
    atomic {
        assert((holder >> 1) == self);
        if
        :: which == DATA -> under_way++; put!DATA, 0
        :: which == WAITER -> waits++; current++; put!WAITER, current
        fi;
        unsubmitted++
    };
    waiting = (which == WAITER -> current : waiting);
    submit_requests(BATCH)
}

/* mirrors: runtime/carrier/pool.c post */
inline post(which) {
    stop();
    if
#ifdef MUTATE_POST_BY_ANYONE
    :: !is_holder -> put_request(which)
#else
    :: !is_holder -> hand_over(which) /* the fiber makes the call synchronously: ENOSYS */
#endif
    :: is_holder -> put_request(which)
    fi
}

/* mirrors: runtime/carrier/pool.c stop */
inline stop() {
    CAS(holder, HOLDS(self) | RUNNING, HOLDS(self));
    atomic { is_holder = swapped; swapped = false }
}

/* mirrors: runtime/carrier/pool.c run */
inline run_fiber(which) {
    is[which] = RUNS;
    holder = HOLDS(self) | RUNNING;
    asleep = ((len(queue) != 0) || needs_holder(true) -> false : asleep);
    which != BLOCKER || done == FIBERS - 1;
    if
    :: atomic { which == DATA && !has_asked -> has_asked = 1; is[DATA] = IN_RING };
       post(DATA)
    :: atomic { which == WAITER && waited < TURNS - 1 -> waited++; is[WAITER] = IN_RING };
       post(WAITER)
    :: else -> atomic { is[which] = DONE; done++ }; stop()
    fi
}

/* mirrors: runtime/run_queues/ring.c cancel_wait */
inline cancel_wait(which) {
    if
    :: which == WAITER && left_wait != 0 ->
       atomic { put!CANCEL, left_wait; unsubmitted++; left_wait = 0 }
    :: else
    fi
}

/* mirrors: runtime/run_queues/run_queue.c take_waiting */
inline take_waiting() {
    atomic {
        assert((holder >> 1) == self);
        if
        :: queue?taken -> state = BUSY
        :: (len(queue) == 0) -> taken = FIBERS
        fi
    }
}

/* From here on, signals arrive only in the wait. */
/* mirrors: runtime/run_queues/ring.c sleep_in_ring */
inline sleep_in_ring() {
#ifndef MUTATE_POKE_BEFORE_SLEEP
    blocked[self] = true;
#endif
    atomic {
        swapped = ((len(queue) == 0) && state == WATCHED);
        state = (swapped -> ASLEEP : state)
    };
    if
    :: swapped && (len(results) == 0) ->
#ifdef MUTATE_POKE_BEFORE_SLEEP
       blocked[self] = true;
#endif
end_sleeps:
       (len(results) != 0) || poked[self]
    :: else
    fi;
    atomic { blocked[self] = false; poked[self] = false };
    atomic { state = ((len(queue) == 0) && state == ASLEEP -> WATCHED : state); swapped = false }
}

/* mirrors: runtime/run_queues/waiting.c wait_for_work */
inline wait_for_work() {
    atomic { state = ((len(queue) == 0) && state == BUSY -> WATCHED : state) };
    if
    :: (len(queue) != 0) || (len(results) != 0)
    :: else -> sleep_in_ring()
    fi
}

/* mirrors: runtime/carrier/pool.c next_fiber */
inline next_fiber() {
    do
    :: take_results();
       take_waiting();
       if
       :: taken != FIBERS ->
          cancel_wait(taken);
          if
          :: taken == WAITER && wanted_home -> atomic { is[WAITER] = AT_HOME; arrived = true }
          :: else -> break
          fi
#ifdef MUTATE_UNSUBMITTED_LEFT
       :: taken == FIBERS -> wait_for_work()
#else
       :: taken == FIBERS && unsubmitted != 0 -> submit_requests(1)
       :: taken == FIBERS && unsubmitted == 0 -> wait_for_work()
#endif
       fi
    od
}

/* mirrors: runtime/carrier/pool.c work */
proctype work(byte self) {
    byte fiber = FIBERS, taken = FIBERS, turn, found;
    bool swapped, is_holder;
end_is_spare:
    do
    :: atomic { awake[self] -> awake[self] = false };
       do
       :: next_fiber();
          run_fiber(taken);
          taken = FIBERS;
          if
          :: !is_holder -> spare = self; break /* become_spare */
          :: is_holder -> is_holder = false
          fi
       od
    od
}

/* The home of WAITER, while it is away. If it is sent home without a call, it ends there. */
/* mirrors: runtime/run_queues/ring.c end_wait */
/* mirrors: runtime/carrier/home.c await */
proctype home() {
    byte turn, found;
    bool swapped;
    do
    :: is[WAITER] == DONE -> break
    :: atomic { !wanted_home && calls_home > 0 -> calls_home--; wanted_home = true }
    :: wanted_home && waiting != 0 ->
       turn = waiting;
#ifdef MUTATE_LEFT_BY_STORE
       waiting = 0;
       swapped = (turn != 0);
#else
       CAS(waiting, turn, 0);
       swapped = swapped && turn != 0;
#endif
       if
       :: swapped -> left_wait = turn; swapped = false; hand_over(WAITER)
       :: else
       fi
    :: arrived ->
       arrived = false;
       if
       :: wanted_home -> wanted_home = false; hand_over(WAITER)
       :: atomic { is[WAITER] = DONE; done++ }
       fi
    od
}

/* mirrors: runtime/carrier/stalls.c send_queue_home */
inline send_queue_home() {
    CAS(holder, seen, HOLDS(STRANGER) | RUNNING);
    if
    :: swapped ->
       swapped = false;
#ifndef MUTATE_RESULTS_HELD_BACK
       submit_requests(0);
#endif
       do
       :: take_waiting();
          cancel_wait(taken);
          if
          :: taken == FIBERS -> break
          :: taken == WAITER -> atomic { is[WAITER] = AT_HOME; arrived = true }
          :: else -> atomic { is[taken] = DONE; done++ }
          fi
       od;
       holder = seen
    :: else
    fi
}

/* mirrors: runtime/carrier/stalls.c relieve_stalls */
/* mirrors: runtime/carrier/pool.c relieve_core */
/* mirrors: runtime/decisions/watch.c keep_watch */
proctype watchdog() {
    byte self = STRANGER, fiber = FIBERS, taken = FIBERS, turn, found, seen;
    bool swapped;
    do
    :: atomic { is_awaited && (holder & RUNNING) -> seen = holder };
       if
       :: atomic {
              spare != 0 -> /* under the pool's lock */
              CAS(holder, seen, HOLDS(spare));
              awake[spare] = awake[spare] || swapped;
              spare = (swapped -> 0 : spare)
          }
       :: spare == 0 && is_scarce -> send_queue_home()
       :: spare == 0 && !is_scarce
       fi;
       atomic { swapped = false; seen = 0 }
    :: !is_awaited ->
       asleep = true;
       if
       :: !is_awaited ->
end_sleeps:
          !asleep
       :: is_awaited -> asleep = false
       fi
    od
}

init {
    atomic {
        if
        :: is_scarce = true
        :: spare = 2
        fi;
        if
        :: queue!BLOCKER; queue!WAITER; queue!DATA
        :: queue!WAITER; queue!BLOCKER; queue!DATA
        :: queue!DATA; queue!WAITER; queue!BLOCKER
        :: queue!WAITER; queue!DATA; queue!BLOCKER
        fi;
        select (is_late : 0 .. 1);
        awake[1] = true;
        run work(1);
        run work(2);
        run home();
        run watchdog();
        run file()
    }
}

/* A thread that waits behind the others, or in the ring, ends. */
ltl all_end { <> (done == FIBERS) }
