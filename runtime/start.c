/*
 * Start-up: finds the patched program's note, chooses the backend, opens the hooks.
 *
 * This library runs inside other people's servers. It is the first library a patched program
 * needs, so its constructor runs before main() and after libc's. Until the constructor stores a
 * backend's enter() into the program's slot, the hooks do nothing; so every way to fail here ends
 * the same way: one line on standard error that names the remedy, an empty slot, and a server that
 * runs as if unpatched. It never starts half-hooked.
 *
 * The program is found by its note rather than by name: dl_iterate_phdr lists it first.
 *
 * Sibling to read next: affinity.c.
 */
#define _GNU_SOURCE
#include "corehop.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct program program;
__thread struct place place = {.core = -1};

/* What a tool that looks at this file without loading it can check. */
__attribute__((visibility("default"))) const uint32_t corehop_runtime_abi = COREHOP_ABI;

static const struct backend off_backend = {.name = "off"};

static const struct backend *const backends[] = {
    &affinity_backend, /* the default */
    &count_backend,
    &off_backend,
};

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

static const struct backend *chosen_backend(void)
{
    const char *name = secure_getenv("COREHOP_BACKEND");
    if (name == NULL || *name == '\0')
        return backends[0];
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(name, backends[i]->name) == 0)
            return backends[i];
    complain("COREHOP_BACKEND=%s is none of affinity, count, off: running without hops", name);
    return &off_backend;
}

static void forked(void)
{
    forget_threads();
    statistics_forked();
    if (program.backend->forked != NULL)
        program.backend->forked();
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
        .backend = chosen_backend(),
    };
    if (program.backend->enter == NULL)
        return;
    if (!prepare_threads() || !program.backend->prepare()) {
        program.backend = &off_backend;
        return;
    }
    prepare_statistics();
    pthread_atfork(NULL, NULL, forked);
    uintptr_t *slot = (uintptr_t *)(found.bias + found.note.slot);
    __atomic_store_n(slot, (uintptr_t)program.backend->enter, __ATOMIC_RELEASE);
}

__attribute__((destructor)) static void stop(void)
{
    if (program.backend != NULL && program.backend->enter != NULL)
        write_statistics();
}
