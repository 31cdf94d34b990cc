/*
 * Fibers, carriers and cores: their structures, and the pool of all of them (cores.c).
 *
 * A fiber is a thread of the program: its stack, registers and FS base. A carrier is a kernel
 * thread of the runtime, pinned to the CPU of one plan core. A hop hands the fiber from one carrier
 * to another, while its original kernel thread, its home, sleeps. All state that the kernel keeps
 * per thread (signal mask, id, credentials) stays at home. A thread that needs it goes home first
 * (stay.c).
 *
 * A core has one holder at a time: the carrier that may take fibers from its run queue. If the
 * holder's fiber blocks while others wait, the watchdog makes a spare carrier the holder. The
 * former holder becomes a spare once its fiber moves on.
 */
#ifndef COREHOP_CORES_H
#define COREHOP_CORES_H

#include "bare.h"
#include "thread_state.h"

#include <signal.h>

/* A signal that nothing in Linux sends, and that, unlike a real-time signal, never needs memory. */
#define POKE SIGSTKFLT
/* libc's own signal for a change of credentials, which each thread makes itself. */
#define CREDENTIALS 33

struct carrier;

/* The fields that pass between cores on every hop come first: one cache line, then the registers.
 */
struct fiber {
    void *stack;             /* its stack pointer while it does not run */
    uintptr_t thread_base;   /* FS base */
    struct fiber *next;      /* in a run queue, where the last has the queue's state; or unused */
    struct carrier *carrier; /* the one on which it runs; NULL at home */
    const void *counters;    /* those of the hook at which it hops */
    int32_t going;           /* the core for which it left, across all teams, or HOME */
    uint32_t depth;          /* in a run queue: its length up to this fiber */
    uint32_t came_by;        /* the hook, as came_by() encodes it */
    uint32_t control;        /* MXCSR */
    uint32_t keys;           /* PKRU */
    uint8_t wanted_home;     /* carriers send it home instead of running it */
    uint8_t form;            /* how its registers are saved (vectors.c) */
    uint8_t registers[256] __attribute__((aligned(64))); /* SSE */
    uint8_t *vectors;                                    /* what does not fit above */
    uint32_t away;                                       /* from leaving home until it is back */
    uint32_t detained;                                   /* it never leaves home again */
    uint32_t arrived;                                    /* it is back, and home may continue it */
    uint32_t declined_at; /* the look of load.c after which it last declined a hop */
    int home;             /* kernel thread id */
    void *parked;         /* home's stack pointer while it sleeps */
    uint64_t mask;        /* signals that the program blocks in this thread */
    uint64_t stops;       /* signals that stop the process at home, while it is away */
    int held;             /* a signal that home took, to be delivered; 0 if none */
    siginfo_t held_info;
    stack_t signal_stack;    /* set by the program for handlers, as it left home */
    struct fiber *listed;    /* the next of all fibers ever made */
    struct request *request; /* that it has put, or is about to, in its core's ring (ring.c) */
    uint32_t waiting;        /* the number of its wait there; 0 while it waits for nothing */
    uint32_t turn;           /* counts its waits */
    uint32_t left_wait;      /* a wait that it left and that must be cancelled; or 0 */
    int32_t waits_on;        /* the core in whose ring it waits */
};

_Static_assert(offsetof(struct fiber, registers) == 64, "one cache line");

/* Where a fiber may go besides a core: home, or nowhere until its request has a result. */
#define HOME (-1)
#define TO_RING (-2)

/* The lines that a fiber uses first when it continues, besides its own. */
struct surroundings {
    const struct fiber *of;
    const void *stack;
    uintptr_t thread_base;
    const void *counters;
};
#define REMEMBERED 16

/* Cores contend for the run queue, so it has a separate cache line. */
struct core {
    uintptr_t run_queue __attribute__((aligned(64))); /* a fiber, newest first, or a state below */
    uintptr_t holder __attribute__((aligned(64)));    /* a carrier, | RUNNING with a fiber */
    uint32_t processor;
    uint64_t runs;                              /* fibers run, for the watchdog to see progress */
    struct fiber *ready;                        /* oldest first; the holder's */
    struct carrier *spares;                     /* under the pool's lock */
    struct surroundings remembered[REMEMBERED]; /* the holder's */
    uint64_t longest_spin; /* how long its holder spins, in cycles (spin_policy.c) */
    uint64_t waited;       /* for how long it has waited in total */
    uint64_t parks, wakes; /* how often it slept, and how often a fiber woke it */
    uint32_t in_line;      /* how many are ready */
    uint32_t open;         /* it has carriers */
    struct ring *ring;     /* posted calls (ring.c); NULL unless they are made in batches */
};

/* States of an empty run queue: its holder watches it, sleeps on it, or runs a fiber. */
#define WATCHED 0ul
#define ASLEEP 1ul
#define BUSY 2ul

static inline bool has_fibers(const struct core *core)
{
    return __atomic_load_n(&core->run_queue, __ATOMIC_RELAXED) > BUSY;
}

#define RUNNING 1ul

struct carrier {
    void *stack; /* its own stack pointer while a fiber runs */
    struct fiber *user;
    struct core *core;
    struct bare_thread thread;
    uint32_t awake; /* a spare waits on this word */
    void *stack_top;
    void *signal_stack;     /* for handlers that request an alternate stack */
    struct carrier *next;   /* in core.spares */
    struct carrier *listed; /* the next of all carriers ever made */
};

/* Signals that a carrier blocks: all except POKE and those that its fiber's instructions cause,
 * which are the fiber's. */
#define SIGNAL_BIT(number) (1ull << ((number)-1))
#define OF_THE_FIBER                                                                      \
    (SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGILL) | \
     SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSYS) | SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ))
#define BLOCKED_BY_CARRIERS (~(OF_THE_FIBER | SIGNAL_BIT(POKE)))

/* How the kernel schedules a thread and where it places its memory. */
struct scheduling {
    int policy, nice, io, memory;
};
struct pool {
    struct scheduling scheduling; /* the carriers', which they inherit */
    struct core *cores;
    int process;
    uint32_t open;    /* carriers run, and fibers may leave home */
    uint32_t closing; /* no fiber may leave home */
    uint32_t away;    /* fibers not at home */
    uint32_t retire;  /* carriers end as soon as they have no fiber */
};
extern struct pool pool __attribute__((visibility("hidden")));
/* The cores of all teams; 0 before the pool is prepared. */
static inline uint32_t core_count(void)
{
    return pool.cores == NULL ? 0 : program.teams * program.cores;
}
static inline struct core *core_of(uint32_t team, uint32_t core)
{
    return &pool.cores[team * program.cores + core];
}

#endif
