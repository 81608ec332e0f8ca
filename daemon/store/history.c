#include "store/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "store/core.h"

/* Fixes the order of joins: one series, its adjacent values, and the run of each. For runs not
 * settled yet, which are few, the value of each. */
#define THIS_SERIES                                                                                \
    " WHERE s.node = ?1 AND s.metric = ?2 AND s.from_place = ?3 AND s.to_place = ?4 AND s.axes = " \
    "?5"

static const char *const sources[] = {
    "SELECT d.day * 86400, d.value, d.low, d.high, d.n, 0, 0, NULL FROM series s CROSS JOIN day d "
    "ON d.series = s.id" THIS_SERIES " AND d.day * 86400 >= ?6",
    "SELECT r.started_s, v.value, v.low, v.high, v.n, v.run, c.id, c.text FROM series s CROSS JOIN "
    "settled_value v ON v.series = s.id"
    " CROSS JOIN run r ON r.id = v.run AND r.is_settled = 1 LEFT JOIN text c ON c.id = "
    "r.conditions" THIS_SERIES " AND r.started_s >= ?6",
    "SELECT r.started_s, v.value, v.low, v.high, v.n, v.run, c.id, c.text FROM series s CROSS JOIN "
    "run r CROSS JOIN fresh_value v"
    " ON v.run = r.id AND v.series = s.id LEFT JOIN text c ON c.id = r.conditions" THIS_SERIES
    " AND r.is_settled = 0 AND r.started_s >= ?6",
};

struct reader {
    const struct graph *graph;
    const struct history_series *series;
    int64_t since_s;
    struct history history;
    int64_t last_text; /* row of the last text read */
};

void store_history_done(struct history *history)
{
    for (size_t i = 0; i < history->text_count; i++)
        free(history->text[i]);
    free(history->text);
    free(history->item);
}

/* Adds a row's conditions; successive runs often share them. */
static bool add_conditions(struct reader *reader, sqlite3_stmt *row)
{
    struct history *history = &reader->history;
    int64_t id = sqlite3_column_int64(row, 6);
    if (history->text_count > 0 && id == reader->last_text)
        return true;
    if (!grow_by_one(&history->text, history->text_count, sizeof *history->text))
        return false;
    char *copy = strdup(store_core_text(row, 7));
    if (copy == NULL)
        return false;
    history->text[history->text_count++] = copy;
    reader->last_text = id;
    return true;
}

static enum berth_code add_point(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    struct reader *reader = arg;
    struct history *history = &reader->history;
    bool has_conditions = sqlite3_column_type(row, 7) != SQLITE_NULL;
    if (!grow_by_one(&history->item, history->count, sizeof *history->item) ||
        (has_conditions && !add_conditions(reader, row)))
        return err_set(err, BERTH_NO_MEMORY, "out of memory for %zu points", history->count);
    struct point *point = &history->item[history->count++];
    *point = (struct point){.measured_at_s = sqlite3_column_int64(row, 0),
                            .value = store_core_number(row, 1),
                            .n = (uint32_t)sqlite3_column_int64(row, 4),
                            .run = sqlite3_column_int64(row, 5),
                            .conditions =
                                has_conditions ? history->text[history->text_count - 1] : NULL};
    point->low = store_core_bound(row, 2, point->value, -1);
    point->high = store_core_bound(row, 3, point->value, 1);
    return BERTH_OK;
}

static enum berth_code read_points(struct store *store, void *arg, struct berth_err *err)
{
    struct reader *reader = arg;
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0] && code == BERTH_OK; i++) {
        sqlite3_stmt *row = NULL;
        code = store_core_prepare(store, sources[i], &row, err);
        if (code == BERTH_OK) {
            sqlite3_bind_int64(row, 1, store->node);
            store_core_bind_text(row, 2, metric_info(reader->series->metric)->name);
            store_core_bind_text(row, 3, graph_place(reader->graph, reader->series->from)->name);
            store_core_bind_text(row, 4, graph_place(reader->graph, reader->series->to)->name);
            store_core_bind_text(row, 5, reader->series->axes);
            sqlite3_bind_int64(row, 6, reader->since_s);
            code = store_core_each(store, row, "reading history", add_point, reader, err);
        }
        sqlite3_finalize(row);
    }
    return code;
}

static int in_time(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (p->measured_at_s != q->measured_at_s)
        return p->measured_at_s < q->measured_at_s ? -1 : 1;
    return (p->run > q->run) - (p->run < q->run);
}

enum berth_code store_history(struct store *store, const struct graph *graph,
                              const struct history_series *series, int64_t since_s,
                              struct history *ret_history, struct berth_err *err)
{
    struct reader reader = {.graph = graph, .series = series, .since_s = since_s};
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_read(store, read_points, &reader, err);
    code = store_core_done(store, code);
    if (code != BERTH_OK) {
        store_history_done(&reader.history);
        return code;
    }
    if (reader.history.count > 1)
        qsort(reader.history.item, reader.history.count, sizeof *reader.history.item, in_time);
    *ret_history = reader.history;
    return BERTH_OK;
}

/* ---- all series at one time ---- */

