/*
 * A fiber's registers while it does not run (vectors.c), and how it leaves a carrier or its home.
 */
#ifndef COREHOP_VECTORS_H
#define COREHOP_VECTORS_H

#include "bare.h"
#include "cores.h"

extern size_t vectors_size; /* size of a fiber's `vectors` */
bool prepare_vectors(void);
void save_vectors(struct fiber *fiber);
void restore_vectors(const struct fiber *fiber);
/* Sets the state that a kernel thread must have between fibers and would otherwise inherit. */
void reset_vectors(void);

/* Sends the fiber wherever `going` points and returns where it continues. It is inline because the
 * processor mispredicts each return into a frame from before the switch. */
static inline void leave(struct fiber *fiber, void **stack_there)
{
    save_vectors(fiber);
    switch_stack(&fiber->stack, *stack_there);
    restore_vectors(fiber);
}

#endif
