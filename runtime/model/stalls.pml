/*
 * A core gets another holder: the holder's fiber blocks, others wait behind it, and the watchdog
 * makes a spare worker (carrier) the holder. If the kernel has no more threads, the watchdog sends
 * the waiting fibers home.
 *
 * BLOCKER's call returns only after the other fibers of this core have arrived any number of times,
 * like the call of a thread that waits for their lock or message. So a forgotten fiber waits
 * forever. The watchdog sleeps while it sees no waiting fiber, and a fiber that begins to wait must
 * wake it. The processor delays a worker's plain stores for a while, in order (x86-TSO); a locked
 * instruction or a fence waits for them. The model delays the two relevant stores, of `ready` and
 * `holder` before a fiber runs: others see them after a step of `store_buffer`.
 *
 * Bounds: one core; two workers, the second not yet started, and the kernel may refuse each start;
 * FIBERS fibers (2). A push and an exchange of the run queue are one step each (run_queue.pml has
 * separate ones), and so is everything under the pool's lock. The holder does not sleep. At the
 * second check, a core counts as held up if its fiber blocks, and may count as held up if another
 * fiber runs there.
 *
 * MUTATE_NO_FENCE: invalid end state
 * MUTATE_BUSY_UNSEEN: invalid end state
 * MUTATE_LOOK_BEFORE_ASLEEP: invalid end state
 * MUTATE_STOP_BY_STORE: assertion violated ((holder>>1)==self)
 * MUTATE_RELIEVE_BY_STORE: assertion violated ((holder>>1)==self)
 * MUTATE_QUEUE_HELD_BACK: acceptance cycle
 * MUTATE_RESTORED_AS_IDLE: acceptance cycle
 */
#include "steps.promela"

#define FIBERS 2
#define BLOCKER 0

/* core.holder: a worker, and whether it runs a fiber. */
#define HOLDS(carrier) ((carrier) << 1)
#define RUNNING 1
#define CARRIERS 2
#define STRANGER 3 /* holds the core in send_queue_home */

chan pushed = [FIBERS] of { byte }; /* the run queue */
bool busy;                          /* its value while it is empty: BUSY, or WATCHED */
chan line = [FIBERS] of { byte };   /* core.ready, as its holder sees it */
bool ready;                         /* whether others see a fiber there */
byte holder = HOLDS(1);             /* as others see it */
bool stored_ready, stored_holder;   /* the content of the holder's store buffer */

byte spares, below[CARRIERS + 1];
bool awake[CARRIERS + 1];
bool is_started;
bool asleep, in_futex; /* of the watchdog */

/* Ghosts: the state of each fiber, and the fiber of each worker. */
mtype = { AWAY, WAITS, RUNS };
mtype is[FIBERS] = AWAY;
byte user[CARRIERS + 1] = FIBERS;
byte ended;

#define FLUSH                         \
    ready = (len(line) != 0);         \
    stored_ready = false;             \
    holder = holder | stored_holder;  \
    stored_holder = false

/* The processor. */
proctype store_buffer() {
end:
    do
    :: atomic { stored_ready -> ready = (len(line) != 0); stored_ready = false }
    :: atomic { !stored_ready && stored_holder -> holder = holder | RUNNING; stored_holder = false }
    od
}

/* mirrors: runtime/threads/watchdog.c wake_watchdog */
inline wake_watchdog() {
    if
    :: asleep -> atomic { in_futex = (asleep -> false : in_futex); asleep = false }
    :: else
    fi
}

/* mirrors: runtime/run_queues/run_queue.c hand_over */
inline hand_over(fiber) {
    atomic { was_busy = (len(pushed) == 0) && busy; pushed!fiber; is[fiber] = WAITS };
    if
#ifdef MUTATE_BUSY_UNSEEN
    :: was_busy -> was_busy = false
#else
    :: was_busy -> was_busy = false; wake_watchdog()
#endif
    :: else
    fi
}

/* A fiber that other cores' workers hand over to this core. */
proctype comes(byte fiber) {
    bool was_busy;
    do
    :: hand_over(fiber);
       is[fiber] == AWAY;
       if
       :: fiber == BLOCKER -> break
       :: else
       fi
    :: break
    od;
    ended++
}

/* Omits the first check of the run queue: only the holder takes fibers from it. */
/* mirrors: runtime/run_queues/run_queue.c take_waiting take_pushed take_all */
inline take_waiting(self) {
    atomic {
        assert((holder >> 1) == self);
        if
        :: (len(line) == 0) && (len(pushed) != 0) ->
           FLUSH;
           do
           :: pushed?fiber -> line!fiber
           :: (len(pushed) == 0) -> break
           od;
           busy = true
        :: else
        fi;
        if
        :: line?fiber -> stored_ready = true
        :: (len(line) == 0) -> fiber = FIBERS
        fi
    }
}

/* mirrors: runtime/carrier/pool.c stop */
inline stop(self) {
#ifdef MUTATE_STOP_BY_STORE
    atomic { FLUSH; holder = HOLDS(self); swapped = true }
#else
    atomic { FLUSH; CAS(holder, HOLDS(self) | RUNNING, HOLDS(self)) }
#endif
}

/* Handing a fiber over, or sending it home, uses a locked instruction. */
/* mirrors: runtime/carrier/pool.c run */
inline run_fiber(self) {
    atomic { user[self] = fiber; is[fiber] = RUNS; stored_holder = true };
    if
#ifdef MUTATE_NO_FENCE
    :: (len(line) != 0) -> wake_watchdog()
#else
    :: atomic { (len(line) != 0) -> FLUSH }; wake_watchdog()
#endif
    :: (len(line) == 0)
    fi;
    atomic {
        fiber != BLOCKER || ended == FIBERS - 1 ->
        FLUSH;
        is[fiber] = AWAY;
        user[self] = FIBERS;
        fiber = FIBERS
    };
    stop(self)
}