/* Finds the run of a value backwards from the latest that had begun. That is the first one unless
 * the clock was set back. */
#define BEFORE(table, more)                                                                        \
    "(SELECT t.run FROM " table " t CROSS JOIN run r ON r.id = t.run" more                         \
    " WHERE t.series = s.id"                                                                       \
    " AND t.run <= (SELECT max(id) FROM run WHERE started_s <= ?3) AND r.started_s <= ?3 ORDER "   \
    "BY t.run DESC LIMIT 1)"
#define FRESH_BEFORE                                                                               \
    "(SELECT t.run FROM run r CROSS JOIN fresh_value t ON t.run = r.id AND t.series = s.id"        \
    " WHERE r.is_settled = 0 AND r.started_s <= ?3 ORDER BY r.id DESC LIMIT 1)"

/* The limit keeps SQLite from computing a column of past for each use of it. */
static const char series_then[] =
    "WITH past AS (SELECT s.id, s.from_place, s.to_place, s.axes, " BEFORE(
        "settled_value",
        " AND r.is_settled = 1") " AS settled_run,"
                                 " " FRESH_BEFORE
                                 " AS fresh_run, (SELECT max(day) FROM day WHERE series = s.id AND "
                                 "day * 86400 <= ?3) AS day, " BEFORE(
                                     "skip",
                                     "") " AS skip_run"
                                         " FROM series s WHERE s.node = ?1 AND s.metric = ?2 LIMIT "
                                         "-1)"
                                         " SELECT p.from_place, p.to_place, p.axes, "
                                         "coalesce(v.run, f.run, k.run, 0), coalesce(v.value, "
                                         "f.value, d.value),"
                                         " iif(v.run IS NOT NULL, v.low, iif(f.run IS NOT NULL, "
                                         "f.low, d.low)), iif(v.run IS NOT NULL, v.high, iif(f.run "
                                         "IS NOT NULL, f.high, d.high)),"
                                         " coalesce(v.n, f.n, d.n, 0), coalesce(r.started_s, d.day "
                                         "* 86400), w.text"
                                         " FROM past p LEFT JOIN settled_value v ON v.series = "
                                         "p.id AND v.run = p.settled_run AND p.settled_run > "
                                         "coalesce(p.fresh_run, 0)"
                                         " LEFT JOIN fresh_value f ON f.run = p.fresh_run AND "
                                         "f.series = p.id AND p.fresh_run > "
                                         "coalesce(p.settled_run, 0)"
                                         " LEFT JOIN day d ON d.series = p.id AND d.day = p.day "
                                         "AND p.settled_run IS NULL AND p.fresh_run IS NULL"
                                         " LEFT JOIN skip k ON k.series = p.id AND k.run = "
                                         "p.skip_run AND p.settled_run IS NULL AND p.fresh_run IS "
                                         "NULL AND p.day IS NULL"
                                         " LEFT JOIN run r ON r.id = coalesce(v.run, f.run, k.run) "
                                         "LEFT JOIN text w ON w.id = k.why"
                                         " WHERE coalesce(v.run, f.run, k.run, d.day) IS NOT NULL";

struct reader_at {
    const struct graph *graph;
    enum metric metric;
    int64_t at_s;
    struct values *values;
};

static enum berth_code add_value(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    const struct reader_at *reader = arg;
    struct value v = {.metric = reader->metric,
                      .source = VALUE_MEASURED,
                      .from = graph_find(reader->graph, store_core_text(row, 0)),
                      .to = graph_find(reader->graph, store_core_text(row, 1)),
                      .run = sqlite3_column_int64(row, 3),
                      .value = store_core_number(row, 4),
                      .n = (uint32_t)sqlite3_column_int64(row, 7),
                      .measured_at_s = sqlite3_column_int64(row, 8)};
    if (v.from == PLACE_NONE || v.to == PLACE_NONE)
        return BERTH_OK;
    v.low = store_core_bound(row, 5, v.value, -1);
    v.high = store_core_bound(row, 6, v.value, 1);
    if (!values_add(reader->values, &v, store_core_text(row, 2),
                    isnan(v.value) ? store_core_text(row, 9) : NULL))
        return err_set(err, BERTH_NO_MEMORY, "out of memory for %zu values", reader->values->count);
    return BERTH_OK;
}

static enum berth_code read_at(struct store *store, void *arg, struct berth_err *err)
{
    struct reader_at *reader = arg;
    sqlite3_stmt *row = NULL;
    enum berth_code code = store_core_prepare(store, series_then, &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        store_core_bind_text(row, 2, metric_info(reader->metric)->name);
        sqlite3_bind_int64(row, 3, reader->at_s);
        code = store_core_each(store, row, "reading history", add_value, reader, err);
    }
    sqlite3_finalize(row);
    return code;
}

enum berth_code store_load_at(struct store *store, const struct graph *graph, enum metric metric,
                              int64_t at_s, struct values *values, struct berth_err *err)
{
    struct reader_at reader = {.graph = graph, .metric = metric, .at_s = at_s, .values = values};
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_read(store, read_at, &reader, err);
    return store_core_done(store, code);
}
