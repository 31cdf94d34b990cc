/*
 * Calls of libc as requests of a ring, one libc function after the other.
 *
 * Each request neither blocks nor raises a signal. Some calls become no request, because a request
 * would behave differently: flags that are not listed here, no bytes at all, or a buffer that libc
 * knows to be too small.
 */
#define _GNU_SOURCE
#include "posting.h"

#include <linux/io_uring.h>

#define MOST_BYTES 0x7ffff000l
#define RECEIVING (MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC)
#define SENDING (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_EOR)

static void make_plain(struct posting *posting, uint8_t operation, int flags)
{
    posting->sends = operation == IORING_OP_SEND;
    posting->flags = flags;
    posting->request = (struct request){
        .operation = operation,
        .file = (int)posting->arguments[0],
        .address = (uint64_t)posting->arguments[1],
        .length = (uint32_t)posting->arguments[2],
        .flags = (uint32_t)flags | MSG_DONTWAIT | (posting->sends ? MSG_NOSIGNAL : 0),
    };
}

static void make_message(struct posting *posting, uint8_t operation, const struct msghdr *message,
                         int flags)
{
    posting->sends = operation == IORING_OP_SENDMSG;
    posting->flags = flags;
    posting->sent = message;
    posting->request = (struct request){
        .operation = operation,
        .file = (int)posting->arguments[0],
        .address = (uint64_t)message,
        .length = 1,
        .flags = (uint32_t)flags | MSG_DONTWAIT | (posting->sends ? MSG_NOSIGNAL : 0),
    };
}

static void make_vector(struct posting *posting, uint8_t operation)
{
    posting->message.msg_iov = (struct iovec *)posting->arguments[1];
    posting->message.msg_iovlen = (size_t)(int)posting->arguments[2];
    make_message(posting, operation, &posting->message, 0);
}

/* Sends to or receives from an address, which is then in `at`. */
static void make_addressed(struct posting *posting, uint8_t plain, uint8_t with_message, int flags,
                           int at)
{
    const long *a = posting->arguments;
    if (a[at] == 0) {
        make_plain(posting, plain, flags);
        return;
    }
    posting->vector = (struct iovec){(void *)a[1], (size_t)a[2]};
    posting->name_size = plain == IORING_OP_RECV ? (socklen_t *)a[at + 1] : NULL;
    posting->message = (struct msghdr){
        .msg_name = (void *)a[at],
        .msg_namelen = posting->name_size != NULL ? *posting->name_size : (socklen_t)a[at + 1],
        .msg_iov = &posting->vector,
        .msg_iovlen = 1,
    };
    make_message(posting, with_message, &posting->message, flags);
}

static bool is_in_bounds(long bytes, long room)
{
    return bytes > 0 && bytes <= MOST_BYTES && bytes <= room;
}

static bool has_only(const struct posting *posting, int flags)
{
    return (posting->flags & ~flags) == 0;
}

/* A request that does not wait takes less than the mark. */
static bool has_low_water_marks;

void expect_low_water_marks(void)
{
    __atomic_store_n(&has_low_water_marks, true, __ATOMIC_RELAXED);
}

static bool is_fit(struct posting *posting, enum shape shape)
{
    const long *a = posting->arguments;
    switch (shape) {
    case READS:
        make_plain(posting, IORING_OP_RECV, 0);
        return is_in_bounds(a[2], MOST_BYTES);
    case READS_CHECKED:
        make_plain(posting, IORING_OP_RECV, 0);
        return is_in_bounds(a[2], a[3]);
    case WRITES:
        make_plain(posting, IORING_OP_SEND, 0);
        return is_in_bounds(a[2], MOST_BYTES);
    case READS_VECTOR:
        make_vector(posting, IORING_OP_RECVMSG);
        return (int)a[2] > 0;
    case WRITES_VECTOR:
        make_vector(posting, IORING_OP_SENDMSG);
        return (int)a[2] > 0;
    case RECEIVES:
        make_plain(posting, IORING_OP_RECV, (int)a[3]);
        return is_in_bounds(a[2], MOST_BYTES) && has_only(posting, RECEIVING);
    case RECEIVES_CHECKED:
        make_plain(posting, IORING_OP_RECV, (int)a[4]);
        return is_in_bounds(a[2], a[3]) && has_only(posting, RECEIVING);
    case RECEIVES_FROM:
        make_addressed(posting, IORING_OP_RECV, IORING_OP_RECVMSG, (int)a[3], 4);
        return is_in_bounds(a[2], MOST_BYTES) && has_only(posting, RECEIVING);
    case RECEIVES_FROM_CHECKED:
        make_addressed(posting, IORING_OP_RECV, IORING_OP_RECVMSG, (int)a[4], 5);
        return is_in_bounds(a[2], a[3]) && has_only(posting, RECEIVING);
    case SENDS:
        make_plain(posting, IORING_OP_SEND, (int)a[3]);
        return is_in_bounds(a[2], MOST_BYTES) && has_only(posting, SENDING);
    case SENDS_TO:
        make_addressed(posting, IORING_OP_SEND, IORING_OP_SENDMSG, (int)a[3], 4);
        return is_in_bounds(a[2], MOST_BYTES) && has_only(posting, SENDING);
    case RECEIVES_MESSAGE:
        make_message(posting, IORING_OP_RECVMSG, (struct msghdr *)a[1], (int)a[2]);
        return has_only(posting, RECEIVING);
    case SENDS_MESSAGE:
        make_message(posting, IORING_OP_SENDMSG, (const struct msghdr *)a[1], (int)a[2]);
        return has_only(posting, SENDING);
    default:
        return false;
    }
}

bool make_request(struct posting *posting, enum shape shape)
{
    return is_fit(posting, shape) &&
           (posting->sends || !__atomic_load_n(&has_low_water_marks, __ATOMIC_RELAXED));
}
