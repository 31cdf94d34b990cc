/*
 * What the files of the carrier backend share: fibers, carriers, cores.
 *
 * A fiber is a thread of the program: its stack, registers and FS base. A carrier is a kernel
 * thread of the runtime's own, pinned to the CPU of one plan core. A hop hands the fiber from
 * one carrier to another, while the kernel thread it was born on, its home, sleeps. Everything the
 * kernel keeps per thread (signal mask, id, credentials) stays at home; what needs it goes home
 * first (interposers.c).
 *
 * A core has one holder at a time: the carrier that may take from its run queue. When the holder's
 * fiber blocks while others wait, the watchdog makes a spare carrier the holder, and the former
 * one becomes spare once its fiber moves on.
 */
#ifndef COREHOP_CARRIER_H
#define COREHOP_CARRIER_H

#include "runtime.h"

#include <signal.h>
#include <ucontext.h>

/* A signal that nothing in Linux sends, and that unlike a real-time one never needs memory. */
#define POKE SIGSTKFLT

struct carrier;

/* What passes between cores on every hop comes first: one cache line, then its registers. */
struct fiber {
    void *stack;             /* its stack pointer while it does not run */
    uintptr_t thread_base;   /* FS base */
    struct fiber *next;      /* in a run queue, where the last has the queue's state; or unused */
    struct carrier *carrier; /* whose kernel thread it runs on; NULL at home */
    const void *counters;    /* those of the hook that it hops at */
    int32_t going;           /* the core it left for, through all teams, or HOME */
    uint32_t depth;          /* in a run queue: how many it was with those before it */
    uint32_t came_by;        /* the hook, as came_by() has it (cohort.c) */
    uint32_t control;        /* MXCSR */
    uint32_t keys;           /* PKRU */
    uint8_t wanted_home;     /* carriers send it home instead of running it */
    uint8_t form;            /* how its registers are saved (vectors.c) */
    uint8_t registers[256] __attribute__((aligned(64))); /* SSE */
    uint8_t *vectors;                                    /* what does not fit above */
    uint32_t away;        /* since it left home and until it is back */
    uint32_t detained;    /* it leaves home no more */
    uint32_t arrived;     /* it is back, and home may go on with it */
    uint32_t declined_at; /* the look of load.c after which it last declined a hop */
    int home;             /* kernel thread id */
    void *parked;         /* home's stack pointer while it sleeps */
    uint64_t mask;        /* signals that the program blocks in this thread */
    int held;             /* a signal that home took, to be delivered; 0 if none */
    siginfo_t held_info;
    stack_t signal_stack;    /* that the program has set for handlers; as it left home */
    struct fiber *listed;    /* the next of all fibers, ever */
    struct request *request; /* that it has put, or is about to, in its core's ring (ring.c) */
    uint32_t waiting;        /* the turn of its wait there; 0 while it waits for nothing */
    uint32_t turn;           /* counts its waits */
    uint32_t left_wait;      /* one that it left and that is to be cancelled; or 0 */
    int32_t waits_on;        /* the core in whose ring it waits */
};

_Static_assert(offsetof(struct fiber, registers) == 64, "one cache line");

/* Where a fiber may go besides a core: home, or nowhere until its request has a result. */
#define HOME (-1)
#define TO_RING (-2)

/* What a fiber uses first when it goes on, besides itself. */
struct surroundings {
    const struct fiber *of;
    const void *stack;
    uintptr_t thread_base;
    const void *counters;
};
#define REMEMBERED 16

/* A core's holder goes on with so many fibers that came by this hook (cohort.c). */
struct turn {
    uint32_t hook, left;
};

/* How many fibers were taken so, how many of them by another hook than the one before, and how many
 * before others that had waited for longer. */
struct cohorts {
    uint64_t taken, changes, overtaking;
};

/* The run queue is what cores contend for, so it has a cache line of its own. */
struct core {
    uintptr_t run_queue __attribute__((aligned(64))); /* a fiber, newest first, or a state below */
    uintptr_t holder __attribute__((aligned(64)));    /* a carrier, | RUNNING with a fiber */
    uint32_t processor;
    uint64_t runs;                              /* fibers run, for the watchdog to see progress */
    struct fiber *ready;                        /* oldest first; the holder's */
    struct carrier *spares;                     /* under the pool's lock */
    struct surroundings remembered[REMEMBERED]; /* the holder's */
    uint64_t patience;     /* how long its holder waits awake, in cycles (patience.c) */
    uint64_t waited;       /* for how long it has, in all */
    uint64_t parks, wakes; /* how often it slept, and how often until a fiber came */
    uint32_t in_line;      /* how many are ready */
    uint32_t open;         /* it has carriers */
    struct turn turn;      /* the holder's */
    struct cohorts cohorts;
    struct ring *ring; /* posted calls (ring.c); NULL unless they are made in batches */
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
    int thread;     /* kernel thread id; 0 once it has ended */
    uint32_t awake; /* a spare waits on this word */
    void *stack_top;
    void *signal_stack;     /* on which handlers begin that ask for a stack of their own */
    struct carrier *next;   /* in core.spares */
    struct carrier *listed; /* the next of all carriers, ever */
};

