/**
 * The options of one request of Route: the direct ones, and of each other kind (through the host,
 * one gpu, two; two, three, four parts at once; by each mechanism) the fastest, and the fastest
 * that may lead. Pure; any thread.
 */
#pragma once
#include "plan/route/work.h"

/* Fills the answer's options, priced for the size that is asked for, in no order. None: nothing is
 * known. NO_MEMORY. */
enum berth_code options_find(struct route_work *work, struct berth_err *err);
