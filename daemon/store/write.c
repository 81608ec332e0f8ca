/* Writing runs. */
#include <math.h>

#include "store/core.h"

#define WRITES 5 /* most attempts to write a run */

enum statement {
    INSERT_RUN,
    SET_LATEST_RUN,
    FIND_TEXT,
    INSERT_TEXT,
    FIND_SERIES,
    SET_LATEST_VALUE,
    UPDATE_LATEST_VALUE,
    INSERT_VALUE,
    INSERT_SKIP,
    INSERT_NOTE,
    STATEMENTS
};

static const char *const sql[STATEMENTS] = {
    [INSERT_RUN] = ("INSERT INTO run (boot, probe, backend, profile, started_s, elapsed_ns, "
                    "status, conditions)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"),
    [SET_LATEST_RUN] = "INSERT INTO probe (node, name, run) VALUES (?1, ?2, ?3) ON CONFLICT (node, "
                       "name) DO UPDATE SET run = excluded.run",
    [FIND_TEXT] = "SELECT id FROM text WHERE text = ?1",
    [INSERT_TEXT] = "INSERT INTO text (text) VALUES (?1)",
    [FIND_SERIES] = "SELECT id FROM series WHERE node = ?1 AND metric = ?2 AND from_place = ?3 "
                    "AND to_place = ?4 AND axes = ?5",
    [UPDATE_LATEST_VALUE] = "UPDATE series SET run = ?2, value = ?3, low = ?4, high = ?5, n = "
                            "?6, why = NULL WHERE id = ?1",
    [SET_LATEST_VALUE] =
        "INSERT INTO series (node, metric, from_place, to_place, axes, run, value, low, high, "
        "n, why)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (node, metric, "
        "from_place, to_place, axes) DO UPDATE SET"
        " run = " STORE_NEWER("run") ", value = " STORE_NEWER("value") ", low = " STORE_NEWER(
            "low") ", high = " STORE_NEWER("high") ", n = " STORE_NEWER("n") ", why "
                                                                             "= " STORE_NEWER(
                                                                                 "why"),
    [INSERT_VALUE] = "INSERT INTO fresh_value (series, run, value, low, high, n) VALUES (?1, "
                     "?2, ?3, ?4, ?5, ?6)",
    [INSERT_SKIP] = "INSERT INTO skip (series, run, why) VALUES (?1, ?2, ?3)",
    [INSERT_NOTE] = "INSERT INTO note (run, code, severity, place, text, since_s, metric, "
                    "to_place) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
};

struct writer {
    const struct graph *graph;
    const struct run *run;
    int64_t id;
    sqlite3_stmt *statement[STATEMENTS];
};

static enum berth_code write_text(struct store *store, struct writer *writer, const char *text,
                                  int64_t *ret_id, struct berth_err *err)
{
    int64_t id = 0;
    store_core_bind_text(writer->statement[FIND_TEXT], 1, text);
    enum berth_code code =
        store_core_step(store, writer->statement[FIND_TEXT], "looking for a text", &id, err);
    if (code == BERTH_OK && id == 0) {
        store_core_bind_text(writer->statement[INSERT_TEXT], 1, text);
        code = store_core_insert(store, writer->statement[INSERT_TEXT], "writing a text", &id, err);
    }
    if (code == BERTH_OK)
        *ret_id = id;
    return code;
}

