/*
 * Ways to move a thread: what each is (backend.c has none but to let it be, count.c to count).
 */
#ifndef COREHOP_BACKEND_H
#define COREHOP_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

/* One way: a file of its own, and a line in the table of backends.c, which is how lower layers call
 * it. */
struct backend {
    const char *name;
    /* Called at a hook where the thread is not on that core, or was put there by another backend;
     * `hops` is what counts it. NULL: no hook does anything. */
    void (*hop)(uint64_t *hops, int32_t core);
    /* Called once before the first hop(); false, after a message, if this cannot be done here. */
    bool (*prepare)(void);
    /* Undoes for the calling thread what enter() did: another backend takes it over. */
    void (*leave)(void);
    /* Runs in a forked child, where only the forking thread is left. */
    void (*forked)(void);
};

extern const struct backend off_backend;
extern const struct backend count_backend;
/* At a thread's first hook since the backend changed: the former one lets go of it. */
void take_over(const struct backend *to);
/* All open calls are forgotten, and counted as left. */
void forget_calls(void);

#endif
