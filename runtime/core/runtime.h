/*
 * What the parts of the runtime share: the note a patched file carries, the hooks it lists, the
 * state of a thread, and the table of backends.
 *
 * Read start.c first. The hot path is enter.S, and a backend's hop() where the thread must move: no
 * lock, no allocation, no libc, and (see build.rs) no vector register, because general registers
 * and flags are all that is saved around a hook.
 */
#ifndef COREHOP_H
#define COREHOP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The note that a patched file carries, as the patcher writes it (patcher/src/elf/note.rs).
 * Addresses are virtual addresses in the ELF file, without the load bias. */
#define NOTE_OWNER "corehop"
#define NOTE_RUNTIME 1

struct note {
    uint32_t abi;     /* COREHOP_ABI of the corehop that patched */
    uint32_t cores;   /* cores of the plan */
    uint32_t hooks;   /* entries of the table */
    uint32_t size;    /* of this struct: a later one may be longer */
    uint64_t slot;    /* where trampolines look for enter, leave and call_through; zeros */
    uint64_t table;   /* of struct hook */
    uint64_t names;   /* zero-terminated texts, one after the other */
    uint64_t modules; /* of struct planned: all the files that the plan names */
    uint32_t names_size;
    uint32_t plan;      /* checksum of the plan: equal in all files patched by it */
    uint32_t count;     /* entries of modules */
    uint32_t own;       /* this file's among them */
    uint32_t calls;     /* functions of the plan at the end of whose calls threads go back */
    uint32_t request;   /* the hook that counts requests, plus one; 0 if none does */
    uint32_t arguments; /* hooks of functions that go by an argument, or at single calls */
    uint32_t unused;
};

/* One of the files that a plan names. Hooks are numbered through all of them. */
struct planned {
    uint32_t first; /* hook */
    uint32_t hooks;
    uint32_t name;     /* distance of the file's name from note.names */
    uint32_t build_id; /* likewise, in hexadecimal */
};

struct hook {
    uint64_t offset;  /* of the function in the ELF file */
    uint16_t core;    /* plan core; from NO_CORE on where no thread ever is, if it has none */
    uint8_t mode;     /* STAYS, GOES_BACK or IS_COUNTED; or as objects.h has it */
    uint8_t argument; /* objects.h: what says the core; or 0 */
    uint32_t name;    /* distance of its symbol from note.names */
};

#define STAYS 0
#define GOES_BACK 1 /* when the call returns */
#define IS_COUNTED 2

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

/* How long sampled hops took, by powers of two: lengths[n] counts 2^n to 2^(n+1) clock cycles. */
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
    uint64_t *objects;      /* objects.c's, behind those; NULL without such functions */
    struct tally tallies[];
};

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
    struct fiber *fiber; /* carrier.h */
    uint64_t *objects;   /* of its block */
    uint64_t named;      /* calls that named an object */
    bool stopped;        /* a hop failed: this thread stays where it is */
    bool followed;       /* its end will be seen, so it may leave its kernel thread */
    bool bound;          /* it ends, or has what only its kernel thread can have: it stays there */
    struct handling *handling; /* handlers.c: the innermost of `handlers` */
} __attribute__((aligned(64)));

/* One way to move a thread: a file of its own, and a line in start.c's table. */
struct backend {
    const char *name;
    /* Called at a hook where the thread is not on that core, or was put there by another backend;
     * `hops` is what counts it. NULL: no hook does anything. */
    void (*hop)(uint64_t *hops, int32_t core);
    /* Called once before the first hop(); false, after a message, if this cannot be done here. */
    bool (*prepare)(void);
    /* Undoes for the calling thread what enter() did: another backend takes it over. */
    void (*leave)(void);
    /* Runs in a forked child, where only the forking thread is left. */
    void (*forked)(void);
};

/* A file that the plan names, by modules.c. */
struct module {
    uint32_t first; /* hook */
    uint32_t hooks;
    const char *name;
    const char *build_id;
    const char *names; /* symbols; NULL until it is loaded */
    size_t names_size;
    uintptr_t *slot; /* NULL while it is not loaded */
};

