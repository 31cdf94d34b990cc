/*
 * Start-up: finds the patched files' notes, chooses the backend, opens the hooks.
 *
 * This library runs inside other people's servers. It is the first library a patched program
 * needs, so its constructor runs before main() and after libc's. Until the constructor stores the
 * address of enter.S into the slot of each file, the hooks do nothing; so every way to fail here
 * ends the same way: one line on standard error that names the remedy, empty slots, and a server
 * that runs as if unpatched. It never starts half-hooked.
 *
 * Where only libraries are patched, the program must be started with this one in LD_PRELOAD: what
 * is loaded behind libc cannot stand in for its functions.
 *
 * Siblings to read next: modules.c, affinity.c.
 */
#define _GNU_SOURCE
#include "carrier.h"
#include "objects.h"
#include "offsets.h"
#include "posted.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct program program;
__thread struct place place = {.core = -1};
bool is_starting;
static bool is_hooked;

/* What a tool that looks at this file without loading it can check. */
__attribute__((visibility("default"))) const uint32_t corehop_runtime_abi = COREHOP_ABI;
extern const uint32_t own_abi __attribute__((alias("corehop_runtime_abi"), visibility("hidden")));

const struct backend off_backend = {.name = "off"};

static const struct backend *const backends[] = {
    /* The first is the default: no server is slower for it. */
    &auto_backend, &affinity_backend, &carrier_backend, &count_backend, &off_backend,
};
#define BACKENDS (sizeof backends / sizeof *backends)
static bool usable[BACKENDS];

const struct backend *backend_called(const char *name)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (strcmp(name, backends[i]->name) == 0)
            return backends[i];
    return NULL;
}

bool backend_is_usable(const struct backend *backend)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (backends[i] == backend)
            return usable[i] && (backend != &carrier_backend || carrier_refusal() == NULL);
    return false;
}

static bool is_backend_named(void)
{
    const char *name = secure_getenv("COREHOP_BACKEND");
    return name != NULL && *name != '\0';
}

static const struct backend *chosen_backend(void)
{
    const char *name = secure_getenv("COREHOP_BACKEND");
    if (name == NULL || *name == '\0')
        return backends[0];
    const struct backend *backend = backend_called(name);
    if (backend != NULL)
        return backend;
    complain("COREHOP_BACKEND=%s is none of affinity, auto, carrier, count, off: running without "
             "hops",
             name);
    return &off_backend;
}

static bool carries_calls(const struct backend *chosen)
{
    bool is_alone = program.hook_count == 0;
    return chosen == &carrier_backend ||
           (chosen == &auto_backend && (!is_alone || !is_backend_named()));
}

/* Without a plan there is nothing but calls to post, and nothing to measure by. */
static const struct backend *prepared_alone(const struct backend *chosen)
{
    if (!carries_calls(chosen))
        return &off_backend;
    for (size_t i = 0; i < BACKENDS; i++)
        usable[i] = backends[i] == &off_backend ||
                    (backends[i] == &carrier_backend && carrier_backend.prepare());
    return carrier_refusal() == NULL ? &carrier_backend : &off_backend;
}

/* Prepares the chosen backend and, if orders may come for them, the others; gives the one to begin
 * with. carrier may refuse, which leaves affinity; any other that fails leaves the program off. */
static const struct backend *prepared_backend(const struct backend *chosen)
{
    bool fails = false, is_auto = chosen == &auto_backend;
    for (size_t i = 0; i < BACKENDS; i++) {
        const struct backend *backend = backends[i];
        bool as_substitute = backend == &affinity_backend && chosen == &carrier_backend;
        bool is_asked = backend == chosen || as_substitute || is_auto || control_is_on();
        if (backend == &off_backend || !is_asked)
            continue;
        usable[i] = backend->prepare();
        fails |= !usable[i] && backend != &carrier_backend;
    }
    usable[BACKENDS - 1] = true; /* off */
    if (fails)
        return &off_backend;
    if ((chosen != &carrier_backend && !is_auto) || carrier_refusal() == NULL)
        return chosen;
    complain("COREHOP_BACKEND=%s: %s: using affinity%s", chosen->name, carrier_refusal(),
             is_auto ? ", where that pays" : "");
    return is_auto ? chosen : &affinity_backend;
}

_Static_assert(offsetof(struct place, tallies) == PLACE_TALLIES, "enter.S");
_Static_assert(offsetof(struct place, backend) == PLACE_BACKEND, "enter.S");
_Static_assert(offsetof(struct place, core) == PLACE_CORE, "enter.S");
_Static_assert(offsetof(struct program, hooks) == PROGRAM_HOOKS, "enter.S");
_Static_assert(offsetof(struct program, backend) == PROGRAM_BACKEND, "enter.S");
_Static_assert(offsetof(struct program, minus_count) == PROGRAM_MINUS_COUNT, "enter.S");
_Static_assert(offsetof(struct program, minus_request) == PROGRAM_MINUS_REQUEST, "enter.S");
_Static_assert(offsetof(struct hook, core) == HOOK_CORE, "enter.S");
_Static_assert(sizeof(struct hook) == 1 << HOOK_SHIFT, "enter.S");
_Static_assert(sizeof(struct tally) == 1 << HOOK_SHIFT && offsetof(struct tally, calls) == 0,
               "enter.S");

/* While hops rest nothing of the runtime runs but hooks: one of them sees when the rest is over. */
static inline void look_for_watchdog(void)
{
    uint64_t due = __atomic_load_n(&watchdog_is_due, __ATOMIC_RELAXED);
    /* What a thread starts has its rights, which may be those of one client. */
    if (UNLIKELY(due != 0 && !place.bound && clock_now() >= due))
        call_watchdog();
}

