/**
 * What of a metric somebody asks for: metric, from, to and where of GetMatrix and GetCurves.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "node/graph.h"
#include "node/metric.h"

struct pick {
    enum metric metric;
    bool *from, *to; /* one flag a place of the graph; NULL any */
    json_t *where;   /* NULL any */
};

/* From a call's checked parameters. NO_SUCH_METRIC, NO_SUCH_PLACE, INVALID_PARAMETER for an axis
 * that the metric does not have, and for one place to itself where the metric is between two.
 * Nothing to end on failure. */
enum berth_code pick_init(struct pick *ret_pick, const json_t *params, const struct graph *graph,
                          struct berth_err *err);
void pick_done(struct pick *pick);

/* axes: canonical text; see node/values.h. */
bool pick_matches(const struct pick *pick, place_id from, place_id to, const char *axes);
