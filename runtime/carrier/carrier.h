/*
 * The carrier backend (carrier.c).
 */
#ifndef COREHOP_CARRIER_H
#define COREHOP_CARRIER_H

#include "backend.h"

extern const struct backend carrier_backend;
/* Why it is not usable, or NULL. */
const char *carrier_refusal(void);
/* Likewise, but NULL too where nobody asked for it. */
const char *carrier_found_against(void);
/* Some program's call cannot work on carriers: this process goes on with affinity. */
void give_up(const char *reason);
/* Likewise, and nobody is on a carrier when it returns. */
void give_up_now(const char *reason);
/* Whether threads may be carried in this process, now or once control.c says so. */
bool carriers_are_possible(void);

#endif
