/*
 * Leaving home and coming back: what a thread's own kernel thread does while the thread is away.
 *
 * The kernel sends signals to the home, so the home does not simply sleep. It blocks every signal
 * and waits, with rt_sigtimedwait, for those that the program lets through in this thread. When one
 * arrives, the home has the fiber brought back, even out of a blocking system call. Then it sends
 * the signal to itself again, and the handler runs where it would have run. The signal POKE brings
 * the fiber back. If POKE interrupts a carrier in a fiber's own code, the interrupted state stays
 * as the signal's frame on the fiber's stack. The home returns from that frame, with its own mask.
 * A carrier in the runtime's code ignores POKE, and the home repeats it every REPEAT_NS.
 *
 * libc's broadcast of credentials (signal 33) stays unblocked: its handler only counts. So do
 * SIGTSTP, SIGTTIN and SIGTTOU while their action is the default: the kernel stops the process, and
 * a SIGCONT that follows at once still continues it.
 *
 * Faults, broken pipes, and files that get too large reach a fiber on its carrier, where these
 * signals are not blocked. Therefore a thread that blocks one of them stays home for good, for
 * instance one that wants EPIPE without a signal.
 */
#define _GNU_SOURCE
#include "home.h"
#include "interrupted.h"
#include "pool.h"
#include "ring.h"
#include "run_queue.h"
#include "vectors.h"

#include <asm/unistd.h>
#include <errno.h>

#define REPEAT_NS 1000000
#define SS_AUTODISARM (1u << 31)
/* libc's own signal for cancellation. */
#define CANCEL 32

bool poke_is_ours;
void (*foreign_poke)(siginfo_t *info, void *context);

static void poke_carrier(struct fiber *fiber)
{
    struct carrier *carrier = __atomic_load_n(&fiber->carrier, __ATOMIC_RELAXED);
    if (carrier != NULL)
        system_call(__NR_tgkill, pool.process, carrier->thread.id, POKE, 0, 0, 0);
}

static struct action action_of(int number)
{
    struct action action = {0};
    system_call(__NR_rt_sigaction, number, 0, (long)&action, sizeof action.mask, 0, 0);
    return action;
}

/* A signal that would do nothing at home either. */
static bool is_ignored(int number)
{
    struct action action = action_of(number);
    bool harmless =
        number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
    return action.handler == (uintptr_t)SIG_IGN ||
           (action.handler == (uintptr_t)SIG_DFL && harmless);
}

/* Signals with the default action to stop the process. */
static uint64_t stops;

static bool stops_by_default(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

void expect_handler(int number)
{
    if (!stops_by_default(number))
        return;
    __atomic_and_fetch(&stops, ~SIGNAL_BIT(number), __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&pool.open, __ATOMIC_SEQ_CST))
        return;
    /* Homes let it through: all threads come home. */
    if (self.fiber != NULL)
        go_home(self.fiber);
    close_pool();
    reopen_pool();
}

void note_action(int number)
{
    if (stops_by_default(number) && action_of(number).handler == (uintptr_t)SIG_DFL)
        __atomic_or_fetch(&stops, SIGNAL_BIT(number), __ATOMIC_SEQ_CST);
}

/* Called when the thread counts as away: whoever sets a handler waits for it from here on. */
static void let_stops_through(struct fiber *fiber)
{
    fiber->stops = __atomic_load_n(&stops, __ATOMIC_SEQ_CST) & ~fiber->mask;
    if (fiber->stops != 0)
        set_signals(~(SIGNAL_BIT(CREDENTIALS) | fiber->stops), NULL);
}

/* Whether this is the runtime's own POKE, which calls a thread home. If its user has as many
 * signals pending as it may, the kernel delivers it without saying from whom. */
