/*
 * Tracks whether a thread is in a signal handler.
 *
 * A handler ends by restoring the former signal mask of its kernel thread. So a thread must leave a
 * handler on the kernel thread on which it entered: hooks in handlers count, but move no thread. A
 * handler also does not begin or end delegated calls (calls.c), since it may have its own stack.
 * sigaction and the older functions that set a handler install one of the runtime's. It notes the
 * handler and calls the program's. These functions report the program's own former handler, and
 * none if terminated.c has set one.
 *
 * All handlers run at home. Only faults and broken pipes reach a thread on its carrier. Their
 * handler begins there, and first goes home with its frame. If it requests the alternate stack
 * (SA_ONSTACK), the kernel has put the frame on the carrier's alternate stack. The frame then moves
 * to where the kernel would have put it at home.
 *
 * Signal 16 belongs to the runtime while threads may run on carriers (home.c). A program can set a
 * handler for it, as for all signals: the call succeeds, and the program gets the signals that
 * others send.
 */
#define _GNU_SOURCE
#include "handlers.h"
#include "carrier.h"
#include "home.h"
#include "originals.h"
#include "pool.h"
#include "terminated.h"

#include <asm/unistd.h>
#include <errno.h>
#include <string.h>

#define SIGNALS 65

/* The kernel's layout of frames on x86-64: the return address, ucontext_t, siginfo_t, and behind
 * them the registers in the format of FXSAVE or XSAVE. */
#define FRAME_ALIGNMENT 64ul
#define RED_ZONE 128
#define LEGACY_SIZE 512
#define SOFTWARE_BYTES 464
#define EXTENDED 0x46505853u

typedef void handler_function(int, siginfo_t *, void *);
typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);

/* The address of a handler's frame, and the alternate stack on which it is; without one, all
 * memory. This is not kept in the frame, since an exception may leave the frame before it is read.
 * The last entry stands for all handlers deeper than it, and has the outermost of them. */
#define MOST_HANDLERS 8
static __thread struct handling {
    uintptr_t at, stack, size;
} handlings[MOST_HANDLERS] __attribute__((tls_model("initial-exec")));

static handler_function *handlers[SIGNALS], handle;
static sigaction_function set_action;
static const struct sigaction by_default = {0};
/* The program's action for signal 16. */
static struct sigaction for_poke;
/* Signals whose handler runs once (SA_RESETHAND), and after whose default statistics are written:
 * the runtime restores the default, not the kernel. */
static uint64_t resetting;
/* Signals for which siginterrupt() was called: signal() leaves SA_RESTART out. */
static uint64_t interrupting;

/* The end of a frame: that of the registers behind it. Their size is in bytes that the hardware
 * does not use (the kernel's _fpx_sw_bytes). */
static uintptr_t end_of_frame(const ucontext_t *frame)
{
    uintptr_t registers = (uintptr_t)frame->uc_mcontext.fpregs;
    const uint32_t *words = (const uint32_t *)(registers + SOFTWARE_BYTES);
    return registers + (words[0] == EXTENDED ? words[1] : LEGACY_SIZE);
}

/* The address at which the kernel ends a frame at home. It is on the thread's alternate stack,
 * unless the thread has none or is on it; then it is below the used part of its stack. */
static uintptr_t end_at_home(const stack_t *alternate, uintptr_t at, uintptr_t *least)
{
    uintptr_t low = (uintptr_t)alternate->ss_sp, size = alternate->ss_size;
    bool is_used = (alternate->ss_flags & SS_DISABLE) != 0 || at - low < size;
    *least = is_used ? 0 : low;
    return is_used ? at - RED_ZONE : low + size;
}

/* The kernel ends a process with a handler whose frame has no room. */
static void end_without_room(void)
{
    raise_default(SIGSEGV);
    set_signals(0, NULL);
}

/* On the carrier's stack for handlers: copies the frame to its address at home, and restarts there.
 */
static void move_frame(const struct fiber *fiber, int number, siginfo_t *info, ucontext_t *frame)
{
    uintptr_t begins = (uintptr_t)frame - sizeof(uintptr_t), ends = end_of_frame(frame), least;
    uintptr_t registers = (uintptr_t)frame->uc_mcontext.fpregs;
    uintptr_t end =
        end_at_home(&fiber->signal_stack, (uintptr_t)frame->uc_mcontext.gregs[REG_RSP], &least);
    uintptr_t distance = registers - ((end - (ends - registers)) & -FRAME_ALIGNMENT);
    if (begins - distance < least)
        end_without_room();
    frame->uc_mcontext.fpregs = (fpregset_t)(registers - distance);
    memcpy((void *)(begins - distance), (const void *)begins, ends - begins);
    __asm__ volatile("movq %0, %%rsp\n\tjmp *%1"
                     :
                     : "r"(begins - distance), "r"(handle), "D"(number),
                       "S"((uintptr_t)info - distance), "d"((uintptr_t)frame - distance)
                     : "memory");
    __builtin_unreachable();
}

/* A hop blocks signals, and the kernel kills a thread that traps in that state. */
static bool is_stepping(int number, const ucontext_t *frame)
{
    const greg_t trap_flag = 0x100;
    return number == SIGTRAP && (frame->uc_mcontext.gregs[REG_EFL] & trap_flag) != 0;
}

static void note_handler(uintptr_t at, const stack_t *alternate)
{
    uintptr_t stack = (uintptr_t)alternate->ss_sp, size = alternate->ss_size;
    bool is_on_it = at - stack < size;
    if (self.handlers < MOST_HANDLERS)
        handlings[self.handlers] =
            (struct handling){at, is_on_it ? stack : 0, is_on_it ? size : UINTPTR_MAX};
    self.handlers++;
}

