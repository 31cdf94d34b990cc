/*
 * COREHOP_COHORT=B: of a core's waiting fibers, those that came by the same hook run in turn.
 *
 * It is linked in the place of the runtime's run_queues/order.c, which has fibers run in the order
 * in which they came.
 *
 * A core that several functions of a plan share has the working set of each in its cache while
 * fibers run that came by that one. Taken in the order in which they came, fibers of many
 * connections make it change from one to the other all the time. So this is the cohort scheduling
 * of Larus and Parkes ("Using cohort scheduling to enhance server performance", 2002): the holder
 * goes on with the oldest fiber that came by the hook that its turn is about, until it took B in
 * this turn or none waits, and then the oldest of all begins a turn of its own. What comes while a
 * turn lasts takes part in it. What a fiber came by is the hook at which it hopped, the call from
 * which it went back, or the posted call that it waited for.
 *
 * The bound: let H be the number of hooks by which fibers come to a core. A fiber is overtaken by
 * at most (B - 1)(H - 1) that came later, and by at most B - 1 once it is the oldest that waits.
 * Proof: a later fiber only overtakes within a turn about its own hook, as one of those that
 * follow the first, of which there are B - 1: the first of a turn is the oldest that waits, which
 * is not younger, unless the turn was under way. Of several that came by one hook the oldest goes
 * first. So once a later one was taken, none is left that is older than our fiber and came by that
 * hook, and no other turn is about that hook before ours is taken: every turn begins with one that
 * is at least as old. By our fiber's own hook none overtakes, which leaves one turn for each of
 * the H - 1 others. The oldest waits for the rest of one turn only, since it begins the next.
 *
 * The list of those that are ready is looked through from its oldest on. While a turn lasts that
 * mostly ends soon; once a turn it is looked through to its end. All of it are lines that the
 * fibers' own run needs as well. Rejected: a list for each hook, which would save the latter, and
 * take a table of hooks and an order among its lists; and to look at the run queue, whose line
 * others write, before each fiber: what is ready is older than what is there, so this is done only
 * where nobody is ready that could be next, with the same result.
 */
#include "output_file.h"
#include "run_queue.h"
#include "settings.h"
#include "system.h"

/* More in turn than there can sensibly be connections is no bound. */
#define MOST_COHORT 1024

/* Of a core; its holder's, on a cache line of its own. */
struct cohorts {
    /* The holder goes on with so many fibers that came by this hook. */
    uint32_t hook, left;
    /* How many fibers were taken so, how many of them by another hook than the one before, and how
     * many before others that had waited for longer. */
    uint64_t taken, changes, overtaking;
} __attribute__((aligned(64)));

/* How many fibers that came by one hook follow each other at most, though others wait. */
static uint32_t most_in_turn = 1;
/* By number of the core; NULL while fibers are taken in the order in which they come. */
static struct cohorts *cohorts;

void prepare_order(void)
{
    most_in_turn = (uint32_t)number_from("COREHOP_COHORT", MOST_COHORT, 1);
    if (most_in_turn > 1)
        cohorts = map_memory(core_count() * sizeof *cohorts);
}

void order_forked(void)
{
    for (uint32_t i = 0; cohorts != NULL && i < core_count(); i++)
        cohorts[i] = (struct cohorts){0};
}

static uint64_t all(size_t offset)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < core_count(); i++)
        sum += __atomic_load_n((uint64_t *)((char *)&cohorts[i] + offset), __ATOMIC_RELAXED);
    return sum;
}

void write_order(struct output_file *out)
{
    if (cohorts == NULL)
        return;
    PUT(out, ",\"cohorts\":{\"most\":%u,\"taken\":%lu,\"changes\":%lu,\"overtaking\":%lu}",
        most_in_turn, all(offsetof(struct cohorts, taken)), all(offsetof(struct cohorts, changes)),
        all(offsetof(struct cohorts, overtaking)));
}

/* Where the first fiber of a list is linked that came by this hook, or the list's end. */
static struct fiber **first_by(struct fiber **link, uint32_t hook)
{
    while (*link != NULL && (*link)->came_by != hook)
        link = &(*link)->next;
    return link;
}

/* What was pushed waits behind those that are ready, who are there. */
static void fetch_pushed(struct core *core, struct fiber **end, taking *take)
{
    uint32_t count;
    __atomic_store_n(end, take(core, &count), __ATOMIC_RELAXED);
    __atomic_store_n(&core->in_line, core->in_line + count, __ATOMIC_RELAXED);
}

/* Who comes next: where it is linked. */
static struct fiber **choose(struct core *core, struct cohorts *own, taking *take)
{
    bool goes_on = own->left != 0;
    struct fiber **link = goes_on ? first_by(&core->ready, own->hook) : &core->ready;
    if (*link == NULL) {
        fetch_pushed(core, link, take);
        if (goes_on)
            link = first_by(link, own->hook);
    }
    if (goes_on && *link != NULL) {
        if (link != &core->ready)
            bump(&own->overtaking);
        return link;
    }
    if (core->ready != NULL) {
        if (own->hook != core->ready->came_by)
            bump(&own->changes);
        own->hook = core->ready->came_by;
        own->left = most_in_turn;
    }
    return &core->ready;
}

struct fiber *take_next(struct core *core, taking *take)
{
    struct cohorts *own = cohorts == NULL ? NULL : &cohorts[core - pool.cores];
    struct fiber **link = &core->ready;
    if (own != NULL)
        link = choose(core, own, take);
    else if (*link == NULL)
        fetch_pushed(core, link, take);
    struct fiber *taken = *link;
    if (taken == NULL)
        return NULL;
    if (own != NULL) {
        own->left--;
        bump(&own->taken);
    }
    __atomic_store_n(link, taken->next, __ATOMIC_RELAXED);
    __atomic_store_n(&core->in_line, core->in_line - 1, __ATOMIC_RELAXED);
    return taken;
}
