/*
 * Leaving home and coming back: what becomes of a thread's own kernel thread meanwhile.
 *
 * The kernel sends signals to the home, so home does not simply sleep: with everything blocked it
 * waits, by rt_sigtimedwait, for the signals that the program lets through in this thread. When
 * one comes it has the traveller brought back, even out of a system call that blocks, and gives
 * itself the signal anew: the handler then runs where it would have run. POKE does the bringing. A
 * carrier that it interrupts in the midst of a traveller's own code leaves the interrupted state as
 * the signal's frame on the traveller's stack; the frame is returned from at home, with home's
 * mask. A carrier in the runtime's code ignores it, and home asks again every REPEAT_NS.
 *
 * libc's broadcast of credentials (signal 33) is left unblocked: its handler only counts.
 */
#define _GNU_SOURCE
#include "carrier.h"

#include <asm/unistd.h>
#include <errno.h>
#include <ucontext.h>

#define REPEAT_NS 1000000
#define BIT(signal) (1ull << ((signal) - 1))
/* libc's own: cancellation and credentials. */
#define CANCEL 32
#define CREDENTIALS 33

/* By the carrier, when a traveller is to go on at home. Nothing of it is touched afterwards. */
void send_home(struct traveller *traveller)
{
    int home = traveller->home;
    __atomic_store_n(&traveller->carrier, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&traveller->arrived, 1, __ATOMIC_SEQ_CST);
    system_call(__NR_tgkill, crew.process, home, POKE, 0, 0, 0);
}

static void poke_carrier(struct traveller *traveller)
{
    struct carrier *carrier = __atomic_load_n(&traveller->carrier, __ATOMIC_RELAXED);
    if (carrier != NULL)
        system_call(__NR_tgkill, crew.process, carrier->thread, POKE, 0, 0, 0);
}

/* A signal that would do nothing at home either. */
static bool is_ignored(int number)
{
    struct {
        uintptr_t handler, flags, restorer;
        uint64_t mask;
    } action = {0};
    system_call(__NR_rt_sigaction, number, 0, (long)&action, sizeof action.mask, 0, 0);
    bool harmless =
        number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
    return action.handler == (uintptr_t)SIG_IGN ||
           (action.handler == (uintptr_t)SIG_DFL && harmless);
}

/* At home, until the traveller is back. */
static void await(struct traveller *traveller)
{
    const uint64_t never = BIT(CANCEL) | BIT(CREDENTIALS) | BIT(SIGKILL) | BIT(SIGSTOP);
    const long repeat[2] = {0, REPEAT_NS};
    uint64_t wanted = (~traveller->mask & ~never) | BIT(POKE);
    while (!__atomic_load_n(&traveller->arrived, __ATOMIC_SEQ_CST)) {
        bool recalled = __atomic_load_n(&traveller->wanted_home, __ATOMIC_SEQ_CST) != 0;
        if (recalled)
            poke_carrier(traveller);
        long number = system_call(__NR_rt_sigtimedwait, (long)&wanted,
                                  (long)&traveller->held_info, recalled ? (long)repeat : 0,
                                  sizeof wanted, 0, 0);
        if (number <= 0 || number == POKE || is_ignored((int)number))
            continue;
        traveller->held = (int)number;
        /* Others stay with the kernel until the mask is restored. */
        wanted = BIT(POKE);
        __atomic_store_n(&traveller->wanted_home, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&traveller->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&traveller->wanted_home, 0, __ATOMIC_RELAXED);
}

static void set_away(struct traveller *traveller, bool away)
{
    __atomic_store_n(&traveller->away, away, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&crew.away, away ? 1 : -1, __ATOMIC_SEQ_CST);
}

/* What runs at home while the traveller does not. */
void keep_house(void *argument)
{
    struct traveller *traveller = argument;
    for (;;) {
        hand_over(&crew.cores[traveller->going], traveller);
        await(traveller);
        set_away(traveller, false);
        switch_stack(&traveller->parked, traveller->stack);
    }
}

/* Back at home, everything still blocked: a held signal becomes pending, to be delivered as soon
 * as the mask allows. Gives the signal, or 0. */
static int return_signal(struct traveller *traveller)
{
    const uint64_t poke = BIT(POKE);
    const long at_once[2] = {0, 0};
    int held = traveller->held;
    traveller->held = 0;
    /* One that came too late would end a system call for nothing. */
    system_call(__NR_rt_sigtimedwait, (long)&poke, 0, (long)at_once, sizeof poke, 0, 0);
    while (held != 0 && system_call(__NR_rt_tgsigqueueinfo, crew.process, traveller->home, held,
                                    (long)&traveller->held_info, 0, 0) == -EAGAIN)
        system_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
    return held;
}

static void set_signals(uint64_t mask, uint64_t *before)
{
    system_call(__NR_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)before, sizeof mask, 0, 0);
}

