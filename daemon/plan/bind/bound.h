/**
 * A time that no choice of gpus is below, whatever memory its tasks have: choices are weighed with
 * the memory next to their gpus, of which cores that others have may leave a task none.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/price.h"

/* What gpus and nics send each other takes in the best choice, by the way of copying that price is
 * of, and any transfer with the host at least with whatever memory. in_order: gpus ascend from task
 * to task. 0 where nothing is certain, as of more than SEARCH_EXACT_SLOTS gpus or where some may
 * lack a price. NO_MEMORY. */
enum berth_code plan_bind_bound(const struct bind_price *price, enum load_by by, bool in_order,
                                double *ret_ns, struct berth_err *err);