static void handle(int number, siginfo_t *info, void *context)
{
    struct fiber *fiber = self.fiber;
    if (UNLIKELY(is_stepping(number, context)))
        self.bound = self.stopped = true;
    if (UNLIKELY(fiber != NULL && fiber->carrier != NULL)) {
        if (is_on_signal_stack(fiber->carrier, (uintptr_t)context))
            move_frame(fiber, number, info, context);
        take_handler_home(fiber, number, context);
    }
    uint32_t before = self.handlers;
    note_handler((uintptr_t)__builtin_frame_address(0), &((const ucontext_t *)context)->uc_stack);
    handler_function *handler = __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE);
    if (UNLIKELY((__atomic_load_n(&resetting, __ATOMIC_ACQUIRE) & SIGNAL_BIT(number)) != 0))
        set_action(number, &by_default, NULL);
    handler(number, info, context);
    self.handlers = before;
    mask_may_differ();
}

/* Whether continuing at `to` leaves the handler: `to` is further up its stack, or on another. */
static bool is_left(const struct handling *handling, uintptr_t to)
{
    return to == 0 || handling->at < to || to - handling->stack >= handling->size;
}

void leave_handlers(uintptr_t to)
{
    for (uint32_t last; UNLIKELY(self.handlers != 0); self.handlers--) {
        last = self.handlers < MOST_HANDLERS ? self.handlers : MOST_HANDLERS;
        if (!is_left(&handlings[last - 1], to))
            return;
    }
}

static bool is_handler(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

void take_foreign_poke(siginfo_t *info, void *context)
{
    if (is_handler(&for_poke)) {
        __atomic_store_n(&handlers[POKE], for_poke.sa_sigaction, __ATOMIC_RELEASE);
        handle(POKE, info, context);
    } else if (for_poke.sa_handler == SIG_DFL) {
        raise_default(POKE);
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
    bool resets = ends && action != NULL && (action->sa_flags & (int)SA_RESETHAND) != 0;
    if ((!matters && !ends) || number <= 0 || number >= SIGNALS || number == POKE)
        return next(number, action, before);
    handler_function *former = handlers[number];
    bool was_for_one = (__atomic_load_n(&resetting, __ATOMIC_RELAXED) & SIGNAL_BIT(number)) != 0;
    struct sigaction ours, found;
    mask_may_differ();
    if (action != NULL) {
        ours = *action;
        if (resets)
            __atomic_or_fetch(&resetting, SIGNAL_BIT(number), __ATOMIC_RELEASE);
        else
            __atomic_and_fetch(&resetting, ~SIGNAL_BIT(number), __ATOMIC_RELEASE);
        if (ends && action->sa_handler == SIG_DFL) {
            ours = (struct sigaction){.sa_handler = when_terminated, .sa_flags = SA_RESTART};
        } else if (is_handler(action) && (matters || resets)) {
            expect_handler(number);
            __atomic_store_n(&handlers[number], action->sa_sigaction, __ATOMIC_RELEASE);
            ours.sa_sigaction = handle;
            ours.sa_flags &= resets ? (int)~SA_RESETHAND : -1;
        }
    }
    if (next(number, action != NULL ? &ours : NULL, &found) != 0) {
        handlers[number] = former;
        return -1;
    }
    note_action(number);
    if (found.sa_sigaction == handle) {
        found.sa_sigaction = former;
        found.sa_flags |= was_for_one ? (int)SA_RESETHAND : 0;
    } else if (found.sa_handler == when_terminated) {
        found = by_default;
    }
    if (before != NULL)
        *before = found;
    return 0;
}

long set_raw_action(int number, const void *action, void *before, size_t size)
{
    struct action raw = {0};
    struct sigaction wanted = {0}, found = {0};
    bool is_libcs = number == 32 || number == 33;
    /* Both may point to the same action. */
    bool is_invalid = action != NULL && !read_memory(&raw, action, sizeof raw);
    long result = is_invalid ? -EFAULT
                             : system_call(__NR_rt_sigaction, number, is_libcs ? (long)action : 0,
                                           (long)before, (long)size, 0, 0);
    if (result != 0) {
        errno = (int)-result;
        return -1;
    }
    if (is_libcs)
        return 0;
    wanted.sa_sigaction = (handler_function *)raw.handler;
    wanted.sa_flags = (int)raw.flags;
    memcpy(&wanted.sa_mask, &raw.mask, sizeof raw.mask);
    if (set_action(number, action != NULL ? &wanted : NULL, &found) != 0)
        return -1;
    raw = (struct action){(uintptr_t)found.sa_sigaction, (unsigned)found.sa_flags, 0, 0};
    memcpy(&raw.mask, &found.sa_mask, sizeof raw.mask);
    if (before != NULL)
        memcpy(before, &raw, sizeof raw); /* the kernel has just written there */
    return 0;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    return set_action(number, action, before);
}

/* libc has it under this name too. */
EXPORT sigaction_function another_sigaction __asm__("__sigaction")
    __attribute__((alias("sigaction"), leaf, nothrow));

static bool is_interrupting(int number)
{
    uint64_t signals = __atomic_load_n(&interrupting, __ATOMIC_RELAXED);
    return number > 0 && number < SIGNALS && (signals & SIGNAL_BIT(number)) != 0;
}

/* Needed under any backend, since signal() below replaces libc's, which would have this
 * information. */
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
    if (action.sa_handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
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

/* The meaning of signal() for programs that request System V semantics. */
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

/* POSIX: SIG_HOLD blocks the signal and keeps its action; every other value unblocks it. */
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
