/*
 * The files of the plan: which of them are loaded, and which are missing.
 *
 * A plan may contain functions of a program and of its libraries, and each of these files is
 * patched separately. Half a plan would take threads to a core and not back. So the hooks of all
 * files open at once, when no file is missing: every note lists all files of its plan by build ID.
 * If a file is loaded as its unpatched original, no hooks open at all. The same holds for files of
 * two plans. The runtime waits for a file that is not loaded yet. arrival.c reports each library
 * that is loaded, at the start or by dlopen(), and each that is unloaded. Hooks are numbered across
 * all files, so that counters and the hot path use one table.
 *
 * Rejected: to interpose dlopen(), which identifies its caller by its return address, and which
 * does not see libraries that libc itself loads.
 */
#define _GNU_SOURCE
#include "modules.h"
#include "hooks.h"
#include "program.h"
#include "system.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_ID 3

/* No hook ever opens: the reason was reported. */
static bool refused;
/* All files were present at one time. A file that is unloaded takes its hooks along. */
static bool complete;
static bool has_waited;
/* The contents of the slots, or their contents once no file is missing. */
static uintptr_t opened;
/* Held while slots are written: both control.c's thread and one that loads a library do so. */
static uint32_t busy;

static void lock(void)
{
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0)
        system_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
}

static void unlock(void)
{
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

void modules_forked(void)
{
    unlock();
}

/* Called once all files are present; the caller holds the lock. */
static void fill(void)
{
    uintptr_t leave = opened != 0 ? (uintptr_t)leave_call : 0;
    uintptr_t through = opened != 0 ? (uintptr_t)call_through : 0;
    for (uint32_t i = 0; complete && i < program.module_count; i++) {
        uintptr_t *slot = program.modules[i].slot;
        if (slot == NULL)
            continue;
        __atomic_store_n(&slot[2], through, __ATOMIC_RELEASE);
        __atomic_store_n(&slot[1], leave, __ATOMIC_RELEASE);
        __atomic_store_n(&slot[0], opened, __ATOMIC_RELEASE);
    }
}

void fill_slots(uintptr_t address)
{
    if (address == opened)
        return;
    lock();
    opened = address;
    fill();
    unlock();
}

static uintptr_t padded(uintptr_t size, uintptr_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

static bool is_loaded(const struct dl_phdr_info *object, const ElfW(Phdr) *part)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_vaddr <= part->p_vaddr &&
            part->p_vaddr + part->p_memsz <= segment->p_vaddr + segment->p_memsz)
            return true;
    }
    return false;
}

/* The contents of an object's note, or NULL. */
static const void *find_note(const struct dl_phdr_info *object, const char *owner, uint32_t type,
                             size_t *size)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE || !is_loaded(object, segment))
            continue;
        uintptr_t alignment = segment->p_align == 8 ? 8 : 4;
        uintptr_t at = object->dlpi_addr + segment->p_vaddr, end = at + segment->p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) head;
            memcpy(&head, (const void *)at, sizeof head);
            const char *name = (const char *)(at + sizeof head);
            uintptr_t contents = padded((uintptr_t)name + head.n_namesz, alignment);
            if (contents + head.n_descsz > end)
                break;
            if (head.n_type == type && head.n_namesz == strlen(owner) + 1 &&
                memcmp(name, owner, head.n_namesz) == 0) {
                *size = head.n_descsz;
                return (const void *)contents;
            }
            at = padded(contents + head.n_descsz, alignment);
        }
    }
    return NULL;
}

/* Takes from the first note found what all notes of its plan have in common. */
static bool learn(const struct note *note, uintptr_t bias)
{
    const struct planned *planned = (const struct planned *)(bias + note->modules);
    const char *names = (const char *)(bias + note->names);
    struct module *modules = calloc(note->count, sizeof *modules);
    uint32_t hooks = 0;
    for (uint32_t i = 0; modules != NULL && i < note->count; i++) {
        modules[i] = (struct module){
            .first = planned[i].first,
            .hooks = planned[i].hooks,
            .name = strdup(names + planned[i].name),
            .build_id = strdup(names + planned[i].build_id),
        };
        hooks = planned[i].first + planned[i].hooks;
        if (modules[i].name == NULL || modules[i].build_id == NULL)
            modules = NULL;
    }
    struct hook *table = map_memory(hooks * sizeof *table);
    if (modules == NULL || table == NULL) {
        complain("no memory for a table of %u hooks: running without hops", hooks);
        return false;
    }
    program.cores = note->cores;
    program.goes_back = note->calls != 0;
    program.by_argument = note->arguments != 0;
    program.request = note->request;
    program.hook_count = hooks;
    program.hooks = table;
    program.module_count = note->count;
    program.plan = note->plan;
    program.modules = modules;
    program.refusal = note->refusal == 0 ? NULL : strdup(names + note->refusal - 1);
    return true;
}

