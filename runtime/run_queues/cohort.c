/*
 * COREHOP_COHORT=B: of a core's waiting fibers, those that came by the same hook run in turn.
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
#include "run_queue.h"
#include "settings.h"

/* More in turn than there can sensibly be connections is no bound. */
#define MOST_COHORT 1024

uint32_t most_in_turn = 1;

void prepare_cohorts(void)
{
    most_in_turn = (uint32_t)number_from("COREHOP_COHORT", MOST_COHORT, 1);
    most_in_turn = most_in_turn == 0 ? 1 : most_in_turn;
}

struct cohorts all_cohorts(void)
{
    struct cohorts all = {0};
    for (uint32_t i = 0; i < core_count(); i++) {
        const struct cohorts *of = &pool.cores[i].cohorts;
        all.taken += __atomic_load_n(&of->taken, __ATOMIC_RELAXED);
        all.changes += __atomic_load_n(&of->changes, __ATOMIC_RELAXED);
        all.overtaking += __atomic_load_n(&of->overtaking, __ATOMIC_RELAXED);
    }
    return all;
}

void cohorts_forked(void)
{
    for (uint32_t i = 0; i < core_count(); i++)
        pool.cores[i].cohorts = (struct cohorts){0};
}

/* Where the first fiber of a list is linked that came by this hook, or the list's end. */
static struct fiber **first_by(struct fiber **link, uint32_t hook)
{
    while (*link != NULL && (*link)->came_by != hook)
        link = &(*link)->next;
    return link;
}

struct fiber *take_by_hook(struct core *core, taking *take)
{
    struct turn *turn = &core->turn;
    bool goes_on = turn->left != 0;
    struct fiber **link = goes_on ? first_by(&core->ready, turn->hook) : &core->ready;
    if (*link == NULL) {
        uint32_t count;
        __atomic_store_n(link, take(core, &count), __ATOMIC_RELAXED);
        __atomic_store_n(&core->in_line, core->in_line + count, __ATOMIC_RELAXED);
        if (goes_on)
            link = first_by(link, turn->hook);
    }
    goes_on = goes_on && *link != NULL;
    if (!goes_on)
        link = &core->ready;
    struct fiber *taken = *link;
    if (taken == NULL)
        return NULL;
    if (!goes_on) {
        if (turn->hook != taken->came_by)
            bump(&core->cohorts.changes);
        *turn = (struct turn){.hook = taken->came_by, .left = most_in_turn};
    } else if (link != &core->ready)
        bump(&core->cohorts.overtaking);
    turn->left--;
    bump(&core->cohorts.taken);
    __atomic_store_n(link, taken->next, __ATOMIC_RELAXED);
    __atomic_store_n(&core->in_line, core->in_line - 1, __ATOMIC_RELAXED);
    return taken;
}
