/* Reading the latest measurements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node/tuning.h"
#include "store/core.h"

struct notes {
    struct note *item;
    size_t count;
};

struct loading {
    const struct graph *graph;
    struct values *values;
    struct notes notes;
    int64_t last_probe_at_s;
};

/* Adds a row if this version knows its metric and the graph its places. */
static enum berth_code add_row(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    struct loading *loading = arg;
    const struct graph *graph = loading->graph;
    struct values *values = loading->values;
    enum metric metric;
    struct value v = {.source = VALUE_MEASURED,
                      .from = graph_find(graph, store_core_text(row, 1)),
                      .to = graph_find(graph, store_core_text(row, 2))};
    if (!metric_parse(store_core_text(row, 0), &metric) || v.from == PLACE_NONE ||
        v.to == PLACE_NONE)
        return BERTH_OK;
    v.metric = metric;
    v.run = sqlite3_column_int64(row, 4);
    v.value = store_core_number(row, 5);
    v.low = store_core_number(row, 6);
    v.high = store_core_number(row, 7);
    v.n = (uint32_t)sqlite3_column_int64(row, 8);
    v.measured_at_s = sqlite3_column_int64(row, 10);
    if (!values_add(values, &v, store_core_text(row, 3),
                    isnan(v.value) ? store_core_text(row, 9) : NULL))
        return err_set(err, BERTH_NO_MEMORY, "out of memory for %zu values", values->count);
    return BERTH_OK;
}

static enum berth_code load_values(struct store *store, struct loading *loading,
                                   struct berth_err *err)
{
    /* Fixes the order of joins; the + prevents use of the index: a full scan of series is
     * fastest. */
    static const char sql[] = "SELECT s.metric, s.from_place, s.to_place, s.axes, s.run, s.value, "
                              "s.low, s.high, s.n, w.text, r.started_s"
                              " FROM series s CROSS JOIN run r ON r.id = s.run LEFT JOIN text w ON "
                              "w.id = s.why WHERE +s.node = ?1";
    sqlite3_stmt *row = NULL;
    enum berth_code code = store_core_prepare(store, sql, &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        code = store_core_each(store, row, "reading values", add_row, loading, err);
    }
    sqlite3_finalize(row);
    return code;
}

