/*
 * A thread is called home, to its parked host thread, by a signal of the program or because all
 * threads must return. It gets there from any state, and the signal and its data are not lost.
 *
 * The signal POKE brings it home. At home, POKE ends the wait. On a worker thread (a carrier), its
 * handler sends the fiber home from the program's code and its system calls. In the runtime's code,
 * where the fiber is between two kernel threads, the handler does nothing. So home repeats POKE
 * until the fiber has arrived. The model assumes the worst case. A blocking call returns only for a
 * signal. A POKE that the program's code has not received before it enters the runtime is lost.
 *
 * Bounds: one thread, one worker, two signals that arrive once each, one caller that may close the
 * pool. The thread hops any number of times. It is in the runtime's code without a hop at most
 * once: if every POKE arrived there, the thread would never return home. Home's timer may end its
 * wait at any time. ring.pml models waits in a ring.
 *
 * MUTATE_POKE_ONCE: invalid end state
 * MUTATE_POKE_NOT_KEPT: invalid end state
 * MUTATE_SECOND_TAKEN: invalid end state
 * MUTATE_HELD_OVERWRITTEN: assertion violated (held_from==held)
 * MUTATE_QUEUED_UNSEEN: acceptance cycle
 * MUTATE_AWAY_WHILE_CLOSING: acceptance cycle
 * MUTATE_CLOSING_BEFORE_AWAY: assertion violated (closed==0)
 */
#include "steps.promela"

#define NONE 0
#define SIGNALS 2 /* they are 1 and 2 */
#define POKE 3

bool closing, away;
bool wanted_home, arrived;
bool is_queued;
bool has_carrier; /* fiber->carrier is set */
byte held, held_from;

/* The kernel's pending signals of each kernel thread. */
bool pending[SIGNALS + 1], poke_at_home, poke_at_carrier;

/* Ghosts. */
bool in_program; /* the fiber runs on the worker, in the program's code or in its system call */
bool in_wait;    /* home is in rt_sigtimedwait */
bool closed;
byte delivered[SIGNALS + 1];
byte detours = 1;

/* Home blocks POKE, so the kernel keeps it pending. */
inline poke_home() {
#ifdef MUTATE_POKE_NOT_KEPT
    atomic { poke_at_home = in_wait }
#else
    poke_at_home = true
#endif
}

/* mirrors: runtime/carrier/home.c poke_carrier */
inline poke_carrier() {
    if
    :: has_carrier -> atomic { poke_at_carrier = in_program }
    :: else
    fi
}

/* mirrors: runtime/carrier/fibers.c send_home */
inline send_home() {
    has_carrier = false;
    arrived = true;
    poke_home()
}

/* POKE interrupts the program: the fiber goes home now if it is wanted there. */
/* mirrors: runtime/carrier/home.c poked */
inline poked() {
    poke_at_carrier = false;
    if
    :: wanted_home -> in_program = false; goes_home = true
    :: !wanted_home
    fi
}

/* The fiber on the worker, until it leaves to go home or to hop. */
inline runs_program() {
    in_program = true;
    do
    :: goes_home -> break
    :: !goes_home && poke_at_carrier -> poked()
    :: !goes_home && !poke_at_carrier -> skip /* it computes */
    :: !goes_home -> /* a call that blocks, and is repeated unless the fiber goes home */
end_blocked:
       poke_at_carrier;
       poked()
    :: atomic {
           !goes_home && detours > 0 ->
           detours--; in_program = false; poke_at_carrier = false
       };
       in_program = true
    :: atomic { !goes_home -> in_program = false; poke_at_carrier = false };
       if
       :: goes_home = true
       :: skip
       fi;
       break
    od
}

/* mirrors: runtime/carrier/pool.c next_fiber run */
proctype carrier() {
    bool goes_home;
end:
    do
    :: atomic { is_queued -> is_queued = false };
       assert(closed == false);
       if
#ifndef MUTATE_QUEUED_UNSEEN
       :: wanted_home -> goes_home = true
       :: !wanted_home ->
#else
       :: true ->
#endif
          has_carrier = true;
          runs_program()
       fi;
       if
       :: goes_home -> goes_home = false; send_home()
       :: else -> is_queued = true /* hand_over */
       fi
    od
}

