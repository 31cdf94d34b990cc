/*
 * A thread that waits in its core's ring for its call's result, and the same call without a ring.
 */
#define _GNU_SOURCE
#include "posting.h"
#include "home.h"
#include "vectors.h"

#include <errno.h>
#include <linux/io_uring.h>

long call_libc(const struct posting *posting)
{
    const long *a = posting->arguments;
    return posting->next(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
}

int32_t park(struct posting *posting)
{
    struct fiber *fiber = posting->fiber;
    fiber->request = &posting->request;
    fiber->going = TO_RING;
    leave(fiber, &fiber->carrier->stack);
    if (fiber->carrier == NULL)
        posting->held = come_home(fiber);
    return posting->request.result;
}

int32_t await_ready(struct posting *posting, int file, uint32_t events, const int64_t *limit)
{
    if (posting->fiber->carrier == NULL)
        return -EINTR;
    posting->request = (struct request){
        .operation = IORING_OP_POLL_ADD,
        .file = file,
        .flags = events,
        .limit = limit,
    };
    return park(posting);
}
