/*
 * The interface of backends, which move threads (backend.c has the empty one, count.c one that
 * counts).
 */
#ifndef COREHOP_BACKEND_H
#define COREHOP_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

/* A backend: a separate file, and a line in the table of backends.c, through which lower layers
 * call it. */
struct backend {
    const char *name;
    /* Called at a hook if the thread is not on that core, or if another backend put it there.
     * `hops` is the counter to increment. NULL: no hook does anything. */
    void (*hop)(uint64_t *hops, int32_t core);
    /* Called once before the first hop(); false, after a message, if the backend cannot work here.
     */
    bool (*prepare)(void);
    /* Undoes what hop() did to the calling thread, for another backend that takes it over. */
    void (*leave)(void);
    /* Runs in a forked child, where only the forking thread exists. */
    void (*forked)(void);
};

extern const struct backend off_backend;
extern const struct backend count_backend;
/* Called at a thread's first hook after a switch of backends: the former one releases it. */
void take_over(const struct backend *to);
/* Forgets all open calls, and counts them as left. */
void forget_calls(void);

#endif
