/*
 * COREHOP_RUN: hooks for a program with unpatched files, installed while it starts.
 *
 * `corehop run` starts the program with this library in LD_PRELOAD. It passes, as an open file, the
 * additional contents of a patched copy of each of the plan's files: code, tables, and the jumps to
 * be written. The code is copied to an address within reach of its module. Only its distances to
 * the module depend on that address (patcher/src/apply/in_memory/parts.rs). Checks come first:
 * every file of the plan is loaded, its code equals the plan's build, and no other thread runs yet.
 * Then all jumps are written. The user gets either all hooks or no program: every failure is
 * reported and ends the process with exit code 5, before main(). With `--fallback-unpatched` the
 * program is executed again instead, as it would have started without corehop.
 *
 * Programs that this program starts are not affected: the user's environment is restored.
 */
#define _GNU_SOURCE
#include "in_memory.h"
#include "modules.h"
#include "system.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096ul
#define REFUSED 5
#define JUMP_SIZE 5
#define LOWEST 0x10000ul
/* How far a jump reaches, minus a margin for the code it crosses. */
#define REACH (0x7ffffffful - PAGE)

/* The format that patcher/src/apply/in_memory/parts.rs writes. Offsets are those in the passed
 * file. */
struct in_memory_module {
    uint64_t address; /* where the code would follow the module in the ELF file's addresses */
    uint64_t code;    /* offset of its bytes: a page for the slot, code, and then tables */
    uint64_t code_size;
    uint64_t tables; /* distance from the code's beginning to its tables, in whole pages */
    uint64_t jumps;  /* offset of struct jump */
    uint64_t jump_count;
    uint64_t distances; /* offset of 32-bit places in the code of distances to the module */
    uint64_t distance_count;
    struct note note;
};

struct in_memory_hooks {
    uint32_t abi;
    uint32_t count;
    struct in_memory_module modules[];
};

struct jump {
    uint64_t site;      /* virtual address in the ELF file */
    uint32_t to;        /* distance from the code's beginning */
    uint8_t length;     /* of the instructions that the jump and what runs on behind it replace */
    uint8_t before[19]; /* those */
};

/* A module's address, and that of its code. */
struct target {
    const struct in_memory_module *module;
    const char *name, *build_id;
    bool is_there;
    uintptr_t bias;
    uintptr_t low, high;
    const ElfW(Phdr) *segments;
    size_t segment_count;
    uint8_t *code;
};

static const uint8_t *file;
static size_t file_size;

/* The option, and the environment with which the program was started. */
static bool goes_on_unhooked;
static char **arguments;

#define REFUSE(...) (complain(__VA_ARGS__), refuse())

/* Removes from the environment what `corehop run` added. */
static void restore_environment(void)
{
    char *preload = getenv("LD_PRELOAD");
    bool is_restored = getenv("COREHOP_RUN") == NULL;
    unsetenv("COREHOP_RUN");
    if (is_restored || preload == NULL)
        return;
    char *rest = strpbrk(preload, ": ");
    if (rest == NULL)
        unsetenv("LD_PRELOAD");
    else
        memmove(preload, rest + 1, strlen(rest + 1) + 1);
}

static void refuse(void)
{
    char program[PATH_MAX] = "";
    if (goes_on_unhooked && readlink("/proc/self/exe", program, sizeof program - 1) > 0) {
        complain("starting it without hooks");
        restore_environment();
        long result =
            system_call(__NR_execve, (long)program, (long)arguments, (long)environ, 0, 0, 0);
        complain("%s: it cannot be started anew (error %u)", program, (unsigned)-result);
    }
    system_call(__NR_exit_group, REFUSED, 0, 0, 0, 0, 0);
}

