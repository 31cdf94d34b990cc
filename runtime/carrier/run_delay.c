/*
 * How long the kernel kept carriers waiting for their CPUs: the second number of their schedstat.
 *
 * A file that is opened takes the lowest free descriptor, which a program expects for the file that
 * it opens next. The watchdog looks about fifty times a second, so now and then the program would
 * find that number taken. So a thread with an empty table of descriptors reads these files. The
 * watchdog cannot be this thread: it starts carriers, which share the table of the thread that
 * starts them. Where the kernel has no such tables (before Linux 5.9), the watchdog reads the
 * files.
 *
 * Rejected: files that stay open under high numbers, which programs see that count descriptors.
 */
#define _GNU_SOURCE
#include "run_delay.h"
#include "bare.h"
#include "cores.h"
#include "filter.h"
#include "system.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>

#define STACK_SIZE 16384

/* What the reader does next; the watchdog and the reader wait for each other's change. */
enum order { STARTS, READY, READ, LEAVE, CANNOT };

static struct bare_thread reader;
static void *stack;
static uint32_t order;
static struct run_delay *asked;
static uint32_t asked_count;
/* Whether a filter of system calls would kill the reader. */
static bool is_filtered;

bool prepare_run_delays(void)
{
    stack = map_memory(STACK_SIZE);
    is_filtered = close_range_kills();
    return stack != NULL;
}

static bool read_one(int thread, uint64_t *delay_ns)
{
    char path[64], text[96];
    format_text(path, sizeof path, "/proc/self/task/%d/schedstat", (unsigned)thread);
    long file = system_call(__NR_open, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
    if (file < 0)
        return false;
    long length = system_call(__NR_read, file, (long)text, sizeof text - 1, 0, 0, 0);
    system_call(__NR_close, file, 0, 0, 0, 0, 0);
    text[length > 0 ? length : 0] = '\0';
    const char *at = text;
    while (*at >= '0' && *at <= '9')
        at++;
    if (*at++ != ' ')
        return false;
    for (*delay_ns = 0; *at >= '0' && *at <= '9'; at++)
        *delay_ns = *delay_ns * 10 + (uint64_t)(*at - '0');
    return true;
}

static void read_all(struct run_delay *delays, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        delays[i].is_known = delays[i].thread > 0 && read_one(delays[i].thread, &delays[i].ns);
}

static void set_order(uint32_t next)
{
    __atomic_store_n(&order, next, __ATOMIC_RELEASE);
    futex_wake(&order, 1);
}

static uint32_t order_after(uint32_t last)
{
    uint32_t now;
    while ((now = __atomic_load_n(&order, __ATOMIC_ACQUIRE)) == last)
        futex_wait(&order, last, NULL);
    return now;
}

static void serve(void *argument)
{
    (void)argument;
    set_signals(~0ull, NULL);
    system_call(__NR_prctl, PR_SET_NAME, (long)"corehop-reader", 0, 0, 0, 0);
    bool is_apart = system_call(__NR_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE, 0, 0, 0) == 0;
    set_order(is_apart ? READY : CANNOT);
    while (is_apart && order_after(READY) == READ) {
        read_all(asked, asked_count);
        set_order(READY);
    }
    system_call(__NR_exit, 0, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

static bool has_reader(void)
{
    if (is_filtered || __atomic_load_n(&order, __ATOMIC_ACQUIRE) == CANNOT)
        return false;
    if (__atomic_load_n(&reader.id, __ATOMIC_ACQUIRE) != 0)
        return true;
    order = STARTS;
    return start_bare(serve, NULL, (uint8_t *)stack + STACK_SIZE, &reader) &&
           order_after(STARTS) == READY;
}

void read_run_delays(struct run_delay *delays, uint32_t count)
{
    asked = delays;
    asked_count = count;
    if (!has_reader()) {
        read_all(delays, count);
        return;
    }
    set_order(READ);
    order_after(READ);
}

void end_reader(void)
{
    if (__atomic_load_n(&order, __ATOMIC_ACQUIRE) == READY)
        set_order(LEAVE);
    await_end(&reader);
}

void reader_forked(void)
{
    reader = (struct bare_thread){0};
    order = order == CANNOT ? CANNOT : STARTS;
}
