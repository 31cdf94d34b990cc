/*
 * Hops that respect load: no hop to a core with a long queue, and none while other programs use the
 * CPUs of a team.
 *
 * A plan knows where a single thread would find its phase in the cache. If several threads are
 * under way, a hop may end in a queue. As long as all of them compute, that costs little: others
 * wait for the core that the thread leaves, too, and a warm cache is worth a wait. It costs much if
 * the thread ahead blocks in the kernel: until a spare carrier comes, the core is idle. So a thread
 * hops unless the target's queue, including the running thread, is longer than its own core's queue
 * by COREHOP_QUEUE. The default is LONG_QUEUE. It is SHORT_QUEUE for a while after the watchdog has
 * seen threads wait for one that blocked. A thread that does not hop continues where it is. A
 * thread that is at home compares with the shortest queue of its team, since it shares the team's
 * CPUs. The length of a queue needs no separate counter: whoever pushes a thread notes in it how
 * many are behind.
 *
 * Other programs count too. A carrier that shares its CPU runs late, often by milliseconds, and so
 * does its thread. The kernel counts that as the carrier's run delay (schedstat). The watchdog
 * reads it about fifty times a second while threads hop. A team stops if one of its CPUs was
 * unavailable for COREHOP_RUN_DELAY percent (33) of the time. Its threads go home, where the
 * kernel's scheduler places them as it would without corehop. The team tries again after
 * SHORTEST_PAUSE_US, and each time that this was too early, after twice as long. Long queues are
 * tried again in the same way. It was too early unless threads have since hopped for as long as
 * they rested. Wall-clock time would prove nothing, since an idle server does not hop, and with
 * bursts of load each burst would begin with hops that do not help. Rejected: to detect jumps of
 * the clock while a carrier spins. One core sees such a jump only if the other core is the one that
 * is taken.
 *
 * A team also stops if it declines more hops than it makes while more threads are under way than it
 * has cores. Threads that stay where they are keep to that core's CPU, even if others wait there
 * and another CPU is idle; at home, the kernel moves them. With at most as many threads as cores,
 * each has a core to itself.
 */
#define _GNU_SOURCE
#include "load.h"
#include "fibers.h"
#include "run_delay.h"
#include "settings.h"

#define MOST_QUEUE 1000000
#define LONG_QUEUE 8
#define SHORT_QUEUE 1
#define WATCH_US 20000
#define SHORTEST_PAUSE_US 100000
#define LONGEST_PAUSE_US 6400000
/* After this many looks without a hop, the watchdog pauses until a sleeping carrier is woken. */
#define LOOKS 12
/* Fewer hops than this prove nothing yet. */
#define FEW_HOPS 8

/* A period in which a team does not hop, or keeps its queues short. */
struct rest {
    uint64_t until;  /* on the clock; 0 before the first */
    uint64_t length; /* of the last one */
    uint64_t hopped; /* for how long threads have hopped since the last one */
    uint64_t count;
};

/* A team's hops, up to the last look. */
struct hops {
    uint64_t made;
    uint64_t declined;
};

/* For each core: what the watchdog sees of its holder, and what it saw at its last look. */
static struct run_delay *delays, *delays_seen;
/* For each team: rests from hops, and from long queues. */
static struct rest *pauses, *cuts;
static struct hops *hops_seen;
/* For each team; written by the thread that declines. */
static uint64_t *declined;
/* The number of the current look. */
static uint32_t look = 1;
static uint64_t longest_queue, most_delay_percent;
static bool is_queue_fixed;
static uint64_t looked, wanted_seen;
static int looks_without_hops;

bool prepare_load(void)
{
    longest_queue = number_from("COREHOP_QUEUE", MOST_QUEUE, MOST_QUEUE + 1);
    is_queue_fixed = longest_queue <= MOST_QUEUE;
    longest_queue = is_queue_fixed ? longest_queue : LONG_QUEUE;
    most_delay_percent = number_from("COREHOP_RUN_DELAY", 100, 33);
    delays = map_memory(core_count() * sizeof *delays);
    delays_seen = map_memory(core_count() * sizeof *delays_seen);
    pauses = map_memory(program.teams * sizeof *pauses);
    cuts = map_memory(program.teams * sizeof *cuts);
    hops_seen = map_memory(program.teams * sizeof *hops_seen);
    declined = map_memory(program.teams * sizeof *declined);
    return delays != NULL && delays_seen != NULL && pauses != NULL && cuts != NULL &&
           hops_seen != NULL && declined != NULL && prepare_lost() && prepare_run_delays();
}

