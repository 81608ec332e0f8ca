/**
 * Planning within a claim: a request gets only claimed resources if it names a claim, or if its
 * process belongs to a claim's owner. Reads /proc only for the latter. Safe from any thread that
 * may read the set.
 */
#pragma once
#include "claim/around.h"

/* Narrows allowed to the resources of claims for computing. These are the claims that the caller's
 * key names: claim_is_under, or the same key and an owner that the caller belongs to. If there are
 * none, they are all claims whose owner the caller belongs to. If there are none either, changes
 * nothing.
 *
 * Narrows each kind only if the claims cover some of it: a claim of GPUs leaves the cpus unchanged.
 * Memory counts for NUMA nodes of the host, not of GPUs. Returns the first of the claims in
 * *ret_claim, borrowed, also on failure; NULL when there is none. Fails with NOTHING_ALLOWED when
 * no cpu or no memory is left, and with NO_MEMORY. */
enum berth_code claim_within(const struct claim_set *claims, const struct files *io,
                             const struct graph *graph, const struct claim_caller *caller,
                             struct allowed *allowed, const struct claim **ret_claim,
                             struct berth_err *err);
