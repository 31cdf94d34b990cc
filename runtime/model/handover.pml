/*
 * A thread's state moves from its parked host thread (its home) to a worker thread (a carrier),
 * between workers, and back home. Exactly one kernel thread runs it at any time, with the registers
 * that it had when it left the previous one.
 *
 * Each kernel thread has registers. The model represents a fiber's registers by a number. The fiber
 * changes the number as it runs, and the next kernel thread must restore it. A fiber that leaves
 * saves its vector registers, then the others with its stack pointer (`vectors` and `stack`). Only
 * then is it handed over, by code on the stack of its worker or home. Registers are restored in two
 * steps as well.
 *
 * Bounds: CORES cores (2) with one worker each; FIBERS fibers (2) that hop to any core any number
 * of times. Run queues are assumed to be correct (run_queue.pml). Workers do not change
 * (stalls.pml), and no fiber is called home (home.pml). Numbers are counted modulo 2.
 *
 * MUTATE_PUBLISH_BEFORE_SAVE: assertion violated (runner[fiber]==255)
 * MUTATE_DEPART_BEFORE_SAVE: assertion violated (runner[fiber]==255)
 * MUTATE_VECTORS_SAVED_LATE: assertion violated (vectors_of[core]==expected[fiber])
 * MUTATE_CARRIER_AFTER_ARRIVED: assertion violated ((carrier[fiber]==255)||(carrier[fiber]==self))
 * MUTATE_ARRIVED_KEPT: assertion violated (runner[fiber]==255)
 */
#include "steps.promela"

#define FIBERS 2
#define CORES 2
#define HOME CORES
/* Kernel threads: first workers, numbered by core, then homes, numbered by fiber. */
#define HOME_OF(fiber) (CORES + (fiber))
#define NO_THREAD 255

chan queue[CORES] = [FIBERS] of { byte };

/* Fibers. */
byte stack[FIBERS], vectors[FIBERS];
byte going[FIBERS];
byte carrier[FIBERS] = NO_THREAD;
bool arrived[FIBERS];

/* Registers of kernel threads. */
byte stack_of[CORES + FIBERS], vectors_of[CORES + FIBERS];

/* Ghosts: the kernel thread that runs each fiber, and the required number in its registers. */
byte runner[FIBERS] = NO_THREAD;
byte expected[FIBERS];

/* Loads the fiber's stack; from here on, this thread runs the fiber. */
/* mirrors: runtime/system/switch.S switch_stack */
inline load_stack(thread, fiber) {
    atomic {
        assert(runner[fiber] == NO_THREAD);
        runner[fiber] = thread;
        stack_of[thread] = stack[fiber];
        assert(stack_of[thread] == expected[fiber])
    }
}

/* mirrors: runtime/carrier/vectors.c restore_vectors */
inline restore(thread, fiber) {
    atomic {
        assert(runner[fiber] == thread);
        vectors_of[thread] = vectors[fiber];
        assert(vectors_of[thread] == expected[fiber])
    }
}

/* The program's code, which changes registers. */
inline program(thread, fiber) {
    atomic {
        assert(runner[fiber] == thread);
        assert(carrier[fiber] == NO_THREAD || carrier[fiber] == thread);
        assert((carrier[fiber] == NO_THREAD) == (thread == HOME_OF(fiber)));
        expected[fiber] = (expected[fiber] + 1) % 2;
        stack_of[thread] = expected[fiber];
        vectors_of[thread] = expected[fiber]
    }
}

/* Saves the fiber's registers; the thread is then on a stack of the runtime. */
/* mirrors: runtime/carrier/vectors.h leave */
inline leave(thread, fiber) {
#ifndef MUTATE_VECTORS_SAVED_LATE
    vectors[fiber] = vectors_of[thread];
#endif
    atomic { stack[fiber] = stack_of[thread]; runner[fiber] = NO_THREAD }
}

/* mirrors: runtime/run_queues/run_queue.c hand_over */
inline hand_over(core, fiber) {
    queue[core]!fiber
}

/* mirrors: runtime/carrier/fibers.c send_home */
inline send_home(fiber) {
#ifdef MUTATE_CARRIER_AFTER_ARRIVED
    arrived[fiber] = true;
    carrier[fiber] = NO_THREAD
#else
    carrier[fiber] = NO_THREAD;
    arrived[fiber] = true
#endif
}

/* mirrors: runtime/carrier/pool.c run */
inline pass_on(thread, fiber) {
    to = going[fiber];
    if
    :: to == HOME -> send_home(fiber)
    :: else -> hand_over(to, fiber)
    fi;
    to = 0
}

/* mirrors: runtime/carrier/pool.c work */
proctype work(byte core) {
    byte fiber, to;
end:
    do
    :: queue[core]?fiber ->
       carrier[fiber] = core;
       load_stack(core, fiber);
       restore(core, fiber);
       program(core, fiber);
       if
       :: going[fiber] = HOME
       :: going[fiber] = core
       :: going[fiber] = CORES - 1 - core
       fi;
#ifdef MUTATE_PUBLISH_BEFORE_SAVE
       pass_on(core, fiber);
       leave(core, fiber);
#else
       leave(core, fiber);
       pass_on(core, fiber);
#endif
#ifdef MUTATE_VECTORS_SAVED_LATE
       vectors[fiber] = vectors_of[core];
#endif
       fiber = 0
    od
}

/* A thread of the program, on the host thread where the program started it. */
/* mirrors: runtime/carrier/home.c depart run_home await */
proctype home(byte fiber) {
    byte self = HOME_OF(fiber), to;
    runner[fiber] = self;
    do
    :: program(self, fiber);
       if
       :: to = 0
       :: to = 1
       fi;
#ifdef MUTATE_DEPART_BEFORE_SAVE
       hand_over(to, fiber);
       leave(self, fiber);
#else
       leave(self, fiber);
       hand_over(to, fiber);
#endif
       to = 0;
       arrived[fiber];
#ifndef MUTATE_ARRIVED_KEPT
       arrived[fiber] = false;
#endif
       load_stack(self, fiber);
       restore(self, fiber)
    :: break
    od
}

init {
    byte at;
    atomic {
        do
        :: at < CORES -> run work(at); at++
        :: else -> break
        od;
        at = 0;
        do
        :: at < FIBERS -> run home(at); at++
        :: else -> break
        od;
        at = 0
    }
}
