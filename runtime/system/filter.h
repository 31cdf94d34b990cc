/*
 * Whether a filter of system calls, installed before the program started, kills for calls of the
 * runtime (filter.c).
 */
#ifndef COREHOP_FILTER_H
#define COREHOP_FILTER_H

#include <stdbool.h>

/* The name of a call that moving threads needs and for which the filter kills; NULL without one. */
const char *call_that_kills(void);
/* The same for the calls that rings need. */
const char *ring_call_that_kills(void);
/* The same for a table of descriptors of a thread's own. */
bool close_range_kills(void);

#endif
