/**
 * The two ends of a transfer: whether they can be such, and what is to be said when they cannot.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan.h"

/* Whether its driver lost the gpu, or a probe did: it answers nothing until it is reset. */
bool plan_ends_is_lost(const struct snapshot *snap, place_id gpu);

/* INVALID_PARAMETER (from, to, bytes: naming it), NOTHING_ALLOWED, UNAVAILABLE for a gpu that was lost, NOT_ENOUGH when an end cannot hold so many bytes. The detail says what there is instead. */
enum berth_code plan_ends_check(const struct snapshot *snap, const struct allowed *allowed, place_id from, place_id to, int64_t bytes, struct berth_err *err);
