/**
 * Distances between GPUs by structure, for what no time says: which GPUs a task has together, which
 * ones stand near each other where nothing predicts a transfer, and which share the way to the
 * host.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/snapshot.h"

/* Fills the distance of each two of count GPUs, ret[a * count + b], on the scale of
 * locality_distance: 0 on one module; a tenth of it and more over a link, by its width beside the
 * widest; half over a PCIe switch. */
void plan_bind_distances(const struct snapshot *snap, const place_id *gpu, size_t count,
                         double *ret);

/* Returns the share of the way to the host that two GPUs have in common, of 1: a PCIe port or
 * switch, a module; less: a NUMA node, a package; 0 nothing. */
double plan_bind_distance_meet(const struct graph *graph, place_id a, place_id b);
