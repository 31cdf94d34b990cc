/*
 * What the parts of the runtime share: the note a patched file carries, the hooks it lists, the
 * state of a thread, and the table of backends.
 *
 * Read start.c first. The hot path is one backend's enter() and nothing else: no lock, no
 * allocation, no libc, and (see build.rs) no vector register, because the trampolines that lead
 * here save general registers and flags only.
 */
#ifndef COREHOP_H
#define COREHOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The note that a patched file carries, as the patcher writes it (patcher/src/note.rs). Addresses
 * are virtual addresses in the ELF file, without the load bias. */
#define NOTE_OWNER "corehop"
#define NOTE_RUNTIME 1

struct note {
    uint32_t abi;   /* COREHOP_ABI of the corehop that patched */
    uint32_t cores; /* cores of the plan */
    uint32_t hooks; /* entries of the table */
    uint32_t size;  /* of this struct: a later one may be longer */
    uint64_t slot;  /* where the trampolines look for enter(); zero in the file */
    uint64_t table; /* of struct hook */
    uint64_t names; /* zero-terminated symbols, one after the other */
};

struct hook {
    uint64_t offset; /* of the function in the ELF file */
    uint32_t core;   /* plan core */
    uint32_t name;   /* distance of its symbol from note.names */
};

/* What one thread counted at one hook. */
struct tally {
    uint64_t calls;
    uint64_t hops;
};

/* One thread's counters. Blocks are never freed while the process lives: a block whose thread has
 * ended is taken over, counts and all, by a later one, so the sum over blocks is always the sum
 * over all threads that ever ran. */
struct block {
    struct block *next;
    int owner; /* kernel thread id */
    uint64_t failed_hops;
    struct tally tallies[];
};

/* A thread's place. `core` is -1 until its first hook: such a thread counts as being on core 0, as
 * in the replay, but has not been put there. */
struct place {
    struct tally *tallies;
    struct block *block;
    int32_t core;
    bool stopped; /* a hop failed: this thread stays where it is */
};

/* One way to move a thread: a file of its own, and a line in start.c's table. */
struct backend {
    const char *name;
    /* Called by the patched program at every hook. NULL: the slot stays empty, nothing happens. */
    void (*enter)(uint32_t hook);
    /* Called once before the first enter(); false leaves the program unhooked. */
    bool (*prepare)(void);
    /* Runs in a forked child, where only the forking thread is left. */
    void (*forked)(void);
};

/* The patched program, filled in by start.c before any hook runs and constant from then on. */
struct program {
    uint32_t cores;
    uint32_t hook_count;
    const struct hook *hooks;
    const char *names;
    const struct backend *backend;
};

extern struct program program;
extern __thread struct place place __attribute__((tls_model("initial-exec")));

/* affinity.c, count.c */
extern const struct backend affinity_backend;
extern const struct backend count_backend;
/* Lets new threads inherit the program's own mask: undoes the hop around pthread_create. */
void affinity_suspend(void);
void affinity_resume(void);

/* processors.c: the CPU of each plan core, or NULL after a message. */
#define MASK_WORDS 128
struct mask {
    unsigned long words[MASK_WORDS];
};
extern struct mask own_mask;      /* of the process as it started */
extern size_t mask_size;          /* bytes of a mask that this kernel uses */
const uint32_t *choose_processors(void);

/* threads.c */
bool prepare_threads(void);
struct tally *first_hook(void);
void forget_threads(void);
const struct block *all_blocks(void);

/* statistics.c */
void prepare_statistics(void);
void write_statistics(void);
void statistics_forked(void);

/* system.c: system calls by instruction, since libc's wrappers may touch vector registers and
 * errno. They return a negative errno. */
long system_call(long number, long a, long b, long c, long d, long e, long f);
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An increment that a signal handler on the same thread cannot tear; no lock, since no other
 * thread writes the counter. */
static inline void bump(uint64_t *counter)
{
    __asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
}

#endif
