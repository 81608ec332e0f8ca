/**
 * The claims in force: which may exist together, and until when. Pure: no I/O and no clock. Times
 * are nanoseconds of CLOCK_MONOTONIC, from the caller, so setting the wall clock does not change a
 * deadline. Within one boot that clock continues from one daemon to the next. Loop thread only.
 *
 * Claims of ordinary users do not prevent an administrator's claim; claim_set_overridden returns
 * the first one that it overrides. An ordinary user may not claim GPUs for profiling that another
 * ordinary user has claimed for computing, nor the reverse.
 *
 * A place covers itself, everything inside it, and the cpus of both. Two claims for computing never
 * cover the same resource. Two for profiling may cover the same AMD GPU under one configuration,
 * because AMD's users share one; other GPUs are not shared.
 */
#pragma once
#include "claim/claim.h"

struct claim_limits {
    size_t per_user, in_all; /* in_all: of administrators, and as many of ordinary users */
    bool is_exempt;          /* from per_user */
};

/* Zero-initialise. */
struct claim_set {
    struct claim **item; /* in the order of adding */
    size_t count;
    uint64_t generation; /* grows with every change */
};

void claim_set_done(struct claim_set *claims);

/* Adds a claim with spec's uid, places, purpose, configuration, key, owner, deadline_ns and id. If
 * the user has a claim under the same key, renews it: it keeps its id and its plan and gets the new
 * deadline. The request must name all its places and may add some. A missing owner is added; the
 * request may omit an owner. *ret_claim is borrowed.
 *
 * Fails with KEY_MISMATCH (places, purpose, configuration, owner_pid, owner_cgroup),
 * ALREADY_CLAIMED, NOT_ENOUGH (claims), INVALID_PARAMETER for profiling a place without GPUs,
 * NO_MEMORY. Ignores places that graph does not have. */
enum berth_code claim_set_add(struct claim_set *claims, const struct graph *graph,
                              const struct claim *spec, const struct claim_limits *limits,
                              const struct claim **ret_claim, struct berth_err *err);

/* Adds a claim to those that wait for their places, in the order of arrival: a set of its own,
 * whose claims may conflict. Its deadline_ns is the end of waiting. Fails with NOT_ENOUGH (waiting
 * claims) and NO_MEMORY. */
enum berth_code claim_set_queue(struct claim_set *waiting, const struct claim *spec,
                                const struct claim_limits *limits, const struct claim **ret_claim,
                                struct berth_err *err);

/* Checks a new claim against the claims of a set that were added earlier than @before (NULL all).
 * is_patient: an administrator's claim overrides none. Fails with ALREADY_CLAIMED, and *ret_by is
 * the claim in the way, borrowed (ret_by NULL fine); NO_MEMORY. */
enum berth_code claim_set_in_the_way(const struct claim_set *claims, const struct graph *graph,
                                     const struct claim *spec, const struct claim *before,
                                     bool is_patient, const struct claim **ret_by,
                                     struct berth_err *err);

/* Returns the first ordinary user's claim that shares a resource with this administrator's claim,
 * but not with the claim @before that it replaced (NULL none). The claim is in the set. NULL when
 * there is none or no memory to compare. */
const struct claim *claim_set_overridden(const struct claim_set *claims, const struct graph *graph,
                                         const struct claim *claim, const struct claim *before);

/* Undoes the claim_set_add that replaced take_before by this claim, before any other change. Takes
 * the reference. */
void claim_set_undo_replace(struct claim_set *claims, const struct claim *claim,
                            struct claim *take_before);

/* Adds a stored claim unchanged, even if its places have changed. Returns false when out of
 * memory. */
bool claim_set_restore(struct claim_set *claims, const struct claim *stored);

/* Checks a stored claim against the claims of the set, which were made without knowledge of it.
 * Fails with ALREADY_CLAIMED, also for its id or its key, and NO_MEMORY. */
enum berth_code claim_set_check_stored(const struct claim_set *claims, const struct graph *graph,
                                       const struct claim *stored, struct berth_err *err);

/* NULL when there is none. */
const struct claim *claim_set_find(const struct claim_set *claims, const char *id);
const struct claim *claim_set_find_key(const struct claim_set *claims, uid_t uid, const char *key);

/* Stores Bind's plan in a claim. Returns false, without change, when out of memory. */
bool claim_set_keep_plan(struct claim_set *claims, const struct claim *claim, const char *asked,
                         const char *answered);

void claim_set_remove(struct claim_set *claims, const struct claim *claim);

/* Undoes the claim_set_add that added this claim, before any other change; restores the
 * generation. */
void claim_set_undo_add(struct claim_set *claims, const struct claim *claim);

/* Removes one claim past its deadline and returns its id; false when there is none. */
bool claim_set_expire_one(struct claim_set *claims, uint64_t now_ns, char ret_id[CLAIM_ID_SIZE]);

/* Returns the earliest deadline; UINT64_MAX when there is none. */
uint64_t claim_set_next_deadline(const struct claim_set *claims);

/* Returns the first claim for computing; NULL when there is none. While there is one, nothing is
 * measured. of_admins: administrators' claims only. */
const struct claim *claim_set_computing(const struct claim_set *claims, bool of_admins);

/* Returns the first claim for profiling a GPU that is place or inside it; NULL when there is none.
 * A GPU with such a claim is not probed. */
const struct claim *claim_set_profiling(const struct claim_set *claims, const struct graph *graph,
                                        place_id place, bool of_admins);

/* Aborts on a broken invariant: ids are unique, each user's keys are unique, versions do not exceed
 * the generation, no two claims conflict on graph. For tests, and after each change in builds with
 * BERTH_DEBUG. */
void claim_set_check(const struct claim_set *claims, const struct graph *graph);
