/*
 * What the watchdog does (watch.c).
 */
#ifndef COREHOP_WATCH_H
#define COREHOP_WATCH_H

/* What its thread runs; takes nothing. */
void keep_watch(void *unused);

#endif
