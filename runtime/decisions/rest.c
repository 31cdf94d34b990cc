/*
 * A process that must behave from now on as if it were not patched reports that and rests.
 */
#include "rest.h"
#include "auto.h"
#include "opening.h"
#include "program.h"
#include "statistics.h"
#include "system.h"

static bool rests;

bool has_come_to_rest(void)
{
    return rests;
}

void come_to_rest(const char *reason)
{
    rests = true;
    if (program.refusal == NULL)
        program.refusal = reason;
    set_auto(false);
    if (program.backend != &off_backend) {
        complain("%s: from here on without hops, and without statistics", reason);
        use_backend(&off_backend);
    }
    /* The calling thread makes no later system call because it once hopped. */
    take_over(&off_backend);
    write_statistics();
}
