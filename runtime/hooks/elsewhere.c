/*
 * Calls of functions by an argument, or at single calls of a request, at which the thread stays.
 * Most calls are of this kind. Registers that enter.S has not saved stay untouched until a hop may
 * be due.
 */
#include "backend.h"
#include "hooks.h"
#include "object_table.h"

/* Counts a call about an object if the thread is already on its core. False, with nothing counted,
 * if it may be another kind of call. It calls no function, so that everything it needs is in
 * registers that enter.S has saved. */
static inline bool stays_with_object(uint32_t hook, uintptr_t at)
{
    uint32_t number = program.hooks[hook].argument;
    if (number - 1 >= LAST_ARGUMENT)
        return false;
    uintptr_t address = argument_of(number, at);
    uint64_t named = self.named + 1;
    if (UNLIKELY(!is_object(address) || named % EPOCH == 0))
        return false;
    uint64_t granule = address >> GRANULE_LOG;
    uint64_t here = granule << STATE_BITS | (uint32_t)self.core;
    const struct object *object = bucket_of(granule), *end = object + WAYS;
    while (__atomic_load_n(&object->word, __ATOMIC_RELAXED) != here)
        if (++object == end)
            return false;
    if (UNLIKELY(__atomic_load_n(&object->named, __ATOMIC_RELAXED) != current_epoch()))
        return false;
    __atomic_store_n(&self.named, named, __ATOMIC_RELAXED);
    bump(&self.tallies[hook].calls);
    bump(&counters_of(hook)[BY_CORE + (uint32_t)self.core]);
    return true;
}

void enter_elsewhere(uint32_t hook, uintptr_t at)
{
    const struct backend *backend = __atomic_load_n(&program.backend, __ATOMIC_RELAXED);
    bool is_short = self.backend == backend && !program.goes_back;
    if (!is_short || (!stays_with_object(hook, at) && !stays_between_calls(hook)))
        enter_slowly(hook, at);
}
