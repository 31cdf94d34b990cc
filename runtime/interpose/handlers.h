/*
 * The program's signal handlers (handlers.c).
 */
#ifndef COREHOP_HANDLERS_H
#define COREHOP_HANDLERS_H

#include <signal.h>
#include <stdint.h>

/* A jump to that stack address, or to an unknown one (0), leaves the handlers below it. */
void leave_handlers(uintptr_t to);
/* Signal 16 came from another sender (home.h). */
void take_foreign_poke(siginfo_t *info, void *context);

#endif
