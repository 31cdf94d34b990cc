/*
 * Counters per thread, without a lock and without the C library.
 *
 * A hook may run anywhere: in malloc, in a signal handler, on a coroutine's stack. So a thread's
 * counters cannot come from malloc, and pthread keys, which call destructors at thread end, may
 * allocate too. Instead each thread maps its block by a bare system call at its first hook and
 * pushes it on a list that only grows. To keep a server that makes a thread per connection from
 * growing for ever, a thread first looks at a few blocks for one whose owner has ended (tgkill
 * with signal 0 says so) and goes on counting there. Rejected: folding counts at thread end.
 */
#include "place.h"
#include "processors.h"

#include <asm/unistd.h>
#include <errno.h>

/* How many blocks a new thread asks about. With one thread ending for each that starts, about one
 * block in this many is idle. */
#define LOOKS 8
/* Open calls in a thread; deeper ones do not move it. */
#define DEPTH 2048

__thread struct place place = {.core = -1};
size_t more_size, more_at;
static struct block *blocks;
static struct block *cursor;
/* Where threads count when no memory is left: still counted, though two of them may lose counts. */
static struct block *shared;

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

static size_t size_of_block(void)
{
    return sizeof(struct block) + program.hook_count * sizeof(struct tally) + size_of_calls() +
           size_of_objects() + more_size;
}

static void publish(struct block *block)
{
    struct block *head = __atomic_load_n(&blocks, __ATOMIC_RELAXED);
    do
        block->next = head;
    while (!__atomic_compare_exchange_n(&blocks, &head, block, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

/* A block whose owner is gone, or which a former thread of this id left. */
static struct block *idle_block(int process, int thread)
{
    struct block *block = __atomic_load_n(&cursor, __ATOMIC_RELAXED);
    for (int looks = 0; looks < LOOKS; looks++) {
        if (block == NULL)
            block = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);
        if (block == NULL)
            return NULL;
        int owner = __atomic_load_n(&block->owner, __ATOMIC_RELAXED);
        bool idle =
            owner == thread || system_call(__NR_tgkill, process, owner, 0, 0, 0, 0) == -ESRCH;
        struct block *next = block->next;
        if (owner != 0 && idle &&
            __atomic_compare_exchange_n(&block->owner, &owner, thread, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            __atomic_store_n(&cursor, next, __ATOMIC_RELAXED);
            return block;
        }
        block = next;
    }
    __atomic_store_n(&cursor, block, __ATOMIC_RELAXED);
    return NULL;
}

bool prepare_threads(void)
{
    more_at = size_of_block() - more_size;
    shared = map_memory(size_of_block());
    if (shared == NULL) {
        complain("no memory for the counters of %u hooks: running without hops",
                 program.hook_count);
        return false;
    }
    publish(shared); /* its owner is 0, so nobody takes it over */
    return true;
}

static void set_calls(struct block *block)
{
    if (!program.goes_back)
        return;
    block->endings = (struct ending *)&block->tallies[program.hook_count];
    place.endings = block->endings;
    place.open = (struct call *)&block->endings[program.hook_count];
    place.open->at = UINTPTR_MAX;
    /* Several threads may count in the shared block, so none has calls there. */
    place.last_open = place.open + (block->owner != 0 ? DEPTH : 0);
}

void take_block(void)
{
    int process = (int)system_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
    int thread = (int)system_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
    struct block *block = idle_block(process, thread);
    if (block == NULL && (block = map_memory(size_of_block())) != NULL) {
        block->owner = thread;
        publish(block);
    }
    if (block == NULL)
        block = shared;
    place.block = block;
    place.tallies = block->tallies;
    place.team = next_team();
    set_calls(block);
    if (program.by_argument)
        place.objects = block->objects = (uint64_t *)((char *)block + more_at - size_of_objects());
}

/* In a forked child: the parent's counts are the parent's, and its threads are not here. */
void forget_threads(void)
{
    size_t size = size_of_block();
    struct block *block = blocks;
    place.tallies = NULL;
    place.block = NULL;
    place.open = NULL;
    /* Of a thread that it lets be, enter.S takes the backend for a promise that there are counters.
     */
    place.backend = NULL;
    place.core = -1;
    place.counted = 0;
    place.stopped = place.bound;
    cursor = NULL;
    blocks = NULL;
    while (block != NULL) {
        struct block *next = block->next;
        if (block != shared)
            system_call(__NR_munmap, (long)block, (long)size, 0, 0, 0, 0);
        block = next;
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

const struct block *all_blocks(void)
{
    return __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);
}

void record_length(struct block *block, uint64_t cycles)
{
    int power = 63 - __builtin_clzll(cycles | 1);
    bump(&block->lengths[power < LENGTHS ? power : LENGTHS - 1]);
}
