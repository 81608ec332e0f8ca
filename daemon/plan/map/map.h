/**
 * Folder daemon/plan/map: answers in advance: the nearest memory of each place and the time of each
 *   transfer, in one block that programs map.
 *
 * Main types: struct map_header (schema/map_layout.h).
 * Uses: base node cost plan/route plan/alloc
 * Public headers: map.h
 * Shown by: tests/unit/plan/map, docs/examples/map.c
 *
 * The nearest memory of a kind is the first option of Allocate for MAP_ALLOCATED_BYTES that the
 * place reads once, on the whole node, whatever memory is free. The time of a transfer is that of
 * the first direct option of Route, asked for each power of two; between two of these straight
 * pieces follow its mechanism's curve within MAP_TOLERANCE. Reports of programs do not correct it.
 *
 * Pure; any thread.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "node/snapshot.h"

#define MAP_ALLOCATED_BYTES ((int64_t)64 << 20)
#define MAP_TOLERANCE       1e-3
#define MAP_SIZES           47 /* powers of two, from 1 byte on */

/* Makes the block, for free(3). Takes milliseconds. Fails with NO_MEMORY, and with UNAVAILABLE
 * where it is longer than MAP_BYTES_MAX. */
enum berth_code plan_map(const struct snapshot *snap, char **ret_data, size_t *ret_size,
                         struct berth_err *err);
