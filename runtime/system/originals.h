/*
 * libc's functions behind those of the runtime's own that have their names (originals.c).
 */
#ifndef COREHOP_ORIGINALS_H
#define COREHOP_ORIGINALS_H

/* libc's function of a name that this library defines too; `kept` is where it is once found. */
void *original(void **kept, const char *name);
/* What a function of libc gives that fails by this negative errno. */
long fail(long error);

#endif
