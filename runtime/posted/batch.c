/*
 * COREHOP_SYSCALLS=read,write,poll@batch: calls of libc as requests of the core's ring.
 *
 * A thread that makes such a call puts it in the ring of its core (ring.c) and lets the core's
 * other threads run, until all calls are made together. With @batch:1 a kernel thread on plan core
 * 1 makes them. A call is made at once if no other thread of the core could run and no other core
 * would make it.
 *
 * A request that moves data is made as if its file did not block. So it has its result at once and
 * is never under way when a signal arrives. If the call would block, the thread waits in the ring
 * for the file to be ready and then tries again. It may leave this wait at any time, and the
 * carrier runs other threads during it. libc's function handles cases in which a request differs
 * from the call: a file that is no socket, or a broken pipe, which means a signal. All other errors
 * are results: the kernel tells some of a socket's errors only once.
 *
 * Rejected: requests that block in the kernel or run on the kernel's own worker threads (open,
 * stat, fsync). They would be under way when their thread is called home, and cost several times
 * what the call costs.
 */
#define _GNU_SOURCE
#include "posting.h"
#include "home.h"
#include "originals.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>

/* The same if no other thread could run. */
static long make_at_once(const struct posting *posting)
{
    const struct request *request = &posting->request;
    static const short calls[] = {
        [IORING_OP_RECV] = __NR_recvfrom,
        [IORING_OP_SEND] = __NR_sendto,
        [IORING_OP_RECVMSG] = __NR_recvmsg,
        [IORING_OP_SENDMSG] = __NR_sendmsg,
    };
    bool is_message =
        request->operation == IORING_OP_RECVMSG || request->operation == IORING_OP_SENDMSG;
    long size = is_message ? (long)request->flags : (long)request->length;
    return system_call(calls[request->operation], request->file, (long)request->address, size,
                       is_message ? 0 : (long)request->flags, 0, 0);
}

static bool does_not_wait(const struct posting *posting)
{
    const long not_waiting = 04000; /* O_NONBLOCK */
    return (posting->flags & MSG_DONTWAIT) != 0 ||
           (system_call(__NR_fcntl, posting->arguments[0], 3, 0, 0, 0, 0) & not_waiting) != 0;
}

/* Whether the socket has its own timeout. */
static bool has_time_limit(const struct posting *posting)
{
    int64_t limit[2] = {0};
    socklen_t size = sizeof limit;
    long result =
        system_call(__NR_getsockopt, posting->arguments[0], SOL_SOCKET,
                    posting->sends ? SO_SNDTIMEO : SO_RCVTIMEO, (long)limit, (long)&size, 0);
    return result != 0 || limit[0] != 0 || limit[1] != 0;
}

static long bytes_of(const struct posting *posting)
{
    long bytes = 0;
    if (posting->sent == NULL)
        return posting->request.length;
    for (size_t i = 0; i < posting->sent->msg_iovlen; i++)
        bytes += (long)posting->sent->msg_iov[i].iov_len;
    return bytes;
}

/* Sends the remaining bytes, blocking, and returns how many. It uses libc, since no thread is
 * called home out of the runtime's own code. */
static long send_bytes(const struct posting *posting, const char *from, size_t bytes)
{
    static void *kept;
    libc_function *send = (libc_function *)original(&kept, "send");
    size_t sent = 0;
    while (sent < bytes) {
        long more = send(posting->arguments[0], (long)(from + sent), (long)(bytes - sent),
                         posting->flags | MSG_NOSIGNAL, 0, 0, 0);
        if (more <= 0)
            break;
        sent += (size_t)more;
    }
    return (long)sent;
}

/* A blocking file takes everything, unless there is an error or a signal. */
static long send_rest(const struct posting *posting, long sent)
{
    if (posting->sent == NULL)
        return sent + send_bytes(posting, (const char *)posting->request.address + sent,
                                 posting->request.length - (size_t)sent);
    size_t before = 0, done = (size_t)sent;
    for (size_t i = 0; i < posting->sent->msg_iovlen; i++) {
        const struct iovec *part = &posting->sent->msg_iov[i];
        if (before + part->iov_len > done) {
            size_t skipped = done - before;
            done += (size_t)send_bytes(posting, (const char *)part->iov_base + skipped,
                                       part->iov_len - skipped);
            if (done != before + part->iov_len)
                break;
        }
        before += part->iov_len;
    }
    return (long)done;
}

static long finish(const struct posting *posting, long result)
{
    if (posting->name_size != NULL)
        *posting->name_size = posting->message.msg_namelen;
    if (posting->sends && result < bytes_of(posting) && !does_not_wait(posting))
        return send_rest(posting, result);
    return result;
}

/* Whether the kernel refused the request, but may make the call. */
static bool is_of_the_request(const struct posting *posting, long result)
{
    switch (-result) {
    case EPIPE:
        return posting->sends;
    case ENOTSOCK:
    case ENOSYS:
    case EINVAL:
    case EOPNOTSUPP:
    case ECANCELED:
    case EINTR:
        return true;
    default:
        return false;
    }
}

/* How often a file may be ready in vain. Other threads may be faster, but some files always are. */
#define MOST_IN_VAIN 8

static long post_data(struct posting *posting)
{
    const struct request request = posting->request;
    for (int in_vain = 0;; in_vain++) {
        const struct fiber *fiber = posting->fiber;
        if (fiber->carrier == NULL)
            return call_libc(posting);
        posting->request = request;
        long result =
            is_worth_posting(fiber->carrier->core) ? park(posting) : make_at_once(posting);
        posting->request = request;
        if (result >= 0)
            return finish(posting, result);
        if (is_of_the_request(posting, result))
            return call_libc(posting);
        if (result != -EAGAIN || does_not_wait(posting))
            return fail(result);
        if (has_time_limit(posting) || in_vain == MOST_IN_VAIN)
            return call_libc(posting);
        int32_t ready = await_ready(posting, request.file, posting->sends ? POLLOUT : POLLIN, NULL);
        if (ready < 0 && posting->held != 0 && !restarts(posting->held))
            return fail(-EINTR);
        if (ready < 0)
            return call_libc(posting);
    }
}

long post_in_batch(struct fiber *fiber, enum shape shape, libc_function *next,
                   const long *arguments)
{
    struct posting posting = {.arguments = arguments, .next = next, .fiber = fiber};
    if (shape == POLLS)
        return post_poll(&posting);
    if (shape == WAITS_FOR_EVENTS)
        return post_epoll(&posting);
    return make_request(&posting, shape) ? post_data(&posting) : call_libc(&posting);
}
