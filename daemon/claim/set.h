/**
 * The claims in force: what may stand beside what, and until when. Pure: no I/O and no clock, the
 * time is handed in, in nanoseconds of CLOCK_MONOTONIC. That clock decides when a claim ends:
 * setting the wall clock neither ends a claim nor prolongs it, and within one boot it goes on
 * counting from one daemon to the next. Loop thread only.
 *
 * An administrator's claim is not held up by those of ordinary users, which claim_set_overridden
 * then tells; they may not claim for profiling what another one of them computes on, nor the other
 * way round.
 *
 * A place covers itself, what is inside it, and the cpus of both. Two claims for computing never
 * cover the same thing. Two for profiling may both cover a gpu of AMD, under one configuration,
 * because its users share one; no other gpu is shared.
 */
#pragma once
#include "claim/claim.h"

struct claim_limits {
    size_t per_user, in_all; /* in_all: of administrators, and as many of ordinary users */
    bool is_exempt;          /* from per_user */
};

/* Zero-initialise. */
struct claim_set {
    struct claim **item; /* in the order of their coming */
    size_t count;
    uint64_t generation; /* grows with every change */
};

void claim_set_done(struct claim_set *claims);

/* Puts a claim like spec in: uid, places, purpose, configuration, key, owner, deadline_ns and id
 * are taken from it. A claim of the same user under the same key is renewed instead: it keeps its
 * id and its plan, and gets the new deadline, the places that are asked beside its own, which have
 * to be among them, and, if it had none, the owner. An owner may be left out then. ret_claim is
 * borrowed.
 *
 * Fails with KEY_MISMATCH (places, purpose, configuration, owner_pid, owner_cgroup),
 * ALREADY_CLAIMED, NOT_ENOUGH (claims), INVALID_PARAMETER for profiling a place without gpus,
 * NO_MEMORY. Places that graph does not have are nowhere. */
enum berth_code claim_set_add(struct claim_set *claims, const struct graph *graph,
                              const struct claim *spec, const struct claim_limits *limits,
                              const struct claim **ret_claim, struct berth_err *err);

/* The first claim of an ordinary user that covers something of this one of an administrator's,
 * which is in the set, and nothing of before, which it replaced (NULL none). NULL when there is
 * none, or without memory to tell. */
const struct claim *claim_set_overridden(const struct claim_set *claims, const struct graph *graph,
                                         const struct claim *claim, const struct claim *before);

/* Undoes the claim_set_add that made this claim of another one, before anything else has changed.
 * Takes the reference. */
void claim_set_put_back(struct claim_set *claims, const struct claim *claim,
                        struct claim *take_before);

/* As stored: goes in as it is, whatever its places are now. False when out of memory. */
bool claim_set_restore(struct claim_set *claims, const struct claim *stored);

/* NULL when there is none. */
const struct claim *claim_set_find(const struct claim_set *claims, const char *id);
const struct claim *claim_set_find_key(const struct claim_set *claims, uid_t uid, const char *key);

/* Keeps Bind's plan with a claim. False when out of memory: nothing changed. */
bool claim_set_keep_plan(struct claim_set *claims, const struct claim *claim, const char *asked,
                         const char *answered);

void claim_set_remove(struct claim_set *claims, const struct claim *claim);

/* Undoes the claim_set_add that put this claim in, before anything else has changed: the generation
 * is what it was. */
void claim_set_take_back(struct claim_set *claims, const struct claim *claim);

/* Removes one that has passed its deadline and tells its id, false when there is none. */
bool claim_set_expire_one(struct claim_set *claims, uint64_t now_ns, char ret_id[CLAIM_ID_SIZE]);

/* The earliest deadline, UINT64_MAX when there is none. */
uint64_t claim_set_next_deadline(const struct claim_set *claims);

/* The first one for computing, NULL when there is none: while there is one nothing is measured.
 * of_admins: only those of administrators count. */
const struct claim *claim_set_computing(const struct claim_set *claims, bool of_admins);

/* The first one for profiling a gpu that is place or inside it, NULL when there is none: that gpu
 * is not probed. */
const struct claim *claim_set_profiling(const struct claim_set *claims, const struct graph *graph,
                                        place_id place, bool of_admins);

/* Aborts when an invariant is broken: ids are unique, keys of a user are unique, versions are not
 * of the future, no two claims stand side by side that graph forbids. For tests, and after each
 * change in builds with BERTH_DEBUG. */
void claim_set_check(const struct claim_set *claims, const struct graph *graph);
