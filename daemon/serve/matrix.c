/* io.berth.Fabric.GetMatrix: a metric between places, now or at an earlier time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/cell_filter.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/serve.h"
#include "store/history.h"

/* Largest numbers of cells that the loop prints and compares. Beyond these the thread pool makes
 * the reply. */
#define CELLS_AT_ONCE    128
#define COMPARED_AT_ONCE 2000

enum berth_code query_list_metrics(const struct call *call, struct outcome *ret,
                                   struct berth_err *err)
{
    json_t *metrics = json_array();
    for (int m = 0; m < METRIC_COUNT; m++) {
        const struct metric_info *info = metric_info((enum metric)m);
        const struct value *first;
        size_t count = values_range(call->snap->values, (enum metric)m, PLACE_NONE, &first);
        json_int_t measured = 0;
        for (size_t i = 0; i < count; i++)
            measured += first[i].source == VALUE_MEASURED && first[i].why_not == NULL;
        json_t *axes = json_array(), *defaults = json_object();
        for (const char *c = info->axes; *c != '\0';) {
            char axis[48], value[48];
            snprintf(axis, sizeof axis, "%.*s", (int)strcspn(c, "=,"), c);
            json_array_append_new(axes, json_string(axis));
            json_object_set_new(
                defaults, axis,
                json_string(metric_axis_default((enum metric)m, axis, value, sizeof value)));
            c += strcspn(c, ",");
            c += *c == ',';
        }
        json_array_append_new(
            metrics, json_pack("{s:s,s:s,s:s,s:o,s:o,s:s,s:I,s:I}", "name", info->name, "unit",
                               info->unit, "better", info->higher_is_better ? "higher" : "lower",
                               "axes", axes, "defaults", defaults, "about", info->about, "cells",
                               (json_int_t)count, "measured", measured));
    }
    json_t *result =
        json_pack("{s:o,s:o}", "metrics", metrics, "basis",
                  jsonify_basis(call->snap, claim_keep_generation(call->daemon->claims)));
    if (result == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
    return BERTH_OK;
}

/* A GetMatrix in progress. */
struct matrix {
    const struct snapshot *snap;
    uint64_t claims; /* generation at the time of the request */
    struct cell_filter filter;
    const struct values *values; /* the snapshot's, or past */
    struct values *past;         /* owned; NULL for the latest values */
    struct store *store;         /* borrowed; NULL for the latest values */
    int64_t at_s;
};

static void matrix_free(void *state)
{
    struct matrix *matrix = state;
    snapshot_unref(matrix->snap);
    cell_filter_done(&matrix->filter);
    values_free(matrix->past);
    free(matrix);
}

/* Cache of axes as JSON text: a matrix has few of them and thousands of cells. */
#define AXES_KEPT 16
struct axes_text {
    uint32_t axes;
    size_t length; /* 0 not made yet */
    char text[232];
};

static void print_axes(struct print *reply, const struct matrix *matrix, const struct value *value,
                       struct axes_text *kept)
{
    struct axes_text *cached = &kept[value->axes % AXES_KEPT];
    if (cached->length > 0 && cached->axes == value->axes) {
        print_bytes(reply, cached->text, cached->length);
        return;
    }
    size_t before = reply->length;
    jsonify_print_axes(reply, matrix->filter.metric, values_axes(matrix->values, value));
    size_t length = reply->length - before;
    if (reply->failed || length > sizeof cached->text)
        return;
    *cached = (struct axes_text){.axes = value->axes, .length = length};
    memcpy(cached->text, reply->data + before, length);
}

static void print_cell(struct print *reply, const struct matrix *matrix, const struct value *value,
                       struct axes_text *kept)
{
    const struct graph *graph = matrix->snap->graph;
    print_open(reply, '{');
    print_key(reply, "from");
    print_name(reply, graph->places[value->from].name);
    print_key(reply, "to");
    print_name(reply, graph->places[value->to].name);
    print_key(reply, "axes");
    print_axes(reply, matrix, value, kept);
    print_key(reply, "value");
    print_real(reply, value->value);
    print_key(reply, "low");
    print_real(reply, value->low);
    print_key(reply, "high");
    print_real(reply, value->high);
    print_key(reply, "repetitions");
    print_count(reply, value->n > 0 ? (int64_t)value->n : -1);
    print_key(reply, "source");
    print_name(reply, value_source_name(value->source));
    print_key(reply, "measured_at_s");
    print_count(reply, value->measured_at_s > 0 ? value->measured_at_s : -1);
    print_key(reply, "why_not");
    print_string(reply, value->why_not);
    print_close(reply, '}');
}

static inline bool is_to(const struct cell_filter *filter, place_id to)
{
    return filter->to == NULL || filter->to[to];
}

/* Prints the matching cells. Cells ascend by from, so selected sources skip the others. */
static void print_cells(struct print *reply, const struct matrix *matrix)
{
    struct axes_text kept[AXES_KEPT] = {0};
    const struct graph *graph = matrix->snap->graph;
    for (size_t from = 0; from < (matrix->filter.from != NULL ? graph->place_count : 1); from++) {
        const struct value *first;
        if (matrix->filter.from != NULL && !matrix->filter.from[from])
            continue;
        size_t count =
            values_range(matrix->values, matrix->filter.metric,
                         matrix->filter.from != NULL ? (place_id)from : PLACE_NONE, &first);
        for (size_t i = 0; i < count; i++)
            if (is_to(&matrix->filter, first[i].to) &&
                cell_filter_matches(&matrix->filter, first[i].from, first[i].to,
                                    values_axes(matrix->values, &first[i])))
                print_cell(reply, matrix, &first[i], kept);
    }
}

/* Makes the values as of at_s. Cells never measured are kept. Measured ones come from the snapshot
 * if they are old enough, otherwise from the store. */
static enum berth_code load_past(struct matrix *matrix, struct berth_err *err)
{
    const struct values *latest = matrix->values;
    const struct value *first;
    size_t count = values_range(latest, matrix->filter.metric, PLACE_NONE, &first);
    matrix->values = matrix->past = values_new();
    bool ok = matrix->past != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        struct value v = first[i];
        bool is_later = v.source == VALUE_MEASURED && v.measured_at_s > matrix->at_s;
        if (is_later && v.nominal > 0)
            v = (struct value){.metric = v.metric,
                               .source = VALUE_NOMINAL,
                               .from = v.from,
                               .to = v.to,
                               .value = v.nominal,
                               .low = NAN,
                               .high = NAN};
        else if (is_later)
            continue;
        ok = values_add(matrix->past, &v, values_axes(latest, &first[i]), v.why_not);
    }
    if (!ok)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    enum berth_code code = store_load_at(matrix->store, matrix->snap->graph, matrix->filter.metric,
                                         matrix->at_s, matrix->past, err);
    if (code == BERTH_OK)
        values_finish(matrix->past);
    return code;
}

