/*
 * COREHOP_STATS=FILE: the hooks' counters, as JSON, written when the program exits and on request
 * (control.c).
 *
 * This library's destructor writes them, so exit() and a return from main() produce the file. So
 * does a signal that asks the program to end (terminated.c). _exit() and a crash do not.
 * output_file.c describes what FILE may be besides a file, and how it is written. %p in FILE
 * becomes the process id. Without it, a forked child that exits writes the same file as its parent,
 * and the last one to exit wins. A child starts counting from zero. A child without hooks writes
 * nothing. "tallies" is the number of threads that counted at one time, or a little more. "hop_ns"
 * is the median of the sampled hops, within the factor of two that threads.c keeps.
 *
 * On request, a thread of the runtime writes the file. It has no thread-local storage and thus no
 * stdio.
 */
#define _GNU_SOURCE
#include "statistics.h"
#include "auto.h"
#include "backends.h"
#include "calls.h"
#include "carrier.h"
#include "load.h"
#include "objects.h"
#include "output_file.h"
#include "pool.h"
#include "posted.h"
#include "ring.h"
#include "run_queue.h"
#include "spin_policy.h"

#include <asm/unistd.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *pattern;
static bool is_child;

static unsigned process_id(void)
{
    return (unsigned)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
}

/* Copies FILE with every %p replaced; false if the result does not fit. */
static bool expand(const char *from, char *to, size_t room)
{
    size_t used = 0;
    for (; *from != '\0'; from++) {
        bool process = from[0] == '%' && from[1] == 'p';
        char one[2] = {*from, '\0'};
        used += process ? format_text(to + used, room - used, "%d", process_id())
                        : format_text(to + used, room - used, "%s", one);
        from += process;
        if (used + 1 >= room)
            return false;
    }
    return true;
}

static struct tally total_of(uint32_t hook)
{
    struct tally total = {0};
    for (const struct thread_counters *one = all_counters(); one != NULL; one = one->next) {
        total.calls += __atomic_load_n(&one->tallies[hook].calls, __ATOMIC_RELAXED);
        total.hops += __atomic_load_n(&one->tallies[hook].hops, __ATOMIC_RELAXED);
    }
    return total;
}

static void write_text(struct output_file *out, const char *text)
{
    PUT(out, "\"");
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        char shown[8] = "\\u00";
        size_t length = 0;
        if (byte < 0x20) {
            shown[4] = "0123456789abcdef"[byte >> 4];
            shown[5] = "0123456789abcdef"[byte & 15];
            length = 6;
        } else {
            if (byte == '"' || byte == '\\')
                length++;
            shown[length++] = (char)byte;
        }
        shown[length] = '\0';
        PUT(out, "%s", shown);
    }
    PUT(out, "\"");
}

/* The median length of the sampled hops in ns, as the middle of its power of two; 0 without
 * samples. */
static uint64_t median_length(const uint64_t *lengths, uint64_t sampled)
{
    uint64_t below = 0;
    for (int power = 0; power < LENGTHS && sampled != 0; power++)
        if ((below += lengths[power]) * 2 >= sampled)
            return nanoseconds_of((1ull << power) + (1ull << power) / 2);
    return 0;
}

/* Writes how a function's delegated calls ended. */
static void write_ending(struct output_file *out, uint64_t calls, struct ending ending)
{
    uint64_t others = ending.returned + ending.unwound + ending.continued + ending.stayed;
    PUT(out,
        ",\"returned\":%lu,\"unwound\":%lu,\"continued\":%lu,\"stayed\":%lu,\"open\":%lu,"
        "\"hops_back\":%lu",
        ending.returned, ending.unwound, ending.continued, ending.stayed,
        calls > others ? calls - others : 0, ending.hops);
}

/* Writes a function that hops at single calls of a request. */
static void write_calls(struct output_file *out, uint32_t hook)
{
    const char *before = ",\"at_calls\":[";
    bool goes_on;
    do {
        const struct hook *one = &program.hooks[hook];
        PUT(out, "%s{\"call\":%u,\"core\":%u,\"reached\":%lu,\"hops\":%lu}", before,
            one->argument - LAST_ARGUMENT, one->core - NO_CORE, calls_reached(hook),
            total_of(hook).hops);
        before = ",";
        goes_on = has_another_call(hook++);
    } while (goes_on);
    PUT(out, "]");
}

