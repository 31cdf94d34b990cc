/*
 * The carrier pool (pool.c).
 */
#ifndef COREHOP_POOL_H
#define COREHOP_POOL_H

#include "cores.h"

bool prepare_pool(const uint32_t *processors);
/* Called at a team's first departure. False if carriers cannot be started or may not be now. */
bool open_pool(uint32_t team);
/* Brings every fiber home and ends every carrier and the watchdog, until the same thread calls
 * reopen_pool(). It takes no signals meanwhile: a handler may close the pool too. */
void close_pool(void);
void reopen_pool(void);
void close_pool_for_good(void);
void pool_forked(void);
struct carrier *carrier_of_thread(int thread);
/* Whether the address is on the carrier's stack for handlers. */
bool is_on_signal_stack(const struct carrier *carrier, uintptr_t at);
/* Gives a core to a spare carrier if its holder is held up; false if there is no spare. */
bool relieve_core(struct core *core, uintptr_t holder);
/* Starts the watchdog. If it is just being ended with the carriers, it is started with them later.
 */
void call_watchdog(void);
/* Called by a watchdog that has been idle for that long. True if it should end; the carriers have.
 */
bool let_watchdog_leave(uint64_t rest_us);
/* How often a core's work was taken from a blocked carrier, and how many carriers ever started. */
uint64_t stalls(void);
uint64_t carriers_started(void);

#endif
