/*
 * Signals that ask a program to end (terminated.c).
 */
#ifndef COREHOP_TERMINATED_H
#define COREHOP_TERMINATED_H

#include <stdbool.h>

void prepare_termination(void);
bool is_terminated_by(int number);
void when_terminated(int number);
/* Has the kernel do with the signal what it does by default, once the calling thread lets it in. */
void raise_default(int number);

#endif
