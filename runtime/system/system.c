/*
 * The interface to the kernel and to standard error.
 *
 * libc's wrappers may use vector registers and set errno, and a hook must change neither. So the
 * hot path makes its system calls here. The runtime's own threads run on thread-local storage of
 * other threads, so their messages are formatted without libc too.
 */
#include "system.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

long system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

/* Anonymous memory, zeroed, or NULL. */
void *map_memory(size_t size)
{
    long mapped = system_call(__NR_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped < 0 && mapped > -4096 ? NULL : (void *)mapped;
}

bool read_memory(void *to, const void *from, size_t size)
{
    const struct iovec here = {to, size}, there = {(void *)from, size};
    const long process = system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    long result = system_call(__NR_process_vm_readv, process, (long)&here, 1, (long)&there, 1, 0);
    if (result == -EFAULT || (result >= 0 && (size_t)result < size))
        return false;
    /* A filter may refuse the call. */
    if (result < 0)
        memcpy(to, from, size);
    return true;
}

void set_signals(uint64_t mask, uint64_t *before)
{
    system_call(__NR_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)before, sizeof mask, 0, 0);
}

/* Writes a number's digits backwards from `end` and returns where they begin. */
static char *digits(char *end, uint64_t number)
{
    *--end = '\0';
    do
        *--end = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return end;
}

static size_t format_list(char *text, size_t room, const char *format, va_list arguments)
{
    size_t used = 0;
    char number[24];
    for (; *format != '\0'; format++) {
        char one[2] = {*format, '\0'};
        const char *part = one;
        if (format[0] == '%') {
            format++;
            if (*format == 's') {
                part = va_arg(arguments, const char *);
            } else if (*format == 'l') {
                format++;
                part = digits(number + sizeof number, va_arg(arguments, unsigned long));
            } else if (*format == 'u' || *format == 'd') {
                part = digits(number + sizeof number, va_arg(arguments, unsigned));
            }
        }
        for (; *part != '\0' && used + 1 < room; part++)
            text[used++] = *part;
    }
    text[used] = '\0';
    return used;
}

size_t format_text(char *text, size_t room, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t length = format_list(text, room, format, arguments);
    va_end(arguments);
    return length;
}

static unsigned long first_device, first_inode;
static bool has_begun;

/* Whether descriptor 2 is still for messages. A program may have closed it and opened a data file
 * or a connection, which then has that number. Messages go to the file that was there at the start,
 * to devices and pipes, and to files that are open for appending, as logs are. */
static bool is_for_messages(void)
{
    struct stat found;
    if (!has_begun)
        return true;
    if (system_call(__NR_fstat, 2, (long)&found, 0, 0, 0, 0) != 0)
        return false;
    if (first_inode != 0 && first_device == found.st_dev && first_inode == found.st_ino)
        return true;
    if (S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode))
        return true;
    return S_ISREG(found.st_mode) &&
           (system_call(__NR_fcntl, 2, F_GETFL, 0, 0, 0, 0) & O_APPEND) != 0;
}

void prepare_messages(void)
{
    struct stat found;
    has_begun = true;
    if (system_call(__NR_fstat, 2, (long)&found, 0, 0, 0, 0) == 0) {
        first_device = found.st_dev;
        first_inode = found.st_ino;
    }
}

/* A pipe without a reader, and a file that gets too large, which the program itself may never meet.
 */
static const uint64_t of_writes = 1ull << (SIGPIPE - 1) | 1ull << (SIGXFSZ - 1);

void hold_write_signals(struct held_signals *held)
{
    uint64_t pending = 0;
    system_call(__NR_rt_sigprocmask, SIG_BLOCK, (long)&of_writes, (long)&held->mask,
                sizeof of_writes, 0, 0);
    /* Without need, no call that a filter of the program may forbid. */
    if ((held->mask & of_writes) != 0)
        system_call(__NR_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
    held->ours = of_writes & ~pending;
}

void release_write_signals(const struct held_signals *held, bool has_failed)
{
    const long now[2] = {0, 0};
    while (has_failed && system_call(__NR_rt_sigtimedwait, (long)&held->ours, 0, (long)now,
                                     sizeof held->ours, 0, 0) > 0)
        continue;
    system_call(__NR_rt_sigprocmask, SIG_SETMASK, (long)&held->mask, 0, sizeof held->mask, 0, 0);
}

/* One write, so that lines of several processes do not mix. */
void complain(const char *format, ...)
{
    char line[1024] = "corehop: ";
    size_t start = 9;
    va_list arguments;
    va_start(arguments, format);
    size_t end = start + format_list(line + start, sizeof line - start - 1, format, arguments);
    va_end(arguments);
    line[end] = '\n';
    if (!is_for_messages())
        return;
    struct held_signals held;
    hold_write_signals(&held);
    long written = system_call(__NR_write, 2, (long)line, (long)(end + 1), 0, 0, 0);
    release_write_signals(&held, written < 0);
}
