#include <stdio.h>
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
    if (pick->to != NULL && !pick->to[value->to])
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

/* The axes of a matrix as text, each made once: there are few, and thousands of cells. */
#define AXES_KEPT 16
struct axes_text {
    uint32_t axes;
    size_t length; /* 0: not made yet */
    char text[232];
};

static void print_axes(struct print *reply, const struct pick *pick, const struct value *value, struct axes_text *kept)
{
    struct axes_text *known = &kept[value->axes % AXES_KEPT];
    if (known->length > 0 && known->axes == value->axes) {
        print_bytes(reply, known->text, known->length);
        return;
    }
    size_t before = reply->length;
    jsonify_print_axes(reply, pick->metric, values_axes(pick->snap->values, value));
    size_t length = reply->length - before;
    if (reply->failed || length > sizeof known->text)
        return;
    *known = (struct axes_text){.axes = value->axes, .length = length};
    memcpy(known->text, reply->data + before, length);
}

static void print_cell(struct print *reply, const struct pick *pick, const struct value *value, struct axes_text *kept)
{
    const struct graph *graph = pick->snap->graph;
    print_open(reply, '{');
    print_key(reply, "from");
    print_string(reply, graph->places[value->from].name);
    print_key(reply, "to");
    print_string(reply, graph->places[value->to].name);
    print_key(reply, "axes");
    print_axes(reply, pick, value, kept);
    print_key(reply, "value");
    print_real(reply, value->value);
    print_key(reply, "low");
    print_real(reply, value->low);
    print_key(reply, "high");
    print_real(reply, value->high);
    print_key(reply, "repetitions");
    print_count(reply, value->n > 0 ? (int64_t)value->n : -1);
    print_key(reply, "source");
    print_string(reply, value_source_name(value->source));
    print_key(reply, "measured_at_s");
    print_count(reply, value->measured_at_s > 0 ? value->measured_at_s : -1);
    print_key(reply, "why_not");
    print_string(reply, value->why_not);
    print_close(reply, '}');
}

/* Cells ascend by from, so a few places to start from need not look at the others. */
static void print_cells(struct print *reply, const struct pick *pick)
{
    struct axes_text kept[AXES_KEPT] = {0};
    const struct graph *graph = pick->snap->graph;
    for (size_t from = 0; from < (pick->from != NULL ? graph->place_count : 1); from++) {
        const struct value *first;
        if (pick->from != NULL && !pick->from[from])
            continue;
        size_t count = values_range(pick->snap->values, pick->metric, pick->from != NULL ? (place_id)from : PLACE_NONE, &first);
        for (size_t i = 0; i < count; i++)
            if (matches(pick, &first[i]))
                print_cell(reply, pick, &first[i], kept);
    }
}

static enum berth_code print_matrix(void *state, struct print *reply, struct berth_err *err)
{
    const struct pick *pick = state;
    (void)err;
    print_open(reply, '{');
    print_key(reply, "metric");
    print_string(reply, metric_info(pick->metric)->name);
    print_key(reply, "unit");
    print_string(reply, metric_info(pick->metric)->unit);
    print_key(reply, "cells");
    print_open(reply, '[');
    print_cells(reply, pick);
    print_close(reply, ']');
    print_key(reply, "basis");
    jsonify_print_basis(reply, pick->snap);
    print_close(reply, '}');
    return BERTH_OK;
}

/* How many cells will be looked at. */
static size_t cells_of(const struct pick *pick)
{
    const struct value *first;
    if (pick->from == NULL)
        return values_range(pick->snap->values, pick->metric, PLACE_NONE, &first);
    size_t count = 0;
    for (size_t from = 0; from < pick->snap->graph->place_count; from++)
        count += pick->from[from] ? values_range(pick->snap->values, pick->metric, (place_id)from, &first) : 0;
    return count;
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
    if (code != BERTH_OK) {
        pick_free(pick);
        return code;
    }
    *ret = (struct outcome){.kind = cells_of(pick) > CELLS_AT_ONCE ? OUTCOME_WORK : OUTCOME_RESULT,
                            .state = pick,
                            .write = print_matrix,
                            .free_state = pick_free};
    return BERTH_OK;
}
