/*
 * The table of backends, and the one to begin with (backends.c).
 */
#ifndef COREHOP_BACKENDS_H
#define COREHOP_BACKENDS_H

#include "backend.h"

extern const struct backend auto_backend;
const struct backend *backend_called(const char *name);
bool backend_is_usable(const struct backend *backend);
/* What the environment asks for. */
const struct backend *chosen_backend(void);
/* Whether system calls may be posted by it. */
bool carries_calls(const struct backend *chosen);
/* Prepares the chosen backend and, if orders may come for them, the others; gives the one to begin
 * with. carrier may refuse, which leaves affinity; any other that fails leaves the program off. */
const struct backend *prepared_backend(const struct backend *chosen);
void backends_forked(void);

#endif