void come_home(struct traveller *traveller)
{
    place.core = -1;
    return_signal(traveller);
    set_signals(traveller->mask, NULL);
}

bool depart(struct traveller *traveller)
{
    set_signals(~BIT(CREDENTIALS), &traveller->mask);
    set_away(traveller, true);
    if (!__atomic_load_n(&crew.closing, __ATOMIC_SEQ_CST) &&
        !__atomic_load_n(&traveller->detained, __ATOMIC_SEQ_CST) &&
        (__atomic_load_n(&crew.cores[traveller->going].open, __ATOMIC_ACQUIRE) ||
         open_crew((uint32_t)traveller->going / program.cores))) {
        leave(traveller, &traveller->parked);
        return true;
    }
    set_away(traveller, false);
    set_signals(traveller->mask, NULL);
    return false;
}

void go_home(struct traveller *traveller)
{
    if (traveller->carrier == NULL)
        return;
    traveller->going = HOME;
    leave(traveller, &traveller->carrier->stack);
    come_home(traveller);
}

/* System calls that a handler without SA_RESTART ends with EINTR, though POKE's has it. */
static bool ends_interrupted(long number)
{
    static const short calls[] = {
        __NR_read,    __NR_readv,   __NR_pread64,  __NR_recvfrom, __NR_recvmsg, __NR_recvmmsg,
        __NR_write,   __NR_writev,  __NR_pwrite64, __NR_sendto,   __NR_sendmsg, __NR_sendmmsg,
        __NR_accept,  __NR_accept4, __NR_connect,  __NR_wait4,    __NR_waitid,  __NR_futex,
        __NR_fcntl,   __NR_flock,   __NR_openat,   __NR_open,     __NR_ioctl,
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == number)
            return true;
    return false;
}

static bool restarts(int number)
{
    struct {
        uintptr_t handler, flags, restorer;
        uint64_t mask;
    } action = {0};
    system_call(__NR_rt_sigaction, number, 0, (long)&action, sizeof action.mask, 0, 0);
    return (action.flags & SA_RESTART) != 0 || action.handler <= (uintptr_t)SIG_IGN;
}

/* What POKE does. On a carrier, in a traveller's own code, with FS its own: the traveller goes home
 * from within, and the frame in `context` is returned from there. */
static void poked(int number, siginfo_t *info, void *context)
{
    ucontext_t *frame = context;
    (void)number;
    (void)info;
    long thread = system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
    struct carrier *carrier = carrier_of_thread((int)thread);
    uintptr_t at = (uintptr_t)frame->uc_mcontext.gregs[REG_RIP];
    if (carrier == NULL || carrier->user == NULL ||
        (at >= (uintptr_t)runtime_start && at < (uintptr_t)runtime_end))
        return;
    struct traveller *traveller = carrier->user;
    if (!__atomic_load_n(&traveller->wanted_home, __ATOMIC_SEQ_CST) || place.handlers != 0)
        return;
    traveller->going = HOME;
    /* To the kernel the carrier leaves the handler here. */
    set_signals(*(uint64_t *)&frame->uc_sigmask, NULL);
    switch_stack(&traveller->stack, carrier->stack);
    place.core = -1;
    int held = return_signal(traveller);
    *(uint64_t *)&frame->uc_sigmask = traveller->mask;
    system_call(__NR_sigaltstack, 0, (long)&frame->uc_stack, 0, 0, 0, 0);
    static const uint8_t instruction[2] = {0x0f, 0x05};
    const uint8_t *next = (const uint8_t *)frame->uc_mcontext.gregs[REG_RIP];
    if (held != 0 && !restarts(held) && next[0] == instruction[0] && next[1] == instruction[1] &&
        ends_interrupted(frame->uc_mcontext.gregs[REG_RAX])) {
        frame->uc_mcontext.gregs[REG_RAX] = -EINTR;
        frame->uc_mcontext.gregs[REG_RIP] += sizeof instruction;
    }
}

bool prepare_home(void)
{
    struct sigaction action = {.sa_sigaction = poked, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
    sigfillset(&action.sa_mask);
    return sigaction(POKE, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
           sigaction(POKE, &action, NULL) == 0;
}
