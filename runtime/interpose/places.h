/*
 * Which CPUs the program lets a thread run on (places.c).
 */
#ifndef COREHOP_PLACES_H
#define COREHOP_PLACES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* To be called before a thread's affinity is set: it stays there. */
void place(uintptr_t thread);
/* Whether a thread with these attributes, which may be NULL, starts on CPUs that the program
 * sets. */
bool are_placing(const pthread_attr_t *attributes);
/* To be called after this mask of a thread was found: hides that the thread has hopped. */
void show_own_mask(uintptr_t thread, size_t size, void *found);

#endif