static enum berth_code print_matrix(void *state, struct print *reply, struct berth_err *err)
{
    struct matrix *matrix = state;
    enum berth_code code = matrix->store != NULL ? load_past(matrix, err) : BERTH_OK;
    if (code != BERTH_OK)
        return code;
    print_open(reply, '{');
    print_key(reply, "metric");
    print_name(reply, metric_info(matrix->filter.metric)->name);
    print_key(reply, "unit");
    print_name(reply, metric_info(matrix->filter.metric)->unit);
    print_key(reply, "cells");
    print_open(reply, '[');
    print_cells(reply, matrix);
    print_close(reply, ']');
    print_key(reply, "basis");
    jsonify_print_basis(reply, matrix->snap, matrix->claims);
    print_close(reply, '}');
    return BERTH_OK;
}

/* True when the thread pool should make the reply. Printing a cell costs many times more than
 * comparing it. */
static bool is_large(const struct matrix *matrix)
{
    const struct cell_filter *filter = &matrix->filter;
    const struct value *first;
    size_t compared = 0, printed = 0,
           end = filter->from != NULL ? matrix->snap->graph->place_count : 1;
    for (size_t from = 0; from < end && compared <= COMPARED_AT_ONCE && printed <= CELLS_AT_ONCE;
         from++) {
        if (filter->from != NULL && !filter->from[from])
            continue;
        size_t count = values_range(matrix->values, filter->metric,
                                    filter->from != NULL ? (place_id)from : PLACE_NONE, &first);
        compared += count;
        for (size_t i = 0; i < count && printed <= CELLS_AT_ONCE && compared <= COMPARED_AT_ONCE;
             i++)
            printed += is_to(filter, first[i].to);
    }
    return compared > COMPARED_AT_ONCE || printed > CELLS_AT_ONCE;
}

enum berth_code query_get_matrix(const struct call *call, struct outcome *ret,
                                 struct berth_err *err)
{
    struct cell_filter filter;
    enum berth_code code = cell_filter_init(&filter, call->params, call->snap->graph, err);
    if (code != BERTH_OK)
        return code;
    struct matrix *matrix = calloc(1, sizeof *matrix);
    if (matrix == NULL) {
        cell_filter_done(&filter);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    *matrix = (struct matrix){.snap = snapshot_ref(call->snap),
                              .claims = claim_keep_generation(call->daemon->claims),
                              .filter = filter,
                              .values = call->snap->values};
    const json_t *at_s = json_object_get(call->params, "at_s");
    if (json_is_integer(at_s)) {
        matrix->store = sched_store(call->daemon->sched);
        matrix->at_s = json_integer_value(at_s);
    }
    *ret = (struct outcome){.kind = matrix->store != NULL || is_large(matrix) ? OUTCOME_WORK
                                                                              : OUTCOME_RESULT,
                            .state = matrix,
                            .write = print_matrix,
                            .free_state = matrix_free};
    return BERTH_OK;
}