bool admit(const struct note *note, uintptr_t bias, const char *path)
{
    if (note->abi != COREHOP_ABI) {
        complain("%s was patched for runtime interface %u, but this is %u: patch the original "
                 "again; running without hops",
                 path, note->abi, COREHOP_ABI);
        return false;
    }
    if (program.modules == NULL && !learn(note, bias))
        return false;
    if (note->plan != program.plan || note->count != program.module_count) {
        complain("%s was patched by another plan than the rest of this program: patch all files "
                 "by one plan; running without hops",
                 path);
        return false;
    }
    struct module *module = &program.modules[note->own];
    uintptr_t *slot = (uintptr_t *)(bias + note->slot);
    if (module->slot == slot)
        return true;
    if (module->slot != NULL) {
        complain("%s is loaded twice: running without hops", module->name);
        return false;
    }
    memcpy(program.hooks + module->first, (const void *)(bias + note->table),
           module->hooks * sizeof *program.hooks);
    lock();
    module->names = (const char *)(bias + note->names);
    module->names_size = note->names_size;
    module->slot = slot;
    unlock();
    return true;
}

/* For a program without patched files. A patched file that comes later belongs to another plan. */
bool go_without_modules(uint32_t cores)
{
    static struct module none;
    if (refused || program.modules != NULL)
        return false;
    program.modules = &none;
    program.cores = cores;
    return true;
}

static const char *path_of(const struct dl_phdr_info *object)
{
    bool is_program = object->dlpi_name == NULL || *object->dlpi_name == '\0';
    return is_program ? "the program" : object->dlpi_name;
}

static int look(struct dl_phdr_info *object, size_t size, void *unused)
{
    const struct note *found = find_note(object, NOTE_OWNER, NOTE_RUNTIME, &size);
    struct note note = {0};
    (void)unused;
    if (found == NULL || size < 4)
        return 0;
    memcpy(&note, found, size < sizeof note ? size : sizeof note);
    refused |= !admit(&note, object->dlpi_addr, path_of(object));
    return refused;
}

bool has_build_id(const struct dl_phdr_info *object, const char *expected)
{
    size_t size;
    const uint8_t *id = find_note(object, "GNU", BUILD_ID, &size);
    if (id == NULL || strlen(expected) != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (expected[2 * i] != "0123456789abcdef"[id[i] >> 4] ||
            expected[2 * i + 1] != "0123456789abcdef"[id[i] & 15])
            return false;
    return true;
}

/* Whether the unpatched original of a missing file is loaded. */
static int look_for_original(struct dl_phdr_info *object, size_t size, void *missing)
{
    const struct module *module = missing;
    if (!has_build_id(object, module->build_id) ||
        find_note(object, NOTE_OWNER, NOTE_RUNTIME, &size) != NULL)
        return 0;
    complain("%s is not the patched %s, but its original: start the patched program, with the "
             "folder of the patched files in LD_LIBRARY_PATH; running without hops",
             path_of(object), module->name);
    return 1;
}

bool find_modules(void)
{
    const struct module *missing = NULL;
    if (!refused)
        dl_iterate_phdr(look, NULL);
    for (uint32_t i = 0; !complete && !refused && i < program.module_count; i++)
        if (program.modules[i].slot == NULL) {
            missing = &program.modules[i];
            refused = dl_iterate_phdr(look_for_original, (void *)missing) != 0;
        }
    if (refused || program.modules == NULL)
        return false;
    if (missing != NULL && !has_waited) {
        complain("hops begin when %s is loaded", missing->name);
        has_waited = true;
    }
    lock();
    complete |= missing == NULL;
    fill();
    unlock();
    return true;
}

/* arrival.c calls it from a library that is about to be unloaded, or at exit. */
__attribute__((visibility("default"))) void corehop_module_leaves(const void *inside)
{
    Dl_info found;
    if (dladdr(inside, &found) == 0)
        return;
    for (uint32_t i = 0; i < program.module_count; i++) {
        struct module *module = &program.modules[i];
        if (module->slot == NULL || strstr(found.dli_fname, module->build_id) == NULL)
            continue;
        /* Statistics still report its functions. */
        char *names = malloc(module->names_size);
        if (names != NULL)
            memcpy(names, module->names, module->names_size);
        lock();
        module->slot[0] = module->slot[1] = module->slot[2] = 0;
        module->slot = NULL;
        module->names = names;
        unlock();
    }
}
