/*
 * Opens the hooks: points the slots of all files to the entry in enter.S that suits the backend.
 */
#include "opening.h"
#include "hooks.h"
#include "modules.h"
#include "program.h"

static bool were_open;

bool hooks_were_open(void)
{
    return were_open;
}

void use_backend(const struct backend *to)
{
    bool has_request = program.request != 0;
    uintptr_t address = (uintptr_t)(program.goes_back ? enter_call : enter);
    if (to == &off_backend)
        address = (uintptr_t)enter_off;
    else if (to == &count_backend && auto_is_on())
        address = (uintptr_t)(has_request ? enter_resting : enter_counting);
    program.minus_count = -(uintptr_t)&count_backend;
    program.minus_request = has_request ? -(uintptr_t)(program.request - 1) : 0;
    were_open = true;
    program.backend = to;
    fill_slots(address);
}
