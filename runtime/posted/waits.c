/*
 * poll() of one file, and epoll_wait(), as waits in the ring of the thread's core.
 *
 * The ring waits until the file, or the epoll file, is ready; epoll's events are then fetched
 * without waiting. The caller's timeout is a limit on the request. If the wait ends early, libc's
 * function gets the remaining time.
 */
#define _GNU_SOURCE
#include "posting.h"
#include "originals.h"

#include <asm/unistd.h>
#include <errno.h>
#include <poll.h>
#include <time.h>

#define NANOSECONDS 1000000000l

/* What remains of that many milliseconds since then, as a request's limit; false if nothing. */
static bool time_left(const struct timespec *since, int milliseconds, int64_t limit[2])
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = milliseconds * (NANOSECONDS / 1000) -
                   (now.tv_sec - since->tv_sec) * NANOSECONDS - (now.tv_nsec - since->tv_nsec);
    limit[0] = left / NANOSECONDS;
    limit[1] = left % NANOSECONDS;
    return left > 0;
}

/* The thread is at home, or was refused: libc's function waits for the remaining time. */
static long wait_with_libc(struct posting *posting, int at, const struct timespec *since)
{
    long arguments[ARGUMENTS];
    int64_t left[2] = {0};
    int milliseconds = (int)posting->arguments[at];
    if (posting->held != 0)
        return fail(-EINTR);
    for (int i = 0; i < ARGUMENTS; i++)
        arguments[i] = posting->arguments[i];
    if (milliseconds > 0) {
        time_left(since, milliseconds, left);
        arguments[at] = left[0] < 0 || left[1] < 0 ? 0 : left[0] * 1000 + left[1] / 1000000;
    }
    posting->arguments = arguments;
    return call_libc(posting);
}

/* Events that poll() reports whether requested or not. */
#define ALWAYS_TOLD (POLLERR | POLLHUP | POLLNVAL)

long post_poll(struct posting *posting)
{
    struct pollfd *one = (struct pollfd *)posting->arguments[0];
    int milliseconds = (int)posting->arguments[2];
    int64_t left[2];
    struct timespec since;
    if (posting->arguments[1] != 1 || one->fd < 0 || milliseconds == 0)
        return call_libc(posting);
    clock_gettime(CLOCK_MONOTONIC, &since);
    while (milliseconds < 0 || time_left(&since, milliseconds, left)) {
        uint32_t events = (uint16_t)one->events;
        int32_t ready = await_ready(posting, one->fd, events, milliseconds < 0 ? NULL : left);
        if (ready == -ECANCELED)
            break;
        if (ready < 0)
            return wait_with_libc(posting, 2, &since);
        one->revents = (short)((uint32_t)ready & (events | ALWAYS_TOLD));
        if (one->revents != 0)
            return 1;
    }
    one->revents = 0;
    return 0;
}

long post_epoll(struct posting *posting)
{
    const long *a = posting->arguments;
    int milliseconds = (int)a[3];
    int64_t left[2];
    struct timespec since;
    long found = system_call(__NR_epoll_wait, a[0], a[1], a[2], 0, 0, 0);
    if (found == 0 && milliseconds != 0)
        clock_gettime(CLOCK_MONOTONIC, &since);
    while (found == 0 &&
           (milliseconds < 0 || (milliseconds > 0 && time_left(&since, milliseconds, left)))) {
        int32_t ready = await_ready(posting, (int)a[0], POLLIN, milliseconds < 0 ? NULL : left);
        if (ready < 0 && ready != -ECANCELED)
            return wait_with_libc(posting, 3, &since);
        found = system_call(__NR_epoll_wait, a[0], a[1], a[2], 0, 0, 0);
        if (ready == -ECANCELED)
            break;
    }
    return found < 0 ? fail(found) : found;
}
