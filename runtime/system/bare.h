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
/* bare.c: a kernel thread, and its start and end. */
struct bare_thread {
    int id;   /* 0 once it has ended; below 0 before it runs */
    int last; /* its id, until it is known to have left the process */
};
bool start_bare(void (*run)(void *), void *argument, void *stack_top, struct bare_thread *thread);
/* Waits until the thread has ended and has left the process. */
void await_end(struct bare_thread *thread);

extern const char runtime_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char runtime_end[] __attribute__((visibility("hidden"))); /* end.S */

#endif