void enter_slowly(uint32_t hook, uintptr_t at)
{
    const struct backend *backend = __atomic_load_n(&program.backend, __ATOMIC_RELAXED);
    if (UNLIKELY(backend == &off_backend)) {
        take_over(backend);
        return;
    }
    struct tally *tallies = place.tallies;
    if (UNLIKELY(tallies == NULL))
        tallies = first_hook();
    bump(&tallies[hook].calls);
    if (backend == &count_backend && auto_is_on()) {
        look_for_watchdog();
        if (place.backend != backend)
            take_over(backend);
        return;
    }
    const struct hook *entered = &program.hooks[hook];
    if (UNLIKELY(entered->mode == IS_COUNTED))
        return;
    if (program.goes_back && !begin_call(hook, at))
        return;
    int32_t core = entered->argument == 0 ? entered->core : core_by_argument(&hook, at);
    if (core < 0 || (place.core == core && place.backend == backend))
        return;
    backend->hop(&tallies[hook].hops, core);
}

void use_backend(const struct backend *to)
{
    bool has_request = program.request != 0;
    uintptr_t address = (uintptr_t)(program.goes_back ? enter_call : enter);
    if (to == &off_backend)
        address = (uintptr_t)enter_off;
    else if (to == &count_backend && auto_is_on())
        address = (uintptr_t)(has_request ? enter_resting : enter_counting);
    program.minus_count = -(uintptr_t)&count_backend;
    program.minus_request = has_request ? -(uintptr_t)(program.request - 1) : 0;
    is_hooked = true;
    program.backend = to;
    fill_slots(address);
}

void choose_backend(const struct backend *backend)
{
    set_auto(backend == &auto_backend);
    if (backend != &auto_backend)
        use_backend(backend);
}

static bool rests;

bool has_come_to_rest(void)
{
    return rests;
}

void come_to_rest(const char *reason)
{
    rests = true;
    set_auto(false);
    if (program.backend != &off_backend) {
        complain("%s: from here on without hops, and without statistics", reason);
        use_backend(&off_backend);
    }
    /* The calling thread makes no system call later for having hopped. */
    take_over(&off_backend);
    write_statistics();
}

void take_over(const struct backend *to)
{
    if (place.backend != NULL && place.backend->leave != NULL)
        place.backend->leave();
    if (to == &off_backend)
        forget_calls();
    place.backend = to;
    place.core = -1;
    place.stopped = place.bound;
}

static void before_fork(void)
{
    if (place.backend != NULL && place.backend == &carrier_backend)
        place.backend->leave();
}

static int own_process;
static bool is_prepared;

bool is_own_process(void)
{
    return (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0) == own_process;
}

void process_forked(void)
{
    own_process = (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    if (!is_prepared)
        return;
    for (size_t i = 0; i < BACKENDS; i++)
        if (usable[i] && backends[i]->forked != NULL)
            backends[i]->forked();
    modules_forked();
    forget_threads();
    objects_forked();
    statistics_forked();
    pool_forked();
    watchdog_forked();
    auto_forked();
    control_forked();
}

/* Once, at the first patched file. */
static void prepare(void)
{
    const struct backend *chosen = chosen_backend();
    program.backend = &off_backend;
    prepare_control();
    if (chosen == &off_backend && !control_is_on())
        return;
    if (!stands_in_for_libc() && (chosen != &count_backend || control_is_on())) {
        complain("the runtime was loaded too late to stand in for libc: name it in LD_PRELOAD; "
                 "running without hops");
        return;
    }
    prepare_clock();
    bool may_post = carries_calls(chosen);
    if (!prepare_threads())
        chosen = &off_backend;
    else
        chosen = program.hook_count == 0 ? prepared_alone(chosen) : prepared_backend(chosen);
    open_calls(may_post);
    if (chosen == &off_backend && !control_is_on())
        return;
    prepare_interposers();
    if (prepare_statistics())
        prepare_termination();
    pthread_atfork(before_fork, NULL, process_forked);
    is_prepared = true;
    if (chosen != &off_backend)
        choose_backend(chosen);
    start_control(chosen);
}

/* What arrival.c calls whenever a patched library was loaded. */
__attribute__((visibility("default"))) void corehop_module_arrives(void)
{
    /* A program and a library in two folders may each bring a runtime: the first one serves. */
    if (dlsym(RTLD_DEFAULT, "corehop_runtime_abi") != &own_abi)
        return;
    bool is_planned = find_modules();
    if (program.backend != NULL)
        return;
    if (calls_are_asked() && (is_planned || is_starting)) {
        uint32_t cores = order_calls(program.cores);
        is_planned |= cores != 0 && go_without_modules(cores);
        program.cores = is_planned && cores > program.cores ? cores : program.cores;
    }
    if (is_planned)
        prepare();
}

extern void own_arrives(void)
    __attribute__((alias("corehop_module_arrives"), visibility("hidden")));

/* libc hands its arguments to a library's constructors, too. */
__attribute__((constructor)) static void start(int count, char **arguments)
{
    (void)count;
    is_starting = true;
    own_process = (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    prepare_messages();
    prepare_clocks();
    place.followed = true; /* the thread that runs main() */
    take_in_memory_hooks(arguments);
    own_arrives();
    is_starting = false;
}

__attribute__((destructor)) static void stop(void)
{
    if (is_hooked && !rests)
        write_statistics();
}
