/*
 * Start-up: finds the patched program's note, chooses the backend, opens the hooks.
 *
 * This library runs inside other people's servers. It is the first library a patched program
 * needs, so its constructor runs before main() and after libc's. Until the constructor stores the
 * address of enter.S into the program's slot, the hooks do nothing; so every way to fail here ends
 * the same way: one line on standard error that names the remedy, an empty slot, and a server that
 * runs as if unpatched. It never starts half-hooked.
 *
 * The program is found by its note rather than by name: dl_iterate_phdr lists it first.
 *
 * Sibling to read next: affinity.c.
 */
#define _GNU_SOURCE
#include "corehop.h"
#include "offsets.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct program program;
__thread struct place place = {.core = -1};
static bool is_hooked;

/* What a tool that looks at this file without loading it can check. */
__attribute__((visibility("default"))) const uint32_t corehop_runtime_abi = COREHOP_ABI;

const struct backend off_backend = {.name = "off"};

static const struct backend *const backends[] = {
    &affinity_backend, /* the default */
    &carrier_backend,
    &count_backend,
    &off_backend,
};
#define BACKENDS (sizeof backends / sizeof *backends)
static bool usable[BACKENDS];

struct found {
    struct note note;
    uintptr_t bias;
    bool there;
};

static uintptr_t padded(uintptr_t size)
{
    return (size + 3) & ~(uintptr_t)3;
}

static bool read_note(uintptr_t at, uintptr_t end, struct note *note)
{
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) head;
        memcpy(&head, (const void *)at, sizeof head);
        const char *owner = (const char *)(at + sizeof head);
        uintptr_t contents = (uintptr_t)owner + padded(head.n_namesz);
        if (head.n_type == NOTE_RUNTIME && head.n_namesz == sizeof NOTE_OWNER &&
            memcmp(owner, NOTE_OWNER, sizeof NOTE_OWNER) == 0 &&
            head.n_descsz >= sizeof *note && contents + sizeof *note <= end) {
            memcpy(note, (const void *)contents, sizeof *note);
            return true;
        }
        at = contents + padded(head.n_descsz);
    }
    return false;
}

static int look(struct dl_phdr_info *module, size_t size, void *data)
{
    struct found *found = data;
    (void)size;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        /* Other notes may be padded to 8 bytes; ours is not. */
        if (segment->p_type != PT_NOTE || segment->p_align > 4)
            continue;
        uintptr_t start = module->dlpi_addr + segment->p_vaddr;
        if (read_note(start, start + segment->p_memsz, &found->note)) {
            found->bias = module->dlpi_addr;
            found->there = true;
            return 1;
        }
    }
    return 0;
}

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

static const struct backend *chosen_backend(void)
{
    const char *name = secure_getenv("COREHOP_BACKEND");
    if (name == NULL || *name == '\0')
        return backends[0];
    const struct backend *backend = backend_called(name);
    if (backend != NULL)
        return backend;
    complain("COREHOP_BACKEND=%s is none of affinity, carrier, count, off: running without hops",
             name);
    return &off_backend;
}

/* Prepares the chosen backend and, if orders may come for them, the others; gives the one to begin
 * with. carrier may refuse, which leaves affinity; any other that fails leaves the program off. */
static const struct backend *prepared_backend(const struct backend *chosen)
{
    bool fails = false;
    for (size_t i = 0; i < BACKENDS; i++) {
        const struct backend *backend = backends[i];
        bool as_substitute = backend == &affinity_backend && chosen == &carrier_backend;
        if (backend == &off_backend || (backend != chosen && !as_substitute && !control_is_on()))
            continue;
        usable[i] = backend->prepare();
        fails |= !usable[i] && backend != &carrier_backend;
    }
    usable[BACKENDS - 1] = true; /* off */
    if (fails)
        return &off_backend;
    if (chosen != &carrier_backend || carrier_refusal() == NULL)
        return chosen;
    complain("COREHOP_BACKEND=carrier: %s: using affinity", carrier_refusal());
    return &affinity_backend;
}

_Static_assert(offsetof(struct place, tallies) == PLACE_TALLIES, "enter.S");
_Static_assert(offsetof(struct place, backend) == PLACE_BACKEND, "enter.S");
_Static_assert(offsetof(struct place, core) == PLACE_CORE, "enter.S");
_Static_assert(offsetof(struct program, hooks) == PROGRAM_HOOKS, "enter.S");
_Static_assert(offsetof(struct program, backend) == PROGRAM_BACKEND, "enter.S");
_Static_assert(offsetof(struct hook, core) == HOOK_CORE, "enter.S");
_Static_assert(sizeof(struct hook) == 1 << HOOK_SHIFT, "enter.S");
_Static_assert(sizeof(struct tally) == 1 << HOOK_SHIFT && offsetof(struct tally, calls) == 0,
               "enter.S");

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
    int32_t core = program.hooks[hook].core;
    if (program.goes_back) {
        if (!begin_call(hook, at) || (place.core == core && place.backend == backend))
            return;
    }
    backend->hop(&tallies[hook].hops, core);
}

void use_backend(const struct backend *to)
{
    uintptr_t address = (uintptr_t)(to == &off_backend    ? enter_off
                                    : program.goes_back ? enter_call
                                                        : enter);
    is_hooked = true;
    program.backend = to;
    __atomic_store_n(&program.slot[0], address, __ATOMIC_RELEASE);
    __atomic_store_n(&program.slot[1], (uintptr_t)leave_call, __ATOMIC_RELEASE);
}

void take_over(const struct backend *to)
{
    if (place.backend != NULL && place.backend->leave != NULL)
        place.backend->leave();
    if (to == &off_backend)
        forget_calls();
    place.backend = to;
    place.core = -1;
    place.stopped = false;
}

static void before_fork(void)
{
    if (place.backend != NULL && place.backend == &carrier_backend)
        place.backend->leave();
}

static void forked(void)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (usable[i] && backends[i]->forked != NULL)
            backends[i]->forked();
    forget_threads();
    statistics_forked();
    keeper_forked();
    control_forked();
}

__attribute__((constructor)) static void start(void)
{
    struct found found = {0};
    dl_iterate_phdr(look, &found);
    if (!found.there)
        return;
    if (found.note.abi != COREHOP_ABI) {
        complain("the program was patched for runtime interface %u, but this is %u: patch the "
                 "original again; running without hops",
                 found.note.abi, COREHOP_ABI);
        return;
    }
    program = (struct program){
        .cores = found.note.cores,
        .hook_count = found.note.hooks,
        .hooks = (const struct hook *)(found.bias + found.note.table),
        .names = (const char *)(found.bias + found.note.names),
        .slot = (uintptr_t *)(found.bias + found.note.slot),
        .backend = chosen_backend(),
        .goes_back = found.note.calls != 0,
    };
    prepare_control();
    if (program.backend->hop == NULL && !control_is_on())
        return;
    prepare_clock();
    program.backend = prepare_threads() ? prepared_backend(program.backend) : &off_backend;
    if (program.backend->hop == NULL && !control_is_on())
        return;
    prepare_guards();
    prepare_statistics();
    pthread_atfork(before_fork, NULL, forked);
    if (program.backend->hop != NULL)
        use_backend(program.backend);
    start_control();
}

__attribute__((destructor)) static void stop(void)
{
    if (is_hooked)
        write_statistics();
}