static enum berth_code add_note(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    struct notes *notes = arg;
    struct note *item = realloc(notes->item, (notes->count + 1) * sizeof *item);
    if (item == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory for %zu notes", notes->count + 1);
    notes->item = item;
    item = &notes->item[notes->count++];
    *item = (struct note){.severity = sqlite3_column_int(row, 1),
                          .since_s = sqlite3_column_int64(row, 4)};
    store_core_copy(row, 0, item->code, sizeof item->code);
    store_core_copy(row, 2, item->place, sizeof item->place);
    store_core_copy(row, 3, item->text, sizeof item->text);
    store_core_copy(row, 5, item->probe, sizeof item->probe);
    store_core_copy(row, 6, item->metric, sizeof item->metric);
    store_core_copy(row, 7, item->to, sizeof item->to);
    return BERTH_OK;
}

static enum berth_code load_notes(struct store *store, struct notes *notes, struct berth_err *err)
{
    sqlite3_stmt *row = NULL;
    enum berth_code code = store_core_prepare(
        store,
        "SELECT code, severity, place, text, since_s, name, metric, to_place FROM "
        "note JOIN probe USING (run) WHERE node = ?1 ORDER BY id",
        &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        code = store_core_each(store, row, "reading notes", add_note, notes, err);
    }
    sqlite3_finalize(row);
    return code;
}

/* Removes an earlier database's notes of a probe that has a run in this one. */
static enum berth_code remove_notes(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    struct notes *notes = arg;
    const char *probe = store_core_text(row, 0);
    size_t kept = 0;
    (void)err;
    for (size_t i = 0; i < notes->count; i++)
        if (strcmp(notes->item[i].probe, probe) != 0)
            notes->item[kept++] = notes->item[i];
    notes->count = kept;
    return BERTH_OK;
}

static enum berth_code remove_replaced(struct store *store, struct notes *notes,
                                       struct berth_err *err)
{
    sqlite3_stmt *row = NULL;
    enum berth_code code =
        store_core_prepare(store, "SELECT name FROM probe WHERE node = ?1", &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        code = store_core_each(store, row, "reading probes", remove_notes, notes, err);
    }
    sqlite3_finalize(row);
    return code;
}

/* Loads the time of the latest run that brought a value. */
static enum berth_code load_last_probe(struct store *store, int64_t *ret_started_s,
                                       struct berth_err *err)
{
    sqlite3_stmt *row = NULL;
    enum berth_code code = store_core_prepare(
        store,
        "SELECT max(started_s) FROM run WHERE id IN (SELECT run FROM series WHERE node = ?1 AND "
        "value IS NOT NULL)",
        &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        code = store_core_step(store, row, "reading runs", ret_started_s, err);
    }
    sqlite3_finalize(row);
    return code;
}

/* Loads one database; memory follows the file, because its measurements are newer. */
static enum berth_code load_all(struct store *store, void *arg, struct berth_err *err)
{
    struct loading *loading = arg;
    int64_t last_probe_at_s = 0;
    enum berth_code code = load_values(store, loading, err);
    if (code == BERTH_OK)
        code = load_last_probe(store, &last_probe_at_s, err);
    if (code != BERTH_OK)
        return code;
    if (last_probe_at_s > 0)
        loading->last_probe_at_s = last_probe_at_s;
    code = remove_replaced(store, &loading->notes, err);
    return code == BERTH_OK ? load_notes(store, &loading->notes, err) : code;
}

enum berth_code store_load_latest(struct store *store, const struct graph *graph,
                                  struct values *values, struct note **ret_notes,
                                  size_t *ret_note_count, int64_t *ret_last_probe_at_s,
                                  struct berth_err *err)
{
    struct loading loading = {.graph = graph, .values = values};
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_read(store, load_all, &loading, err);
    code = store_core_done(store, code);
    if (code != BERTH_OK) {
        free(loading.notes.item);
        return code;
    }
    *ret_notes = loading.notes.item;
    *ret_note_count = loading.notes.count;
    *ret_last_probe_at_s = loading.last_probe_at_s;
    return BERTH_OK;
}

static enum berth_code add_shapes(sqlite3_stmt *row, void *arg, struct berth_err *err)
{
    (void)err;
    char **shapes = arg, *text = tuning_merge(*shapes, store_core_text(row, 0));
    free(*shapes);
    *shapes = text;
    return BERTH_OK;
}

/* Reads the newest shapes of each memory: a run of a few metrics has not all. Searches few runs,
 * because tuning again after a long time is cheap. */
static enum berth_code load_shapes(struct store *store, void *arg, struct berth_err *err)
{
    char **shapes = arg;
    sqlite3_stmt *row = NULL;
    enum berth_code code =
        store_core_prepare(store,
                           "SELECT json_extract(text, '$.shapes') AS shapes FROM (SELECT run.id "
                           "AS run, conditions FROM run JOIN boot ON boot.id = run.boot"
                           " WHERE boot.node = ?1 AND probe = 'gpu' ORDER BY run.id DESC LIMIT 64) "
                           "JOIN text ON text.id = conditions"
                           " WHERE typeof(shapes) = 'text' ORDER BY run",
                           &row, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(row, 1, store->node);
        code = store_core_each(store, row, "reading shapes", add_shapes, shapes, err);
    }
    sqlite3_finalize(row);
    return code;
}

enum berth_code store_load_shapes(struct store *store, char **ret_shapes, struct berth_err *err)
{
    char *shapes = NULL;
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_read(store, load_shapes, &shapes, err);
    code = store_core_done(store, code);
    if (code != BERTH_OK) {
        free(shapes);
        return code;
    }
    *ret_shapes = shapes;
    return BERTH_OK;
}
