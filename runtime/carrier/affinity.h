/*
 * The affinity backend (affinity.c).
 */
#ifndef COREHOP_AFFINITY_H
#define COREHOP_AFFINITY_H

#include "backend.h"

extern const struct backend affinity_backend;
/* Lets new threads inherit the program's own mask: undoes the hop around pthread_create. */
void affinity_suspend(void);
void affinity_resume(void);
void affinity_release(void); /* the former until the next hook */

#endif