static bool lasts(const struct rest *rest)
{
    uint64_t until = __atomic_load_n(&rest->until, __ATOMIC_RELAXED);
    return UNLIKELY(until != 0) && clock_now() < until;
}

/* Begins a rest. It is short, or twice as long as the last one if threads have hopped for less than
 * that since. */
static void begin_rest(struct rest *rest)
{
    uint64_t longest = cycles_of(LONGEST_PAUSE_US), length = cycles_of(SHORTEST_PAUSE_US);
    if (rest->length != 0 && rest->hopped < rest->length)
        length = rest->length * 2 < longest ? rest->length * 2 : longest;
    rest->length = length;
    rest->hopped = 0;
    bump(&rest->count);
    __atomic_store_n(&rest->until, clock_now() + length, __ATOMIC_RELAXED);
}

/* Called by the watchdog for a period in which threads hopped. */
static void note_hopping(struct rest *rest, uint64_t cycles)
{
    if (!lasts(rest))
        rest->hopped += cycles;
}

/* Threads that wait in a core's run queue or line. */
static uint32_t waiting(const struct core *core)
{
    uintptr_t newest = __atomic_load_n(&core->run_queue, __ATOMIC_RELAXED);
    uint32_t in_line = __atomic_load_n(&core->in_line, __ATOMIC_RELAXED);
    /* It may be gone by now, but fibers are never freed. */
    if (newest > BUSY)
        in_line += __atomic_load_n(&((const struct fiber *)newest)->depth, __ATOMIC_RELAXED);
    return in_line;
}

static uint32_t queue(const struct core *core)
{
    bool runs = (__atomic_load_n(&core->holder, __ATOMIC_RELAXED) & RUNNING) != 0;
    return waiting(core) + runs;
}

static uint32_t shortest_queue(uint32_t team)
{
    uint32_t shortest = UINT32_MAX;
    for (uint32_t i = 0; i < program.cores; i++) {
        uint32_t length = queue(core_of(team, i));
        shortest = length < shortest ? length : shortest;
    }
    return shortest;
}

bool is_paused(uint32_t team)
{
    return lasts(&pauses[team]);
}

void keep_queues_short(uint32_t team)
{
    if (!is_queue_fixed && !lasts(&cuts[team]))
        begin_rest(&cuts[team]);
}

bool is_declined(struct fiber *fiber, const struct core *to)
{
    bool is_away = fiber->carrier != NULL;
    /* If no other thread is under way, as in a server of one thread, skips access to the other
     * core's lines. */
    if (LIKELY(__atomic_load_n(&pool.away, __ATOMIC_RELAXED) <= is_away) || longest_queue == 0)
        return false;
    uint32_t team = self.team;
    uint64_t longer = lasts(&cuts[team]) ? SHORT_QUEUE : longest_queue;
    uint32_t own = is_away ? waiting(fiber->carrier->core) : shortest_queue(team);
    if (queue(to) < own + longer)
        return false;
    __atomic_add_fetch(&declined[team], 1, __ATOMIC_RELAXED);
    uint32_t now = __atomic_load_n(&look, __ATOMIC_RELAXED);
    __atomic_store_n(&fiber->declined_at, now, __ATOMIC_RELAXED);
    return true;
}

uint64_t pauses_of(uint32_t team)
{
    return pauses == NULL ? 0 : __atomic_load_n(&pauses[team].count, __ATOMIC_RELAXED);
}

uint64_t cuts_of(uint32_t team)
{
    return cuts == NULL ? 0 : __atomic_load_n(&cuts[team].count, __ATOMIC_RELAXED);
}

