/*
 * The table of objects and their cores (objects.c), which elsewhere.c reads.
 */
#ifndef COREHOP_OBJECT_TABLE_H
#define COREHOP_OBJECT_TABLE_H

#include "objects.h"
#include "offsets.h"
#include "thread_state.h"

#define BUCKETS_LOG 8
#define BUCKETS (1u << BUCKETS_LOG)
#define WAYS 4
#define EPOCH 4096
#define GRANULE_LOG 4
#define LOWEST 0x10000ul
#define HIGHEST ((1ul << 56) - 1)
#define MOST_CORES 1024u
#define STATE_BITS 12 /* a core, or MOST_CORES for none */
#define STATES (1u << STATE_BITS)

struct object {
    uint64_t word;  /* its address / 16 and its state, or 0 in a free place */
    uint16_t named; /* the epoch; no two in the table differ by 2^16 */
    uint16_t calls; /* without a core */
    uint32_t hook;  /* at which it came */
};

struct epoch {
    uint32_t number;
} __attribute__((aligned(64))); /* on a separate line, which is rarely written */

extern struct object objects[BUCKETS][WAYS] __attribute__((visibility("hidden")));
extern struct epoch epoch __attribute__((visibility("hidden")));

static inline struct object *bucket_of(uint64_t granule)
{
    return objects[granule * 0x9e3779b97f4a7c15ul >> (64 - BUCKETS_LOG)];
}

static inline uint16_t current_epoch(void)
{
    return (uint16_t)__atomic_load_n(&epoch.number, __ATOMIC_RELAXED);
}

/* Where enter.S has saved the register of each argument. */
static const uint16_t saved[] = {SAVED_RDI, SAVED_RSI, SAVED_RDX, SAVED_RCX, SAVED_R8, SAVED_R9};

static inline uintptr_t argument_of(uint32_t number, uintptr_t at)
{
    return *(const uintptr_t *)(at - saved[number - 1]);
}

static inline bool is_object(uintptr_t address)
{
    return address >= LOWEST && address <= HIGHEST;
}

#endif