/* The patched program, filled in before any hook runs. */
struct program {
    uint32_t cores;
    uint32_t hook_count; /* of all modules */
    struct hook *hooks;
    struct module *modules;
    uint32_t module_count;
    uint32_t plan;
    const struct backend *backend; /* changes while the program runs, if control.c says so */
    uintptr_t minus_count;         /* 0 - &count_backend, */
    uintptr_t minus_request;       /* and 0 - the hook that counts requests, for enter_resting() */
    bool goes_back;                /* at the end of some function's calls */
    bool by_argument;              /* some function goes, or at single calls of a request */
    uint32_t request;              /* as the note has it */
    uint32_t teams;                /* once CPUs are chosen */
};

extern struct program program;
extern __thread struct place place __attribute__((tls_model("initial-exec")));

/* enter.S: what the slot holds. It calls the slow ones for all but a thread that is there. `at` is
 * where the return address is of the call that begins or ends. */
void enter(void);
void enter_call(void); /* instead of enter(), where some function goes back */
void enter_off(void);
/* While auto has hops rest, the latter where `program.request` is set. */
void enter_counting(void);
void enter_resting(void);
void leave_call(void);
void call_through(void); /* calls a function of another file, and then is leave_call() */
void enter_slowly(uint32_t hook, uintptr_t at);
void leave_slowly(uintptr_t at);

/* calls.c: the functions at the end of whose calls threads go back. */
/* A thread comes to a function's entry; false if it is to stay where it is. */
bool begin_call(uint32_t hook, uintptr_t at);
/* What is below that place on the stack was left without a return. */
void leave_below(uintptr_t place);
/* All open calls are forgotten, and counted as left. */
void forget_calls(void);
size_t size_of_calls(void);
void set_calls(struct block *block);
struct ending ending_of(uint32_t hook);

/* modules.c */
/* Looks for patched files among those loaded; true if there are some and nothing is wrong. */
bool find_modules(void);
/* Has the trampolines of all files go to `address`, once all files are there. */
void fill_slots(uintptr_t address);
void modules_forked(void);
/* Takes note of a file that was found hooked; false, after a message, if it does not belong. */
bool admit(const struct note *note, uintptr_t bias, const char *path);
struct dl_phdr_info;
bool has_build_id(const struct dl_phdr_info *object, const char *expected);

/* in_memory.c: hooks the files that `corehop run` names, or ends the process. */
void take_in_memory_hooks(char **started_with);

/* start.c */
extern bool is_starting; /* before main() */
const struct backend *backend_called(const char *name);
bool backend_is_usable(const struct backend *backend);
/* What the user asked for, at the start or by control.c; auto moves nobody itself. */
void choose_backend(const struct backend *backend);
/* From its next hook on, each thread is moved by `to`. */
void use_backend(const struct backend *to);
/* In a forked child: the parent's threads and carriers do not exist here. */
void process_forked(void);
/* False in a child that shares its parent's memory: the carriers are the parent's. */
bool is_own_process(void);
/* At a thread's first hook since the backend changed: the former one lets go of it. */
void take_over(const struct backend *to);

/* affinity.c, carrier.c, count.c */
extern const struct backend affinity_backend;
extern const struct backend carrier_backend;
extern const struct backend count_backend;
extern const struct backend off_backend;
/* Lets new threads inherit the program's own mask: undoes the hop around pthread_create. */
void affinity_suspend(void);
void affinity_resume(void);
void affinity_release(void); /* the former until the next hook */

/* processors.c: the CPU of each plan core, team after team, or NULL after a message. */
#define MASK_WORDS 128
struct mask {
    unsigned long words[MASK_WORDS];
};
extern struct mask own_mask; /* of the process as it started */
extern size_t mask_size;     /* bytes of a mask that this kernel uses */
const uint32_t *choose_processors(void);
static inline bool has_cpu(const struct mask *mask, uint32_t cpu)
{
    return cpu < MASK_WORDS * 64 && (mask->words[cpu / 64] >> cpu % 64 & 1) != 0;
}
static inline struct mask mask_of(uint32_t cpu)
{
    struct mask mask = {{0}};
    mask.words[cpu / 64] = 1ul << cpu % 64;
    return mask;
}
/* Keeps a thread, or with 0 the calling one, on this CPU. */
void pin(int thread, uint32_t cpu);
/* The team of a thread that hops for the first time. */
uint32_t next_team(void);
/* What COREHOP_... says, from 0 to `most`; `otherwise` where it is unset, or after a message. */
uint64_t number_from(const char *variable, uint64_t most, uint64_t otherwise);

