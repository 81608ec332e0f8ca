#include "serve/cell_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/values.h"
#include "serve/request.h"

static enum berth_code parse_places(const struct graph *graph, const json_t *params,
                                    const char *parameter, bool **ret_flags, struct berth_err *err)
{
    const json_t *names = NULL;
    enum berth_code code = request_array(params, parameter, PLACES_MAX, &names, err);
    if (code != BERTH_OK || names == NULL)
        return code;
    bool *flags = calloc(graph->place_count, sizeof *flags);
    if (flags == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    size_t i;
    const json_t *name;
    json_array_foreach(names, i, name)
    {
        place_id place = graph_find(graph, json_string_value(name));
        if (place == PLACE_NONE) {
            free(flags);
            return request_no_such_place(graph, json_string_value(name), err);
        }
        flags[place] = true;
    }
    *ret_flags = flags;
    return BERTH_OK;
}

/* Refuses an axis that the metric does not have: it would match nothing. */
static enum berth_code check_where(enum metric metric, json_t *where, struct berth_err *err)
{
    const char *axis;
    json_t *value;
    char buffer[64], path[96];
    json_object_foreach(where, axis, value)
    {
        if (metric_axis_default(metric, axis, buffer, sizeof buffer) != NULL)
            continue;
        snprintf(path, sizeof path, "where.%.80s", axis);
        err_set(err, BERTH_INVALID_PARAMETER, "%s has no axis %.40s, only %s",
                metric_info(metric)->name, axis, metric_info(metric)->axes);
        err_text(err, 0, path);
        return err->code;
    }
    return BERTH_OK;
}

/* Returns the only requested place; PLACE_NONE for several or any. */
static place_id only_place(const struct graph *graph, const bool *flags)
{
    place_id only = PLACE_NONE;
    for (size_t p = 0; flags != NULL && p < graph->place_count; p++) {
        if (flags[p] && only != PLACE_NONE)
            return PLACE_NONE;
        if (flags[p])
            only = (place_id)p;
    }
    return only;
}

static enum berth_code check_ends(const struct graph *graph, const struct cell_filter *filter,
                                  struct berth_err *err)
{
    place_id from = only_place(graph, filter->from), to = only_place(graph, filter->to);
    bool are_known = from != PLACE_NONE && to != PLACE_NONE;
    return are_known ? request_ends(graph, filter->metric, from, to, err) : BERTH_OK;
}

enum berth_code cell_filter_init(struct cell_filter *ret_filter, const json_t *params,
                                 const struct graph *graph, struct berth_err *err)
{
    const char *name = json_string_value(json_object_get(params, "metric"));
    struct cell_filter filter = {0};
    if (!metric_parse(name, &filter.metric)) {
        err_set(err, BERTH_NO_SUCH_METRIC, "there is no metric %.60s (berth matrix lists them)",
                name);
        err_text(err, 0, name);
        return err->code;
    }
    json_t *where = json_object_get(params, "where");
    if (json_is_object(where))
        filter.where = json_incref(where);
    enum berth_code code = parse_places(graph, params, "from", &filter.from, err);
    if (code == BERTH_OK)
        code = parse_places(graph, params, "to", &filter.to, err);
    if (code == BERTH_OK)
        code = check_where(filter.metric, filter.where, err);
    if (code == BERTH_OK)
        code = check_ends(graph, &filter, err);
    if (code != BERTH_OK) {
        cell_filter_done(&filter);
        return code;
    }
    *ret_filter = filter;
    return BERTH_OK;
}

void cell_filter_done(struct cell_filter *filter)
{
    free(filter->from);
    free(filter->to);
    json_decref(filter->where);
    *filter = (struct cell_filter){0};
}

bool cell_filter_matches(const struct cell_filter *filter, place_id from, place_id to,
                         const char *axes)
{
    if ((filter->from != NULL && !filter->from[from]) || (filter->to != NULL && !filter->to[to]))
        return false;
    const char *axis;
    json_t *value;
    char buffer[64];
    json_object_foreach(filter->where, axis, value)
    {
        const char *has = axes_get(filter->metric, axes, axis, buffer, sizeof buffer);
        if (has == NULL || strcmp(has, json_string_value(value)) != 0)
            return false;
    }
    return true;
}
