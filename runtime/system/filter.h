/*
 * Whether a filter of system calls, there since before the program started, kills for what the
 * runtime does (filter.c).
 */
#ifndef COREHOP_FILTER_H
#define COREHOP_FILTER_H

/* The name of a call that moving threads needs and the filter kills for; NULL if there is none. */
const char *call_that_kills(void);
/* The same of the calls that rings need. */
const char *ring_call_that_kills(void);

#endif
