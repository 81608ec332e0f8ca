#include "store/baseline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/core.h"

#define COLUMNS                                                                                    \
    "metric, from_place, to_place, axes, median, deviation, begun_s, accepted, worse_runs, "       \
    "is_overloaded, low_runs, samples"

static const char select_one[] =
    "SELECT " COLUMNS " FROM baseline WHERE node = ?1 AND metric = ?2 AND from_place = ?3 AND "
    "to_place = ?4 AND axes = ?5";
static const char select_all[] = "SELECT " COLUMNS " FROM baseline WHERE node = ?1";
static const char replace[] = "INSERT OR REPLACE INTO baseline (node, " COLUMNS
                              ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

static void read_row(sqlite3_stmt *row, struct baseline *baseline, struct baseline_values *values)
{
    size_t bytes = (size_t)sqlite3_column_bytes(row, 11);
    size_t count = bytes / sizeof values->value[0] < BASELINE_VALUES
                       ? bytes / sizeof values->value[0]
                       : BASELINE_VALUES;
    int64_t low_runs = sqlite3_column_int64(row, 10), worse_runs = sqlite3_column_int64(row, 8);
    *baseline = (struct baseline){
        .median = sqlite3_column_double(row, 4),
        .deviation = sqlite3_column_double(row, 5),
        .begun_s = sqlite3_column_int64(row, 6),
        .count = (uint8_t)count,
        .low_runs = (uint8_t)(low_runs < 0           ? 0
                              : low_runs > UINT8_MAX ? UINT8_MAX
                                                     : low_runs),
        .accepted = sqlite3_column_int(row, 7) != 0,
        .worse_runs = (uint8_t)(worse_runs < 0           ? 0
                                : worse_runs > UINT8_MAX ? UINT8_MAX
                                                         : worse_runs),
        .is_overloaded = sqlite3_column_int(row, 9) != 0,
    };
    *values = (struct baseline_values){0};
    if (count > 0)
        memcpy(values->value, sqlite3_column_blob(row, 11), count * sizeof values->value[0]);
}

/* Returns false when this version lacks the metric, or graph a place. */
static bool read_key(sqlite3_stmt *row, const struct graph *graph, enum metric *ret_metric,
                     place_id *ret_from, place_id *ret_to)
{
    *ret_from = graph_find(graph, store_core_text(row, 1));
    *ret_to = graph_find(graph, store_core_text(row, 2));
    return metric_parse(store_core_text(row, 0), ret_metric) && *ret_from != PLACE_NONE &&
           *ret_to != PLACE_NONE;
}

static void bind_row(struct store *store, sqlite3_stmt *statement, const struct graph *graph,
                     const struct value *v, const char *axes)
{
    sqlite3_bind_int64(statement, 1, store->node);
    store_core_bind_text(statement, 2, metric_info(v->metric)->name);
    store_core_bind_text(statement, 3, graph_place(graph, v->from)->name);
    store_core_bind_text(statement, 4, graph_place(graph, v->to)->name);
    store_core_bind_text(statement, 5, axes);
}

/* Writes the baseline of v's series. */
static enum berth_code write_row(struct store *store, sqlite3_stmt *statement,
                                 const struct graph *graph, const struct value *v, const char *axes,
                                 const struct baseline *baseline,
                                 const struct baseline_values *values, struct berth_err *err)
{
    bind_row(store, statement, graph, v, axes);
    sqlite3_bind_double(statement, 6, baseline->median);
    sqlite3_bind_double(statement, 7, baseline->deviation);
    sqlite3_bind_int64(statement, 8, baseline->begun_s);
    sqlite3_bind_int(statement, 9, baseline->accepted);
    sqlite3_bind_int(statement, 10, baseline->worse_runs);
    sqlite3_bind_int(statement, 11, baseline->is_overloaded);
    sqlite3_bind_int(statement, 12, baseline->low_runs);
    sqlite3_bind_blob(statement, 13, values->value,
                      (int)(baseline->count * sizeof values->value[0]), SQLITE_STATIC);
    return store_core_step(store, statement, "writing a baseline", NULL, err);
}

