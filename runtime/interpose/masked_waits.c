/*
 * Calls that wait with another signal mask: at home, where signals arrive.
 *
 * To set a mask is to set that of a kernel thread. Without a mask they equal the plain calls (e.g.
 * poll for ppoll), which a thread on a carrier makes where it is. So they are defined here and not
 * in interposed.h, which looks only at a call's first arguments.
 */
#define _GNU_SOURCE
#include "home.h"
#include "originals.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define EXPORT __attribute__((visibility("default")))

static void *next_of(void **kept, const char *name, const void *mask)
{
    if (mask != NULL)
        stay_home();
    return original(kept, name);
}

typedef int ppoll_function(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *time,
                 const sigset_t *mask)
{
    static void *kept;
    ppoll_function *next = (ppoll_function *)next_of(&kept, "ppoll", mask);
    return next(files, count, time, mask);
}

typedef int ppoll_checked_function(struct pollfd *, nfds_t, const struct timespec *,
                                   const sigset_t *, size_t);

EXPORT int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *time,
                       const sigset_t *mask, size_t size)
{
    static void *kept;
    ppoll_checked_function *next = (ppoll_checked_function *)next_of(&kept, "__ppoll_chk", mask);
    return next(files, count, time, mask, size);
}

typedef int pselect_function(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
                             const sigset_t *);

EXPORT int pselect(int count, fd_set *readable, fd_set *writable, fd_set *failing,
                   const struct timespec *time, const sigset_t *mask)
{
    static void *kept;
    pselect_function *next = (pselect_function *)next_of(&kept, "pselect", mask);
    return next(count, readable, writable, failing, time, mask);
}

typedef int epoll_function(int, struct epoll_event *, int, int, const sigset_t *);

EXPORT int epoll_pwait(int file, struct epoll_event *events, int most, int time,
                       const sigset_t *mask)
{
    static void *kept;
    epoll_function *next = (epoll_function *)next_of(&kept, "epoll_pwait", mask);
    return next(file, events, most, time, mask);
}

typedef int epoll2_function(int, struct epoll_event *, int, const struct timespec *,
                            const sigset_t *);

EXPORT int epoll_pwait2(int file, struct epoll_event *events, int most, const struct timespec *time,
                        const sigset_t *mask)
{
    static void *kept;
    epoll2_function *next = (epoll2_function *)next_of(&kept, "epoll_pwait2", mask);
    return next(file, events, most, time, mask);
}
