/*
 * The table of backends, and the one to begin with (backends.c).
 */
#ifndef COREHOP_BACKENDS_H
#define COREHOP_BACKENDS_H

#include "backend.h"

extern const struct backend auto_backend;
const struct backend *backend_called(const char *name);
bool backend_is_usable(const struct backend *backend);
/* The backend that the environment requests. */
const struct backend *chosen_backend(void);
/* Whether this backend can post system calls. */
bool carries_calls(const struct backend *chosen);
/* Prepares the chosen backend, and also the others if a control file may select them. Returns the
 * one to begin with. If carrier refuses, affinity is used. If any other fails, the program runs
 * with hooks off. */
const struct backend *prepared_backend(const struct backend *chosen);
void backends_forked(void);

#endif