static enum berth_code write_run_row(struct store *store, struct writer *writer,
                                     struct berth_err *err)
{
    const struct run *run = writer->run;
    sqlite3_stmt *insert = writer->statement[INSERT_RUN];
    if (run->conditions != NULL) {
        int64_t conditions = 0;
        enum berth_code code = write_text(store, writer, run->conditions, &conditions, err);
        if (code != BERTH_OK)
            return code;
        sqlite3_bind_int64(insert, 8, conditions);
    }
    sqlite3_bind_int64(insert, 1, store->boot);
    store_core_bind_text(insert, 2, run->probe);
    store_core_bind_text(insert, 3, run->backend);
    store_core_bind_text(insert, 4, run->profile);
    sqlite3_bind_int64(insert, 5, run->started_at_s);
    sqlite3_bind_int64(insert, 6, run->elapsed_ns);
    store_core_bind_text(insert, 7, run->status);
    enum berth_code code = store_core_insert(store, insert, "writing a run", &writer->id, err);
    if (code != BERTH_OK)
        return code;
    sqlite3_stmt *latest = writer->statement[SET_LATEST_RUN];
    sqlite3_bind_int64(latest, 1, store->node);
    store_core_bind_text(latest, 2, run->probe);
    sqlite3_bind_int64(latest, 3, writer->id);
    return store_core_step(store, latest, "writing a run", NULL, err);
}

static void bind_series(struct store *store, const struct writer *writer, sqlite3_stmt *statement,
                        const struct value *v)
{
    sqlite3_bind_int64(statement, 1, store->node);
    store_core_bind_text(statement, 2, metric_info(v->metric)->name);
    store_core_bind_text(statement, 3, graph_place(writer->graph, v->from)->name);
    store_core_bind_text(statement, 4, graph_place(writer->graph, v->to)->name);
    store_core_bind_text(statement, 5, values_axes(writer->run->values, v));
}

static void bind_numbers(const struct writer *writer, sqlite3_stmt *statement, int at,
                         const struct value *v)
{
    sqlite3_bind_int64(statement, at, writer->id);
    store_core_bind_number(statement, at + 1, v->value);
    store_core_bind_number(statement, at + 2, v->low);
    store_core_bind_number(statement, at + 3, v->high);
    sqlite3_bind_int64(statement, at + 4, v->n);
}

/* Writes a new series, or one without a new value; why is 0 for a number. */
static enum berth_code write_series(struct store *store, struct writer *writer,
                                    const struct value *v, int64_t why, int64_t *ret_series,
                                    struct berth_err *err)
{
    sqlite3_stmt *upsert = writer->statement[SET_LATEST_VALUE];
    bind_series(store, writer, upsert, v);
    bind_numbers(writer, upsert, 6, v);
    if (why != 0)
        sqlite3_bind_int64(upsert, 11, why);
    else
        sqlite3_bind_null(upsert, 11);
    bind_series(store, writer, writer->statement[FIND_SERIES], v);
    return store_core_upsert(store, upsert, writer->statement[FIND_SERIES], "writing a series",
                             ret_series, err);
}

static enum berth_code write_skip(struct store *store, struct writer *writer, const struct value *v,
                                  struct berth_err *err)
{
    int64_t why = 0, series = 0;
    enum berth_code code = write_text(store, writer, v->why_not, &why, err);
    if (code == BERTH_OK)
        code = write_series(store, writer, v, why, &series, err);
    if (code != BERTH_OK)
        return code;
    sqlite3_stmt *insert = writer->statement[INSERT_SKIP];
    sqlite3_bind_int64(insert, 1, series);
    sqlite3_bind_int64(insert, 2, writer->id);
    sqlite3_bind_int64(insert, 3, why);
    return store_core_step(store, insert, "writing a value", NULL, err);
}

static enum berth_code write_number(struct store *store, struct writer *writer,
                                    const struct value *v, struct berth_err *err)
{
    int64_t series = 0;
    sqlite3_stmt *find = writer->statement[FIND_SERIES],
                 *update = writer->statement[UPDATE_LATEST_VALUE],
                 *insert = writer->statement[INSERT_VALUE];
    bind_series(store, writer, find, v);
    enum berth_code code = store_core_step(store, find, "looking for a series", &series, err);
    if (code == BERTH_OK && series != 0) { /* takes half the time of an upsert */
        sqlite3_bind_int64(update, 1, series);
        bind_numbers(writer, update, 2, v);
        code = store_core_step(store, update, "writing a series", NULL, err);
    } else if (code == BERTH_OK) {
        code = write_series(store, writer, v, 0, &series, err);
    }
    if (code != BERTH_OK)
        return code;
    sqlite3_bind_int64(insert, 1, series);
    sqlite3_bind_int64(insert, 2, writer->id);
    store_core_bind_number(insert, 3, v->value);
    store_core_bind_bound(insert, 4, v->value, v->low, -1);
    store_core_bind_bound(insert, 5, v->value, v->high, 1);
    sqlite3_bind_int64(insert, 6, v->n);
    return store_core_step(store, insert, "writing a value", NULL, err);
}

