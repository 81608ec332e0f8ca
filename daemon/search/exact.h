/**
 * Every choice looked at or ruled out, berth by berth.
 */
#pragma once
#include "search/work.h"

/* For at most SEARCH_EXACT_SLOTS slots; from a best that may be there already. Sets is_proven,
 * unless there is so much to look at that it gives up. False when out of memory. */
bool plan_search_exact(struct search_work *work);
