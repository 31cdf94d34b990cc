/*
 * The auto backend: chooses between hops and none by what it measures (auto.c).
 */
#ifndef COREHOP_AUTO_H
#define COREHOP_AUTO_H

#include "backend.h"

/* Whether it has nothing to do before it is to look again, and nobody hops. */
bool auto_rests(void);
/* Whether hops are chosen by measuring from now on; called by the watchdog or before it runs. */
void set_auto(bool on);
/* What the user asked for, at the start or by control.c; auto moves nobody itself. */
void choose_backend(const struct backend *backend);
void auto_forked(void);
/* Called by the watchdog; gives the microseconds until it is to be called again, 0 for never. */
uint64_t look_at_load(void);
struct verdict {
    const char *said; /* "gain", "no gain" or "none yet" */
    uint64_t trials, gains;
    uint64_t pairs, won;    /* of the last trial that came to an end */
    uint64_t speed_percent; /* requests a second with hops, of those without; 0 before */
    uint64_t cost_percent;  /* processor time a request, likewise */
};
struct verdict auto_verdict(void);
/* The backend that moves threads while hops are on. */
const struct backend *mover(void);

#endif
