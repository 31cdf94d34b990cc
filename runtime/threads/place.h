/*
 * What the runtime keeps of each thread (threads.c): where it is, and what it counts.
 */
#ifndef COREHOP_PLACE_H
#define COREHOP_PLACE_H

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

/* One thread's counters. Blocks are never freed while the process lives: a block whose thread has
 * ended is taken over, counts and all, by a later one, so the sum over blocks is always the sum
 * over all threads that ever ran. */
struct block {
    struct block *next;
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

/* A thread's place. `core` is where `backend` put it, -1 while that has put it nowhere; `counted`
 * is the plan core that it counts as being on, 0 at first as in the replay, whatever moves it. */
struct place {
    struct tally *tallies;
    struct block *block;
    const struct backend *backend;
    struct call *open;      /* the innermost open call, or the place before the first */
    struct call *last_open; /* the deepest place there is */
    struct ending *endings;
    int32_t core;
    int32_t counted;
    uint32_t handlers;   /* signal handlers that this thread is in */
    uint32_t hops;       /* tried, of which one in SAMPLING is timed */
    uint32_t team;       /* which hops among CPUs of its own (processors.c) */
    struct fiber *fiber; /* cores.h */
    uint64_t *objects;   /* of its block */
    uint64_t named;      /* calls that named an object */
    bool stopped;        /* a hop failed: this thread stays where it is */
    bool followed;       /* its end will be seen, so it may leave its kernel thread */
    bool bound;          /* it ends, or has what only its kernel thread can have: it stays there */
} __attribute__((aligned(64)));

extern __thread struct place place __attribute__((tls_model("initial-exec")));

bool prepare_threads(void);
/* Gives the calling thread a block, at its first hook. */
void take_block(void);
void forget_threads(void);
const struct block *all_blocks(void);
/* Bytes of a block for what else is counted, zero at first, which are asked for before
 * prepare_threads() says at which distance they are (post.c). */
extern size_t more_size, more_at;

void record_length(struct block *block, uint64_t cycles);

/* One hop in so many is timed: to read the clock for each would slow it. */
#define SAMPLING 64

/* Zero, or for one hop in SAMPLING the time at which it began. */
static inline uint64_t hop_begins(void)
{
    return UNLIKELY(place.hops++ % SAMPLING == 0) ? clock_now() : 0;
}

static inline void hop_ends(struct block *block, uint64_t began)
{
    if (UNLIKELY(began != 0))
        record_length(block, clock_now() - began);
}

#endif