static bool is_own_poke(const siginfo_t *info)
{
    int sender = (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    return (info->si_code == SI_TKILL && info->si_pid == sender) ||
           (info->si_code == SI_USER && info->si_pid == 0);
}

/* Whether the thread blocks a signal that carriers must let through. A signal that a call raises
 * and the program ignores does nothing in either case. */
static bool blocks_its_own(uint64_t mask)
{
    static const int of_calls[] = {SIGPIPE, SIGXFSZ};
    uint64_t blocked = mask & OF_THE_FIBER;
    for (size_t i = 0; i < sizeof of_calls / sizeof *of_calls; i++)
        if ((blocked & SIGNAL_BIT(of_calls[i])) != 0 &&
            action_of(of_calls[i]).handler == (uintptr_t)SIG_IGN)
            blocked &= ~SIGNAL_BIT(of_calls[i]);
    return blocked != 0;
}

/* Waits at home until the fiber is back. */
static void await(struct fiber *fiber)
{
    const uint64_t never =
        SIGNAL_BIT(CANCEL) | SIGNAL_BIT(CREDENTIALS) | SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP);
    const long repeat[2] = {0, REPEAT_NS};
    uint64_t wanted = (~fiber->mask & ~never & ~fiber->stops) | SIGNAL_BIT(POKE);
    siginfo_t poke, *info = &fiber->held_info;
    while (!__atomic_load_n(&fiber->arrived, __ATOMIC_SEQ_CST)) {
        bool recalled = __atomic_load_n(&fiber->wanted_home, __ATOMIC_SEQ_CST) != 0;
        if (recalled && !end_wait(fiber))
            poke_carrier(fiber);
        long number = system_call(__NR_rt_sigtimedwait, (long)&wanted, (long)info,
                                  recalled ? (long)repeat : 0, sizeof wanted, 0, 0);
        bool is_poke =
            number == POKE && ((fiber->mask & SIGNAL_BIT(POKE)) != 0 || is_own_poke(info));
        if (number <= 0 || is_poke || fiber->held != 0 || is_ignored((int)number))
            continue;
        fiber->held = (int)number;
        /* Others stay in the kernel until the mask is restored. POKE carries no information about
         * the signal that is held. */
        wanted = SIGNAL_BIT(POKE);
        info = &poke;
        __atomic_store_n(&fiber->wanted_home, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&fiber->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&fiber->wanted_home, 0, __ATOMIC_RELAXED);
}

static void set_away(struct fiber *fiber, bool away)
{
    __atomic_store_n(&fiber->away, away, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&pool.away, away ? 1 : -1, __ATOMIC_SEQ_CST);
}

/* What the home runs while the fiber is away. */
void run_home(void *argument)
{
    struct fiber *fiber = argument;
    for (;;) {
        hand_over(&pool.cores[fiber->going], fiber);
        await(fiber);
        set_away(fiber, false);
        switch_stack(&fiber->parked, fiber->stack);
    }
}

/* Runs back at home, with everything still blocked. A held signal becomes pending and is delivered
 * as soon as the mask allows. Returns the signal, or 0. */
static int return_signal(struct fiber *fiber)
{
    const uint64_t poke = SIGNAL_BIT(POKE);
    const long at_once[2] = {0, 0};
    int held = fiber->held;
    fiber->held = 0;
    /* A late POKE would interrupt a system call unnecessarily. */
    system_call(__NR_rt_sigtimedwait, (long)&poke, 0, (long)at_once, sizeof poke, 0, 0);
    while (held != 0 && system_call(__NR_rt_tgsigqueueinfo, pool.process, fiber->home, held,
                                    (long)&fiber->held_info, 0, 0) == -EAGAIN)
        system_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
    return held;
}

int come_home(struct fiber *fiber)
{
    self.core = -1;
    int held = return_signal(fiber);
    set_signals(fiber->mask, NULL);
    return held;
}

bool depart(struct fiber *fiber)
{
    /* Whoever closes the pool waits until no thread is away, so a thread that retries must not
     * count as away. */
    if (UNLIKELY(__atomic_load_n(&pool.closing, __ATOMIC_SEQ_CST)))
        return false;
    set_signals(~SIGNAL_BIT(CREDENTIALS), &fiber->mask);
    system_call(__NR_sigaltstack, 0, (long)&fiber->signal_stack, 0, 0, 0, 0);
    if (UNLIKELY(blocks_its_own(fiber->mask))) {
        set_signals(fiber->mask, NULL);
        self.blocking = self.stopped = true;
        bump(&self.counters->failed_hops);
        return false;
    }
    set_away(fiber, true);
    if (!__atomic_load_n(&pool.closing, __ATOMIC_SEQ_CST) &&
        !__atomic_load_n(&fiber->detained, __ATOMIC_SEQ_CST) &&
        (__atomic_load_n(&pool.cores[fiber->going].open, __ATOMIC_ACQUIRE) ||
         open_pool((uint32_t)fiber->going / program.cores))) {
        let_stops_through(fiber);
        leave(fiber, &fiber->parked);
        return true;
    }
    set_away(fiber, false);
    set_signals(fiber->mask, NULL);
    return false;
}

void go_home(struct fiber *fiber)
{
    if (fiber->carrier == NULL)
        return;
    fiber->going = HOME;
    leave(fiber, &fiber->carrier->stack);
    come_home(fiber);
}

/* Runs back at home within a signal's frame, from which it must return. Returns what
 * return_signal() does. */
static int arrive_with(struct fiber *fiber, ucontext_t *frame)
{
    self.core = -1;
    int held = return_signal(fiber);
    *(uint64_t *)&frame->uc_sigmask = fiber->mask;
    frame->uc_stack = fiber->signal_stack;
    return held;
}

void take_handler_home(struct fiber *fiber, int number, ucontext_t *frame)
{
    const uintptr_t nested = 0x40000000; /* SA_NODEFER */
    const stack_t disabled = {.ss_flags = SS_DISABLE};
    struct action action = action_of(number);
    uint64_t blocked = action.mask | ((action.flags & nested) != 0 ? 0 : SIGNAL_BIT(number));
    /* For the kernel, the carrier leaves the handler here. */
    set_signals(BLOCKED_BY_CARRIERS, NULL);
    fiber->going = HOME;
    leave(fiber, &fiber->carrier->stack);
    arrive_with(fiber, frame);
    if (((uint32_t)fiber->signal_stack.ss_flags & SS_AUTODISARM) != 0)
        system_call(__NR_sigaltstack, (long)&disabled, 0, 0, 0, 0, 0);
    set_signals(fiber->mask | blocked, NULL);
}

bool restarts(int number)
{
    struct action action = action_of(number);
    return (action.flags & SA_RESTART) != 0 || action.handler <= (uintptr_t)SIG_IGN;
}

/* POKE's handler. On a carrier, in a fiber's own code with the fiber's FS, the fiber goes home from
 * within the handler, and home returns from the frame in `context`. */
static void poked(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    (void)number;
    if (UNLIKELY(!is_own_poke(info))) {
        foreign_poke(info, context);
        return;
    }
    long thread = system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
    struct carrier *carrier = carrier_of_thread((int)thread);
    uintptr_t at = (uintptr_t)frame->uc_mcontext.gregs[REG_RIP];
    if (at >= (uintptr_t)runtime_start && at < (uintptr_t)runtime_end)
        return;
    struct fiber *fiber = carrier == NULL ? NULL : carrier->user;
    bool is_wanted = fiber != NULL && __atomic_load_n(&fiber->wanted_home, __ATOMIC_SEQ_CST);
    if (!is_wanted && (fiber == NULL || !is_cut_short(frame))) {
        begin_ended_call_again(frame); /* it was meant for a fiber that has moved on */
        return;
    }
    fiber->going = HOME;
    /* For the kernel, the carrier leaves the handler here. */
    set_signals(*(uint64_t *)&frame->uc_sigmask, NULL);
    switch_stack(&fiber->stack, carrier->stack);
    int held = arrive_with(fiber, frame);
    struct action action = held == 0 ? (struct action){0} : action_of(held);
    end_call(frame, action.handler > (uintptr_t)SIG_IGN, (action.flags & SA_RESTART) != 0);
    if (held == 0) {
        set_signals(fiber->mask, NULL);
        transfer_rest(frame);
    }
}

bool prepare_home(void)
{
    struct sigaction action = {.sa_sigaction = poked, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
    sigfillset(&action.sa_mask);
    poke_is_ours = sigaction(POKE, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
                   sigaction(POKE, &action, NULL) == 0;
    for (int number = SIGTSTP; number <= SIGTTOU; number++)
        note_action(number);
    return poke_is_ours;
}
