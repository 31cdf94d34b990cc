/*
 * Functions that hop by an argument: which object has which core.
 *
 * Such a function works on one of many objects, and a thread should run it where that object is in
 * the cache. So each object has one core, from its first call until it is forgotten. Everything is
 * in one table of fixed size, without a lock. An object is the 16 bytes into which the argument
 * points:
 *
 * - The table has BUCKETS buckets of WAYS places; an object's bucket follows from its address.
 * - A new object takes a place. If all are taken, the object used longest ago is forgotten. Objects
 *   without a core go first; of equals, the one in the lowest place goes first.
 * - An object gets a core after as many calls as the plan specifies for the function, mostly none.
 *   It gets the core with the fewest objects, the lowest of equals. Until then its calls stay where
 *   they are.
 * - Time is counted in calls: each EPOCH calls of a thread about objects begin a new epoch. Objects
 *   without calls in LONG epochs are then forgotten.
 * - The objects that had calls in the previous epoch are then spread. While one core has at least
 *   two and a quarter more of them than another, its first one in the table moves there. Objects
 *   get their cores when they come, perhaps among many that are no longer used. Without spreading,
 *   two objects between which a server alternates could stay on one core.
 * - A value that cannot be an object has no core, and the thread stays where it is: values below
 *   64 KiB, where nothing is mapped, and values that are not user addresses.
 *
 * Nothing here reads the memory pointed to. An address that was freed and reused has at best the
 * right core, at worst the wrong one until it is forgotten. With one thread, the sequence of
 * arguments determines everything. If threads race for a place, one of them tries again. Two may
 * enter an object twice; then the first in its bucket counts.
 *
 * An object and its core are one word, changed by compare-and-swap. A call that finds its object on
 * a core writes only the epoch, and only once per epoch, so that cores do not take the table's
 * lines from each other. Calls before the object has a core are counted next to the word, by plain
 * stores. If threads race, some calls may not count, or may count for the next object in that
 * place. Rejected: to count them in the word, with a locked instruction for each; to measure time
 * by the clock, which a replay does not know; to hash objects to cores, which too often puts half
 * of a few objects on one core; and to hop depending on how much a call will access, which no entry
 * knows, and which without a hook at returns is unknown for earlier calls too.
 */
#include "object_table.h"

#define LONG 16

struct object objects[BUCKETS][WAYS] __attribute__((aligned(64)));
struct epoch epoch;
static uint32_t counts[MOST_CORES] __attribute__((aligned(64)));

static inline bool has_core(uint64_t word)
{
    return word % STATES < MOST_CORES;
}

