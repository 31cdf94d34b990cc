/*
 * Writes text out of the server: into a file that appears whole, or through a device or pipe.
 *
 * A file is written under a temporary name in the same folder and then renamed, so a reader never
 * sees half of it. The temporary name is always a new one, opened as such (O_EXCL, O_NOFOLLOW). So
 * in a folder to which others may write, a prepared link is not followed. A rename would also
 * replace a device, so the existing file is checked first. Character devices and FIFOs are written
 * through, also by links to them (/dev/stdout). Every other file that is not regular is refused. A
 * link to a file is refused too: a server that runs as root would otherwise replace any file that
 * the link's maker chooses.
 *
 * No reader may harm the server. A FIFO without a reader is an error and does not block. A FIFO
 * whose reader does not read is given up after PATIENCE_US. Signals by which the kernel reports
 * that a reader has gone, or that a file gets too large, are held (system.c). Rejected: statistics
 * into an open descriptor of the server, which may have become a connection or a table by then.
 *
 * It makes system calls by instruction and uses no allocation and no thread-local storage, since
 * the watchdog writes as well.
 */
#define _GNU_SOURCE
#include "output_file.h"
#include "clock.h"
#include "system.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

/* The limit for a whole text to a device or pipe. */
#define PATIENCE_US 1000000

static long status_of(const char *path, int flags, struct stat *status)
{
    return system_call(__NR_newfstatat, AT_FDCWD, (long)path, (long)status, flags, 0, 0);
}

/* Checks what is at the path. Returns NULL for nothing, a file or a stream, else the reason to
 * refuse. */
static const char *look_at(const char *path, bool *is_stream, long *error)
{
    struct stat status;
    *error = status_of(path, AT_SYMLINK_NOFOLLOW, &status);
    *is_stream = false;
    if (*error == -ENOENT)
        *error = 0;
    else if (*error == 0) {
        bool is_link = S_ISLNK(status.st_mode);
        if (is_link && (*error = status_of(path, 0, &status)) < 0)
            return *error == -ENOENT ? "a link to nothing" : NULL;
        *is_stream = S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode);
        if (S_ISREG(status.st_mode) && is_link)
            return "a link to a file: name the file itself";
        if (!*is_stream && !S_ISREG(status.st_mode))
            return "no file, pipe or character device";
    }
    return NULL;
}

const char *open_output_file(struct output_file *out, const char *path)
{
    unsigned thread = (unsigned)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
    const char *unfit = look_at(path, &out->is_stream, &out->error);
    const char *opened = path;
    int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    out->path = path;
    out->file = -1;
    out->used = 0;
    out->deadline = 0;
    if (unfit != NULL || out->error < 0)
        return unfit;
    if (!out->is_stream) {
        format_text(out->beside, sizeof out->beside, "%s.%u.%lu.part", path, thread, clock_now());
        opened = out->beside;
        flags = O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW;
    }
    out->file = (int)system_call(__NR_open, (long)opened, flags, 0644, 0, 0, 0);
    out->error = out->file < 0 ? out->file : 0;
    if (out->file < 0)
        return NULL;
    if (out->is_stream)
        out->deadline = clock_now() + cycles_of(PATIENCE_US);
    hold_write_signals(&out->held);
    return NULL;
}

/* Waits until a stream accepts more; a negative errno if it will not. */
static long await_room(const struct output_file *out)
{
    for (;;) {
        uint64_t now = clock_now();
        uint64_t left = now < out->deadline ? out->deadline - now : 0;
        struct pollfd stream = {.fd = out->file, .events = POLLOUT};
        long ready = system_call(__NR_poll, (long)&stream, 1,
                                 (long)(nanoseconds_of(left) / 1000000), 0, 0, 0);
        if (ready != 0 && ready != -EINTR)
            return ready < 0 ? ready : 0;
        if (left == 0)
            return -ETIMEDOUT;
    }
}

void flush_output_file(struct output_file *out)
{
    for (size_t at = 0; at < out->used && out->error == 0;) {
        if (out->is_stream && (out->error = await_room(out)) < 0)
            break;
        long done = system_call(__NR_write, out->file, (long)(out->buffer + at),
                                (long)(out->used - at), 0, 0, 0);
        if (done > 0)
            at += (size_t)done;
        else if (done != -EINTR && (done != -EAGAIN || clock_now() > out->deadline))
            out->error = done < 0 ? done : -EIO;
    }
    out->used = 0;
}

long close_output_file(struct output_file *out)
{
    if (out->file < 0)
        return out->error;
    flush_output_file(out);
    system_call(__NR_close, out->file, 0, 0, 0, 0, 0);
    release_write_signals(&out->held, out->error < 0);
    if (out->is_stream)
        return out->error;
    if (out->error == 0)
        out->error = system_call(__NR_rename, (long)out->beside, (long)out->path, 0, 0, 0, 0);
    if (out->error < 0)
        system_call(__NR_unlink, (long)out->beside, 0, 0, 0, 0, 0);
    return out->error;
}
