/*
 * The auto backend: threads hop only while measurements show that hops make the server faster.
 *
 * Whether a plan helps depends on the machine, its other programs, and the load. A server's owner
 * wants the gain without supervision. So the watchdog measures while requests arrive. It alternates
 * time windows in which threads hop and windows in which they stay with the kernel's scheduler. The
 * order is hops, none, none, hops, so that a drift affects both. Each pair of windows gives a
 * result. If the requests per second differ by more than MARGIN_PERCENT, the faster window wins.
 * Otherwise, e.g. under a load with a fixed rate, the window with less processor time per request
 * wins, by the same margin. The time in which carriers wait does not count. A pair without a winner
 * counts against hops. A request is an entry of the function that the plan counts, or of any hooked
 * function if it counts none.
 *
 * Each pair is evaluated as it arrives, by Wald's sequential probability ratio test (Annals of
 * Mathematical Statistics 16, 1945). The hypotheses are that hops win at most half of the pairs, or
 * four in five. The test errs in at most ALPHA = 2 % of trials in which hops win half, and in BETA
 * = 5 % of trials in which they win four in five. After MOST_PAIRS without a decision, the result
 * is that hops do not help; that happens in another 6 % of the latter trials. Nine consecutive wins
 * or four consecutive losses are enough.
 *
 * The better mode stays until requests per second have halved or doubled for a second, or until a
 * timeout: FIRST_REST_S under load, and twice as long each time that the result is the same. Trials
 * themselves cost time. If hops did not help, the rest lasts at least TRIALS_IN_A_REST times as
 * long as the trial, whatever the load does. Before the first result, and without load, threads
 * stay. Rejected: a t-test, which takes one slow window for strong evidence; floating-point
 * registers, which belong to the program; and the latency of hops, which does not reflect misses.
 */
#define _GNU_SOURCE
#include "auto.h"
#include "affinity.h"
#include "backends.h"
#include "carrier.h"
#include "opening.h"
#include "spin_policy.h"
#include "watchdog.h"

#include <asm/unistd.h>
#include <time.h>

#define MARGIN_PERCENT 2
/* Logarithms of 0.8/0.5, 0.5/0.2, 0.95/0.02 and 0.98/0.05, in thousandths. */
#define WIN 470
#define LOSS 916
#define GAIN 3861
#define NO_GAIN 2976
#define MOST_PAIRS 40

#define LOOK_US 500000
/* The time between looks after hops were found not to help. Until then there is no watchdog: with a
 * second thread, it costs the kernel more to reclaim a process's memory and to look up its files.
 */
#define LONG_LOOK_US 2000000
/* A window has about this many requests, but is no shorter or longer than this. */
#define REQUESTS 100
#define SHORTEST_WINDOW_US 20000
#define LONGEST_WINDOW_US 500000
/* Fewer requests in a window mean that there is no load to measure. */
#define FEWEST 5
/* The share of a window that precedes each: caches warm, and threads move at their next hooks. */
#define SHARE_TO_SETTLE 4
#define FIRST_REST_S 20
#define LONGEST_REST_S 1280
#define LOOKS_OF_CHANGE 2
#define TRIALS_IN_A_REST 10
/* A trial ends after the load has stopped this often: load that comes and goes cannot be measured.
 */
#define MOST_BREAKS 10

/* Counts up to one moment. */
struct reading {
    uint64_t at; /* cycles */
    uint64_t requests;
    uint64_t busy_ns; /* processor time of all threads, without waiting carriers */
};

enum phase { RESTS, SETTLES, MEASURES };

static struct {
    enum phase phase;
    bool hops;       /* in this window */
    bool is_second;  /* of its pair */
    bool is_late;    /* the last look came after a time without looks */
    int evidence;    /* evidence of the test, in thousandths */
    uint64_t due;    /* when the phase ends, in cycles */
    uint64_t window; /* cycles */
    struct reading began;
    struct reading spent[2], all[2]; /* in this pair, and in the trial; [1] with hops */
    uint64_t pairs, won;
    uint64_t reference;          /* requests in LOOK_US as the last trial found them */
    int changed;                 /* looks at which requests differed much from `reference` */
    uint64_t rest, rested;       /* how long the result stays, and has stayed under load */
    uint64_t least_rest;         /* the same if the load changes */
    uint64_t trial_began, tried; /* the trial's time, without breaks */
    uint64_t breaks;
    bool answered; /* no trial is under way */
    bool gains;    /* the last answer */
    struct verdict verdict;
} state = {.answered = true, .verdict = {.said = "none yet"}};

struct verdict auto_verdict(void)
{
    return state.verdict;
}

/* Hops were found not to help, and no trial is under way. */
static bool is_settled(void)
{
    return state.answered && state.verdict.trials != 0 && !state.gains;
}

