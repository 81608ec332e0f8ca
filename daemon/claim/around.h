/**
 * Planning around claims: removes the resources that others claimed for computing from the part of
 * the node that a request may use. Reads /proc only to determine if a caller belongs to a claim's
 * owner. Safe from any thread that may read the set.
 */
#pragma once
#include "base/err.h"
#include "base/files.h"
#include "claim/owner.h"
#include "claim/set.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/reasons.h"

/* Caller of a request. A claim counts as the caller's own in three cases.
 * - the caller's key names it (claim_is_under);
 * - it is the user's or root's, and the caller's process belongs to the claim's owner, as in a job
 *   for which a hook made the claim;
 * - it is the user's and has neither key nor owner, so it belongs to no job. */
struct claim_caller {
    uid_t uid;
    struct claim_lineage *process; /* NULL unknown */
    const char *key;               /* NULL none */
};

/* True when the caller's key names a claim of the caller's user or of root. The key is the claim's
 * or extends it after a dot: "slurm/12.0" is a step of job "slurm/12". Every user may name root's
 * claims, so that the processes of a job plan within a hook's claim. That grants no right to the
 * places. */
bool claim_is_under(const struct claim *claim, const struct claim_caller *caller);

/* Removes cpus, GPUs and NUMA nodes from allowed and sets gpus_claimed. Warnings name the removed
 * ones with their claims, and the caller's own claims without key and owner, which stay. NICs are
 * shared and stay. *ret_left_out is true when anything was removed. Fails with NOTHING_ALLOWED when
 * no cpu is left, and with NO_MEMORY. */
enum berth_code claim_around(const struct claim_set *claims, const struct files *io,
                             const struct graph *graph, const struct claim_caller *caller,
                             struct allowed *allowed, struct reasons *warnings, bool *ret_left_out,
                             struct berth_err *err);

/* claim/within.c: planning within a claim. A request gets only claimed resources if it names a
 * claim, or if its process belongs to a claim's owner. Reads /proc only for the latter. Safe from
 * any thread that may read the set.
 *
 * Narrows allowed to the resources of claims for computing. These are the claims that the caller's
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
