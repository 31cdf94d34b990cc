/*
 * Functions that replace libc's, and what they need at the start.
 */
#ifndef COREHOP_INTERPOSERS_H
#define COREHOP_INTERPOSERS_H

#include <stdbool.h>

/* interposers.c */
void prepare_interposers(void);
bool stands_in_for_libc(void);
/* clocks.c */
void prepare_clocks(void);

#endif
