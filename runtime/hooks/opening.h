/*
 * Which backend moves threads from now on (opening.c).
 */
#ifndef COREHOP_OPENING_H
#define COREHOP_OPENING_H

#include "backend.h"

/* From its next hook on, `to` moves each thread. */
void use_backend(const struct backend *to);
/* Whether hooks were ever open. */
bool hooks_were_open(void);

#endif
