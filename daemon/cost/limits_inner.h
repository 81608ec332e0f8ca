/* Steps of deriving shared limits (cost/limits.h). */
#pragma once
#include "cost/limits.h"

/* Makes the parts of a node, with stated capacities, and the pairs that use them. NULL when out of
 * memory. Pairs of a node with more than LIMITS_PLACES_MAX ends use nothing. */
struct limits *limits_parts(const struct graph *graph, const struct values *values,
                            const struct sets *sets);

/* Fills the highest rate of one transfer of each pair. */
void limits_note_alone(struct limits *limits, const struct values *values, const struct sets *sets);

/* Raises capacities to the rates that transfers carried, alone or together. False when out of
 * memory. */
bool limits_carried(struct limits *limits, const struct values *values, const struct sets *sets);

/* Adds the limits found from the runs of one metric, sets first to end. False when out of memory.
 */
bool limits_from_runs(struct limits *limits, const struct values *values, const struct sets *sets,
                      size_t first, size_t end);

/* Takes capacities of parts from runs of other kinds of transfers, and of parts alike. */
void limits_from_other_kinds(struct limits *limits);

/* Changes a pair while limits are derived. */
struct limits_pair *limits_pair_of(const struct limits *limits, place_id from, place_id to);

/* True when the pair has the limit among its first count. */
bool limits_pair_has(const struct limits_pair *pair, size_t count, size_t limit);

/* Adds an empty limit. Returns its index; UINT16_MAX when out of memory. */
uint16_t limits_add(struct limits *limits);