/* Signals that a carrier blocks: all but those that come from what its fiber does, which are the
 * fiber's, and POKE. */
#define SIGNAL_BIT(number) (1ull << ((number)-1))
#define OF_THE_FIBER                                                                      \
    (SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGILL) | \
     SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSYS) | SIGNAL_BIT(SIGPIPE))
#define BLOCKED_BY_CARRIERS (~(OF_THE_FIBER | SIGNAL_BIT(POKE)))

/* switch.S */
void switch_stack(void **save, void *load);
void *first_stack(void *top, void (*run)(void *), void *argument);
long start_thread(long flags, void *stack, int *parent_word, int *child_word);
extern const char runtime_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char runtime_end[] __attribute__((visibility("hidden"))); /* interposers.S */

/* pool.c */
/* What the kernel keeps of how a thread is scheduled, and of where its memory is. */
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
    uint32_t retire;  /* carriers end as soon as they carry nobody */
};
extern struct pool pool;
bool prepare_pool(const uint32_t *processors);
bool open_pool(uint32_t team);
/* Of all teams; none before the pool is prepared. */
static inline uint32_t core_count(void)
{
    return pool.cores == NULL ? 0 : program.teams * program.cores;
}
static inline struct core *core_of(uint32_t team, uint32_t core)
{
    return &pool.cores[team * program.cores + core];
}
void close_pool(void);
void reopen_pool(void);
struct carrier *carrier_of_thread(int thread);
/* Whether that is on the carrier's stack for handlers. */
bool is_on_signal_stack(const struct carrier *carrier, uintptr_t at);
/* Starts a kernel thread without libc; `word` holds its id until it has ended. */
bool start_bare(void (*run)(void *), void *argument, void *stack_top, int *word);
/* stalls.c: what the watchdog saw when it looked at every core: nobody waiting, or some, perhaps so
 * that a core got another holder. */
enum sighting { NOBODY_WAITS, SOME_WAIT, STALL };
enum sighting relieve_stalls(void);
bool prepare_stalls(uint32_t cores);
/* pool.c: gives a core whose holder is held up to a spare carrier; false if there is none. */
bool relieve_core(struct core *core, uintptr_t holder);

/* run_queue.c */
/* Has a line brought here, to be written, without waiting for it. */
static inline void fetch(const void *line)
{
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
}
void prepare_run_queues(void);
void hand_over(struct core *core, struct fiber *fiber);
/* By the holder: empties the run queue; who was there, oldest first, and how many. */
struct fiber *take_pushed(struct core *core, uint32_t *count);
struct fiber *take_waiting(struct core *core);
void wait_for_work(struct core *core);
void wake_watcher(struct core *core);

/* cohort.c */
void prepare_cohorts(void);
/* How many fibers that came by one hook follow each other at most, though others wait. */
extern uint32_t most_in_turn;
/* By the holder, where that is more than one: the fiber whose turn it is, or NULL. */
struct fiber *take_by_hook(struct core *core);
/* Of all cores; nothing where fibers are taken in the order in which they come. */
struct cohorts all_cohorts(void);
void cohorts_forked(void);
/* Tells hooks apart by where a thread counts their hops: the same distance in all threads. */
static inline uint32_t came_by(const uint64_t *hops)
{
    return (uint32_t)((uintptr_t)hops - (uintptr_t)place.tallies);
}

/* load.c */
bool prepare_load(void);
/* Whether a hop would do more harm than good now: the thread stays, or goes home. */
bool is_declined(struct fiber *fiber, const struct core *to);
bool is_paused(uint32_t team);
/* Others waited for a thread that blocks on one of the team's cores. */
void keep_queues_short(uint32_t team);
/* Called by the watchdog; gives the microseconds until it is to be called again, or 0 when nobody
 * has hopped for a while. */
uint64_t look_for_others(void);
void load_forked(void);

/* lost.c */
bool prepare_lost(void);
/* Whether the kernel keeps this carrier from the CPU of its core; says so when that changes, and
 * pins the carrier again once it may be there. */
bool has_lost_cpu(uint32_t number, int thread);

/* patience.c */
void prepare_patience(void);
/* Whether the kernel had the CPU do something else, that long between two looks at the clock. */
bool was_away(uint64_t between);
/* How long a core's holder waits awake, in cycles. */
uint64_t longest_wait(const struct core *core);
/* Its holder had nobody to carry for so long. */
void learn_gap(struct core *core, uint64_t gap);

