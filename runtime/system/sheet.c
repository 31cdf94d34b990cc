/*
 * A text on its way out of the server: into a file that appears whole, or through a device or pipe.
 *
 * A file is written beside its name and renamed, so a reader never sees half of it. The name beside
 * it is new each time and opened as such (O_EXCL, O_NOFOLLOW): in a folder that others may write
 * to, a link that waits there is not followed. A rename would also replace a device, so what is
 * there is looked at first. Character devices and FIFOs are written through, links to them too
 * (/dev/stdout); anything else that is no regular file is refused. So is a link to a file: a server
 * that runs as root would replace the file that the link's maker likes.
 *
 * Nobody who reads may harm the server. A FIFO that nobody has open is an error and no wait, one
 * that nobody empties is given up after PATIENCE_US, and SIGPIPE, by which the kernel tells that a
 * reader has gone, is held back from this thread and taken away. Rejected: statistics into an open
 * descriptor of the server's, which may have become a connection or a table by now.
 *
 * System calls by instruction, no allocation, no thread-local storage: the watchdog writes as well.
 */
#define _GNU_SOURCE
#include "sheet.h"
#include "clock.h"
#include "system.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

/* Of all that goes to a device or pipe. */
#define PATIENCE_US 1000000

static const uint64_t pipe_signal = 1ull << (SIGPIPE - 1);

static long status_of(const char *path, int flags, struct stat *status)
{
    return system_call(__NR_newfstatat, AT_FDCWD, (long)path, (long)status, flags, 0, 0);
}

/* What is at the path: NULL for nothing, a file or a stream, else why nothing is written there. */
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

/* Writing to a pipe that nobody reads any more must not end the program. */
static void hold_pipe_signal(struct sheet *sheet)
{
    uint64_t pending = 0;
    system_call(__NR_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    sheet->was_pending = (pending & pipe_signal) != 0;
    system_call(__NR_rt_sigprocmask, SIG_BLOCK, (long)&pipe_signal, (long)&sheet->mask,
                sizeof pipe_signal, 0, 0);
}

static void release_pipe_signal(struct sheet *sheet)
{
    const long now[2] = {0, 0};
    if (!sheet->was_pending)
        system_call(__NR_rt_sigtimedwait, (long)&pipe_signal, 0, (long)now, sizeof pipe_signal, 0,
                    0);
    system_call(__NR_rt_sigprocmask, SIG_SETMASK, (long)&sheet->mask, 0, sizeof sheet->mask, 0, 0);
}

const char *open_sheet(struct sheet *sheet, const char *path)
{
    unsigned thread = (unsigned)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
    const char *unfit = look_at(path, &sheet->is_stream, &sheet->error);
    const char *opened = path;
    int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    sheet->path = path;
    sheet->file = -1;
    sheet->used = 0;
    sheet->deadline = 0;
    if (unfit != NULL || sheet->error < 0)
        return unfit;
    if (!sheet->is_stream) {
        format_text(sheet->beside, sizeof sheet->beside, "%s.%u.%lu.part", path, thread,
                    clock_now());
        opened = sheet->beside;
        flags = O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW;
    }
    sheet->file = (int)system_call(__NR_open, (long)opened, flags, 0644, 0, 0, 0);
    sheet->error = sheet->file < 0 ? sheet->file : 0;
    if (sheet->file >= 0 && sheet->is_stream) {
        sheet->deadline = clock_now() + cycles_of(PATIENCE_US);
        hold_pipe_signal(sheet);
    }
    return NULL;
}

/* Waits until a stream takes more; a negative errno when it will not. */
static long await_room(const struct sheet *sheet)
{
    for (;;) {
        uint64_t now = clock_now();
        uint64_t left = now < sheet->deadline ? sheet->deadline - now : 0;
        struct pollfd stream = {.fd = sheet->file, .events = POLLOUT};
        long ready = system_call(__NR_poll, (long)&stream, 1,
                                 (long)(nanoseconds_of(left) / 1000000), 0, 0, 0);
        if (ready != 0 && ready != -EINTR)
            return ready < 0 ? ready : 0;
        if (left == 0)
            return -ETIMEDOUT;
    }
}

void flush_sheet(struct sheet *sheet)
{
    for (size_t at = 0; at < sheet->used && sheet->error == 0;) {
        if (sheet->is_stream && (sheet->error = await_room(sheet)) < 0)
            break;
        long done = system_call(__NR_write, sheet->file, (long)(sheet->buffer + at),
                                (long)(sheet->used - at), 0, 0, 0);
        if (done > 0)
            at += (size_t)done;
        else if (done != -EINTR && (done != -EAGAIN || clock_now() > sheet->deadline))
            sheet->error = done < 0 ? done : -EIO;
    }
    sheet->used = 0;
}

long close_sheet(struct sheet *sheet)
{
    if (sheet->file < 0)
        return sheet->error;
    flush_sheet(sheet);
    system_call(__NR_close, sheet->file, 0, 0, 0, 0, 0);
    if (sheet->is_stream) {
        release_pipe_signal(sheet);
        return sheet->error;
    }
    if (sheet->error == 0)
        sheet->error = system_call(__NR_rename, (long)sheet->beside, (long)sheet->path, 0, 0, 0, 0);
    if (sheet->error < 0)
        system_call(__NR_unlink, (long)sheet->beside, 0, 0, 0, 0, 0);
    return sheet->error;
}
