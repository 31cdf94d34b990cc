/*
 * The interface to the kernel (system.c), and what any file may need for a function that runs
 * within a hook.
 *
 * System calls are made by instruction, since libc's wrappers may change vector registers and
 * errno. They return a negative errno.
 */
#ifndef COREHOP_SYSTEM_H
#define COREHOP_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

long system_call(long number, long a, long b, long c, long d, long e, long f);
void *map_memory(size_t size);
/* Copies the program's memory, if a pointer of the program's is valid. */
bool read_memory(void *to, const void *from, size_t size);
/* Sets the calling kernel thread's mask; stores the former one in `before`, unless that is NULL. */
void set_signals(uint64_t mask, uint64_t *before);
/* Signals that a write of the runtime may cause must not reach the program. */
struct held_signals {
    uint64_t mask, ours;
};
void hold_write_signals(struct held_signals *held);
void release_write_signals(const struct held_signals *held, bool has_failed);
/* Records which file standard error is at the start. */
void prepare_messages(void);
/* Prints one line on standard error, unless the program now uses its number for something else.
 * Knows %s, %u, %d and %lu. It does not use libc, so any thread may call it. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes as much as fits into `room` bytes, zero-terminated, and returns the length. */
size_t format_text(char *text, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline long futex_wait(uint32_t *word, uint32_t expected, const void *timeout)
{
    return system_call(202, (long)word, 128, expected, (long)timeout, 0, 0);
}

static inline long futex_wake(uint32_t *word, uint32_t count)
{
    return system_call(202, (long)word, 129, count, 0, 0, 0);
}

/* An increment that a signal handler on the same thread cannot tear; no lock, since no other
 * thread writes the counter. */
static inline void bump(uint64_t *counter)
{
    __asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
}

#endif