bool auto_rests(void)
{
    bool is_awaited = state.is_late && !is_settled();
    return auto_is_on() && state.phase == RESTS && !state.hops && !is_awaited;
}

static uint64_t requests(void)
{
    uint64_t calls = 0;
    for (const struct thread_counters *one = all_counters(); one != NULL; one = one->next) {
        if (program.request != 0) {
            calls += __atomic_load_n(&one->tallies[program.request - 1].calls, __ATOMIC_RELAXED);
            continue;
        }
        for (uint32_t hook = 0; hook < program.hook_count; hook++)
            calls += __atomic_load_n(&one->tallies[hook].calls, __ATOMIC_RELAXED);
    }
    return calls;
}

static struct reading read_now(void)
{
    struct timespec used = {0};
    system_call(__NR_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, (long)&used, 0, 0, 0, 0);
    uint64_t waited_ns = nanoseconds_of(cycles_waited());
    uint64_t used_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
    return (struct reading){clock_now(), requests(), used_ns > waited_ns ? used_ns - waited_ns : 0};
}

static struct reading since(struct reading before)
{
    struct reading now = read_now();
    return (struct reading){
        .at = now.at - before.at,
        .requests = now.requests - before.requests,
        .busy_ns = now.busy_ns > before.busy_ns ? now.busy_ns - before.busy_ns : 0,
    };
}

static void add(struct reading *to, struct reading more)
{
    to->at += more.at;
    to->requests += more.requests;
    to->busy_ns += more.busy_ns;
}

/* 100 * (a / b) / (c / d), without overflow for a window's values; 0 if undefined. */
static uint64_t percent(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    unsigned __int128 above = (unsigned __int128)a * d * 100, below = (unsigned __int128)b * c;
    while ((below >> 64) != 0) {
        above >>= 1;
        below >>= 1;
    }
    while ((above >> 64) != 0) {
        above >>= 1;
        below >>= 1;
    }
    return below == 0 ? 0 : (uint64_t)above / (uint64_t)below;
}

/* With hops, as a percentage of without: requests per second, and processor time per request. */
static uint64_t speed_percent(const struct reading of[2])
{
    return percent(of[1].requests, of[1].at, of[0].requests, of[0].at);
}

static uint64_t cost_percent(const struct reading of[2])
{
    return percent(of[1].busy_ns, of[1].requests, of[0].busy_ns, of[0].requests);
}

static bool hops_win(const struct reading of[2])
{
    uint64_t speed = speed_percent(of), cost = cost_percent(of);
    if (speed >= 100 + MARGIN_PERCENT || speed < 100 - MARGIN_PERCENT)
        return speed > 100;
    return cost != 0 && cost <= 100 - MARGIN_PERCENT;
}

const struct backend *mover(void)
{
    if (backend_is_usable(&carrier_backend))
        return &carrier_backend;
    return backend_is_usable(&affinity_backend) ? &affinity_backend : &count_backend;
}

static void let_hop(bool hops)
{
    const struct backend *wanted = hops ? mover() : &count_backend;
    state.hops = hops;
    if (program.backend != wanted)
        use_backend(wanted);
}

static void begin_window(bool hops)
{
    let_hop(hops);
    state.phase = SETTLES;
    state.due = clock_now() + state.window / SHARE_TO_SETTLE;
}

/* One look has counted this many requests; the window should have REQUESTS. */
static void begin_trial(uint64_t in_a_look)
{
    uint64_t window_us = REQUESTS * (uint64_t)LOOK_US / in_a_look;
    window_us = window_us < SHORTEST_WINDOW_US ? SHORTEST_WINDOW_US : window_us;
    window_us = window_us > LONGEST_WINDOW_US ? LONGEST_WINDOW_US : window_us;
    state.window = cycles_of(window_us);
    state.is_second = false;
    state.trial_began = clock_now();
    /* A trial that the load has interrupted continues. */
    if (state.answered) {
        state.answered = false;
        state.evidence = 0;
        state.pairs = state.won = state.tried = state.breaks = 0;
        state.all[0] = state.all[1] = (struct reading){0};
    }
    begin_window(state.pairs % 2 == 0);
}

static uint64_t between_looks(void)
{
    return cycles_of(is_settled() ? LONG_LOOK_US : LOOK_US);
}

static uint64_t next_look(void)
{
    return state.began.at + between_looks();
}

/* Keeps the better mode until look() finds something to do. */
static void rest(bool gains)
{
    let_hop(gains);
    state.phase = RESTS;
    state.changed = 0;
    state.began = read_now();
    state.due = next_look();
}

