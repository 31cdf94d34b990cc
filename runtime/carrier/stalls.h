/*
 * Cores whose fiber makes no progress while others wait (stalls.c).
 */
#ifndef COREHOP_STALLS_H
#define COREHOP_STALLS_H

#include "cores.h"

bool prepare_stalls(uint32_t cores);
/* What the watchdog saw when it looked at every core: no thread waiting; some threads waiting; or a
 * stall, after which a core may have another holder. */
enum sighting { NOBODY_WAITS, SOME_WAIT, STALL };
enum sighting relieve_stalls(void);

#endif
