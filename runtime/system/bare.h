/*
 * Stacks and kernel threads without libc (bare.c, switch.S), and where the runtime's own code lies.
 */
#ifndef COREHOP_BARE_H
#define COREHOP_BARE_H

#include <stdbool.h>

/* switch.S */
void switch_stack(void **save, void *load);
void *first_stack(void *top, void (*run)(void *), void *argument);
long start_thread(long flags, void *stack, int *parent_word, int *child_word);
/* bare.c */
/* Starts a kernel thread; `word` holds its id until it has ended. */
bool start_bare(void (*run)(void *), void *argument, void *stack_top, int *word);
/* Waits until the thread whose id `word` holds has ended. */
void await_end(int *word);

extern const char runtime_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char runtime_end[] __attribute__((visibility("hidden"))); /* end.S */

#endif
