/*
 * Numbers from environment variables: an invalid one is reported and ignored.
 */
#define _GNU_SOURCE
#include "settings.h"
#include "system.h"

#include <stdlib.h>

uint64_t number_from(const char *variable, uint64_t most, uint64_t otherwise)
{
    const char *text = secure_getenv(variable);
    char *end;
    if (text == NULL || *text == '\0')
        return otherwise;
    unsigned long number = strtoul(text, &end, 10);
    if (*end == '\0' && *text >= '0' && *text <= '9' && number <= most)
        return number;
    complain("%s=%s is not a number up to %lu: going on as if it were not set", variable, text,
             most);
    return otherwise;
}
