/*
 * The run queue of one core: any thread pushes fibers, and the core's holder takes them in order.
 * The holder sleeps on the word when its spinning time is over.
 *
 * Each fiber is a process that hands itself over, as the worker (carrier) of another core does for
 * it. It waits until the holder has run it, and repeats this any number of times. When all have
 * stopped, the pool retires. So a lost wake-up ends in a state in which no process can continue.
 *
 * Bounds: FIBERS fibers (3) on one core; the holder has at most one spurious wake-up. The futex
 * compares the whole word, while the kernel compares its lower half: a fiber is an address of a
 * page, so the only state that its lower half can equal is WATCHED.
 *
 * MUTATE_WAKE_BEFORE_PUBLISH: invalid end state
 * MUTATE_SLEEP_WITHOUT_COMPARING: invalid end state
 * MUTATE_PARK_BY_STORE: invalid end state
 * MUTATE_TAKE_BY_STORE: assertion violated (oldest==fiber)
 * MUTATE_PUSH_BY_STORE: assertion violated (oldest==fiber)
 * MUTATE_NEWEST_FIRST: assertion violated (oldest==fiber)
 * MUTATE_WAKE_BEFORE_RETIRE: invalid end state
 */
#include "steps.promela"

#define FIBERS 3

byte run_queue = WATCHED;
byte next[FIRST_FIBER + FIBERS];
byte ready = NOBODY;
bool retire;
bool in_futex; /* the holder sleeps in the kernel */
byte woken_for_nothing = 1;

/* Ghosts: the order in which fibers arrived, which ones wait, and how many have stopped. */
chan order = [FIBERS] of { byte };
bool waits[FIRST_FIBER + FIBERS];
byte stopped;

/* mirrors: runtime/run_queues/run_queue.c wake_holder */
inline wake_holder() {
    in_futex = false
}

/* mirrors: runtime/run_queues/run_queue.c hand_over */
inline hand_over(fiber) {
#ifdef MUTATE_WAKE_BEFORE_PUBLISH
    if
    :: run_queue == ASLEEP -> wake_holder()
    :: else
    fi;
#endif
    head = WATCHED;
    do
    ::
#ifdef MUTATE_PUSH_BY_STORE
       if
       :: run_queue == head ->
          d_step {
              next[fiber] = head;
              run_queue = fiber; waits[fiber] = true; order!fiber; swapped = true
          }
       :: else -> head = run_queue; swapped = false
       fi;
#else
       d_step {
           if
           :: run_queue == head ->
              next[fiber] = head;
              run_queue = fiber; waits[fiber] = true; order!fiber; swapped = true
           :: else -> head = run_queue; swapped = false
           fi
       }
#endif
       if
       :: swapped -> break
       :: else
       fi
    od;
#ifndef MUTATE_WAKE_BEFORE_PUBLISH
    if
    :: head == ASLEEP -> wake_holder()
    :: else
    fi;
#endif
    head = WATCHED
}

/* mirrors: runtime/carrier/pool.c run */
proctype comes(byte fiber) {
    byte head;
    bool swapped;
    do
    :: hand_over(fiber);
       !waits[fiber]
    :: break
    od;
    stopped++
}

/* mirrors: runtime/run_queues/run_queue.c take_all */
inline take_all() {
#ifdef MUTATE_TAKE_BY_STORE
    newest = run_queue;
    run_queue = BUSY;
#else
    d_step { newest = run_queue; run_queue = BUSY }
#endif
    d_step {
#ifdef MUTATE_NEWEST_FIRST
        ready = newest;
        do
        :: newest != NOBODY && next[newest] <= BUSY -> next[newest] = NOBODY; newest = NOBODY
        :: newest != NOBODY && next[newest] > BUSY -> newest = next[newest]
        :: newest == NOBODY -> break
        od;
#else
        do
        :: newest > BUSY ->
           taken = newest;
           newest = next[taken];
           next[taken] = ready;
           ready = taken
        :: else -> break
        od;
#endif
        taken = NOBODY;
        newest = 0
    }
}

/* mirrors: runtime/run_queues/order.c take_next */
inline take_next(fiber) {
    fiber = NOBODY;
    newest = WATCHED;
    if
    :: ready == NOBODY -> newest = run_queue
    :: else
    fi;
    if
    :: newest > BUSY -> take_all()
    :: else
    fi;
    if
    :: ready != NOBODY -> d_step { fiber = ready; ready = next[fiber]; next[fiber] = 0; newest = 0 }
    :: else -> newest = 0
    fi
}

/* The kernel compares while it holds the word's lock, which a waker must take. */
inline futex_wait() {
#ifdef MUTATE_SLEEP_WITHOUT_COMPARING
    in_futex = true;
#else
    atomic {
        if
        :: run_queue == ASLEEP -> in_futex = true
        :: else
        fi
    }
#endif
    if
    :: !in_futex
    :: atomic { woken_for_nothing > 0 && in_futex -> woken_for_nothing--; in_futex = false }
    fi
}

/* mirrors: runtime/run_queues/waiting.c wait_for_work */
inline wait_for_work() {
    CAS(run_queue, BUSY, WATCHED);
    do
    :: run_queue > BUSY -> goto looked
    :: retire -> goto looked
    :: run_queue <= BUSY && !retire -> break /* its spinning time is over */
    od;
#ifdef MUTATE_PARK_BY_STORE
    run_queue = ASLEEP;
    swapped = true;
#else
    CAS(run_queue, WATCHED, ASLEEP);
#endif
    if
    :: swapped ->
       if
       :: !retire -> futex_wait()
       :: else
       fi;
       CAS(run_queue, ASLEEP, WATCHED)
    :: else
    fi;
looked:
    swapped = false
}

/* mirrors: runtime/carrier/pool.c next_fiber */
proctype holder() {
    byte newest, taken, fiber, oldest;
    bool swapped;
    do
    :: take_next(fiber);
       if
       :: fiber != NOBODY ->
          d_step {
              order?oldest;
              assert(oldest == fiber);
              waits[fiber] = false;
              oldest = NOBODY
          }
       :: else ->
          if
          :: retire -> break
          :: !retire -> wait_for_work()
          fi
       fi
    od
}

/* mirrors: runtime/run_queues/run_queue.c wake_watcher */
inline wake_watcher() {
    CAS(run_queue, ASLEEP, WATCHED);
    if
    :: swapped -> wake_holder()
    :: else
    fi
}

/* mirrors: runtime/carrier/pool.c end_carriers */
proctype end_carriers() {
    bool swapped;
    stopped == FIBERS;
#ifdef MUTATE_WAKE_BEFORE_RETIRE
    wake_watcher();
    retire = true
#else
    retire = true;
    wake_watcher()
#endif
}

init {
    byte fiber = FIRST_FIBER;
    atomic {
        run holder();
        run end_carriers();
        do
        :: fiber < FIRST_FIBER + FIBERS -> run comes(fiber); fiber++
        :: else -> break
        od;
        fiber = 0
    }
}

/* A fiber that has arrived runs, whatever the others do. */
ltl who_waits_runs { [] (waits[FIRST_FIBER] -> <> !waits[FIRST_FIBER]) }