/* Waits for a wanted signal, with all signals blocked. */
inline timed_wait(number) {
    in_wait = true;
end_waits:
    if
    :: atomic {
           poke_at_home -> poke_at_home = false;
           number = POKE;
#ifndef MUTATE_HELD_OVERWRITTEN
           if
           :: held == NONE -> held_from = POKE
           :: else
           fi
#else
           held_from = POKE
#endif
       }
    :: atomic { wants_all && pending[1] -> pending[1] = false; number = 1; held_from = 1 }
    :: atomic { wants_all && pending[2] -> pending[2] = false; number = 2; held_from = 2 }
#ifndef MUTATE_POKE_ONCE
    :: recalled -> number = NONE
#endif
    fi;
    in_wait = false
}

/* mirrors: runtime/carrier/home.c await */
inline await() {
    wants_all = true;
    do
    :: arrived -> break
    :: !arrived ->
       recalled = wanted_home;
       if
       :: recalled -> poke_carrier()
       :: else
       fi;
       timed_wait(number);
       if
       :: number == NONE || number == POKE
       :: number != NONE && number != POKE ->
          held = number;
#ifndef MUTATE_SECOND_TAKEN
          wants_all = false;
#endif
          wanted_home = true
       fi;
       number = NONE;
       recalled = false
    od;
    wants_all = false;
    arrived = false;
    wanted_home = false
}

/* mirrors: runtime/carrier/home.c return_signal */
inline return_signal() {
    poke_at_home = false;
    if
    :: held != NONE ->
       atomic { assert(held_from == held); pending[held] = true; held = NONE; held_from = NONE }
    :: held == NONE -> held_from = NONE
    fi
}

/* Signals are blocked from here on, and the program has received all earlier ones. */
/* mirrors: runtime/carrier/home.c depart */
inline depart() {
#ifdef MUTATE_CLOSING_BEFORE_AWAY
    if
    :: closing -> goto stays
    :: !closing
    fi;
    away = true;
#else
#ifndef MUTATE_AWAY_WHILE_CLOSING
    if
    :: closing -> goto stays
    :: !closing
    fi;
#endif
    away = true;
    if
    :: closing -> away = false; goto stays
    :: !closing
    fi;
#endif
    is_queued = true; /* run_home: hand_over */
    await();
    away = false;
    return_signal();
stays:
    skip
}

/* mirrors: runtime/carrier/home.c run_home */
proctype home() {
    byte number;
    bool recalled, wants_all;
end:
    do
    :: poke_at_home -> poke_at_home = false
    :: atomic { pending[1] -> pending[1] = false; delivered[1]++; assert(delivered[1] == 1) }
    :: atomic { pending[2] -> pending[2] = false; delivered[2]++; assert(delivered[2] == 1) }
    :: atomic { !pending[1] && !pending[2] && !closed -> skip };
       depart()
    od
}

/* Another thread or process sends a signal to the thread. */
proctype sends(byte number) {
    pending[number] = true;
    delivered[number] == 1
}

/* A thread that has returned home continues there. */
proctype arrives() {
end:
    do
    :: arrived -> !arrived
    od
}

/* mirrors: runtime/carrier/fibers.c call_home */
inline call_home() {
    wanted_home = true;
    poke_home()
}

/* The caller may also do nothing: calls home by signals do not need it. */
/* mirrors: runtime/carrier/pool.c close_pool */
/* mirrors: runtime/carrier/fibers.c call_everyone_home */
proctype closes() {
    if
    :: true
    :: true -> goto nobody
    fi;
    closing = true;
    do
    :: away -> call_home()
    :: !away -> break
    od;
    closed = true;
nobody:
    skip
}

init {
    atomic {
        run carrier();
        run home();
        run sends(1);
#ifndef SEARCH_CYCLES
        run sends(2);
#endif
        run arrives();
        run closes()
    }
}

/* A called thread gets home, even if it hops all the time. */
ltl called_gets_home { [] (closing -> <> closed) }
