/*
 * A thread that is to make its next calls at home.
 */
#include "home.h"

void stay_for_good(void)
{
    place.bound = place.stopped = true;
    if (place.fiber != NULL)
        go_home(place.fiber);
}

void stay_home(void)
{
    if (place.fiber != NULL)
        go_home(place.fiber);
}
