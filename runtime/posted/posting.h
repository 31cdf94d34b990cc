/*
 * A call of libc that is to be made by a ring: what the files that do so share.
 */
#ifndef COREHOP_POSTING_H
#define COREHOP_POSTING_H

#include "posted.h"
#include "ring.h"

#include <sys/socket.h>
#include <sys/uio.h>

struct posting {
    const long *arguments;
    libc_function *next;
    struct fiber *fiber;
    struct request request;
    struct msghdr message;
    const struct msghdr *sent; /* what a message is made of */
    struct iovec vector;
    socklen_t *name_size;
    int flags; /* the caller's */
    bool sends;
    int held; /* the signal for which it was called home, or 0 */
};

/* park.c */
/* What libc's function makes of it. */
long call_libc(const struct posting *posting);
/* Puts the request, and goes on with its result; perhaps at home. */
int32_t park(struct posting *posting);
/* Waits for the file to be ready, at most until `limit`; what it is ready for, or an error:
 * ECANCELED when the time is over, EINTR when the thread was called home. */
int32_t await_ready(struct posting *posting, int file, uint32_t events, const int64_t *limit);

/* requests.c: the call as a request; false if it is to be made where it is. */
bool make_request(struct posting *posting, enum shape shape);

/* waits.c */
long post_poll(struct posting *posting);
long post_epoll(struct posting *posting);

#endif
