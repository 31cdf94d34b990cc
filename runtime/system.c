/*
 * The edge to the kernel and to the person who reads standard error.
 *
 * libc's wrappers may use vector registers and set errno, neither of which a hook may touch, so the
 * hot path makes its system calls here. complain() is for start-up and exit only.
 */
#include "corehop.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

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

/* One write, so that lines of several processes do not mix. */
void complain(const char *format, ...)
{
    char line[1024] = "corehop: ";
    size_t start = 9;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + start, sizeof line - start - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    size_t end = start + (size_t)length;
    if (end > sizeof line - 2)
        end = sizeof line - 2;
    line[end] = '\n';
    if (write(STDERR_FILENO, line, end + 1) < 0)
        return;
}
