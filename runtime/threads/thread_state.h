/*
 * The runtime's state of each thread (threads.c): where it is, and its counters.
 */
#ifndef COREHOP_THREAD_STATE_H
#define COREHOP_THREAD_STATE_H

#include "clock.h"
#include "program.h"
#include "system.h"

/* One thread's counts at one hook. */
struct tally {
    uint64_t calls;
    uint64_t hops;
};

/* How one thread's delegated calls of a function ended; the others are open. */
struct ending {
    uint64_t returned;
    uint64_t unwound;   /* ended by an exception, a jump out of them, or the thread's end */
    uint64_t continued; /* entered by a jump within an open call, with which they end */
    uint64_t stayed;    /* in a signal handler or too deep: the thread did not move */
    uint64_t hops;      /* back */
    uint64_t unused[3]; /* enter.S needs a power of two */
};

/* An open delegated call, in the order of the stack. */
struct call {
    uintptr_t at; /* the address of its return address */
    uintptr_t returns_to;
    uint32_t hook;
    int32_t came_from;
};

/* Lengths of sampled hops, by powers of two: lengths[n] counts 2^n to 2^(n+1) clock cycles. The
 * mean would mislead, since a hop that waited for a busy core takes milliseconds. */
#define LENGTHS 40

/* One thread's counters. They are never freed while the process lives. A later thread takes over
 * the counters of one that has ended, with their counts. So the sum over all counters is always the
 * sum over all threads that ever ran. */
struct thread_counters {
    struct thread_counters *next;
    int owner;         /* kernel thread id */
    uint8_t is_placed; /* the program has set its affinity */
    uint8_t is_moved;  /* a hop has set its affinity */
    uint64_t failed_hops;
    uint64_t declined_hops; /* the plan requested them, and load.c declined */
    uint64_t lengths[LENGTHS];
    struct ending *endings; /* one for each hook, behind the tallies; NULL without such calls */
    uint64_t *objects;      /* COUNTERS for each, behind those; NULL without such functions */
    struct tally tallies[];
};

/* For each hook, if some function hops by an argument or at single calls (objects.h). */
#define COUNTERS (3 + program.cores)

/* Where a thread is. `core` is where `backend` put it, or -1 before the first hop. `counted` is the
 * plan core on which it counts as being, initially 0 as in the replay, whatever moves it. */
struct thread_state {
    struct tally *tallies;
    struct thread_counters *counters;
    const struct backend *backend;
    struct call *open;      /* the innermost open call, or the entry before the first */
    struct call *last_open; /* the deepest possible one */
    struct ending *endings;
    int32_t core;
    int32_t counted;
    uint32_t handlers;   /* signal handlers that this thread is in */
    uint32_t hops;       /* attempted; one in SAMPLING is timed */
    uint32_t team;       /* its own set of CPUs, among which it hops (processors.c) */
    struct fiber *fiber; /* cores.h */
    uint64_t *objects;   /* among its counters */
    uint64_t named;      /* calls about an object */
    bool stopped;        /* a hop failed: this thread stays where it is */
    bool blocking;       /* it stopped because of signals it blocks, until that may change */
    bool followed;       /* its end will be noticed, so it may leave its kernel thread */
    bool bound;          /* it ends, or has state of its kernel thread: it stays there */
    bool is_inherited;   /* that state is also of threads that it starts: they stay home too */
} __attribute__((aligned(64)));

extern __thread struct thread_state self __attribute__((tls_model("initial-exec")));

/* From now on the calling thread may block other signals, or signals may have other actions. */
static inline void mask_may_differ(void)
{
    if (UNLIKELY(self.blocking)) {
        self.blocking = false;
        self.stopped = self.bound;
    }
}

bool prepare_threads(void);
/* Gives the calling thread counters, at its first hook. */
void take_counters(void);
void forget_threads(void);
/* The program sets the affinity of the thread with this kernel thread id. */
void note_placed(int thread);
/* The counters of the thread with this kernel thread id; NULL if it has none. */
struct thread_counters *counters_of_thread(int thread);
/* To be called before a hook makes system calls; end_calls() must follow. False if the program may
 * forbid them by now: then it must make none. */
bool begin_calls(void);
void end_calls(void);
/* From now on hooks make no system calls. */
void end_calls_for_good(void);
const struct thread_counters *all_counters(void);
/* Bytes of thread_counters for other counters, initially zero. They must be requested before
 * prepare_threads(), which sets their offset (post.c). */
extern size_t more_size, more_at;

void record_length(struct thread_counters *counters, uint64_t cycles);

/* One of this many hops is timed: to read the clock for each would slow it. */
#define SAMPLING 64

/* Zero, or for one hop in SAMPLING the time at which it began. */
static inline uint64_t hop_begins(void)
{
    return UNLIKELY(self.hops++ % SAMPLING == 0) ? clock_now() : 0;
}

static inline void hop_ends(struct thread_counters *counters, uint64_t began)
{
    if (UNLIKELY(began != 0))
        record_length(counters, clock_now() - began);
}

#endif
