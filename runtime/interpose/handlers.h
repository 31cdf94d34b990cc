/*
 * The program's signal handlers (handlers.c).
 */
#ifndef COREHOP_HANDLERS_H
#define COREHOP_HANDLERS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* A jump to that stack address, or to an unknown one (0), leaves the handlers below it. */
void leave_handlers(uintptr_t to);
/* rt_sigaction as the kernel has it, but as sigaction() treats it. */
long set_raw_action(int number, const void *action, void *before, size_t size);
/* Signal 16 came from another sender (home.h). */
void take_foreign_poke(siginfo_t *info, void *context);

#endif
