/*
 * Buffered output of text to a file, a device or a pipe (output_file.c).
 */
#ifndef COREHOP_OUTPUT_FILE_H
#define COREHOP_OUTPUT_FILE_H

#include "system.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output_file {
    const char *path;
    int file;
    bool is_stream;
    struct held_signals held;
    uint64_t deadline;
    long error; /* a negative errno, after which nothing is written */
    size_t used;
    char buffer[4096]; /* as much as a pipe with any room accepts at once */
    char beside[PATH_MAX + 64];
};
/* Why nothing can be written at the path, or NULL; `error` has any other failure. */
const char *open_output_file(struct output_file *out, const char *path);
void flush_output_file(struct output_file *out);
/* Room for one call of PUT. */
static inline void make_room(struct output_file *out)
{
    if (out->used > sizeof out->buffer - 512)
        flush_output_file(out);
}
/* Appends a text of at most 512 bytes, by format_text(). */
#define PUT(out, ...)                                                        \
    (make_room(out), (out)->used += format_text((out)->buffer + (out)->used, \
                                                sizeof(out)->buffer - (out)->used, __VA_ARGS__))
/* Renames the file to its final name; returns zero or a negative errno. */
long close_output_file(struct output_file *out);

#endif
