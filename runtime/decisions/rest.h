/*
 * Stops the runtime for good (rest.c).
 */
#ifndef COREHOP_REST_H
#define COREHOP_REST_H

#include <stdbool.h>

/* From now on the runtime makes no system calls. */
void come_to_rest(const char *reason);
bool has_come_to_rest(void);

#endif