/* Whether this thread has changed what the place holds. */
static bool replace(struct object *object, uint64_t from, uint64_t to)
{
    if (!__atomic_compare_exchange_n(&object->word, &from, to, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    if (from != 0 && has_core(from))
        __atomic_sub_fetch(&counts[from % STATES], 1, __ATOMIC_RELAXED);
    if (to != 0 && has_core(to))
        __atomic_add_fetch(&counts[to % STATES], 1, __ATOMIC_RELAXED);
    return true;
}

static uint16_t age_of(const struct object *object, uint16_t now)
{
    int16_t age = (int16_t)(now - __atomic_load_n(&object->named, __ATOMIC_RELAXED));
    /* Another thread may already be one epoch ahead. */
    return age > 0 ? (uint16_t)age : 0;
}

/* The core with the fewest objects, the lowest of equals. */
static uint32_t emptiest_of(const uint32_t *by_core)
{
    uint32_t emptiest = 0, least = UINT32_MAX;
    for (uint32_t core = 0; core < program.cores; core++) {
        uint32_t count = __atomic_load_n(&by_core[core], __ATOMIC_RELAXED);
        if (count < least) {
            emptiest = core;
            least = count;
        }
    }
    return emptiest;
}

static uint32_t emptiest_core(void)
{
    return emptiest_of(counts);
}

/* Whether the object has a core and had calls in the previous epoch; `now` has just begun. */
static bool is_in_use(const struct object *object, uint64_t word, uint16_t now)
{
    return word != 0 && has_core(word) && age_of(object, now) <= 1;
}

/* Moves the first object in use that is on one core to another; false if there is none. */
static bool move_one(uint32_t from, uint32_t to, uint16_t now)
{
    for (struct object *object = *objects; object < *objects + BUCKETS * WAYS; object++) {
        uint64_t word = __atomic_load_n(&object->word, __ATOMIC_RELAXED);
        if (is_in_use(object, word, now) && word % STATES == from &&
            replace(object, word, word - from + to))
            return true;
    }
    return false;
}

/* One thread at a time spreads; others find it done. */
static void spread(uint16_t now)
{
    static uint32_t in_use[MOST_CORES], is_spreading;
    if (__atomic_exchange_n(&is_spreading, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    for (uint32_t core = 0; core < program.cores; core++)
        in_use[core] = 0;
    for (struct object *object = *objects; object < *objects + BUCKETS * WAYS; object++) {
        uint64_t word = __atomic_load_n(&object->word, __ATOMIC_RELAXED);
        if (is_in_use(object, word, now))
            in_use[word % STATES]++;
    }
    for (;;) {
        uint32_t fullest = 0, emptiest = emptiest_of(in_use);
        for (uint32_t core = 1; core < program.cores; core++)
            if (in_use[core] > in_use[fullest])
                fullest = core;
        uint32_t most = in_use[fullest], fewest = in_use[emptiest];
        if (most < fewest + 2 || 4 * most < 5 * fewest || !move_one(fullest, emptiest, now))
            break;
        in_use[fullest]--;
        in_use[emptiest]++;
    }
    __atomic_store_n(&is_spreading, 0, __ATOMIC_RELEASE);
}

static void begin_epoch(void)
{
    uint16_t now = (uint16_t)__atomic_add_fetch(&epoch.number, 1, __ATOMIC_RELAXED);
    for (struct object *object = *objects; object < *objects + BUCKETS * WAYS; object++) {
        uint64_t word = __atomic_load_n(&object->word, __ATOMIC_RELAXED);
        if (word != 0 && age_of(object, now) >= LONG)
            replace(object, word, 0);
    }
    spread(now);
}

/* The first object in the bucket that was used longest ago, of those without a core if any. */
static struct object *oldest_in(struct object *bucket, uint16_t now)
{
    struct object *oldest = NULL;
    bool is_placed = true;
    for (int way = 0; way < WAYS; way++) {
        bool has = has_core(__atomic_load_n(&bucket[way].word, __ATOMIC_RELAXED));
        bool is_older = oldest == NULL || age_of(&bucket[way], now) > age_of(oldest, now);
        if (has == is_placed ? is_older : is_placed) {
            oldest = &bucket[way];
            is_placed = has;
        }
    }
    return oldest;
}

/* Counts a call that leaves its object without a core; false if the call does not. */
static inline bool stays_early(struct object *object, uint32_t hook)
{
    uint16_t calls = __atomic_load_n(&object->calls, __ATOMIC_RELAXED);
    if (calls >= after_of(hook))
        return false;
    __atomic_store_n(&object->calls, (uint16_t)(calls + 1), __ATOMIC_RELAXED);
    return true;
}

/* An object may get its core at this call, or is new to its bucket. Returns its state afterwards.
 */
static __attribute__((noinline)) uint32_t settle(struct object *bucket, uint64_t granule,
                                                 uint16_t now, uint32_t hook)
{
    uint32_t after = after_of(hook);
    for (;;) {
        struct object *known = NULL, *place_free = NULL, *oldest = oldest_in(bucket, now);
        uint64_t longest_ago = __atomic_load_n(&oldest->word, __ATOMIC_RELAXED), own = 0;
        for (int way = 0; way < WAYS && known == NULL; way++) {
            uint64_t word = __atomic_load_n(&bucket[way].word, __ATOMIC_RELAXED);
            if (word >> STATE_BITS == granule)
                known = &bucket[way], own = word;
            else if (word == 0 && place_free == NULL)
                place_free = &bucket[way];
        }
        /* Another thread may have entered it in the meantime; its calls then count from there. */
        if (known != NULL && (has_core(own) || stays_early(known, hook)))
            return own % STATES;
        if (known == NULL && place_free == NULL) {
            replace(oldest, longest_ago, 0);
            continue;
        }
        struct object *object = known == NULL ? place_free : known;
        uint32_t state = known != NULL || after == 0 ? emptiest_core() : MOST_CORES;
        if (!replace(object, own, granule << STATE_BITS | state))
            continue;
        __atomic_store_n(&object->named, now, __ATOMIC_RELAXED);
        if (known == NULL) {
            __atomic_store_n(&object->calls, 1, __ATOMIC_RELAXED);
            __atomic_store_n(&object->hook, hook, __ATOMIC_RELAXED);
            bump(&counters_of(hook)[CAME]);
        }
        return state;
    }
}

/* The core of an object at a call of a function, or MOST_CORES. */
static uint32_t state_of(uint32_t hook, uintptr_t address)
{
    uint64_t granule = address >> GRANULE_LOG;
    struct object *bucket = bucket_of(granule);
    bump(&self.named);
    if (UNLIKELY(self.named % EPOCH == 0))
        begin_epoch();
    uint16_t now = current_epoch();
    for (int way = 0; way < WAYS; way++) {
        uint64_t word = __atomic_load_n(&bucket[way].word, __ATOMIC_RELAXED);
        if (word >> STATE_BITS != granule)
            continue;
        if (UNLIKELY(!has_core(word)) && !stays_early(&bucket[way], hook))
            break;
        if (UNLIKELY(__atomic_load_n(&bucket[way].named, __ATOMIC_RELAXED) != now))
            __atomic_store_n(&bucket[way].named, now, __ATOMIC_RELAXED);
        return word % STATES;
    }
    return settle(bucket, granule, now, hook);
}

int32_t core_by_argument(uint32_t *entered, uintptr_t at)
{
    uint32_t hook = *entered, number = program.hooks[hook].argument;
    if (number > LAST_ARGUMENT)
        return core_at_call(entered);
    uintptr_t address = argument_of(number, at);
    if (UNLIKELY(!is_object(address)))
        return -1;
    uint32_t state = state_of(hook, address);
    bump(&counters_of(hook)[state < MOST_CORES ? BY_CORE + state : EARLY]);
    return state < MOST_CORES ? (int32_t)state : -1;
}

/* A forked child begins without objects, as it begins without counts. */
void objects_forked(void)
{
    for (struct object *object = *objects; object < *objects + BUCKETS * WAYS; object++)
        if (object->word != 0)
            object->word = 0;
    for (uint32_t core = 0; core < program.cores && program.by_argument; core++)
        counts[core] = 0;
    epoch.number = 0;
    self.named = 0;
}

uint64_t objects_seen(uint32_t hook)
{
    return sum_of(hook, CAME);
}

uint64_t early_calls(uint32_t hook)
{
    return sum_of(hook, EARLY);
}

uint64_t calls_by_core(uint32_t hook, uint32_t core)
{
    return sum_of(hook, BY_CORE + core);
}

uint64_t objects_known(uint32_t hook)
{
    uint64_t known = 0;
    for (const struct object *object = *objects; object < *objects + BUCKETS * WAYS; object++)
        known += __atomic_load_n(&object->word, __ATOMIC_RELAXED) != 0 &&
                 __atomic_load_n(&object->hook, __ATOMIC_RELAXED) == hook;
    return known;
}