static int find(struct dl_phdr_info *object, size_t size, void *data)
{
    struct target *target = data;
    (void)size;
    if (!has_build_id(object, target->build_id))
        return 0;
    target->is_there = true;
    target->bias = object->dlpi_addr;
    target->segments = object->dlpi_phdr;
    target->segment_count = object->dlpi_phnum;
    target->low = UINTPTR_MAX;
    for (size_t i = 0; i < target->segment_count; i++) {
        const ElfW(Phdr) *segment = &target->segments[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        target->low = start < target->low ? start : target->low;
        target->high = end > target->high ? end : target->high;
    }
    return 1;
}

static const ElfW(Phdr) *code_segment(const struct target *target, uint64_t address, size_t size)
{
    for (size_t i = 0; i < target->segment_count; i++) {
        const ElfW(Phdr) *segment = &target->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            address >= segment->p_vaddr && address + size <= segment->p_vaddr + segment->p_filesz)
            return segment;
    }
    return NULL;
}

/* The code must equal that of the analyzed build: another tool may have changed it. */
static void check_code(const struct target *target)
{
    const struct jump *jumps = (const struct jump *)(file + target->module->jumps);
    for (uint64_t i = 0; i < target->module->jump_count; i++)
        if (code_segment(target, jumps[i].site, jumps[i].length) == NULL ||
            memcmp((const void *)(target->bias + jumps[i].site), jumps[i].before,
                   jumps[i].length) != 0)
            REFUSE("%s: its code at %lu is not what its file has: something else has changed it",
                   target->name, jumps[i].site);
}

/* A free address for `size` bytes within reach of the whole module, below it if possible, since
 * above a program its heap grows. 0 without one. */
static uintptr_t free_place(const struct target *target, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t below = 0, above = 0, gap = LOWEST;
    char line[PATH_MAX + 128];
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t start, end;
        if (sscanf(line, "%lx-%lx", &start, &end) != 2)
            continue;
        uintptr_t place = start - size;
        bool is_free = start >= size && place >= gap;
        if (is_free && start <= target->low && target->high - place < REACH)
            below = place;
        if (is_free && gap >= target->high) {
            uintptr_t furthest = target->low + REACH - size;
            place = (place < furthest ? place : furthest) & -PAGE;
            if (place >= gap && above == 0)
                above = place;
        }
        gap = end > gap ? end : gap;
    }
    if (maps != NULL)
        fclose(maps);
    return below != 0 ? below : above;
}

static void put_code(struct target *target)
{
    const struct in_memory_module *module = target->module;
    size_t size = (module->code_size + PAGE - 1) & -PAGE;
    uintptr_t place = free_place(target, size);
    int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (place == 0 || (uintptr_t)system_call(__NR_mmap, (long)place, (long)size,
                                             PROT_READ | PROT_WRITE, kind, -1, 0) != place)
        REFUSE("%s: no room for %lu bytes of code within its reach", target->name, size);
    target->code = (uint8_t *)place;
    memcpy(target->code, file + module->code, module->code_size);
    /* The module is farther away by this distance than it would be in a file. */
    uint32_t moved = (uint32_t)(target->bias + module->address - place);
    const uint32_t *distances = (const uint32_t *)(file + module->distances);
    for (uint64_t i = 0; i < module->distance_count; i++) {
        uint32_t distance;
        memcpy(&distance, target->code + distances[i], sizeof distance);
        distance += moved;
        memcpy(target->code + distances[i], &distance, sizeof distance);
    }
    long result = system_call(__NR_mprotect, (long)place + PAGE, (long)(module->tables - PAGE),
                              PROT_READ | PROT_EXEC, 0, 0, 0);
    if (result < 0)
        REFUSE("%s: this system lets no program make its own code (error %u)", target->name,
               (unsigned)-result);
}