static void answer(bool gains)
{
    uint64_t first = cycles_of(FIRST_REST_S * 1000000ull);
    uint64_t longest = cycles_of(LONGEST_REST_S * 1000000ull);
    bool is_same = state.verdict.trials != 0 && gains == state.gains;
    state.rest = !is_same || state.rest == 0 ? first : state.rest * 2;
    state.rest = state.rest < longest ? state.rest : longest;
    state.least_rest = state.rest / 4;
    state.tried += clock_now() - state.trial_began;
    if (!gains && state.least_rest < TRIALS_IN_A_REST * state.tried)
        state.least_rest = TRIALS_IN_A_REST * state.tried;
    state.rest = state.rest > state.least_rest ? state.rest : state.least_rest;
    state.rested = 0;
    state.reference = 0;
    state.gains = gains;
    state.answered = true;
    state.verdict = (struct verdict){
        .said = gains ? "gain" : "no gain",
        .trials = state.verdict.trials + 1,
        .gains = state.verdict.gains + gains,
        .pairs = state.pairs,
        .won = state.won,
        .speed_percent = speed_percent(state.all),
        .cost_percent = cost_percent(state.all),
    };
    rest(gains);
}

static void judge_pair(void)
{
    bool win = hops_win(state.spent);
    state.pairs++;
    state.won += win;
    state.evidence += win ? WIN : -LOSS;
    add(&state.all[0], state.spent[0]);
    add(&state.all[1], state.spent[1]);
    if (state.evidence >= GAIN)
        answer(true);
    else if (state.evidence <= -NO_GAIN || state.pairs == MOST_PAIRS)
        answer(false);
    else
        begin_window(state.hops);
}

/* The load has stopped: the trial continues when it is back. */
static void leave_trial(void)
{
    state.breaks++;
    if (state.breaks == MOST_BREAKS) {
        answer(false);
        return;
    }
    state.tried += clock_now() - state.trial_began;
    rest(state.gains);
}

static void end_window(void)
{
    struct reading spent = since(state.began);
    if (spent.requests < FEWEST) {
        leave_trial();
        return;
    }
    state.spent[state.hops] = spent;
    state.is_second = !state.is_second;
    if (state.is_second)
        begin_window(!state.hops);
    else
        judge_pair();
}

static bool differs_much(uint64_t now, uint64_t from)
{
    return now * 2 < from || now > from * 2;
}

/* Called between trials. */
static void look(void)
{
    struct reading spent = since(state.began);
    uint64_t in_a_look = spent.requests * cycles_of(LOOK_US) / spent.at + 1;
    /* When load returns, the first look comes after a long time. Its count covers idle time and
     * would make the load seem slow, so it is ignored. The watchdog stays for the next look, except
     * if hops were found not to help: intermittent load would then keep it running all the time. */
    state.is_late = !state.is_late && spent.at > 2 * between_looks();
    add(&state.began, spent);
    state.due = next_look();
    if (state.is_late || in_a_look <= FEWEST)
        return;
    state.rested += spent.at;
    if (state.reference == 0)
        state.reference = in_a_look;
    state.changed = differs_much(in_a_look, state.reference) ? state.changed + 1 : 0;
    bool has_changed = state.changed >= LOOKS_OF_CHANGE && state.rested >= state.least_rest;
    bool is_due = state.verdict.trials == 0 || state.rested >= state.rest;
    if (!state.answered || is_due || has_changed)
        begin_trial(in_a_look);
}

uint64_t look_at_load(void)
{
    if (!auto_is_on() || state.due == 0)
        return 0;
    uint64_t now = clock_now();
    if (now >= state.due && state.phase == RESTS) {
        look();
    } else if (now >= state.due && state.phase == SETTLES) {
        state.phase = MEASURES;
        state.began = read_now();
        state.due = state.began.at + state.window;
    } else if (now >= state.due) {
        end_window();
    }
    now = clock_now();
    return now >= state.due ? 1 : nanoseconds_of(state.due - now) / 1000 + 1;
}

void set_auto(bool on)
{
    program.is_auto = false;
    watchdog_is_due = 0;
    if (!on)
        return;
    state.verdict = (struct verdict){.said = "none yet"};
    state.gains = false;
    state.answered = true;
    state.is_late = false;
    state.rest = state.rested = 0;
    __atomic_store_n(&program.is_auto, true, __ATOMIC_RELEASE);
    use_backend(&count_backend);
    rest(false);
    if (!watchdog_runs())
        __atomic_store_n(&watchdog_is_due, state.due, __ATOMIC_RELAXED);
}

/* A forked child decides for itself, once it has hooks to count. */
void auto_forked(void)
{
    if (auto_is_on())
        set_auto(true);
}

void choose_backend(const struct backend *backend)
{
    set_auto(backend == &auto_backend);
    if (backend != &auto_backend)
        use_backend(backend);
}
