/*
 * What others use of objects.c: the functions that go by an argument.
 */
#ifndef COREHOP_OBJECTS_H
#define COREHOP_OBJECTS_H

#include "runtime.h"

/* A hook of a function by argument has this and the calls before an object gets its core, as its
 * own core. */
#define NO_CORE 0x8000u
static inline uint32_t after_of(uint32_t hook)
{
    return program.hooks[hook].core - NO_CORE;
}

/* The core of the object that a call is about; -1 if it is about none, or about one that has no
 * core yet. */
int32_t core_by_argument(uint32_t hook, uintptr_t at);
size_t size_of_objects(void);
void set_objects(struct block *block, void *counters);
void objects_forked(void);
/* How many came at calls of this function, how many of them are known still, and its calls. */
uint64_t objects_seen(uint32_t hook);
uint64_t objects_known(uint32_t hook);
/* Those about objects that had no core yet. */
uint64_t early_calls(uint32_t hook);
uint64_t calls_by_core(uint32_t hook, uint32_t core);

#endif
