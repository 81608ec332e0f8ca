/* Steps of deriving shared limits (cost/limits.h). */
#pragma once
#include "cost/limits.h"

/* Makes the parts of a node, with stated capacities, and the pairs that use them. NULL when out of
 * memory. Pairs of a node with more than LIMITS_PLACES_MAX ends use nothing. */
struct limits *limits_pairs(const struct graph *graph, const struct values *values,
                            const struct sets *sets);

/* The node while its parts and pairs are made. */
struct limits_builder {
    struct limits *limits;
    const struct graph *graph;
    const struct values *values;
    const struct sets *sets;
    struct link_paths *paths;
    /* by place: the place whose part it uses; PLACE_NONE none */
    place_id (*member)[LIMIT_PARTS];
    uint16_t (*of_place)[LIMIT_PARTS][3]; /* limits of a place, by direction */
    uint16_t (*of_link)[3];
    size_t switch_count;
    double *switched; /* by place and number of the switch: rate of a GPU's NVLinks to it */
    place_id end[LIMITS_PLACES_MAX + 1]; /* by slot */
    bool failed;
};

/* Adds the parts; sets failed when out of memory. */
void limits_add_parts(struct limits_builder *b);

/* The value with the highest rate of one package's cores in the other's memory, in the direction of
 * a link without a stated rate; NULL none. */
const struct value *limits_rate_of_cores(const struct limits_builder *b, const struct link *link,
                                         bool back);

/* The rate between two GPUs over all switches that both have links to, and how many these are. */
double limits_rate_over_switches(const struct limits_builder *b, place_id from, place_id to,
                                 size_t *ret_switches);

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
