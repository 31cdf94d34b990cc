/*
 * The end of all that the runtime does by itself (rest.c).
 */
#ifndef COREHOP_REST_H
#define COREHOP_REST_H

#include <stdbool.h>

/* For good, nothing of the runtime makes a system call of its own any more. */
void come_to_rest(const char *reason);
bool has_come_to_rest(void);

#endif