/* doze.c */
void prepare_dozing(void);
/* In a wait that has lasted for so many of at most so many cycles, all of the holder's run queue:
 * stops the CPU for a while, or until a fiber comes; where it cannot, returns at once. */
void doze(const struct core *core, uint64_t waited, uint64_t longest);

/* home.c */
bool prepare_home(void);
/* The calling kernel thread's mask; what it was goes to `before`, unless that is NULL. */
void set_signals(uint64_t mask, uint64_t *before);
/* Leaves home for where `going` says; false when this may not be now. */
bool depart(struct fiber *fiber);
/* What to do when a hop has ended at home. Gives the signal whose handler then has run, or 0. */
int come_home(struct fiber *fiber);
/* A handler has begun on a carrier, with this frame: it goes on at home, as if it had begun there.
 */
void take_handler_home(struct fiber *fiber, int number, ucontext_t *frame);
/* Whether this signal's handler has the call that it interrupts begin anew. */
bool restarts(int number);
void go_home(struct fiber *fiber);
void send_home(struct fiber *fiber);
void run_home(void *fiber);

/* vectors.c */
extern size_t vectors_size; /* of a fiber's `vectors` */
bool prepare_vectors(void);
void save_vectors(struct fiber *fiber);
void restore_vectors(const struct fiber *fiber);
/* What a kernel thread must have between fibers, and inherits otherwise. */
void reset_vectors(void);

/* Sends the fiber wherever `going` says; returns where it goes on. In line, because each return
 * into a frame from before the switch is predicted wrongly. */
static inline void leave(struct fiber *fiber, void **stack_there)
{
    save_vectors(fiber);
    switch_stack(&fiber->stack, *stack_there);
    restore_vectors(fiber);
}

/* fibers.c */
struct scheduling own_scheduling(void);
struct fiber *enlist(void);
void discharge(struct fiber *fiber);
void call_everyone_home(void);
/* Threads that are away, or have declined a hop since this look of load.c. */
uint32_t threads_under_way(uint32_t look);
/* Brings a thread home, for good: by its FS base, or its kernel id. */
void detain(uintptr_t thread);
void fibers_forked(struct fiber *own);

/* interposers.c */
void *original(void **kept, const char *name);
/* The calling thread goes home. */
void stay_home(void);
/* It goes home, and leaves it no more: its kernel thread has something of its own. */
void stay_for_good(void);
/* Whether that is the calling thread, by libc's name for it or the kernel's; 0 always is. */
bool is_itself(uintptr_t thread);
/* Whether these parameters of io_uring_setup() tie the ring to the thread that makes it. */
bool is_tied(const void *parameters);

/* credentials.c: before a call that changes the calling thread alone. The thread stays home for
 * good, unless it is the only one: then carriers that are started later inherit the change. */
void stay_apart(void);
/* The calling thread schedules or cancels another one, which comes home for good. */
void keep_another_home(uintptr_t thread);

/* start.c: for good, nothing of the runtime makes a system call of its own any more. */
void come_to_rest(const char *reason);
bool has_come_to_rest(void);

/* doze.c: by which instruction carriers wait, once they have waited for a while. */
const char *way_to_wait(void);

/* clocks.c */
void prepare_clocks(void);

/* handlers.c */
/* A jump to that place on the stack, or to one that is not known (0), leaves handlers below it. */
void leave_handlers(uintptr_t to);
/* Signal 16 came from somebody else: what the program wants done with it is done. */
void foreign_poke(siginfo_t *info, void *context);
/* Signal 16 calls threads home, whatever the program sets for it. */
extern bool poke_is_ours;

/* carrier.c */
/* Some program's call cannot work on carriers: this process goes on with affinity. */
void give_up(const char *reason);
/* Likewise, and nobody is on a carrier when it returns. */
void give_up_now(const char *reason);
/* Whether threads may be carried in this process, now or once control.c says so. */
bool carriers_are_possible(void);

/* watchdog.c */
void wake_watchdog(void);
/* By the watchdog, with nothing to do for so long: true if it is to end, and the carriers have. */
bool let_watchdog_leave(uint64_t rest_us); /* pool.c */
void watchdog_leaves(uint64_t until);
void await_watchdog(void);
/* Waits until the thread whose id `word` holds has ended. */
void await_end(int *word);

static inline long futex_wait(uint32_t *word, uint32_t expected, const void *timeout)
{
    return system_call(202, (long)word, 128, expected, (long)timeout, 0, 0);
}

static inline long futex_wake(uint32_t *word, uint32_t count)
{
    return system_call(202, (long)word, 129, count, 0, 0, 0);
}

#endif
