/*
 * What the environment says in numbers (settings.c).
 */
#ifndef COREHOP_SETTINGS_H
#define COREHOP_SETTINGS_H

#include <stdint.h>

/* What COREHOP_... says, from 0 to `most`; `otherwise` where it is unset, or after a message. */
uint64_t number_from(const char *variable, uint64_t most, uint64_t otherwise);

#endif
