/*
 * What the hooks counted, as JSON (statistics.c).
 */
#ifndef COREHOP_STATISTICS_H
#define COREHOP_STATISTICS_H

#include <stdbool.h>

/* Whether there will be any. */
bool prepare_statistics(void);
void write_statistics(void);
void statistics_forked(void);

#endif
