/*
 * Knowing that a thread is in a signal handler.
 *
 * A handler ends by giving its kernel thread the signal mask from before, so a thread must leave a
 * handler on the kernel thread on which it entered: hooks in handlers count, but move nobody. Nor
 * does a handler begin or end calls of functions that go back: it may have a stack of its own.
 * sigaction and signal install a handler of ours that notes this and calls the program's; what
 * they report of the former handler is the program's own, and none where terminated.c has set one.
 * Handlers that jump out leave by siglongjmp, which interposers.c sees.
 */
#define _GNU_SOURCE
#include "carrier.h"

#include <errno.h>

#define SIGNALS 65

typedef void handler_function(int, siginfo_t *, void *);
typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);

static handler_function *handlers[SIGNALS];

static void handle(int number, siginfo_t *info, void *context)
{
    place.handlers++;
    __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE)(number, info, context);
    place.handlers--;
}

static bool is_handler(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static int set_action(int number, const struct sigaction *action, struct sigaction *before)
{
    static void *kept;
    sigaction_function *next = (sigaction_function *)original(&kept, "sigaction");
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

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *action,
                                                     struct sigaction *before)
{
    return set_action(number, action, before);
}

__attribute__((visibility("default"))) __sighandler_t signal(int number, __sighandler_t handler)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, number);
    return set_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
