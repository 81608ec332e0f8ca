/**
 * What an answer of Route says of other sizes than the one that was asked for, by sampling: where
 * another option leads, and from where on the first gets 80 % of its highest rate. Pure; any
 * thread.
 */
#pragma once
#include "plan/route/work.h"

/* The crossovers and b80_bytes of an answer whose options are in order. */
void sizes_find(const struct route_work *work);
