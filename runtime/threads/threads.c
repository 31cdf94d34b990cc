/*
 * Counters per thread, without a lock and without the C library.
 *
 * A hook may run anywhere: in malloc, in a signal handler, on a coroutine's stack. So a thread's
 * counters cannot come from malloc. pthread keys, which call destructors at thread end, may
 * allocate too. Instead each thread maps its counters by a bare system call at its first hook and
 * adds them to a list that only grows. A server with a thread per connection must not grow without
 * bound. So a thread first checks a few counters for one whose owner has ended (tgkill with signal
 * 0 reports that) and continues counting there. Rejected: adding up counts at thread end.
 *
 * A program may forbid system calls to all its threads at once, by a filter that kills for others.
 * A hook of another thread may be about to make one. So hooks announce their calls, and before the
 * filter is installed, the runtime ends them: it waits for those under way, and refuses others.
 */
#include "thread_state.h"
#include "processors.h"

#include <asm/unistd.h>
#include <errno.h>

/* How many owners a new thread checks. If one thread ends for each that starts, about one in this
 * many has ended. */
#define LOOKS 8
/* The most open calls in a thread; deeper ones do not move it. */
#define DEPTH 2048

__thread struct thread_state self = {.core = -1};
size_t more_size, more_at;
static struct thread_counters *all;
static struct thread_counters *cursor;
/* The counters of threads that found no memory. Two such threads may lose some counts. */
static struct thread_counters *shared;

/* How many hooks are making system calls, and whether that is over. */
static uint32_t making_calls, calls_ended;

bool begin_calls(void)
{
    __atomic_add_fetch(&making_calls, 1, __ATOMIC_SEQ_CST);
    if (LIKELY(!__atomic_load_n(&calls_ended, __ATOMIC_SEQ_CST)))
        return true;
    end_calls();
    return false;
}

void end_calls(void)
{
    __atomic_sub_fetch(&making_calls, 1, __ATOMIC_SEQ_CST);
}

/* How often, and how long in nanoseconds, hooks that make system calls are waited for. A hook that
 * a handler has interrupted may never end. */
#define WAITS 1000
#define WAIT_NS 1000000

void end_calls_for_good(void)
{
    const int64_t wait[2] = {0, WAIT_NS};
    __atomic_store_n(&calls_ended, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < WAITS && __atomic_load_n(&making_calls, __ATOMIC_SEQ_CST) != 0; i++)
        system_call(__NR_nanosleep, (long)wait, 0, 0, 0, 0, 0);
}

static size_t size_of_calls(void)
{
    if (!program.goes_back)
        return 0;
    return program.hook_count * sizeof(struct ending) + (DEPTH + 1) * sizeof(struct call);
}

static size_t size_of_objects(void)
{
    return program.by_argument ? program.hook_count * COUNTERS * sizeof(uint64_t) : 0;
}

static size_t size_of_counters(void)
{
    return sizeof(struct thread_counters) + program.hook_count * sizeof(struct tally) +
           size_of_calls() + size_of_objects() + more_size;
}

