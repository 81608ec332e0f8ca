/**
 * The mechanisms of a plan's copies, as priced: the environment that each task needs for them, and
 * the reasons.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/traffic.h"

/* Returns true when a GPU makes the transfer: with a NIC none does. NULL fine. */
bool plan_bind_mechanism_is_copy(const struct graph *graph, const struct transfer *transfer);

/* Returns its name in a sentence. */
const char *plan_bind_mechanism_name(const struct graph *graph, const struct transfer *transfer);

/* Fills the variables of the answer's tasks and adds its reasons. NO_MEMORY. */
enum berth_code plan_bind_mechanism(const struct bind_traffic *traffic, const struct snapshot *snap,
                                    struct bind_answer *answer, struct berth_err *err);
