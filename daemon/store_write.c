/* Writing runs. */
#include <math.h>

#include "store_core.h"

/* A reason why there is no value stays out of the way of the latest value; see values.h. */
#define NEWER(column) "iif(excluded.value IS NULL AND value IS NOT NULL, " column ", excluded." column ")"

struct writer {
    const struct graph *graph;
    const struct run *run;
    int64_t id;
    sqlite3_stmt *insert_run, *find_text, *insert_text, *series, *value, *skip, *note;
};

static enum berth_code prepare_writer(struct store *store, struct writer *writer, struct berth_err *err)
{
    const struct {
        sqlite3_stmt **statement;
        const char *sql;
    } all[] = {
        {&writer->insert_run, "INSERT INTO run (boot, probe, backend, profile, started_s, elapsed_ns, status, conditions)"
                              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id"},
        {&writer->find_text, "SELECT id FROM text WHERE text = ?1"},
        {&writer->insert_text, "INSERT INTO text (text) VALUES (?1) RETURNING id"},
        {&writer->series,
         "INSERT INTO series (node, metric, from_place, to_place, axes, run, value, low, high, n, why)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO UPDATE SET"
         " run = " NEWER("run") ", value = " NEWER("value") ", low = " NEWER("low") ", high = " NEWER("high")
         ", n = " NEWER("n") ", why = " NEWER("why") " RETURNING id"},
        {&writer->value, "INSERT INTO value (series, run, value, low, high, n) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
        {&writer->skip, "INSERT INTO skip (series, run, why) VALUES (?1, ?2, ?3)"},
        {&writer->note, "INSERT INTO note (run, code, severity, place, text, since_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
    };
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && code == BERTH_OK; i++)
        code = store_core_prepare(store, all[i].sql, all[i].statement, err);
    return code;
}

static void finalize_writer(struct writer *writer)
{
    sqlite3_finalize(writer->insert_run);
    sqlite3_finalize(writer->find_text);
    sqlite3_finalize(writer->insert_text);
    sqlite3_finalize(writer->series);
    sqlite3_finalize(writer->value);
    sqlite3_finalize(writer->skip);
    sqlite3_finalize(writer->note);
}

static enum berth_code write_text(struct store *store, struct writer *writer, const char *text, int64_t *ret_id,
                                  struct berth_err *err)
{
    int64_t id = 0;
    store_core_bind_text(writer->find_text, 1, text);
    enum berth_code code = store_core_step(store, writer->find_text, "looking for a text", &id, err);
    if (code == BERTH_OK && id == 0) {
        store_core_bind_text(writer->insert_text, 1, text);
        code = store_core_step(store, writer->insert_text, "writing a text", &id, err);
    }
    if (code == BERTH_OK)
        *ret_id = id;
    return code;
}

static enum berth_code write_run_row(struct store *store, struct writer *writer, struct berth_err *err)
{
    const struct run *run = writer->run;
    sqlite3_stmt *insert = writer->insert_run;
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
    return store_core_step(store, insert, "writing a run", &writer->id, err);
}

static enum berth_code write_value(struct store *store, struct writer *writer, const struct value *v, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    int64_t why = 0, series = 0;
    if (v->source != VALUE_MEASURED)
        return err_set(err, BERTH_BAD_DATA, "a run holds a %s value of %s; only measured ones are kept",
                       value_source_name(v->source), metric_info(v->metric)->name);
    if (isnan(v->value))
        code = write_text(store, writer, v->why_not, &why, err);
    if (code != BERTH_OK)
        return code;
    sqlite3_stmt *upsert = writer->series;
    sqlite3_bind_int64(upsert, 1, store->node);
    store_core_bind_text(upsert, 2, metric_info(v->metric)->name);
    store_core_bind_text(upsert, 3, graph_place(writer->graph, v->from)->name);
    store_core_bind_text(upsert, 4, graph_place(writer->graph, v->to)->name);
    store_core_bind_text(upsert, 5, values_axes(writer->run->values, v));
    sqlite3_bind_int64(upsert, 6, writer->id);
    store_core_bind_number(upsert, 7, v->value);
    store_core_bind_number(upsert, 8, v->low);
    store_core_bind_number(upsert, 9, v->high);
    sqlite3_bind_int64(upsert, 10, v->n);
    if (why != 0)
        sqlite3_bind_int64(upsert, 11, why);
    else
        sqlite3_bind_null(upsert, 11);
    code = store_core_step(store, upsert, "writing a series", &series, err);
    if (code != BERTH_OK)
        return code;
    sqlite3_stmt *insert = why != 0 ? writer->skip : writer->value;
    sqlite3_bind_int64(insert, 1, series);
    sqlite3_bind_int64(insert, 2, writer->id);
    if (why != 0) {
        sqlite3_bind_int64(insert, 3, why);
    } else {
        store_core_bind_number(insert, 3, v->value);
        store_core_bind_number(insert, 4, v->low);
        store_core_bind_number(insert, 5, v->high);
        sqlite3_bind_int64(insert, 6, v->n);
    }
    return store_core_step(store, insert, "writing a value", NULL, err);
}

static enum berth_code write_note(struct store *store, struct writer *writer, const struct note *note, struct berth_err *err)
{
    sqlite3_bind_int64(writer->note, 1, writer->id);
    store_core_bind_text(writer->note, 2, note->code);
    sqlite3_bind_int64(writer->note, 3, note->severity);
    store_core_bind_text(writer->note, 4, note->place);
    store_core_bind_text(writer->note, 5, note->text);
    sqlite3_bind_int64(writer->note, 6, note->since_s);
    return store_core_step(store, writer->note, "writing a note", NULL, err);
}

static enum berth_code write_all(struct store *store, void *arg, struct berth_err *err)
{
    struct writer *writer = arg;
    const struct run *run = writer->run;
    enum berth_code code = write_run_row(store, writer, err);
    for (size_t i = 0; run->values != NULL && i < run->values->count && code == BERTH_OK; i++)
        code = write_value(store, writer, &run->values->item[i], err);
    for (size_t i = 0; i < run->note_count && code == BERTH_OK; i++)
        code = write_note(store, writer, &run->notes[i], err);
    return code;
}

enum berth_code store_write_run(struct store *store, const struct graph *graph, const struct run *run, int64_t *ret_run,
                                struct berth_err *err)
{
    struct writer writer = {.graph = graph, .run = run};
    if (run->values != NULL)
        values_finish(run->values);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = prepare_writer(store, &writer, err);
    if (code == BERTH_OK)
        code = store_core_transact(store, write_all, &writer, err);
    finalize_writer(&writer);
    if (code == BERTH_OK)
        *ret_run = writer.id;
    return store_core_done(store, code);
}
