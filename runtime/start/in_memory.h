/*
 * Hooks the program's files while it starts (in_memory.c).
 */
#ifndef COREHOP_IN_MEMORY_H
#define COREHOP_IN_MEMORY_H

/* Hooks the files that `corehop run` passes, or ends the process. */
void take_in_memory_hooks(char **started_with);

#endif
