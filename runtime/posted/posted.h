/*
 * System calls that threads hand to another core (post.c): what the other parts of the runtime ask.
 */
#ifndef COREHOP_POSTED_H
#define COREHOP_POSTED_H

#include "runtime.h"

/* Whether COREHOP_SYSCALLS asks for any. */
bool calls_are_asked(void);
/* Reads it, for a plan of so many cores; gives how many cores there must be, or 0 after saying why
 * nothing is posted. */
uint32_t order_calls(uint32_t cores);
/* modules.c: no file is patched, and calls are all that goes to other cores. */
bool go_without_modules(uint32_t cores);
/* From now on they are posted while carriers carry threads; says why where that cannot be, as where
 * the backend is none that has carriers. */
void open_calls(bool by_carriers);
/* A thread's counts are so far behind its tallies. */
size_t size_of_posted(void);
void place_posted(size_t distance);
void forget_posted(struct block *block);
/* What the statistics say of one call; false if there is none of that number. */
struct posted {
    const char *name;
    uint64_t posted, declined;
};
bool posted_of(uint32_t number, struct posted *posted);
uint32_t posted_to(void);
bool posted_by_yielding(void);

#endif
