/*
 * CPUs: those of the process, and that of each plan core (processors.c).
 */
#ifndef COREHOP_PROCESSORS_H
#define COREHOP_PROCESSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MASK_WORDS 128
struct mask {
    unsigned long words[MASK_WORDS];
};
extern struct mask own_mask; /* of the process at its start */
extern size_t mask_size;     /* bytes of a mask that this kernel uses */
/* The CPU of each plan core, team after team, or NULL after a message. */
const uint32_t *choose_processors(void);
static inline bool has_cpu(const struct mask *mask, uint32_t cpu)
{
    return cpu < MASK_WORDS * 64 && (mask->words[cpu / 64] >> cpu % 64 & 1) != 0;
}
static inline struct mask mask_of(uint32_t cpu)
{
    struct mask mask = {{0}};
    mask.words[cpu / 64] = 1ul << cpu % 64;
    return mask;
}
/* Hooks compare masks, and libc's memcmp() would change vector registers. */
static inline bool is_same_mask(const struct mask *one, const struct mask *other)
{
    for (size_t i = 0; i < mask_size / sizeof *one->words; i++)
        if (one->words[i] != other->words[i])
            return false;
    return true;
}
/* Pins a thread to this CPU; 0 is the calling one. */
void pin(int thread, uint32_t cpu);
/* The team of a thread that hops for the first time. */
uint32_t next_team(void);

#endif
