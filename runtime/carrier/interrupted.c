/*
 * What becomes of a system call that POKE has ended on a carrier.
 *
 * POKE's handler has SA_RESTART, so the kernel restarts most calls, which are at home by then. If a
 * handler of the program without SA_RESTART runs there, the call must end with EINTR instead.
 *
 * Conversely, any handler ends calls that wait for events or for some time. If no handler of the
 * program runs, such a call restarts too, since nothing has arrived that the program can see. The
 * kernel reports what a call returns, but not which call it was. The preceding instruction shows
 * it, if it is libc's: mov $NUMBER, %eax. From glibc 2.41 on, calls that can be canceled share two
 * instructions, and the number is on the stack. Otherwise the call ends with EINTR. If the kernel
 * does not count a timeout down in memory, the timeout then starts from the beginning.
 *
 * A call that waits until all bytes are written, or read, returns how many were when POKE came.
 * Without a handler of the program, the rest follows at home.
 */
#define _GNU_SOURCE
#include "interrupted.h"
#include "system.h"

#include <asm/unistd.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* The number of bytes before a system call that are searched for its number. */
#define REACH 48
#define CALL_SIZE 2
#define LAST_NUMBER 511

static bool is_among(long number, const short *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i] == number)
            return true;
    return false;
}

static bool is_system_call(const uint8_t *code)
{
    return code[0] == 0x0f && code[1] == 0x05;
}

/* Calls that a handler without SA_RESTART ends with EINTR, though POKE's has it. */
static bool ends_interrupted(long number)
{
    static const short calls[] = {
        __NR_read,         __NR_readv,           __NR_pread64,
        __NR_recvfrom,     __NR_recvmsg,         __NR_recvmmsg,
        __NR_write,        __NR_writev,          __NR_pwrite64,
        __NR_sendto,       __NR_sendmsg,         __NR_sendmmsg,
        __NR_accept,       __NR_accept4,         __NR_connect,
        __NR_wait4,        __NR_waitid,          __NR_futex,
        __NR_fcntl,        __NR_flock,           __NR_openat,
        __NR_open,         __NR_ioctl,           __NR_openat2,
        __NR_preadv,       __NR_preadv2,         __NR_pwritev,
        __NR_pwritev2,     __NR_sendfile,        __NR_splice,
        __NR_tee,          __NR_vmsplice,        __NR_copy_file_range,
        __NR_mq_timedsend, __NR_mq_timedreceive, __NR_futex_waitv,
        __NR_getrandom,    __NR_creat,
    };
    return is_among(number, calls, sizeof calls / sizeof *calls);
}

/* Calls that any handler ends, and that wait correctly when they restart. */
static bool waits_again(long number)
{
    static const short calls[] = {
        __NR_poll,        __NR_ppoll,        __NR_select,   __NR_pselect6,     __NR_epoll_wait,
        __NR_epoll_pwait, __NR_epoll_pwait2, __NR_futex,    __NR_semop,        __NR_semtimedop,
        __NR_msgsnd,      __NR_msgrcv,       __NR_recvfrom, __NR_recvmsg,      __NR_sendto,
        __NR_sendmsg,     __NR_accept,       __NR_accept4,  __NR_io_getevents, __NR_connect,
    };
    return is_among(number, calls, sizeof calls / sizeof *calls);
}

/* The number that mov $NUMBER, %eax loads last before this call; -1 if it is unknown. */
static long number_before(const uint8_t *call)
{
    const uint8_t load = 0xb8, prefixes = 0x40, prefixes_mask = 0xf0;
    for (const uint8_t *at = call - 5; at >= call - REACH; at--) {
        uint32_t number = at[1] | (uint32_t)at[2] << 8 | (uint32_t)at[3] << 16;
        bool loads_another = (at[-1] & prefixes_mask) == prefixes;
        if (at[0] == load && at[4] == 0 && number <= LAST_NUMBER && !loads_another)
            return number;
    }
    return -1;
}

static bool ends_with(const uint8_t *end, const uint8_t *code, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (end[(ptrdiff_t)i - (ptrdiff_t)size] != code[i])
            return false;
    return true;
}