/* The carriers that hold a core now, and how long each has waited for its CPU. */
static void look_at_holders(void)
{
    struct run_delay *earlier = delays_seen;
    delays_seen = delays;
    delays = earlier;
    for (uint32_t number = 0; number < core_count(); number++) {
        uintptr_t holder = __atomic_load_n(&pool.cores[number].holder, __ATOMIC_ACQUIRE);
        const struct carrier *carrier = (const struct carrier *)(holder & ~RUNNING);
        delays[number] = (struct run_delay){0};
        if (carrier != NULL)
            delays[number].thread = __atomic_load_n(&carrier->thread.id, __ATOMIC_RELAXED);
    }
    read_run_delays(delays, core_count());
}

/* The percentage of time since the last look in which the core's holder did not get its CPU. */
static uint64_t delay_percent(uint32_t number, uint64_t elapsed_ns)
{
    struct run_delay last = delays_seen[number], now = delays[number];
    if (now.thread <= 0)
        return 0;
    if (has_lost_cpu(number, now.thread))
        return 100;
    if (!now.is_known || !last.is_known || last.thread != now.thread || elapsed_ns == 0)
        return 0;
    return (now.ns - last.ns) * 100 / elapsed_ns;
}

static struct hops hops_of(uint32_t team)
{
    struct hops hops = {.declined = __atomic_load_n(&declined[team], __ATOMIC_RELAXED)};
    for (uint32_t core = 0; core < program.cores; core++)
        hops.made += __atomic_load_n(&core_of(team, core)->runs, __ATOMIC_RELAXED);
    return hops;
}

/* Whether the team made fewer hops than it declined since the last look. */
static bool mostly_declines(uint32_t team)
{
    struct hops last = hops_seen[team], now = hops_of(team);
    hops_seen[team] = now;
    return now.declined - last.declined > now.made - last.made + FEW_HOPS;
}

/* Whether any thread has hopped to a carrier, or declined a hop, since the last look. */
static bool have_hopped(void)
{
    uint64_t wanted = 0;
    for (uint32_t team = 0; team < program.teams; team++) {
        struct hops hops = hops_of(team);
        wanted += hops.made + hops.declined;
    }
    bool changed = wanted != wanted_seen;
    wanted_seen = wanted;
    looks_without_hops = changed ? 0 : looks_without_hops + 1;
    return looks_without_hops < LOOKS;
}

uint64_t look_for_others(void)
{
    if (most_delay_percent >= 100 || !__atomic_load_n(&pool.open, __ATOMIC_ACQUIRE))
        return 0;
    uint64_t now = clock_now(), between = now - looked;
    if (looked != 0 && between < cycles_of(WATCH_US) * 3 / 4)
        return WATCH_US - nanoseconds_of(between) / 1000;
    bool is_stale = looked == 0 || between > 4 * cycles_of(WATCH_US);
    uint64_t elapsed = is_stale ? 0 : between;
    looked = now;
    if (!have_hopped()) {
        looked = 0;
        return 0;
    }
    bool is_crowded = threads_under_way(look) > core_count();
    __atomic_store_n(&look, look + 1, __ATOMIC_RELAXED);
    look_at_holders();
    for (uint32_t team = 0; team < program.teams; team++) {
        uint64_t most = 0;
        for (uint32_t core = 0; core < program.cores; core++) {
            uint32_t number = team * program.cores + core;
            uint64_t percent = delay_percent(number, nanoseconds_of(elapsed));
            most = percent > most ? percent : most;
        }
        bool declines = mostly_declines(team) && is_crowded && !is_stale;
        if ((most > most_delay_percent || declines) && !lasts(&pauses[team]))
            begin_rest(&pauses[team]);
        note_hopping(&pauses[team], elapsed);
        note_hopping(&cuts[team], elapsed);
    }
    return WATCH_US;
}

void load_forked(void)
{
    looked = 0;
    reader_forked();
    if (pauses == NULL || cuts == NULL || hops_seen == NULL || declined == NULL)
        return;
    for (uint32_t team = 0; team < program.teams; team++) {
        pauses[team] = cuts[team] = (struct rest){0};
        /* Counting starts over for each core. */
        hops_seen[team] = (struct hops){.declined = declined[team]};
    }
}
