/*
 * The carrier backend (carrier.c).
 */
#ifndef COREHOP_CARRIER_H
#define COREHOP_CARRIER_H

#include "backend.h"

extern const struct backend carrier_backend;
/* The reason why the backend is not usable, or NULL. */
const char *carrier_refusal(void);
/* Likewise, but also NULL if nobody requested it. */
const char *carrier_found_against(void);
/* The program made a call that cannot work on carriers: this process continues with affinity. */
void give_up(const char *reason);
/* Likewise, and no thread is on a carrier when it returns. */
void give_up_now(const char *reason);
/* Whether threads may run on carriers in this process, now or once control.c allows it. */
bool carriers_are_possible(void);

#endif
