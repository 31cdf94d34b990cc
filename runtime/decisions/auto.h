/*
 * The auto backend: measures, and chooses between hops and none (auto.c).
 */
#ifndef COREHOP_AUTO_H
#define COREHOP_AUTO_H

#include "backend.h"

/* Whether it has nothing to do before its next look, and no thread hops. */
bool auto_rests(void);
/* Whether measurements turn hops on and off from now on. Called by the watchdog or before it runs.
 */
void set_auto(bool on);
/* What the user requested, at the start or through control.c. auto itself moves no thread. */
void choose_backend(const struct backend *backend);
void auto_forked(void);
/* Called by the watchdog. Returns the microseconds until the next call, or 0 for never. */
uint64_t look_at_load(void);
struct verdict {
    const char *said; /* "gain", "no gain" or "none yet" */
    uint64_t trials, gains;
    uint64_t pairs, won;    /* of the last trial that ended */
    uint64_t speed_percent; /* requests/s with hops, as a percentage of without; 0 before */
    uint64_t cost_percent;  /* likewise, processor time per request */
};
struct verdict auto_verdict(void);
/* The backend that moves threads while hops are on. */
const struct backend *mover(void);

#endif