/* mirrors: runtime/carrier/pool.c become_spare */
inline become_spare(self) {
    atomic { below[self] = spares; spares = self }
}

/* mirrors: runtime/carrier/pool.c work next_fiber */
proctype work(byte self) {
    byte fiber = FIBERS;
    bool swapped;
end_is_spare:
    do
    :: atomic { awake[self] -> awake[self] = false };
next_fiber:
       take_waiting(self);
       if
       :: atomic { fiber == FIBERS -> busy = busy && (len(pushed) != 0) }; /* wait_for_work */
end_watches:
          (len(pushed) != 0);
          goto next_fiber
       :: fiber != FIBERS ->
          run_fiber(self);
          if
          :: atomic { swapped -> swapped = false }; goto next_fiber
          :: !swapped -> become_spare(self)
          fi
       fi
    od
}

/* mirrors: runtime/carrier/pool.c relieve_core */
inline relieve_core() {
    atomic {
        spare = spares;
        if
        :: spare == 0 && !is_started -> is_started = true; spare = 2; is_new = true
        :: spare == 0
        :: spare != 0
        fi;
#ifdef MUTATE_RELIEVE_BY_STORE
        swapped = spare != 0;
        holder = (swapped -> HOLDS(spare) : holder);
#else
        if
        :: spare != 0 -> CAS(holder, seen_holder, HOLDS(spare))
        :: else
        fi;
#endif
        if
        :: swapped && !is_new -> spares = below[spare]
        :: !swapped && is_new -> below[spare] = spares; spares = spare
        :: else
        fi;
        awake[spare] = swapped || (spare != 0 && awake[spare]);
        swapped = false;
        is_new = false
    }
}

/* mirrors: runtime/carrier/stalls.c send_queue_home */
inline send_queue_home() {
    CAS(holder, seen_holder, HOLDS(STRANGER) | RUNNING);
    if
    :: atomic { swapped -> swapped = false };
       do
       :: take_waiting(STRANGER);
          atomic {
              FLUSH;
              if
              :: fiber != FIBERS -> is[fiber] = AWAY /* send_home */
              :: else -> break
              fi
          }
       od;
#ifdef MUTATE_RESTORED_AS_IDLE
       holder = seen_holder & ~RUNNING
#else
       holder = seen_holder
#endif
    :: !swapped
    fi
}

/* mirrors: runtime/carrier/stalls.c is_held_up */
inline is_held_up() {
    atomic {
        last_holder = seen_holder;
        seen_holder = holder;
        if
        :: (seen_holder & RUNNING) && last_holder == seen_holder ->
           if
           :: held_up = true
           :: user[seen_holder >> 1] != BLOCKER && user[seen_holder >> 1] != FIBERS
           fi
        :: else
        fi;
        seen_holder = (seen_holder & RUNNING -> seen_holder : 0);
        last_holder = 0
    }
}

/* mirrors: runtime/carrier/stalls.c is_awaited */
inline is_awaited() {
    if
    :: (len(pushed) != 0) -> awaited = true
    :: (len(pushed) == 0) -> awaited = ready
    fi
}

/* mirrors: runtime/carrier/stalls.c relieve_stalls */
inline relieve_stalls() {
    is_awaited();
    if
    :: atomic { !awaited -> seen_holder = 0 }
    :: awaited ->
       is_held_up();
       if
       :: atomic { held_up -> held_up = false };
          relieve_core();
          if
#ifdef MUTATE_QUEUE_HELD_BACK
          :: spare == 0
#else
          :: spare == 0 -> send_queue_home()
#endif
          :: spare != 0 -> spare = 0
          fi
       :: !held_up
       fi
    fi
}

/* After enough checks without a waiting fiber, it marks itself asleep and checks once more. */
/* mirrors: runtime/decisions/watch.c keep_watch */
proctype watchdog() {
    byte seen_holder, last_holder, spare, fiber = FIBERS;
    bool awaited, held_up, swapped, is_new, goes_to_sleep;
    do
    :: relieve_stalls();
       if
       :: awaited -> atomic { asleep = (goes_to_sleep -> false : asleep); goes_to_sleep = false }
#ifdef MUTATE_LOOK_BEFORE_ASLEEP
       :: atomic { !awaited && !goes_to_sleep -> goes_to_sleep = true }
       :: !awaited && goes_to_sleep ->
          asleep = true;
#else
       :: atomic { !awaited && !goes_to_sleep -> asleep = true; goes_to_sleep = true }
       :: !awaited && goes_to_sleep ->
#endif
          in_futex = asleep; /* futex_wait */
end_sleeps:
          !in_futex;
          atomic { asleep = false; goes_to_sleep = false }
       fi;
       awaited = false
    od
}

init {
    byte fiber;
    atomic {
        awake[1] = true;
        run store_buffer();
        run watchdog();
        run work(1);
        run work(2);
        do
        :: fiber < FIBERS -> run comes(fiber); fiber++
        :: else -> break
        od;
        fiber = 0
    }
}

/* A fiber that waits behind BLOCKER runs. BLOCKER waits for the others, so it may never return. */
ltl who_waits_runs { [] (is[1] == WAITS -> <> (is[1] != WAITS)) }
