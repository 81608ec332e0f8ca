/**
 * Doubt: what a request rests on and sets contradict (cost/agreement.h), in one sentence.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"
#include "node/reasons.h"
#include "node/snapshot.h"

/* Warns of transfers of these kinds (enum transfer_kind, any of them) both of whose ends are among
 * the places. */
void plan_doubt_warn(const struct snapshot *snap, const place_id *places, size_t count,
                     unsigned kinds, struct reasons *warnings);

/* Two lists of places, which may be the same. */
struct doubt_ends {
    const place_id *one, *other;
    size_t ones, others;
};

/* Of transfers between a place of the one list and one of the other, in either direction. */
void plan_doubt_warn_between(const struct snapshot *snap, const struct doubt_ends *ends,
                             unsigned kinds, struct reasons *warnings);
