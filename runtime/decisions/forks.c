/*
 * Forks: a child has only the thread that forked, and counts and decides for itself.
 */
#define _GNU_SOURCE
#include "forks.h"
#include "auto.h"
#include "backends.h"
#include "carrier.h"
#include "control.h"
#include "modules.h"
#include "objects.h"
#include "pool.h"
#include "statistics.h"
#include "watchdog.h"

#include <asm/unistd.h>
#include <pthread.h>

static void before_fork(void)
{
    if (self.backend != NULL && self.backend == &carrier_backend)
        self.backend->leave();
}

static int own_process;
static bool is_watched;

void note_process(void)
{
    own_process = (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
}

bool is_own_process(void)
{
    return (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0) == own_process;
}

void process_forked(void)
{
    note_process();
    if (!is_watched)
        return;
    backends_forked();
    modules_forked();
    forget_threads();
    objects_forked();
    statistics_forked();
    pool_forked();
    watchdog_forked();
    auto_forked();
    control_forked();
}

void watch_forks(void)
{
    pthread_atfork(before_fork, NULL, process_forked);
    is_watched = true;
}
