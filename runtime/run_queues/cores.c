/*
 * The one pool of cores, on which threads of the program run as fibers.
 */
#include "cores.h"

struct pool pool;
