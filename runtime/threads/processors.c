/*
 * Which CPU each plan core is.
 *
 * COREHOP_CPUS=2,0,1 lists them in order of plan core. It may contain one twice, for a trial on a
 * small machine. Otherwise the process's own mask decides: the first L3 cache that enough physical
 * cores share, with one hardware thread of each. The data of a request crosses cores, and two
 * hardware threads share the private caches over which a plan splits its work. If no L3 is shared
 * by enough cores, physical cores of several L3s follow, and second hardware threads last. If there
 * are fewer CPUs than plan cores, or the list is invalid, the program runs without hops: a plan on
 * too few caches would only cost time.
 *
 * A machine may have CPUs for several such sets, and a server more threads than a plan has cores.
 * So there are several teams of CPUs: as many as there are physical cores for, or as COREHOP_CPUS
 * has sets, at most COREHOP_TEAMS. Each team runs the whole plan, and threads are assigned to them
 * round-robin. Rejected: to assign a thread to the team with the fewest threads, which would
 * require noticing every thread's end.
 */
#define _GNU_SOURCE
#include "processors.h"
#include "program.h"
#include "settings.h"
#include "system.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUS (MASK_WORDS * 64)
#define MOST_TEAMS 64

struct mask own_mask;
size_t mask_size;

static void put(struct mask *mask, uint32_t cpu)
{
    mask->words[cpu / 64] |= 1ul << cpu % 64;
}

static uint32_t size_of(const struct mask *mask)
{
    uint32_t count = 0;
    for (uint32_t cpu = 0; cpu < CPUS; cpu++)
        count += has_cpu(mask, cpu);
    return count;
}

/* The CPUs that share a resource with `cpu`, including itself, from a list such as "0,4" or "0-1".
 * If the machine does not report it, no CPU shares the resource. */
static struct mask sharing(uint32_t cpu, const char *what)
{
    struct mask mask = mask_of(cpu);
    char path[96], text[4096];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/%s", cpu, what);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return mask;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    for (char *at = text; *at >= '0' && *at <= '9';) {
        unsigned long first = strtoul(at, &at, 10), last = first;
        if (*at == '-')
            last = strtoul(at + 1, &at, 10);
        for (; first <= last && first < CPUS; first++)
            put(&mask, (uint32_t)first);
        if (*at == ',')
            at++;
    }
    return mask;
}

static void put_siblings(struct mask *mask, uint32_t cpu)
{
    struct mask same_core = sharing(cpu, "topology/thread_siblings_list");
    for (size_t i = 0; i < MASK_WORDS; i++)
        mask->words[i] |= same_core.words[i];
}

/* Adds CPUs of the process's own mask that are in `among` to the `count` CPUs in `chosen`, until
 * there are enough. If `apart`, their physical cores must have no chosen CPU. Returns the new
 * number. */
static uint32_t choose_among(const struct mask *among, bool apart, uint32_t *chosen, uint32_t count,
                             uint32_t enough)
{
    struct mask taken = {{0}};
    for (uint32_t i = 0; i < count; i++)
        apart ? put_siblings(&taken, chosen[i]) : put(&taken, chosen[i]);
    for (uint32_t cpu = 0; cpu < CPUS && count < enough; cpu++) {
        if (!has_cpu(&own_mask, cpu) || !has_cpu(among, cpu) || has_cpu(&taken, cpu))
            continue;
        apart ? put_siblings(&taken, cpu) : put(&taken, cpu);
        chosen[count++] = cpu;
    }
    return count;
}

/* Chooses one more team behind the `before` chosen CPUs: of physical cores that no team has, or of
 * any CPUs if there are no such cores. False if too few are left. */