/* Writes a function that hops by an argument, or at single calls of a request. */
static void write_objects(struct output_file *out, uint32_t hook)
{
    uint32_t argument = program.hooks[hook].argument;
    if (argument > LAST_ARGUMENT) {
        write_calls(out, hook);
        return;
    }
    uint64_t known = objects_known(hook), seen = objects_seen(hook);
    PUT(out, ",\"by\":\"argument %u\",\"after\":%u,\"objects\":%lu,\"forgotten\":%lu", argument,
        after_of(hook), seen, seen > known ? seen - known : 0);
    PUT(out, ",\"early_calls\":%lu,\"calls_by_core\":[", early_calls(hook));
    for (uint32_t core = 0; core < program.cores; core++)
        PUT(out, "%s%lu", core == 0 ? "" : ",", calls_by_core(hook, core));
    PUT(out, "]");
}

/* The counters of a function: all its calls arrive at the first of its hooks. */
static struct tally total_of_function(uint32_t hook)
{
    struct tally total = total_of(hook);
    for (; has_another_call(hook); hook++)
        total.hops += total_of(hook + 1).hops;
    return total;
}

/* Writes a file's functions; none for a file that was never loaded. */
static void write_module(struct output_file *out, const struct module *module, bool *is_first)
{
    for (uint32_t i = 0; module->names != NULL && i < module->hooks; i++) {
        const struct hook *hook = &program.hooks[module->first + i];
        if (hook->mode == ANOTHER_CALL)
            continue;
        struct tally total = total_of_function(module->first + i);
        PUT(out, "%s\n{\"module\":", *is_first ? "" : ",");
        *is_first = false;
        write_text(out, module->name);
        PUT(out, ",\"symbol\":");
        write_text(out, module->names + hook->name);
        PUT(out, ",\"offset\":%lu,\"core\":", hook->offset);
        bool has_core = hook->mode != IS_COUNTED && hook->argument == 0;
        PUT(out, has_core ? "%u" : "null", hook->core);
        PUT(out, ",\"calls\":%lu,\"hops\":%lu", total.calls, total.hops);
        if (hook->mode == GOES_BACK)
            write_ending(out, total.calls, ending_of(module->first + i));
        if (hook->argument != 0)
            write_objects(out, module->first + i);
        PUT(out, "}");
    }
}

static void write_verdict(struct output_file *out, struct verdict verdict)
{
    PUT(out,
        ",\"auto\":{\"verdict\":\"%s\",\"trials\":%lu,\"gains\":%lu,\"pairs\":%lu,\"won\":%lu,",
        verdict.said, verdict.trials, verdict.gains, verdict.pairs, verdict.won);
    PUT(out, "\"speed_percent\":%lu,\"cost_percent\":%lu,\"mover\":\"%s\"}", verdict.speed_percent,
        verdict.cost_percent, mover()->name);
}

/* Writes why carriers refuse the program: the plan's reason, or one that occurred at run time. */
static void write_refusal(struct output_file *out)
{
    const char *reason = program.refusal != NULL ? program.refusal : carrier_found_against();
    if (reason == NULL)
        return;
    PUT(out, ",\"carriers_refuse\":");
    write_text(out, reason);
}

/* Writes the counters of the calls to be posted. */
static void write_posted(struct output_file *out)
{
    struct posted posted;
    if (!posted_of(0, &posted))
        return;
    static const char *const ways[] = {
        [BY_HOP] = "hop", [BY_YIELDING] = "yield", [IN_BATCHES] = "batch"};
    PUT(out, ",\"system_calls\":{\"by\":\"%s\",\"core\":", ways[posted_by()]);
    PUT(out, posted_to() < 0 ? "null" : "%u", (uint32_t)posted_to());
    if (posted_by() == IN_BATCHES) {
        struct ring_counts counts = all_ring_counts();
        PUT(out, ",\"requests\":%lu,\"waits\":%lu,\"enters\":%lu", counts.requests, counts.waits,
            counts.enters);
    }
    PUT(out, ",\"calls\":[");
    for (uint32_t i = 0; posted_of(i, &posted); i++)
        PUT(out, "%s\n{\"name\":\"%s\",\"posted\":%lu,\"declined\":%lu}", i == 0 ? "" : ",",
            posted.name, posted.posted, posted.declined);
    PUT(out, "]}");
}

