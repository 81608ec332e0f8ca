/**
 * Selection of cells of one metric: metric, from, to and where of GetMatrix and GetCurves.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "node/graph.h"
#include "node/metric.h"

struct cell_filter {
    enum metric metric;
    bool *from, *to; /* one flag for each place of the graph; NULL any */
    json_t *where;   /* NULL any */
};

/* Reads a filter from a call's checked parameters. Fails with NO_SUCH_METRIC, NO_SUCH_PLACE and
 * INVALID_PARAMETER. The latter is for an axis that the metric does not have, and for one place as
 * both ends of a metric between two. Nothing to free on failure. */
enum berth_code cell_filter_init(struct cell_filter *ret_filter, const json_t *params,
                                 const struct graph *graph, struct berth_err *err);
void cell_filter_done(struct cell_filter *filter);

/* axes: canonical text; see node/values.h. */
bool cell_filter_matches(const struct cell_filter *filter, place_id from, place_id to,
                         const char *axes);