static enum berth_code write_value(struct store *store, struct writer *writer,
                                   const struct value *v, struct berth_err *err)
{
    if (v->source != VALUE_MEASURED)
        return err_set(err, BERTH_BAD_DATA,
                       "a run holds a %s value of %s; only measured ones are kept",
                       value_source_name(v->source), metric_info(v->metric)->name);
    return isnan(v->value) ? write_skip(store, writer, v, err)
                           : write_number(store, writer, v, err);
}

static enum berth_code write_note(struct store *store, struct writer *writer,
                                  const struct note *note, struct berth_err *err)
{
    sqlite3_bind_int64(writer->statement[INSERT_NOTE], 1, writer->id);
    store_core_bind_text(writer->statement[INSERT_NOTE], 2, note->code);
    sqlite3_bind_int64(writer->statement[INSERT_NOTE], 3, note->severity);
    store_core_bind_text(writer->statement[INSERT_NOTE], 4, note->place);
    store_core_bind_text(writer->statement[INSERT_NOTE], 5, note->text);
    sqlite3_bind_int64(writer->statement[INSERT_NOTE], 6, note->since_s);
    store_core_bind_text(writer->statement[INSERT_NOTE], 7, note->metric);
    store_core_bind_text(writer->statement[INSERT_NOTE], 8, note->to);
    return store_core_step(store, writer->statement[INSERT_NOTE], "writing a note", NULL, err);
}

static enum berth_code write_all(struct store *store, void *arg, struct berth_err *err)
{
    struct writer *writer = arg;
    const struct run *run = writer->run;
    enum berth_code code = write_run_row(store, writer, err);
    for (size_t i = 0; run->values != NULL && i < run->values->count && code == BERTH_OK; i++)
        code = write_value(store, writer, &run->values->item[i], err);
    if (run->sets != NULL && code == BERTH_OK)
        code = store_set_write(store, writer->graph, run->sets, err);
    for (size_t i = 0; i < run->note_count && code == BERTH_OK; i++)
        code = write_note(store, writer, &run->notes[i], err);
    return code;
}

static enum berth_code write_once(struct store *store, const struct graph *graph,
                                  const struct run *run, int64_t *ret_run, struct berth_err *err)
{
    struct writer writer = {.graph = graph, .run = run};
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    for (int i = 0; i < STATEMENTS && code == BERTH_OK; i++)
        code = store_core_prepare(store, sql[i], &writer.statement[i], err);
    if (code == BERTH_OK)
        code = store_core_transact(store, write_all, &writer, err);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(writer.statement[i]);
    if (code == BERTH_OK)
        *ret_run = writer.id;
    return store_core_done(store, code);
}

enum berth_code store_write_run(struct store *store, const struct graph *graph,
                                const struct run *run, int64_t *ret_run, struct berth_err *err)
{
    struct berth_err why = {0};
    if (run->values != NULL)
        values_finish(run->values);
    enum berth_code code = write_once(store, graph, run, ret_run, &why);
    /* the store has changed to memory, or has made the log's index anew */
    for (int i = 1; i < WRITES && (code == BERTH_IO || code == BERTH_UNAVAILABLE); i++)
        code = write_once(store, graph, run, ret_run, &why);
    return code == BERTH_OK ? code : err_set(err, code, "%s", why.detail);
}
