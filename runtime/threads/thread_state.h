/*
 * What the runtime keeps of each thread (threads.c): where it is, and what it counts.
 */
#ifndef COREHOP_THREAD_STATE_H
#define COREHOP_THREAD_STATE_H

#include "clock.h"
#include "program.h"
#include "system.h"

/* What one thread counted at one hook. */
struct tally {
    uint64_t calls;
    uint64_t hops;
};

/* What became of one thread's calls of a function that goes back; the rest are open. */
struct ending {
    uint64_t returned;
    uint64_t unwound;   /* ended by an exception, a jump out of them, or with their thread */
    uint64_t continued; /* entered by a jump within a call that was open: they end with that */
    uint64_t stayed;    /* in a signal handler or too deep: the thread did not move */
    uint64_t hops;      /* back */
    uint64_t unused[3]; /* enter.S likes powers of two */
};

/* An open call of such a function, in the order of the stack. */
struct call {
    uintptr_t at; /* where its return address is */
    uintptr_t returns_to;
    uint32_t hook;
    int32_t came_from;
};

/* How long sampled hops took, by powers of two: lengths[n] counts 2^n to 2^(n+1) clock cycles. The
 * mean of hops says little where one that waited for a busy core takes milliseconds. */
#define LENGTHS 40

/* One thread's counters. They are never freed while the process lives: those of a thread that has
 * ended are taken over, counts and all, by a later one, so the sum over all counters is always the
 * sum over all threads that ever ran. */
struct thread_counters {
    struct thread_counters *next;
    int owner; /* kernel thread id */
    uint64_t failed_hops;
    uint64_t declined_hops; /* the plan asked for them, and load.c was against it */
    uint64_t lengths[LENGTHS];
    struct ending *endings; /* one for each hook, behind the tallies; NULL if none goes back */
    uint64_t *objects;      /* COUNTERS for each, behind those; NULL without such functions */
    struct tally tallies[];
};

/* Of each hook, where some function goes by an argument or at single calls (objects.h). */
#define COUNTERS (3 + program.cores)

/* Where a thread is. `core` is where `backend` put it, -1 while that has put it nowhere; `counted`
 * is the plan core that it counts as being on, 0 at first as in the replay, whatever moves it. */
struct thread_state {
    struct tally *tallies;
    struct thread_counters *counters;
    const struct backend *backend;
    struct call *open;      /* the innermost open call, or what is before the first */
    struct call *last_open; /* the deepest that there is */
    struct ending *endings;
    int32_t core;
    int32_t counted;
    uint32_t handlers;   /* signal handlers that this thread is in */
    uint32_t hops;       /* tried, of which one in SAMPLING is timed */
    uint32_t team;       /* which hops among CPUs of its own (processors.c) */
    struct fiber *fiber; /* cores.h */
    uint64_t *objects;   /* among its counters */
    uint64_t named;      /* calls that named an object */
    bool stopped;        /* a hop failed: this thread stays where it is */
    bool blocking;       /* it stopped for the signals it blocks, until that may differ */
    bool followed;       /* its end will be seen, so it may leave its kernel thread */
    bool bound;          /* it ends, or has what only its kernel thread can have: it stays there */
} __attribute__((aligned(64)));

extern __thread struct thread_state self __attribute__((tls_model("initial-exec")));

/* The calling thread may block other signals from now on, or other actions of theirs are set. */
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
const struct thread_counters *all_counters(void);
/* Bytes of thread_counters for what else is counted, zero at first, which are asked for before
 * prepare_threads() says at which distance they are (post.c). */
extern size_t more_size, more_at;

void record_length(struct thread_counters *counters, uint64_t cycles);

/* One hop in so many is timed: to read the clock for each would slow it. */
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
