/*
 * The one program that this process runs.
 */
#include "program.h"

struct program program;
