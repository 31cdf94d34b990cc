/*
 * Signals that ask a program to end (terminated.c).
 */
#ifndef COREHOP_TERMINATED_H
#define COREHOP_TERMINATED_H

#include <stdbool.h>

void prepare_termination(void);
bool is_terminated_by(int number);
void when_terminated(int number);
/* Lets the kernel take the signal's default action, once the calling thread unblocks it. */
void raise_default(int number);

#endif