/* Calls @each for each baseline of this node. */
static enum berth_code each_row(struct store *store,
                                enum berth_code (*each)(sqlite3_stmt *row, void *arg,
                                                        struct berth_err *err),
                                void *arg, struct berth_err *err)
{
    sqlite3_stmt *row = NULL;
    enum berth_code code = store_core_prepare(store, select_all, &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        code = store_core_each(store, row, "reading baselines", each, arg, err);
    }
    sqlite3_finalize(row);
    return code;
}

struct loading {
    const struct graph *graph;
    const struct values *values;
    struct baseline *baseline;
};

static enum berth_code load_row(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    (void)err;
    struct loading *loading = arg;
    struct baseline_values unused;
    enum metric metric;
    place_id from, to;
    if (!read_key(row, loading->graph, &metric, &from, &to))
        return BERTH_OK;
    const struct value *v = values_find(loading->values, metric, from, to, store_core_text(row, 3));
    if (v != NULL)
        read_row(row, &loading->baseline[v - loading->values->item], &unused);
    return BERTH_OK;
}

enum berth_code store_baseline_load(struct store *store, const struct graph *graph,
                                    const struct values *values, struct baseline *ret_baseline,
                                    struct berth_err *err)
{
    struct loading loading = {graph, values, ret_baseline};
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = each_row(store, load_row, &loading, err);
    return store_core_done(store, code);
}

struct listing {
    const struct graph *graph;
    struct baseline_set *set;
};

static enum berth_code list_row(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    struct listing *list = arg;
    enum metric metric;
    place_id from, to;
    struct baseline baseline;
    struct baseline_values samples;
    if (!read_key(row, list->graph, &metric, &from, &to))
        return BERTH_OK;
    read_row(row, &baseline, &samples);
    if (!baseline_set_add(list->set, metric, from, to, store_core_text(row, 3), &baseline,
                          &samples))
        return err_set(err, BERTH_NO_MEMORY, "no memory for baselines");
    return BERTH_OK;
}

enum berth_code store_baseline_list(struct store *store, const struct graph *graph,
                                    struct baseline_set *set, struct berth_err *err)
{
    struct listing list = {graph, set};
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = each_row(store, list_row, &list, err);
    return store_core_done(store, code);
}

enum berth_code store_baseline_count(struct store *store, size_t *ret_count, struct berth_err *err)
{
    sqlite3_stmt *row = NULL;
    int64_t count = 0;
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code =
            store_core_prepare(store, "SELECT count(*) FROM baseline WHERE node = ?1", &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        code = store_core_step(store, row, "counting baselines", &count, err);
    }
    sqlite3_finalize(row);
    if (code == BERTH_OK)
        *ret_count = (size_t)count;
    return store_core_done(store, code);
}

/* Data of one transaction: values of a run, accepted ones, or an import. */
struct writing {
    const struct graph *graph;
    const struct values *values;
    const struct health_limits *limits; /* for values of a run, or accepted ones */
    bool is_overloaded;                 /* for a run's values */
    const bool *is_bad;                 /* by a run's value; NULL none is */
    const bool *chosen;                 /* for accepted values */
    int64_t now_s;
    const struct baseline_set *set; /* for an import */
    sqlite3_stmt *select, *replace;
};

/* Reads one row; leaves the outputs unchanged when there is none. */
static enum berth_code read_one(struct store *store, const struct writing *writing,
                                const struct value *v, struct baseline *baseline,
                                struct baseline_values *values, struct berth_err *err)
{
    bind_row(store, writing->select, writing->graph, v, values_axes(writing->values, v));
    int rc = store_core_next(writing->select);
    if (rc == SQLITE_ROW)
        read_row(writing->select, baseline, values);
    enum berth_code code = rc == SQLITE_ROW || rc == SQLITE_DONE
                               ? BERTH_OK
                               : store_core_fail(store, "reading a baseline", err);
    sqlite3_reset(writing->select);
    return code;
}