static void publish(struct thread_counters *counters)
{
    struct thread_counters *head = __atomic_load_n(&all, __ATOMIC_RELAXED);
    do
        counters->next = head;
    while (!__atomic_compare_exchange_n(&all, &head, counters, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

/* Counters whose owner is gone, or that a former thread with this id left. */
static struct thread_counters *idle_counters(int process, int thread)
{
    struct thread_counters *counters = __atomic_load_n(&cursor, __ATOMIC_RELAXED);
    for (int looks = 0; looks < LOOKS; looks++) {
        if (counters == NULL)
            counters = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
        if (counters == NULL)
            return NULL;
        int owner = __atomic_load_n(&counters->owner, __ATOMIC_RELAXED);
        bool idle =
            owner == thread || system_call(__NR_tgkill, process, owner, 0, 0, 0, 0) == -ESRCH;
        struct thread_counters *next = counters->next;
        if (owner != 0 && idle &&
            __atomic_compare_exchange_n(&counters->owner, &owner, thread, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            __atomic_store_n(&counters->is_placed, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&counters->is_moved, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&cursor, next, __ATOMIC_RELAXED);
            return counters;
        }
        counters = next;
    }
    __atomic_store_n(&cursor, counters, __ATOMIC_RELAXED);
    return NULL;
}

bool prepare_threads(void)
{
    more_at = size_of_counters() - more_size;
    shared = map_memory(size_of_counters());
    if (shared == NULL) {
        complain("no memory for the counters of %u hooks: running without hops",
                 program.hook_count);
        return false;
    }
    publish(shared); /* its owner is 0, so no thread takes it over */
    return true;
}

static void set_calls(struct thread_counters *counters)
{
    if (!program.goes_back)
        return;
    counters->endings = (struct ending *)&counters->tallies[program.hook_count];
    self.endings = counters->endings;
    self.open = (struct call *)&counters->endings[program.hook_count];
    self.open->at = UINTPTR_MAX;
    /* Several threads may count in the shared counters, so none has calls there. */
    self.last_open = self.open + (counters->owner != 0 ? DEPTH : 0);
}

/* Counters for the calling thread alone; NULL without memory. */
static struct thread_counters *own_counters(void)
{
    int process = (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    int thread = (int)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
    struct thread_counters *counters = idle_counters(process, thread);
    if (counters == NULL && (counters = map_memory(size_of_counters())) != NULL) {
        counters->owner = thread;
        publish(counters);
    }
    return counters;
}

void take_counters(void)
{
    struct thread_counters *counters = NULL;
    if (begin_calls()) {
        counters = own_counters();
        end_calls();
    }
    if (counters == NULL)
        counters = shared;
    self.counters = counters;
    self.tallies = counters->tallies;
    self.team = next_team();
    set_calls(counters);
    if (program.by_argument)
        self.objects = counters->objects =
            (uint64_t *)((char *)counters + more_at - size_of_objects());
}

/* In a forked child: the parent's counts are not the child's, and its threads do not exist here. */
void forget_threads(void)
{
    size_t size = size_of_counters();
    struct thread_counters *counters = all;
    self.tallies = NULL;
    self.counters = NULL;
    self.open = NULL;
    /* For a thread that is already on the right core, enter.S assumes that a set backend means that
     * there are counters. */
    self.backend = NULL;
    self.core = -1;
    self.counted = 0;
    self.stopped = self.bound;
    self.blocking = false;
    cursor = NULL;
    all = NULL;
    making_calls = 0;
    while (counters != NULL) {
        struct thread_counters *next = counters->next;
        if (counters != shared)
            system_call(__NR_munmap, (long)counters, (long)size, 0, 0, 0, 0);
        counters = next;
    }
    shared->failed_hops = shared->declined_hops = 0;
    for (int i = 0; i < LENGTHS; i++)
        shared->lengths[i] = 0;
    for (uint32_t i = 0; i < program.hook_count; i++)
        if (shared->tallies[i].calls != 0 || shared->tallies[i].hops != 0)
            shared->tallies[i] = (struct tally){0};
    for (uint32_t i = 0; i < program.hook_count && shared->endings != NULL; i++)
        shared->endings[i] = (struct ending){0};
    for (size_t i = 0; i < size_of_objects() / sizeof *shared->objects && shared->objects != NULL;
         i++)
        shared->objects[i] = 0;
    for (size_t at = more_at; at < more_at + more_size; at += sizeof(uint64_t))
        *(uint64_t *)((char *)shared + at) = 0;
    publish(shared);
}

struct thread_counters *counters_of_thread(int thread)
{
    struct thread_counters *counters = __atomic_load_n(&all, __ATOMIC_ACQUIRE);
    while (counters != NULL && __atomic_load_n(&counters->owner, __ATOMIC_RELAXED) != thread)
        counters = counters->next;
    return counters;
}

void note_placed(int thread)
{
    struct thread_counters *counters = thread == 0 ? NULL : counters_of_thread(thread);
    if (counters != NULL)
        __atomic_store_n(&counters->is_placed, 1, __ATOMIC_RELAXED);
}

const struct thread_counters *all_counters(void)
{
    return __atomic_load_n(&all, __ATOMIC_ACQUIRE);
}

void record_length(struct thread_counters *counters, uint64_t cycles)
{
    int power = 63 - __builtin_clzll(cycles | 1);
    bump(&counters->lengths[power < LENGTHS ? power : LENGTHS - 1]);
}
