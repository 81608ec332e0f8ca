/**
 * Doubt: the own value of a transfer that a concurrent run contradicts (cost/agreement.h).
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"
#include "node/reasons.h"
#include "node/snapshot.h"

/* Warns of such values of these kinds (enum transfer_kind, any of them) between two places, in
 * either direction. */
void doubt_warn(const struct snapshot *snap, place_id a, place_id b, unsigned kinds,
                struct reasons *warnings);
