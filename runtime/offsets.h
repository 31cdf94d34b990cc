/*
 * Where enter.S finds what C keeps. start.c holds every number against the structures themselves.
 */
#ifndef COREHOP_OFFSETS_H
#define COREHOP_OFFSETS_H

#define PLACE_TALLIES 0
#define PLACE_BACKEND 16
#define PLACE_CORE 32
#define PROGRAM_HOOKS 8
#define PROGRAM_BACKEND 32
/* A hook and a tally are of one size, a power of two. */
#define HOOK_SHIFT 4
#define HOOK_CORE 8

#endif