/* threads.c */
bool prepare_threads(void);
struct tally *first_hook(void);
void forget_threads(void);
const struct block *all_blocks(void);

/* statistics.c */
bool prepare_statistics(void);
void write_statistics(void);
void statistics_forked(void);

/* terminated.c */
void prepare_termination(void);
bool is_terminated_by(int number);
void when_terminated(int number);

/* clock.c */
#define SAMPLING 64
void prepare_clock(void);
uint64_t cycles_of(uint64_t microseconds);
uint64_t nanoseconds_of(uint64_t cycles);
void record_length(struct block *block, uint64_t cycles);

static inline uint64_t clock_now(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

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

/* pool.c: times that a core's work was taken from a blocked carrier, and carriers ever started. */
uint64_t stalls(void);
uint64_t carriers_started(void);
/* patience.c: how a core's carriers have waited: microseconds awake, and how often they slept and
 * were woken by a thread. Cores are numbered through all teams. */
struct waits {
    uint64_t spun_us, parks, wakes;
};
struct waits waits_of(uint32_t core);
/* Processor time for which all carriers have waited awake, in cycles. */
uint64_t cycles_waited(void);

/* load.c: how often a team has stopped hopping because others used its CPUs, and how often it began
 * to keep its queues short because threads block. */
uint64_t pauses_of(uint32_t team);
uint64_t cuts_of(uint32_t team);

/* carrier.c: why it is not usable, or NULL. */
const char *carrier_refusal(void);

/* watchdog.c: a thread of the runtime's own that watches the control file and the cores. */
bool start_watchdog(void);
/* When a hook is to start it, in cycles, since it has ended for want of work; 0 if none is to. */
extern uint64_t watchdog_is_due;
/* pool.c: starts it, unless it is being ended with the carriers: then it is started with them. */
void call_watchdog(void);
void pool_forked(void);
bool watchdog_runs(void);
void watchdog_forked(void);

/* control.c */
void prepare_control(void);
/* `first` is what the program starts with. */
void start_control(const struct backend *first);
bool control_is_on(void);
bool control_is_asked(void);
void look_at_control(void);
void control_forked(void);

/* auto.c: chooses between hops and none by what it measures. */
extern const struct backend auto_backend;
bool auto_is_on(void);
/* Whether it has nothing to do before it is to look again, and nobody hops. */
bool auto_rests(void);
/* Whether hops are chosen by measuring from now on; called by the watchdog or before it runs. */
void set_auto(bool on);
void auto_forked(void);
/* Called by the watchdog; gives the microseconds until it is to be called again, 0 for never. */
uint64_t look_at_load(void);
struct verdict {
    const char *said; /* "gain", "no gain" or "none yet" */
    uint64_t trials, gains;
    uint64_t pairs, won;    /* of the last trial that came to an end */
    uint64_t speed_percent; /* requests a second with hops, of those without; 0 before */
    uint64_t cost_percent;  /* processor time a request, likewise */
};
struct verdict auto_verdict(void);
/* The backend that moves threads while hops are on. */
const struct backend *mover(void);

/* interposers.c */
void prepare_interposers(void);
bool stands_in_for_libc(void);

/* system.c: system calls by instruction, since libc's wrappers may touch vector registers and
 * errno. They return a negative errno. */
long system_call(long number, long a, long b, long c, long d, long e, long f);
void *map_memory(size_t size);
/* Keeps in mind what standard error is at the start. */
void prepare_messages(void);
/* One line on standard error, unless the program uses its number for something else by now; knows
 * %s, %u, %d and %lu. No libc: any thread may complain. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes into `room` bytes what fits, zero-terminated, and gives the length. */
size_t format_text(char *text, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An increment that a signal handler on the same thread cannot tear; no lock, since no other
 * thread writes the counter. */
static inline void bump(uint64_t *counter)
{
    __asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
}

#endif
