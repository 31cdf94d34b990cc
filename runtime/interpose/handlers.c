/*
 * Knowing that a thread is in a signal handler.
 *
 * A handler ends by giving its kernel thread the signal mask from before, so a thread must leave a
 * handler on the kernel thread on which it entered: hooks in handlers count, but move nobody. Nor
 * does a handler begin or end calls of functions that go back: it may have a stack of its own.
 * sigaction and the older ways to set a handler install one of ours that notes this and calls the
 * program's; what they report of the former handler is the program's own, and none where
 * terminated.c has set one.
 *
 * A handler may also be left by a jump (interposers.c). The kernel thread then still blocks what
 * the handler did. Where that is a carrier, its own mask is restored, and the thread takes what the
 * program sees of the other one home.
 *
 * Signal 16 is the runtime's while threads may be carried (home.c). A program that sets a handler
 * for it, as for all signals, is told that it did, and is given the signals that others send.
 */
#define _GNU_SOURCE
#include "carrier.h"

#include <asm/unistd.h>
#include <errno.h>

#define SIGNALS 65

typedef void handler_function(int, siginfo_t *, void *);
typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);

/* A handler that runs, in a frame of its stack. */
struct handling {
    struct handling *outer;
};

static handler_function *handlers[SIGNALS];
bool poke_is_ours;
/* What the program has set for signal 16. */
static struct sigaction for_poke;
/* Signals for which siginterrupt() was called: signal() leaves SA_RESTART out. */
static uint64_t interrupting;

static void handle(int number, siginfo_t *info, void *context)
{
    struct handling here = {place.handling};
    uint32_t before = place.handlers;
    place.handlers = before + 1;
    place.handling = &here;
    __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE)(number, info, context);
    place.handling = here.outer;
    place.handlers = before;
}

/* The last handler is left by a jump, on a carrier: what it blocks there, the thread blocks at
 * home. */
static void leave_mask(struct fiber *fiber)
{
    uint64_t here;
    set_signals(BLOCKED_BY_CARRIERS, &here);
    fiber->mask |= here & ~BLOCKED_BY_CARRIERS;
    go_home(fiber);
}

void leave_handlers(uintptr_t to)
{
    if (LIKELY(place.handling == NULL))
        return;
    while (place.handling != NULL && (to == 0 || (uintptr_t)place.handling < to)) {
        place.handling = place.handling->outer;
        place.handlers--;
    }
    struct fiber *fiber = place.fiber;
    if (place.handling == NULL && fiber != NULL && fiber->carrier != NULL)
        leave_mask(fiber);
}

static bool is_handler(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

void foreign_poke(siginfo_t *info, void *context)
{
    const uint64_t by_default[4] = {(uint64_t)(uintptr_t)SIG_DFL};
    if (is_handler(&for_poke)) {
        __atomic_store_n(&handlers[POKE], for_poke.sa_sigaction, __ATOMIC_RELEASE);
        handle(POKE, info, context);
    } else if (for_poke.sa_handler == SIG_DFL) {
        system_call(__NR_rt_sigaction, POKE, (long)by_default, 0, sizeof(uint64_t), 0, 0);
        system_call(__NR_tgkill, system_call(__NR_getpid, 0, 0, 0, 0, 0, 0),
                    system_call(__NR_gettid, 0, 0, 0, 0, 0, 0), POKE, 0, 0, 0);
    }
}

/* The program believes that signal 16 is its own. */
static int set_action_for_poke(const struct sigaction *action, struct sigaction *before)
{
    if (before != NULL)
        *before = for_poke;
    if (action != NULL)
        for_poke = *action;
    return 0;
}

static int set_action(int number, const struct sigaction *action, struct sigaction *before)
{
    static void *kept;
    sigaction_function *next = (sigaction_function *)original(&kept, "sigaction");
    if (number == POKE && poke_is_ours)
        return set_action_for_poke(action, before);
    bool matters = carriers_are_possible() || program.goes_back, ends = is_terminated_by(number);
    if ((!matters && !ends) || number <= 0 || number >= SIGNALS || number == POKE)
        return next(number, action, before);
    handler_function *former = handlers[number];
    struct sigaction ours, found;
    if (action != NULL) {
        ours = *action;
        if (ends && action->sa_handler == SIG_DFL) {
            ours = (struct sigaction){.sa_handler = when_terminated, .sa_flags = SA_RESTART};
        } else if (matters && is_handler(action)) {
            __atomic_store_n(&handlers[number], action->sa_sigaction, __ATOMIC_RELEASE);
            ours.sa_sigaction = handle;
        }
    }
    if (next(number, action != NULL ? &ours : NULL, &found) != 0) {
        handlers[number] = former;
        return -1;
    }
    if (found.sa_sigaction == handle)
        found.sa_sigaction = former;
    else if (found.sa_handler == when_terminated)
        found = (struct sigaction){.sa_handler = SIG_DFL};
    if (before != NULL)
        *before = found;
    return 0;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    return set_action(number, action, before);
}

static bool is_interrupting(int number)
{
    uint64_t signals = __atomic_load_n(&interrupting, __ATOMIC_RELAXED);
    return number > 0 && number < SIGNALS && (signals & SIGNAL_BIT(number)) != 0;
}

/* Under any backend, since signal() below takes the place of libc's, which would know. */
EXPORT int siginterrupt(int number, int interrupts)
{
    static void *kept;
    int result = ((int (*)(int, int))original(&kept, "siginterrupt"))(number, interrupts);
    if (result != 0 || number <= 0 || number >= SIGNALS)
        return result;
    if (interrupts)
        __atomic_or_fetch(&interrupting, SIGNAL_BIT(number), __ATOMIC_RELAXED);
    else
        __atomic_and_fetch(&interrupting, ~SIGNAL_BIT(number), __ATOMIC_RELAXED);
    return result;
}

static __sighandler_t set_handler(int number, struct sigaction action)
{
    struct sigaction before;
    return set_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    struct sigaction action = {.sa_handler = handler};
    action.sa_flags = is_interrupting(number) ? 0 : SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, number);
    return set_handler(number, action);
}

EXPORT __sighandler_t bsd_signal(int number, __sighandler_t handler)
{
    return signal(number, handler);
}

EXPORT __sighandler_t ssignal(int number, __sighandler_t handler)
{
    return signal(number, handler);
}

/* What signal() means to programs that ask for the standards of System V. */
EXPORT __sighandler_t __sysv_signal(int number, __sighandler_t handler)
{
    struct sigaction action = {.sa_handler = handler};
    action.sa_flags = (int)(SA_RESETHAND | SA_NODEFER);
    sigemptyset(&action.sa_mask);
    return set_handler(number, action);
}

EXPORT __sighandler_t sysv_signal(int number, __sighandler_t handler)
{
    return __sysv_signal(number, handler);
}

EXPORT int sigignore(int number)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    return set_action(number, &action, NULL);
}

/* POSIX: SIG_HOLD blocks the signal and leaves its action; whatever else unblocks it. */
EXPORT __sighandler_t sigset(int number, __sighandler_t handler)
{
    struct sigaction action = {.sa_handler = handler}, before;
    sigset_t signals, former;
    sigemptyset(&action.sa_mask);
    sigemptyset(&signals);
    if (sigaddset(&signals, number) != 0)
        return SIG_ERR;
    stay_home();
    bool holds = handler == SIG_HOLD;
    if (sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &signals, &former) != 0 ||
        set_action(number, holds ? NULL : &action, &before) != 0)
        return SIG_ERR;
    return sigismember(&former, number) ? SIG_HOLD : before.sa_handler;
}
