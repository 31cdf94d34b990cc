/*
 * The carrier pool (pool.c).
 */
#ifndef COREHOP_POOL_H
#define COREHOP_POOL_H

#include "cores.h"

bool prepare_pool(const uint32_t *processors);
/* At a team's first departure. False when carriers cannot be started or may not be now. */
bool open_pool(uint32_t team);
/* Brings every fiber home and ends every carrier, and the watchdog, until reopen_pool(). */
void close_pool(void);
void reopen_pool(void);
void pool_forked(void);
struct carrier *carrier_of_thread(int thread);
/* Whether that is on the carrier's stack for handlers. */
bool is_on_signal_stack(const struct carrier *carrier, uintptr_t at);
/* Gives a core whose holder is held up to a spare carrier; false if there is none. */
bool relieve_core(struct core *core, uintptr_t holder);
/* Starts the watchdog, unless it is being ended with the carriers: then it is started with them. */
void call_watchdog(void);
/* By the watchdog, with nothing to do for so long: true if it is to end, and the carriers have. */
bool let_watchdog_leave(uint64_t rest_us);
/* Times that a core's work was taken from a blocked carrier, and carriers ever started. */
uint64_t stalls(void);
uint64_t carriers_started(void);

#endif
