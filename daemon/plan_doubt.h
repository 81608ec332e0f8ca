/**
 * Doubt: what a request rests on and sets contradict (contradict.h), in one sentence.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan.h"
#include "snapshot.h"

/* Warns of transfers of these kinds (enum resource_kind, any of them) both of whose ends are among the places. */
void plan_doubt_warn(struct snapshot *snap, const place_id *places, size_t count, unsigned kinds, struct plan_warnings *warnings);
