/*
 * Which backend moves threads from now on (opening.c).
 */
#ifndef COREHOP_OPENING_H
#define COREHOP_OPENING_H

#include "backend.h"

/* From its next hook on, each thread is moved by `to`. */
void use_backend(const struct backend *to);
/* Whether hooks ever were open. */
bool hooks_were_open(void);

#endif
