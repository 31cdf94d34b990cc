/*
 * A call of libc to be made by a ring: shared by the files that do so.
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
    int held; /* the signal for which the thread was called home, or 0 */
};

/* park.c */
/* Makes the call by libc's function. */
long call_libc(const struct posting *posting);
/* Puts the request, and continues with its result, perhaps at home. */
int32_t park(struct posting *posting);
/* Waits for the file to be ready, at most until `limit`. Returns the events, or an error: ECANCELED
 * after the timeout, EINTR if the thread was called home. */
int32_t await_ready(struct posting *posting, int file, uint32_t events, const int64_t *limit);

/* requests.c: the call as a request; false if the call must be made where the thread is. */
bool make_request(struct posting *posting, enum shape shape);

/* waits.c */
long post_poll(struct posting *posting);
long post_epoll(struct posting *posting);

#endif