/* Makes the module's code writable, or restores its protection. */
static void protect(const struct target *target, bool writable)
{
    for (size_t i = 0; i < target->segment_count; i++) {
        const ElfW(Phdr) *segment = &target->segments[i];
        uintptr_t start = (target->bias + segment->p_vaddr) & -PAGE;
        uintptr_t end = target->bias + segment->p_vaddr + segment->p_memsz;
        int rights = PROT_EXEC | (segment->p_flags & PF_R ? PROT_READ : 0) |
                     (segment->p_flags & PF_W || writable ? PROT_WRITE : 0);
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
            continue;
        long result = system_call(__NR_mprotect, (long)start, (long)(end - start), rights, 0, 0, 0);
        if (result < 0)
            REFUSE("%s: this system lets no program change its code (error %u): patch the file",
                   target->name, (unsigned)-result);
    }
}

static void write_jumps(const struct target *target)
{
    const struct jump *jumps = (const struct jump *)(file + target->module->jumps);
    for (uint64_t i = 0; i < target->module->jump_count; i++) {
        uint8_t *site = (uint8_t *)(target->bias + jumps[i].site);
        int32_t distance = (int32_t)(target->code + jumps[i].to - (site + JUMP_SIZE));
        site[0] = 0xe9;
        memcpy(site + 1, &distance, sizeof distance);
    }
}

static const struct in_memory_hooks *open_in_memory_hooks(const char *files)
{
    int handed, library, otherwise = 0;
    struct stat about;
    bool is_ours = sscanf(files, "%d,%d,%d", &handed, &library, &otherwise) >= 2;
    goes_on_unhooked = otherwise != 0;
    if (!is_ours || fstat(handed, &about) != 0)
        REFUSE("COREHOP_RUN=%s is not what `corehop run` sets", files);
    void *mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, handed, 0);
    if (mapped == MAP_FAILED || about.st_size < (off_t)sizeof(struct in_memory_hooks))
        REFUSE("what `corehop run` hands over cannot be read");
    close(handed);
    close(library);
    file = mapped;
    file_size = (size_t)about.st_size;
    const struct in_memory_hooks *found = mapped;
    if (found->abi != COREHOP_ABI)
        REFUSE("`corehop run` speaks runtime interface %u, but this is %u", found->abi,
               COREHOP_ABI);
    return found;
}

static void check_alone(void)
{
    struct stat threads;
    /* One link each for the folder itself, its parent, and every thread. */
    if (stat("/proc/self/task", &threads) != 0 || threads.st_nlink != 3)
        REFUSE("a library has started a thread before main(): patch the files instead");
}

void take_in_memory_hooks(char **started_with)
{
    const char *files = secure_getenv("COREHOP_RUN");
    if (files == NULL)
        return;
    arguments = started_with;
    const struct in_memory_hooks *hooks = open_in_memory_hooks(files);
    struct target *targets = calloc(hooks->count, sizeof *targets);
    if (targets == NULL)
        REFUSE("no memory for %u modules", hooks->count);
    restore_environment();
    check_alone();
    for (uint32_t i = 0; i < hooks->count; i++) {
        const struct in_memory_module *module = &hooks->modules[i];
        const uint8_t *base = file + module->code - module->address;
        const char *names = (const char *)(base + module->note.names);
        const struct planned *planned = (const struct planned *)(base + module->note.modules);
        targets[i].module = module;
        targets[i].name = names + planned[i].name;
        targets[i].build_id = names + planned[i].build_id;
        dl_iterate_phdr(find, &targets[i]);
        if (!targets[i].is_there)
            REFUSE("%s of the plan's build is not loaded when this program starts: name it in "
                   "LD_PRELOAD, or patch it",
                   targets[i].name);
        check_code(&targets[i]);
        put_code(&targets[i]);
    }
    for (uint32_t i = 0; i < hooks->count; i++)
        protect(&targets[i], true);
    for (uint32_t i = 0; i < hooks->count; i++)
        write_jumps(&targets[i]);
    for (uint32_t i = 0; i < hooks->count; i++) {
        protect(&targets[i], false);
        uintptr_t bias = (uintptr_t)targets[i].code - targets[i].module->address;
        if (!admit(&targets[i].module->note, bias, targets[i].name))
            refuse();
    }
    free(targets);
    munmap((void *)file, file_size);
}
