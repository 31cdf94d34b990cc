/*
 * The table of backends: which of them are usable here, and with which the program begins.
 */
#define _GNU_SOURCE
#include "backends.h"
#include "affinity.h"
#include "carrier.h"
#include "program.h"
#include "system.h"

#include <stdlib.h>
#include <string.h>

static bool prepare(void)
{
    return true;
}

/* It uses other backends to move threads (auto.c). */
const struct backend auto_backend = {.name = "auto", .prepare = prepare};

static const struct backend *const backends[] = {
    /* The first is the default: it makes no server slower. */
    &auto_backend, &affinity_backend, &carrier_backend, &count_backend, &off_backend,
};
#define BACKENDS (sizeof backends / sizeof *backends)
static bool usable[BACKENDS];

const struct backend *backend_called(const char *name)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (strcmp(name, backends[i]->name) == 0)
            return backends[i];
    return NULL;
}

bool backend_is_usable(const struct backend *backend)
{
    /* If carriers refuse, which a plan may know in advance, auto never begins. */
    if (backend == &auto_backend && program.refusal != NULL)
        return false;
    for (size_t i = 0; i < BACKENDS; i++)
        if (backends[i] == backend)
            return usable[i] && (backend != &carrier_backend || carrier_refusal() == NULL);
    return false;
}

static bool is_backend_named(void)
{
    const char *name = secure_getenv("COREHOP_BACKEND");
    return name != NULL && *name != '\0';
}

const struct backend *chosen_backend(void)
{
    const char *name = secure_getenv("COREHOP_BACKEND");
    if (name == NULL || *name == '\0')
        return backends[0];
    const struct backend *backend = backend_called(name);
    if (backend != NULL)
        return backend;
    complain("COREHOP_BACKEND=%s is none of affinity, auto, carrier, count, off: running without "
             "hops",
             name);
    return &off_backend;
}

bool carries_calls(const struct backend *chosen)
{
    bool is_alone = program.hook_count == 0;
    return chosen == &carrier_backend ||
           (chosen == &auto_backend && (!is_alone || !is_backend_named()));
}

/* Without a plan there are only calls to post, and nothing to measure. */
static const struct backend *prepared_alone(const struct backend *chosen)
{
    if (!carries_calls(chosen))
        return &off_backend;
    for (size_t i = 0; i < BACKENDS; i++)
        usable[i] = backends[i] == &off_backend ||
                    (backends[i] == &carrier_backend && carrier_backend.prepare());
    return carrier_refusal() == NULL ? &carrier_backend : &off_backend;
}

static const struct backend *prepared_by_plan(const struct backend *chosen)
{
    bool fails = false, is_auto = chosen == &auto_backend;
    for (size_t i = 0; i < BACKENDS; i++) {
        const struct backend *backend = backends[i];
        bool as_substitute = backend == &affinity_backend && chosen == &carrier_backend;
        bool is_asked = backend == chosen || as_substitute || is_auto || control_is_on();
        if (backend == &off_backend || !is_asked)
            continue;
        usable[i] = backend->prepare();
        fails |= !usable[i] && backend != &carrier_backend;
    }
    usable[BACKENDS - 1] = true; /* off */
    if (fails)
        return &off_backend;
    if ((chosen != &carrier_backend && !is_auto) || carrier_refusal() == NULL)
        return chosen;
    complain("COREHOP_BACKEND=%s: %s: using affinity%s", chosen->name, carrier_refusal(),
             is_auto ? ", where that pays" : "");
    return is_auto ? chosen : &affinity_backend;
}

const struct backend *prepared_backend(const struct backend *chosen)
{
    return program.hook_count == 0 ? prepared_alone(chosen) : prepared_by_plan(chosen);
}

void backends_forked(void)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (usable[i] && backends[i]->forked != NULL)
            backends[i]->forked();
}
