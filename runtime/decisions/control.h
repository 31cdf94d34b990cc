/*
 * Orders to a running server (control.c).
 */
#ifndef COREHOP_CONTROL_H
#define COREHOP_CONTROL_H

#include "backend.h"

void prepare_control(void);
/* `first` is the backend with which the program starts. */
void start_control(const struct backend *first);
bool control_is_asked(void);
void look_at_control(void);
void control_forked(void);

#endif
