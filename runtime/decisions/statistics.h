/*
 * The hooks' counters, as JSON (statistics.c).
 */
#ifndef COREHOP_STATISTICS_H
#define COREHOP_STATISTICS_H

#include <stdbool.h>

/* Whether statistics will be written. */
bool prepare_statistics(void);
void write_statistics(void);
void statistics_forked(void);

#endif
