/**
 * Other sizes than the requested one, by sampling: where another option leads, and from where on
 * the first gets 80 % of its highest rate. Pure; any thread.
 */
#pragma once
#include "plan/route/work.h"

/* Sets the crossovers and b80_bytes of an answer whose options are in order. */
bool sizes_find(const struct route_work *work);
