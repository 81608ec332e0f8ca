/**
 * Planning within a claim: a request that names one, or comes from what a claim was made for, gets
 * its berths inside the claimed places. Reads /proc only to tell whether a caller stands within a
 * claim's owner. Any thread that may read the set.
 */
#pragma once
#include "claim/around.h"

/* Narrows allowed to what the claims for computing cover that caller's key names (claim_is_under,
 * or the key of one whose owner it stands within); when none is named, to what those cover whose
 * owner it stands within; when there is none either, not at all. Each kind is narrowed only when
 * they cover any of it: a claim of gpus leaves the cpus as they were. Memory is that of NUMA nodes
 * inside packages and the like, not that of gpus. *ret_claim gets the first of those claims,
 * borrowed, NULL when there is none; also on failure with NOTHING_ALLOWED: no cpu or no memory is
 * left. NO_MEMORY. */
enum berth_code claim_within(const struct claim_set *claims, const struct files *io,
                             const struct graph *graph, const struct claim_caller *caller,
                             struct allowed *allowed, const struct claim **ret_claim,
                             struct berth_err *err);
