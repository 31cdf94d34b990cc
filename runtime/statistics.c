/*
 * COREHOP_STATS=FILE: what the hooks counted, as JSON, written when the program exits.
 *
 * Written from this library's destructor, so exit() and a return from main() leave it, _exit() and
 * a fatal signal do not. It is written beside and renamed, so a reader never sees half of it. %p in
 * FILE becomes the process id: without it a forked child that exits writes the same file as its
 * parent, and whoever exits last is the one that is read. A child starts counting from zero; one
 * that met no hook writes nothing. "tallies" is the number of threads that counted at one time, or
 * a little more.
 */
#define _GNU_SOURCE
#include "corehop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *pattern;
static bool is_child;

/* FILE with every %p replaced; false when it does not fit. */
static bool expand(const char *from, char *to, size_t room)
{
    size_t used = 0;
    for (; *from != '\0'; from++) {
        int length = 1;
        if (from[0] == '%' && from[1] == 'p') {
            length = snprintf(to + used, room - used, "%d", (int)getpid());
            from++;
        } else if (used < room) {
            to[used] = *from;
        }
        used += (size_t)length;
        if (used >= room)
            return false;
    }
    to[used] = '\0';
    return true;
}

static struct tally total_of(uint32_t hook)
{
    struct tally total = {0};
    for (const struct block *block = all_blocks(); block != NULL; block = block->next) {
        total.calls += __atomic_load_n(&block->tallies[hook].calls, __ATOMIC_RELAXED);
        total.hops += __atomic_load_n(&block->tallies[hook].hops, __ATOMIC_RELAXED);
    }
    return total;
}

static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20)
            fprintf(file, "\\u%04x", byte);
        else if (byte == '"' || byte == '\\')
            fprintf(file, "\\%c", byte);
        else
            fputc(byte, file);
    }
    fputc('"', file);
}

static void write_report(FILE *file, struct tally all)
{
    uint64_t failed = 0, tallies = 0;
    for (const struct block *block = all_blocks(); block != NULL; block = block->next) {
        failed += __atomic_load_n(&block->failed_hops, __ATOMIC_RELAXED);
        tallies++;
    }
    fprintf(file,
            "{\"backend\":\"%s\",\"process\":%d,\"cores\":%u,\"calls\":%lu,\"hops\":%lu,"
            "\"failed_hops\":%lu,\"tallies\":%lu,\"functions\":[",
            program.backend->name, (int)getpid(), program.cores, all.calls, all.hops, failed,
            tallies);
    for (uint32_t i = 0; i < program.hook_count; i++) {
        const struct hook *hook = &program.hooks[i];
        struct tally total = total_of(i);
        fprintf(file, "%s\n{\"symbol\":", i == 0 ? "" : ",");
        write_text(file, program.names + hook->name);
        fprintf(file, ",\"offset\":%lu,\"core\":%u,\"calls\":%lu,\"hops\":%lu}", hook->offset,
                hook->core, total.calls, total.hops);
    }
    fputs("]}\n", file);
}

void prepare_statistics(void)
{
    const char *value = secure_getenv("COREHOP_STATS");
    char folder[PATH_MAX], *absolute;
    if (value == NULL || *value == '\0')
        return;
    /* Servers change their working directory; the name is meant from where they were started. */
    if (*value == '/' || getcwd(folder, sizeof folder) == NULL)
        pattern = strdup(value);
    else if (asprintf(&absolute, "%s/%s", folder, value) >= 0)
        pattern = absolute;
}

void statistics_forked(void)
{
    is_child = true;
}

void write_statistics(void)
{
    char path[PATH_MAX], beside[PATH_MAX];
    struct tally all = {0};
    if (pattern == NULL)
        return;
    for (uint32_t i = 0; i < program.hook_count; i++) {
        struct tally total = total_of(i);
        all.calls += total.calls;
        all.hops += total.hops;
    }
    if (is_child && all.calls == 0)
        return;
    if (!expand(pattern, path, sizeof path - 32)) {
        complain("COREHOP_STATS names too long a path: no statistics");
        return;
    }
    snprintf(beside, sizeof beside, "%s.%d.part", path, (int)getpid());
    int descriptor = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    bool done = file != NULL;
    if (done) {
        write_report(file, all);
        done = ferror(file) == 0;
        done = fclose(file) == 0 && done;
        done = done && rename(beside, path) == 0;
    }
    if (!done) {
        complain("COREHOP_STATS=%s: cannot write it: %s", path, strerror(errno));
        unlink(beside);
    }
}
