/*
 * The statistics of a program that SIGTERM, SIGINT or SIGHUP ends.
 *
 * Many servers leave these signals to the kernel, which ends them before any destructor runs. So if
 * statistics are requested (COREHOP_STATS), such a signal gets a handler that writes them and then
 * lets the kernel act as before. The process ends by the signal, and its parent sees no difference.
 * For the program, the signal stays at its default: sigaction and signal report that. If the
 * program sets a handler or ignores the signal, its own action applies. If it restores the default,
 * the runtime's handler returns. The handler runs on the current stack, since an alternate one is
 * often too small to write statistics. Signals that dump a core are left alone.
 */
#define _GNU_SOURCE
#include "terminated.h"
#include "ring.h"
#include "statistics.h"
#include "system.h"

#include <asm/unistd.h>
#include <signal.h>

static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
static bool is_on;

bool is_terminated_by(int number)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return is_on;
    return false;
}

void raise_default(int number)
{
    const uint64_t by_default[4] = {(uint64_t)(uintptr_t)SIG_DFL};
    system_call(__NR_rt_sigaction, number, (long)by_default, 0, sizeof(uint64_t), 0, 0);
    system_call(__NR_tgkill, system_call(__NR_getpid, 0, 0, 0, 0, 0, 0),
                system_call(__NR_gettid, 0, 0, 0, 0, 0, 0), number, 0, 0, 0);
}

void when_terminated(int number)
{
    write_statistics();
    end_rings();
    raise_default(number); /* delivered when this handler returns */
}

void prepare_termination(void)
{
    is_on = true;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction found;
        /* Both go through handlers.c, in which the default means the runtime's handler. */
        if (sigaction(numbers[i], NULL, &found) == 0 && found.sa_handler == SIG_DFL)
            sigaction(numbers[i], &found, NULL);
    }
}
