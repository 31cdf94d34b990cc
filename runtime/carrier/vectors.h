/*
 * A fiber's registers while it does not run (vectors.c), and how it leaves a carrier or its home.
 */
#ifndef COREHOP_VECTORS_H
#define COREHOP_VECTORS_H

#include "bare.h"
#include "cores.h"

extern size_t vectors_size; /* of a fiber's `vectors` */
bool prepare_vectors(void);
void save_vectors(struct fiber *fiber);
void restore_vectors(const struct fiber *fiber);
/* What a kernel thread must have between fibers, and inherits otherwise. */
void reset_vectors(void);

/* Sends the fiber wherever `going` says; returns where it goes on. In line, because each return
 * into a frame from before the switch is predicted wrongly. */
static inline void leave(struct fiber *fiber, void **stack_there)
{
    save_vectors(fiber);
    switch_stack(&fiber->stack, *stack_there);
    restore_vectors(fiber);
}

#endif