static bool choose_team(uint32_t *chosen, uint32_t before)
{
    struct mask seen = {{0}};
    uint32_t count = before, enough = before + program.cores;
    for (uint32_t cpu = 0; cpu < CPUS && count < enough; cpu++) {
        if (!has_cpu(&own_mask, cpu) || has_cpu(&seen, cpu))
            continue;
        struct mask same_cache = sharing(cpu, "cache/index3/shared_cpu_list");
        for (size_t i = 0; i < MASK_WORDS; i++)
            seen.words[i] |= same_cache.words[i];
        count = choose_among(&same_cache, true, chosen, before, enough);
    }
    if (count < enough)
        count = choose_among(&own_mask, true, chosen, before, enough);
    if (count < enough && before == 0)
        count = choose_among(&own_mask, false, chosen, count, enough);
    return count == enough;
}

/* Fills `chosen` from the process's own mask; false if it is too small. */
static bool choose_own(uint32_t *chosen, uint64_t most)
{
    while (program.teams < most && choose_team(chosen, program.teams * program.cores))
        program.teams++;
    if (program.teams != 0)
        return true;
    static bool told;
    uint32_t allowed = size_of(&own_mask);
    if (!told && allowed < 2)
        complain("the plan needs %u cores, but this process may run on one CPU alone: widen its "
                 "mask (taskset, the container's CPUs); running without hops",
                 program.cores);
    else if (!told)
        complain("the plan needs %u cores, but this process may run on %u CPUs: widen its mask "
                 "(taskset, the container's CPUs), name CPUs in COREHOP_CPUS (one may repeat), or "
                 "search a plan for %u cores; running without hops",
                 program.cores, allowed, allowed);
    /* Each backend that is tried gets the same result. */
    told = true;
    return false;
}

/* Fills `chosen` from COREHOP_CPUS; false if it does not have a CPU for every core. */
static bool choose_named(const char *names, uint32_t *chosen, uint64_t most)
{
    uint32_t count = 0;
    const char *at = names;
    for (;;) {
        char *end;
        unsigned long cpu = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : CPUS;
        if (cpu >= CPUS || (*end != ',' && *end != '\0')) {
            complain("COREHOP_CPUS=%s is not a list of CPU numbers such as 0,2,1: running without "
                     "hops",
                     names);
            return false;
        }
        if (!has_cpu(&own_mask, (uint32_t)cpu)) {
            complain("COREHOP_CPUS=%s names CPU %lu, where this process may not run: running "
                     "without hops",
                     names, cpu);
            return false;
        }
        if (count < program.cores * most)
            chosen[count++] = (uint32_t)cpu;
        if (*end == '\0')
            break;
        at = end + 1;
    }
    program.teams = count / program.cores;
    if (program.teams != 0)
        return true;
    complain("COREHOP_CPUS=%s names %u CPUs, but the plan needs %u: name one for every core; "
             "running without hops",
             names, count, program.cores);
    return false;
}

const uint32_t *choose_processors(void)
{
    static const uint32_t *kept;
    if (kept != NULL)
        return kept;
    long size = system_call(__NR_sched_getaffinity, 0, sizeof own_mask, (long)&own_mask, 0, 0, 0);
    uint64_t most = number_from("COREHOP_TEAMS", MOST_TEAMS, MOST_TEAMS);
    most = most == 0 ? 1 : most;
    uint32_t *chosen = calloc(program.cores * most, sizeof *chosen);
    if (size <= 0 || chosen == NULL) {
        complain("cannot tell which CPUs this process may run on (%s): running without hops",
                 size < 0 ? strerror((int)-size) : "no memory");
        free(chosen);
        return NULL;
    }
    mask_size = (size_t)size;
    const char *names = secure_getenv("COREHOP_CPUS");
    bool done = names != NULL && *names != '\0' ? choose_named(names, chosen, most)
                                                : choose_own(chosen, most);
    if (done)
        return kept = chosen;
    free(chosen);
    return NULL;
}

void pin(int thread, uint32_t cpu)
{
    struct mask mask = mask_of(cpu);
    system_call(__NR_sched_setaffinity, thread, (long)mask_size, (long)&mask, 0, 0, 0);
}

uint32_t next_team(void)
{
    static uint32_t given;
    return program.teams < 2 ? 0 : __atomic_fetch_add(&given, 1, __ATOMIC_RELAXED) % program.teams;
}
