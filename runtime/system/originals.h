/*
 * libc's originals of the functions that the runtime interposes (originals.c).
 */
#ifndef COREHOP_ORIGINALS_H
#define COREHOP_ORIGINALS_H

/* libc's function of a name that this library defines too; `kept` caches its address. */
void *original(void **kept, const char *name);
/* The return value of a libc function that fails with this negative errno. */
long fail(long error);

#endif