/* The number that glibc 2.41 and later passes on the stack to its shared instructions; -1 if this
 * is none of them. The two sequences are those of __internal_syscall_cancel while there is one
 * thread, mov OFFSET(%rsp), %rax, and of __syscall_cancel_arch, written in assembly, which gets the
 * number in %rsi. Its caller has loaded that: mov OFFSET(%rsp), %rsi. */
static long number_on_stack(const uint8_t *call, const uint64_t *stack)
{
    static const uint8_t alone[] = {0x48, 0x8b, 0x44, 0x24}, load[] = {0x48, 0x8b, 0x74, 0x24};
    static const uint8_t shared[] = {
        0x48, 0x89, 0xf0,             /* mov %rsi, %rax */
        0x48, 0x89, 0xd7,             /* mov %rdx, %rdi */
        0x48, 0x89, 0xce,             /* mov %rcx, %rsi */
        0x4c, 0x89, 0xc2,             /* mov %r8, %rdx */
        0x4d, 0x89, 0xca,             /* mov %r9, %r10 */
        0x4c, 0x8b, 0x44, 0x24, 0x08, /* mov 8(%rsp), %r8 */
        0x4c, 0x8b, 0x4c, 0x24, 0x10, /* mov 16(%rsp), %r9 */
        0x4c, 0x89, 0x5c, 0x24, 0x08, /* mov %r11, 8(%rsp) */
    };
    if (ends_with(call - 1, alone, sizeof alone))
        return (long)stack[call[-1] / sizeof *stack];
    if (!ends_with(call, shared, sizeof shared))
        return -1;
    const uint8_t *returns_to = (const uint8_t *)stack[0];
    for (const uint8_t *at = returns_to; at > returns_to - REACH; at--)
        if (ends_with(at - 1, load, sizeof load))
            return (long)stack[1 + at[-1] / sizeof *stack];
    return -1;
}

static long number_of(const ucontext_t *frame, const uint8_t *call)
{
    long number = number_before(call);
    if (number < 0)
        number = number_on_stack(call, (const uint64_t *)frame->uc_mcontext.gregs[REG_RSP]);
    return number;
}

static void begin_again(ucontext_t *frame, const uint8_t *call)
{
    long number = number_of(frame, call);
    if (!waits_again(number))
        return;
    frame->uc_mcontext.gregs[REG_RAX] = number;
    frame->uc_mcontext.gregs[REG_RIP] = (greg_t)call;
}

void begin_ended_call_again(ucontext_t *frame)
{
    const uint8_t *call = (const uint8_t *)frame->uc_mcontext.gregs[REG_RIP] - CALL_SIZE;
    if (frame->uc_mcontext.gregs[REG_RAX] == -EINTR && is_system_call(call))
        begin_again(frame, call);
}

void end_call(ucontext_t *frame, bool has_handler, bool restarts)
{
    greg_t *registers = frame->uc_mcontext.gregs;
    const uint8_t *next = (const uint8_t *)registers[REG_RIP];
    bool is_next = is_system_call(next);
    if (!has_handler && is_next && registers[REG_RAX] == __NR_restart_syscall) {
        begin_again(frame, next);
    } else if (!has_handler) {
        begin_ended_call_again(frame);
    } else if (!restarts && is_next && ends_interrupted(registers[REG_RAX])) {
        registers[REG_RAX] = -EINTR;
        registers[REG_RIP] += CALL_SIZE;
    }
}

/* No call with more parts is continued. */
#define MOST_PARTS 64

/* What is left of a transfer. */
struct rest {
    long number, arguments[6];
    struct msghdr message;
    struct iovec parts[MOST_PARTS];
};

/* Whether a write to this descriptor waits until all is written, unless it may not wait. */
static bool is_stream(long descriptor)
{
    struct stat about;
    if (system_call(__NR_fstat, descriptor, (long)&about, 0, 0, 0, 0) < 0)
        return false;
    return S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || S_ISCHR(about.st_mode);
}

