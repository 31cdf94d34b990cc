/*
 * Sends the calling thread home: once, or for good.
 */
#include "home.h"

void stay_for_good(void)
{
    self.bound = self.stopped = true;
    if (self.fiber != NULL)
        go_home(self.fiber);
}

void stay_home(void)
{
    if (self.fiber != NULL)
        go_home(self.fiber);
}
