/*
 * Preparing a forked child (forks.c).
 */
#ifndef COREHOP_FORKS_H
#define COREHOP_FORKS_H

#include <stdbool.h>

/* The calling process is the program's. From then on its children are noticed. */
void note_process(void);
void watch_forks(void);
/* In a forked child: the parent's threads and carriers do not exist here. */
void process_forked(void);
/* False in a child that shares its parent's memory: the carriers are the parent's. */
bool is_own_process(void);

#endif
