/**
 * Converts records to values and sets of a node, with places instead of names. All fail with
 * BAD_DATA on a metric between two places from a place to itself.
 *
 * Any thread that has the record.
 */
#pragma once
#include <stdint.h>

#include "node/graph.h"
#include "node/record.h"
#include "node/record_plain.h"
#include "node/sets.h"
#include "node/values.h"

/* Adds a set record's flows as one set on this graph. Fails with NO_SUCH_PLACE, BAD_DATA or
 * NO_MEMORY. */
enum berth_code record_add_set(const struct record *record, const struct graph *graph,
                               enum value_source source, int64_t measured_at_s, struct sets *sets,
                               struct berth_err *err);

/* Adds the usual value. Fails with NO_SUCH_PLACE, BAD_DATA or NO_MEMORY. */
enum berth_code record_add_plain(const struct record_plain *plain, const struct graph *graph,
                                 enum value_source source, int64_t measured_at_s,
                                 struct values *values, struct berth_err *err);

/* Adds the cell of a value's line that is no record (record_parse failed), without a value but with
 * the reason. False: its cell cannot be read or is none of this graph, or memory is short. */
bool record_add_broken(const char *line, size_t length, const struct graph *graph,
                       enum value_source source, int64_t measured_at_s, const char *why,
                       struct values *values);

/* Adds a value or skip record's values on this graph. Each sample of a bandwidth metric becomes the
 * rate at its bytes axis, a t0 of a transfer a value of transfer_overhead. Fails with
 * NO_SUCH_PLACE, BAD_DATA or NO_MEMORY. */
enum berth_code record_add_values(const struct record *record, const struct graph *graph,
                                  enum value_source source, int64_t measured_at_s,
                                  struct values *values, struct berth_err *err);
