#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "jsonify.h"

/* Above this many cells to look at the reply is made on the thread pool. */
#define CELLS_AT_ONCE 500

enum berth_code query_list_metrics(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    json_t *metrics = json_array();
    for (int m = 0; m < METRIC_COUNT; m++) {
        const struct metric_info *info = metric_info((enum metric)m);
        const struct value *first;
        size_t count = values_range(call->snap->values, (enum metric)m, PLACE_NONE, &first);
        json_int_t measured = 0;
        for (size_t i = 0; i < count; i++)
            measured += first[i].source == VALUE_MEASURED && first[i].why_not == NULL;
        json_t *axes = json_array();
        for (const char *c = info->axes; *c != '\0';) {
            json_array_append_new(axes, json_stringn(c, strcspn(c, "=,")));
            c += strcspn(c, ",");
            c += *c == ',';
        }
        json_array_append_new(metrics, json_pack("{s:s,s:s,s:s,s:o,s:s,s:I,s:I}", "name", info->name, "unit", info->unit, "better",
                                                 info->higher_is_better ? "higher" : "lower", "axes", axes, "about", info->about, "cells",
                                                 (json_int_t)count, "measured", measured));
    }
    json_t *result = json_pack("{s:o,s:o}", "metrics", metrics, "basis", jsonify_basis(call->snap));
    if (result == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
    return BERTH_OK;
}

/* A GetMatrix under way: what to pick. from and to are NULL for any, else one flag a place. */
struct pick {
    struct snapshot *snap;
    enum metric metric;
    bool *from, *to;
    json_t *where; /* NULL any */
};

static void pick_free(void *state)
{
    struct pick *pick = state;
    snapshot_unref(pick->snap);
    free(pick->from);
    free(pick->to);
    json_decref(pick->where);
    free(pick);
}

static enum berth_code parse_places(const struct graph *graph, json_t *names, bool **ret_flags, struct berth_err *err)
{
    if (names == NULL || json_is_null(names))
        return BERTH_OK;
    bool *flags = calloc(graph->place_count, sizeof *flags);
    if (flags == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
    {
        place_id place = graph_find(graph, json_string_value(name));
        if (place == PLACE_NONE) {
            free(flags);
            return err_no_such_place(err, json_string_value(name));
        }
        flags[place] = true;
    }
    *ret_flags = flags;
    return BERTH_OK;
}

/* An axis that the metric does not have can match nothing: say so rather than answer with nothing. */
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
        err_set(err, BERTH_INVALID_PARAMETER, "%s has no axis %.40s, only %s", metric_info(metric)->name, axis, metric_info(metric)->axes);
        err_text(err, 0, path);
        return err->code;
    }
    return BERTH_OK;
}

static bool matches(const struct pick *pick, const struct value *value)
{
    if ((pick->from != NULL && !pick->from[value->from]) || (pick->to != NULL && !pick->to[value->to]))
        return false;
    const char *axis;
    json_t *wanted;
    char buffer[64];
    const char *axes = values_axes(pick->snap->values, value);
    json_object_foreach(pick->where, axis, wanted)
    {
        const char *has = axes_get(pick->metric, axes, axis, buffer, sizeof buffer);
        if (has == NULL || strcmp(has, json_string_value(wanted)) != 0)
            return false;
    }
    return true;
}

static json_t *cell_json(const struct pick *pick, const struct value *value)
{
    const struct graph *graph = pick->snap->graph;
    json_t *cell = json_object();
    json_object_set_new_nocheck(cell, "from", json_string_nocheck(graph->places[value->from].name));
    json_object_set_new_nocheck(cell, "to", json_string_nocheck(graph->places[value->to].name));
    json_object_set_new_nocheck(cell, "axes", jsonify_axes(pick->metric, values_axes(pick->snap->values, value)));
    json_object_set_new_nocheck(cell, "value", jsonify_number(value->value));
    json_object_set_new_nocheck(cell, "low", jsonify_number(value->low));
    json_object_set_new_nocheck(cell, "high", jsonify_number(value->high));
    json_object_set_new_nocheck(cell, "repetitions", value->n > 0 ? json_integer(value->n) : json_null());
    json_object_set_new_nocheck(cell, "source", json_string_nocheck(value_source_name(value->source)));
    json_object_set_new_nocheck(cell, "measured_at_s", value->measured_at_s > 0 ? json_integer(value->measured_at_s) : json_null());
    json_object_set_new_nocheck(cell, "why_not", jsonify_text(value->why_not));
    return cell;
}

static enum berth_code matrix_json(void *state, json_t **ret_result, struct berth_err *err)
{
    const struct pick *pick = state;
    const struct value *first;
    size_t count = values_range(pick->snap->values, pick->metric, PLACE_NONE, &first);
    json_t *cells = json_array();
    for (size_t i = 0; i < count; i++)
        if (matches(pick, &first[i]))
            json_array_append_new(cells, cell_json(pick, &first[i]));
    json_t *result = json_pack("{s:s,s:s,s:o,s:o}", "metric", metric_info(pick->metric)->name, "unit", metric_info(pick->metric)->unit, "cells",
                               cells, "basis", jsonify_basis(pick->snap));
    if (result == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *ret_result = result;
    return BERTH_OK;
}

enum berth_code query_get_matrix(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    const char *name = json_string_value(json_object_get(call->params, "metric"));
    enum metric metric;
    if (!metric_parse(name, &metric)) {
        err_set(err, BERTH_NO_SUCH_METRIC, "there is no metric %.60s (berth matrix lists them)", name);
        err_text(err, 0, name);
        return err->code;
    }
    if (json_is_integer(json_object_get(call->params, "at_s")))
        return err_set(err, BERTH_UNAVAILABLE, "this version answers with the latest values only: leave at_s out");
    struct pick *pick = calloc(1, sizeof *pick);
    if (pick == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    pick->snap = snapshot_ref(call->snap);
    pick->metric = metric;
    json_t *where = json_object_get(call->params, "where");
    if (json_is_object(where))
        pick->where = json_incref(where);
    enum berth_code code = parse_places(call->snap->graph, json_object_get(call->params, "from"), &pick->from, err);
    if (code == BERTH_OK)
        code = parse_places(call->snap->graph, json_object_get(call->params, "to"), &pick->to, err);
    if (code == BERTH_OK)
        code = check_where(metric, pick->where, err);
    const struct value *first;
    if (code == BERTH_OK && values_range(call->snap->values, metric, PLACE_NONE, &first) > CELLS_AT_ONCE) {
        *ret = (struct outcome){.kind = OUTCOME_WORK, .state = pick, .work = matrix_json, .free_state = pick_free};
        return BERTH_OK;
    }
    json_t *result = NULL;
    if (code == BERTH_OK)
        code = matrix_json(pick, &result, err);
    pick_free(pick);
    if (code == BERTH_OK)
        *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
    return code;
}