static enum berth_code record_value(struct store *store, struct writing *writing, size_t i,
                                    struct berth_err *err)
{
    const struct value *v = &writing->values->item[i];
    struct baseline_look look = {.is_overloaded = writing->is_overloaded,
                                 .is_bad = writing->is_bad != NULL && writing->is_bad[i]};
    const char *axes = values_axes(writing->values, v);
    struct baseline baseline = {0};
    struct baseline_values values = {0};
    enum berth_code code = read_one(store, writing, v, &baseline, &values, err);
    if (code != BERTH_OK)
        return code;
    struct baseline before = baseline;
    baseline_record(&baseline, &values, v, look, writing->limits);
    /* Skip unchanged rows: with complete baselines on a healthy node a run writes nothing. */
    if (baseline.count == before.count && baseline.worse_runs == before.worse_runs &&
        baseline.is_overloaded == before.is_overloaded && baseline.low_runs == before.low_runs)
        return BERTH_OK;
    return write_row(store, writing->replace, writing->graph, v, axes, &baseline, &values, err);
}

static enum berth_code record_all(struct store *store, void *arg, struct berth_err *err)
{
    struct writing *writing = arg;
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < writing->values->count && code == BERTH_OK; i++)
        if (writing->values->item[i].value > 0) /* not NAN */
            code = record_value(store, writing, i, err);
    return code;
}

static enum berth_code accept_all(struct store *store, void *arg, struct berth_err *err)
{
    struct writing *writing = arg;
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < writing->values->count && code == BERTH_OK; i++) {
        const struct value *v = &writing->values->item[i];
        struct baseline baseline = {0};
        struct baseline_values values = {0};
        if (!writing->chosen[i])
            continue;
        code = read_one(store, writing, v, &baseline, &values, err);
        if (code != BERTH_OK)
            break;
        baseline_accept(&baseline, &values, v, writing->limits, writing->now_s);
        code = write_row(store, writing->replace, writing->graph, v,
                         values_axes(writing->values, v), &baseline, &values, err);
    }
    return code;
}

static enum berth_code put_all(struct store *store, void *arg, struct berth_err *err)
{
    struct writing *writing = arg;
    const struct baseline_set *set = writing->set;
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < set->values->count && code == BERTH_OK; i++)
        code = write_row(store, writing->replace, writing->graph, &set->values->item[i],
                         values_axes(set->values, &set->values->item[i]), &set->baseline[i],
                         &set->samples[i], err);
    return code;
}

static enum berth_code write_with(struct store *store, struct writing *writing,
                                  enum berth_code (*work)(struct store *store, void *arg,
                                                          struct berth_err *err),
                                  struct berth_err *err)
{
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_prepare(store, select_one, &writing->select, err);
    if (code == BERTH_OK)
        code = store_core_prepare(store, replace, &writing->replace, err);
    if (code == BERTH_OK)
        code = store_core_transact(store, work, writing, err);
    sqlite3_finalize(writing->select);
    sqlite3_finalize(writing->replace);
    return store_core_done(store, code);
}

enum berth_code store_baseline_record(struct store *store, const struct graph *graph,
                                      const struct values *values, bool is_overloaded,
                                      const bool *is_bad, const struct health_limits *limits,
                                      struct berth_err *err)
{
    struct writing writing = {.graph = graph,
                              .values = values,
                              .limits = limits,
                              .is_overloaded = is_overloaded,
                              .is_bad = is_bad};
    return write_with(store, &writing, record_all, err);
}

enum berth_code store_baseline_accept(struct store *store, const struct graph *graph,
                                      const struct values *values, const bool *chosen,
                                      const struct health_limits *limits, int64_t now_s,
                                      struct berth_err *err)
{
    struct writing writing = {
        .graph = graph, .values = values, .chosen = chosen, .limits = limits, .now_s = now_s};
    return write_with(store, &writing, accept_all, err);
}

enum berth_code store_baseline_put(struct store *store, const struct graph *graph,
                                   const struct baseline_set *set, struct berth_err *err)
{
    struct writing writing = {.graph = graph, .set = set};
    return write_with(store, &writing, put_all, err);
}