static void write_report(struct output_file *out, struct tally all)
{
    uint64_t failed = 0, declined = 0, tallies = 0, sampled = 0, lengths[LENGTHS] = {0};
    for (const struct thread_counters *one = all_counters(); one != NULL; one = one->next) {
        failed += __atomic_load_n(&one->failed_hops, __ATOMIC_RELAXED);
        declined += __atomic_load_n(&one->declined_hops, __ATOMIC_RELAXED);
        tallies++;
        for (int power = 0; power < LENGTHS; power++) {
            uint64_t count = __atomic_load_n(&one->lengths[power], __ATOMIC_RELAXED);
            lengths[power] += count;
            sampled += count;
        }
    }
    PUT(out,
        "{\"backend\":\"%s\",\"process\":%d,\"cores\":%u,\"calls\":%lu,\"hops\":%lu,"
        "\"failed_hops\":%lu,\"declined_hops\":%lu,\"tallies\":%lu,",
        auto_is_on() ? auto_backend.name : program.backend->name, process_id(), program.cores,
        all.calls, all.hops, failed, declined, tallies);
    PUT(out,
        "\"hop_ns\":%lu,\"timed_hops\":%lu,\"stalls\":%lu,\"carriers\":%lu,"
        "\"waits_by\":\"%s\",\"waits\":[",
        median_length(lengths, sampled), sampled, stalls(), carriers_started(), way_to_wait());
    for (uint32_t core = 0; core < program.cores * program.teams; core++) {
        struct waits waits = waits_of(core);
        PUT(out, "%s{\"core\":%u,\"team\":%u,\"spun_us\":%lu,\"parks\":%lu,\"wakes\":%lu}",
            core == 0 ? "" : ",", core % program.cores, core / program.cores, waits.spun_us,
            waits.parks, waits.wakes);
    }
    PUT(out, "],\"pauses\":[");
    for (uint32_t team = 0; team < program.teams; team++)
        PUT(out, "%s%lu", team == 0 ? "" : ",", pauses_of(team));
    PUT(out, "],\"short_queues\":[");
    for (uint32_t team = 0; team < program.teams; team++)
        PUT(out, "%s%lu", team == 0 ? "" : ",", cuts_of(team));
    PUT(out, "]");
    if (auto_is_on())
        write_verdict(out, auto_verdict());
    write_refusal(out);
    write_order(out);
    write_posted(out);
    PUT(out, ",\"functions\":[");
    bool is_first = true;
    for (uint32_t i = 0; i < program.module_count; i++)
        write_module(out, &program.modules[i], &is_first);
    PUT(out, "]}\n");
}

/* Whether statistics will be written. */
bool prepare_statistics(void)
{
    const char *value = secure_getenv("COREHOP_STATS");
    char folder[PATH_MAX], *absolute;
    if (value == NULL || *value == '\0')
        return false;
    /* Servers change their working directory; the name is relative to the initial one. */
    if (*value == '/' || getcwd(folder, sizeof folder) == NULL)
        pattern = strdup(value);
    else if (asprintf(&absolute, "%s/%s", folder, value) >= 0)
        pattern = absolute;
    return pattern != NULL;
}

void statistics_forked(void)
{
    is_child = true;
}

void write_statistics(void)
{
    char path[PATH_MAX];
    struct tally all = {0};
    struct output_file out;
    if (pattern == NULL)
        return;
    for (uint32_t i = 0; i < program.hook_count; i++) {
        struct tally total = total_of(i);
        all.calls += total.calls;
        all.hops += total.hops;
        if (program.hooks[i].mode == GOES_BACK)
            all.hops += ending_of(i).hops;
    }
    struct posted posted;
    uint64_t posts = 0;
    for (uint32_t i = 0; posted_of(i, &posted); i++)
        posts += posted.posted + posted.declined;
    if (is_child && all.calls + posts == 0)
        return;
    if (!expand(pattern, path, sizeof path)) {
        complain("COREHOP_STATS names too long a path: no statistics");
        return;
    }
    const char *unfit = open_output_file(&out, path);
    if (unfit != NULL) {
        complain("COREHOP_STATS=%s is %s: no statistics", path, unfit);
        return;
    }
    if (out.error == 0)
        write_report(&out, all);
    long result = close_output_file(&out);
    if (result < 0)
        complain("COREHOP_STATS=%s: cannot write it (error %u)", path, (unsigned)-result);
}
