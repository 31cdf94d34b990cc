/*
 * The affinity backend (affinity.c).
 */
#ifndef COREHOP_AFFINITY_H
#define COREHOP_AFFINITY_H

#include "backend.h"
#include "processors.h"

extern const struct backend affinity_backend;
/* Lets new threads inherit the program's own mask: undoes the hop around pthread_create. */
void affinity_suspend(void);
void affinity_resume(void);
void affinity_release(void); /* the former until the next hook */
/* Whether another thread, given by the kernel's id, has this mask because of a hop: then a program
 * that asks for it gets its own mask. */
bool affinity_hides(int thread, const struct mask *mask);
/* Hooks move no thread any more, and all may run anywhere the program may. */
void affinity_ends(void);

#endif