/* Makes the parts behind the first `done` bytes. Returns their number; 0 if there are too many. */
static size_t skip(struct rest *rest, const struct iovec *parts, size_t count, size_t done)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        size_t over = done < parts[i].iov_len ? done : parts[i].iov_len;
        done -= over;
        if (over == parts[i].iov_len)
            continue;
        if (left == MOST_PARTS)
            return 0;
        rest->parts[left].iov_base = (char *)parts[i].iov_base + over;
        rest->parts[left++].iov_len = parts[i].iov_len - over;
    }
    return left;
}

static bool skip_in_parts(struct rest *rest, size_t done)
{
    long *a = rest->arguments;
    size_t left = skip(rest, (const struct iovec *)a[1], (size_t)a[2], done);
    a[1] = (long)rest->parts;
    a[2] = (long)left;
    return left != 0;
}

static bool skip_in_message(struct rest *rest, size_t done)
{
    const struct msghdr *whole = (const struct msghdr *)rest->arguments[1];
    rest->message = *whole;
    /* What comes along with the bytes came with the first. */
    rest->message.msg_control = NULL;
    rest->message.msg_controllen = 0;
    rest->message.msg_iov = rest->parts;
    rest->message.msg_iovlen = skip(rest, whole->msg_iov, whole->msg_iovlen, done);
    rest->arguments[1] = (long)&rest->message;
    return rest->message.msg_iovlen != 0;
}

/* Advances an argument that points to bytes, or items, and the one that counts them. */
static bool advance(struct rest *rest, int pointer, int count, long done, size_t size)
{
    rest->arguments[pointer] += done * (long)size;
    rest->arguments[count] -= done;
    return rest->arguments[count] > 0;
}

/* Whether a reader waits for all bytes, and takes those that it has read. */
static bool waits_for_all(long flags)
{
    return (flags & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
}

/* Finds the rest of a call that has returned `done`; false if it has none. */
static bool find_rest(struct rest *rest, long done)
{
    long *a = rest->arguments;
    switch (rest->number) {
    case __NR_write:
    case __NR_sendto:
        return is_stream(a[0]) && advance(rest, 1, 2, done, 1);
    case __NR_writev:
        return is_stream(a[0]) && skip_in_parts(rest, (size_t)done);
    case __NR_sendmsg:
        return skip_in_message(rest, (size_t)done);
    case __NR_sendmmsg:
        return advance(rest, 1, 2, done, sizeof(struct mmsghdr));
    case __NR_sendfile:
        a[3] -= done; /* the kernel has advanced the offset */
        return is_stream(a[0]) && a[3] > 0;
    case __NR_recvfrom:
        return waits_for_all(a[3]) && advance(rest, 1, 2, done, 1);
    case __NR_recvmsg:
        return waits_for_all(a[2]) && skip_in_message(rest, (size_t)done);
    case __NR_recvmmsg:
        return (a[3] & MSG_WAITFORONE) == 0 && advance(rest, 1, 2, done, sizeof(struct mmsghdr));
    case __NR_getrandom:
        return advance(rest, 0, 1, done, 1);
    default:
        return false;
    }
}

static bool is_cut_short_with(const ucontext_t *frame, struct rest *rest)
{
    static const int passed[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    const greg_t *registers = frame->uc_mcontext.gregs;
    const uint8_t *call = (const uint8_t *)registers[REG_RIP] - CALL_SIZE;
    if (registers[REG_RAX] <= 0 || !is_system_call(call))
        return false;
    rest->number = number_of(frame, call);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        rest->arguments[i] = registers[passed[i]];
    return find_rest(rest, registers[REG_RAX]);
}

bool is_cut_short(const ucontext_t *frame)
{
    struct rest rest;
    return is_cut_short_with(frame, &rest);
}

void transfer_rest(ucontext_t *frame)
{
    struct rest rest;
    if (!is_cut_short_with(frame, &rest))
        return;
    const long *a = rest.arguments;
    long more = system_call(rest.number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (more > 0)
        frame->uc_mcontext.gregs[REG_RAX] += more;
}
