/*
 * Signal handlers of the program (handlers.c).
 */
#ifndef COREHOP_HANDLERS_H
#define COREHOP_HANDLERS_H

#include <signal.h>
#include <stdint.h>

/* A jump to that place on the stack, or to one that is not known (0), leaves handlers below it. */
void leave_handlers(uintptr_t to);
/* Signal 16 came from somebody else (home.h). */
void take_foreign_poke(siginfo_t *info, void *context);

#endif
