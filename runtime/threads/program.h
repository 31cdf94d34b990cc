/*
 * The patched program: the files of its plan, their hooks, and what may move its threads.
 */
#ifndef COREHOP_PROGRAM_H
#define COREHOP_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hook {
    uint64_t offset;  /* of the function in the ELF file */
    uint16_t core;    /* plan core; NO_CORE or more if it has none (objects.h) */
    uint8_t mode;     /* STAYS, GOES_BACK, IS_COUNTED, or a value of objects.h */
    uint8_t argument; /* which argument or call determines the core (objects.h); or 0 */
    uint32_t name;    /* distance of its symbol from note.names */
};

#define STAYS 0
#define GOES_BACK 1 /* when the call returns */
#define IS_COUNTED 2

/* A file of the plan, filled in by modules.c. */
struct module {
    uint32_t first; /* hook */
    uint32_t hooks;
    const char *name;
    const char *build_id;
    const char *names; /* symbols; NULL until it is loaded */
    size_t names_size;
    uintptr_t *slot; /* NULL while it is not loaded */
};

/* Filled in before any hook runs. */
struct program {
    uint32_t cores;
    uint32_t hook_count; /* of all modules */
    struct hook *hooks;
    struct module *modules;
    uint32_t module_count;
    uint32_t plan;
    const struct backend *backend; /* changes while the program runs, if control.c says so */
    uintptr_t minus_count;         /* 0 - &count_backend, */
    uintptr_t minus_request;       /* and 0 - the hook that counts requests, for enter_resting() */
    bool goes_back;                /* calls of some function are delegated */
    bool by_argument;              /* some function hops by an argument or at single calls */
    uint32_t request;              /* as the note has it */
    uint32_t teams;                /* once CPUs are chosen */
    const char *refusal;           /* why carriers refuse the program, if known */
    bool is_starting;              /* before main() */
    bool is_auto;                  /* measurements decide about hops (auto.c) */
    bool is_controlled;            /* orders may come (control.c) */
};

extern struct program program __attribute__((visibility("hidden")));

static inline bool auto_is_on(void)
{
    return __atomic_load_n(&program.is_auto, __ATOMIC_RELAXED);
}

static inline bool control_is_on(void)
{
    return program.is_controlled;
}

#endif
