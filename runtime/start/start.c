/*
 * Start-up: finds the patched files' notes, chooses the backend, opens the hooks.
 *
 * This library runs inside other people's servers. It is the first library that a patched program
 * needs, so its constructor runs before main() and after libc's. The hooks do nothing until the
 * constructor stores the address of enter.S into the slot of each file. So every failure here ends
 * in the same way: one line on standard error with the remedy, empty slots, and a server that runs
 * as if unpatched. It never starts half-hooked.
 *
 * If only libraries are patched, the program must be started with this library in LD_PRELOAD: a
 * library loaded after libc cannot interpose its functions.
 *
 * Read next: modules.c, hooks.c, backends.c.
 */
#define _GNU_SOURCE
#include "auto.h"
#include "backends.h"
#include "control.h"
#include "filter.h"
#include "forks.h"
#include "handlers.h"
#include "home.h"
#include "in_memory.h"
#include "interposers.h"
#include "modules.h"
#include "opening.h"
#include "pool.h"
#include "posted.h"
#include "ring.h"
#include "rest.h"
#include "statistics.h"
#include "terminated.h"
#include "thread_state.h"
#include "watch.h"
#include "watchdog.h"

#include <dlfcn.h>
#include <pthread.h>

/* For tools that check this file without loading it. */
__attribute__((visibility("default"))) const uint32_t corehop_runtime_abi = COREHOP_ABI;
extern const uint32_t own_abi __attribute__((alias("corehop_runtime_abi"), visibility("hidden")));

/* auto never begins if the plan states that carriers refuse. The statistics report that too. */
static void leave_as_it_is(void)
{
    complain("carriers refuse: %s: running without hops", program.refusal);
    if (control_is_on())
        return;
    if (prepare_statistics())
        prepare_termination();
    pthread_atfork(NULL, NULL, statistics_forked);
}

/* Runs once, at the first patched file. */
static void prepare(void)
{
    const struct backend *chosen = chosen_backend();
    bool is_refused = chosen == &auto_backend && program.refusal != NULL;
    program.backend = &off_backend;
    prepare_control();
    if (is_refused) {
        chosen = &off_backend;
        leave_as_it_is();
    }
    if (chosen == &off_backend && !control_is_on())
        return;
    if (!stands_in_for_libc() && (chosen != &count_backend || control_is_on())) {
        complain("the runtime was loaded too late to stand in for libc: name it in LD_PRELOAD; "
                 "running without hops");
        return;
    }
    const char *call = chosen != &count_backend || control_is_on() ? call_that_kills() : NULL;
    if (call != NULL) {
        complain("a filter of system calls kills for %s (in a unit, SystemCallFilter=%s allows "
                 "it): running without hops",
                 call, call);
        return;
    }
    prepare_clock();
    watch = (struct watch){.keep = keep_watch, .call = call_watchdog};
    foreign_poke = take_foreign_poke;
    bool may_post = carries_calls(chosen);
    if (!prepare_threads())
        chosen = &off_backend;
    else
        chosen = prepared_backend(chosen);
    open_calls(may_post);
    if (chosen == &off_backend && !control_is_on())
        return;
    prepare_interposers();
    if (prepare_statistics() || has_rings())
        prepare_termination();
    watch_forks();
    if (chosen != &off_backend)
        choose_backend(chosen);
    start_control(chosen);
}

/* arrival.c calls it whenever a patched library was loaded. */
__attribute__((visibility("default"))) void corehop_module_arrives(void)
{
    /* A program and a library in two folders may each load a runtime: the first one serves both. */
    if (dlsym(RTLD_DEFAULT, "corehop_runtime_abi") != &own_abi)
        return;
    bool is_planned = find_modules();
    if (program.backend != NULL)
        return;
    if (calls_are_asked() && (is_planned || program.is_starting)) {
        uint32_t cores = order_calls(program.cores);
        is_planned |= cores != 0 && go_without_modules(cores);
        program.cores = is_planned && cores > program.cores ? cores : program.cores;
    }
    if (is_planned)
        prepare();
}

extern void own_arrives(void)
    __attribute__((alias("corehop_module_arrives"), visibility("hidden")));

/* libc also passes its arguments to a library's constructors. */
__attribute__((constructor)) static void start(int count, char **arguments)
{
    (void)count;
    program.is_starting = true;
    note_process();
    prepare_messages();
    prepare_clocks();
    self.followed = true; /* the thread that runs main() */
    take_in_memory_hooks(arguments);
    own_arrives();
    program.is_starting = false;
}

__attribute__((destructor)) static void stop(void)
{
    if ((hooks_were_open() || program.refusal != NULL) && !has_come_to_rest())
        write_statistics();
    end_rings();
}
