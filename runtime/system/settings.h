/*
 * Numbers from environment variables (settings.c).
 */
#ifndef COREHOP_SETTINGS_H
#define COREHOP_SETTINGS_H

#include <stdint.h>

/* The value of COREHOP_..., from 0 to `most`; `otherwise` if it is unset, or invalid after a
 * message. */
uint64_t number_from(const char *variable, uint64_t most, uint64_t otherwise);

#endif
