/* Concurrent transfers in the store: writing and loading of sets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/core.h"

enum statement { UPSERT_SET, FIND_SET, INSERT_RATE, STATEMENTS };

static const char *const sql[STATEMENTS] = {
    [UPSERT_SET] = "INSERT INTO flow_set (node, metric, flows, measured_s) VALUES (?1, ?2, ?3, ?4)"
                   " ON CONFLICT (node, metric, flows) DO UPDATE SET measured_s = ?4",
    [FIND_SET] = "SELECT id FROM flow_set WHERE node = ?1 AND metric = ?2 AND flows = ?3",
    [INSERT_RATE] = "INSERT OR REPLACE INTO flow_rate (flow_set, measured_s, flow, bytes_per_s, "
                    "low, high) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
};

/* Returns "from to axes", a line for each flow; NULL when out of memory. */
static char *flows_text(const struct graph *graph, const struct set *set)
{
    size_t size = 1;
    for (size_t i = 0; i < set->flow_count; i++)
        size += strlen(graph_place(graph, set->flow[i].from)->name) +
                strlen(graph_place(graph, set->flow[i].to)->name) + strlen(set->flow[i].axes) + 3;
    char *text = malloc(size), *end = text;
    for (size_t i = 0; text != NULL && i < set->flow_count; i++)
        end += sprintf(end, "%s %s %s\n", graph_place(graph, set->flow[i].from)->name,
                       graph_place(graph, set->flow[i].to)->name, set->flow[i].axes);
    return text;
}

static enum berth_code write_set(struct store *store, sqlite3_stmt *const *statement,
                                 const struct graph *graph, const struct set *set,
                                 struct berth_err *err)
{
    int64_t id = 0;
    char *flows = flows_text(graph, set);
    if (flows == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory for a set");
    for (enum statement i = UPSERT_SET; i <= FIND_SET; i++) {
        sqlite3_bind_int64(statement[i], 1, store->node);
        store_core_bind_text(statement[i], 2, metric_info(set->metric)->name);
        store_core_bind_text(statement[i], 3, flows);
    }
    sqlite3_bind_int64(statement[UPSERT_SET], 4, set->measured_at_s);
    enum berth_code code = store_core_upsert(store, statement[UPSERT_SET], statement[FIND_SET],
                                             "writing a set", &id, err);
    free(flows);
    for (size_t i = 0; i < set->flow_count && code == BERTH_OK; i++) {
        sqlite3_bind_int64(statement[INSERT_RATE], 1, id);
        sqlite3_bind_int64(statement[INSERT_RATE], 2, set->measured_at_s);
        sqlite3_bind_int64(statement[INSERT_RATE], 3, (int64_t)i);
        store_core_bind_number(statement[INSERT_RATE], 4, set->flow[i].bytes_per_s);
        store_core_bind_number(statement[INSERT_RATE], 5, set->flow[i].low);
        store_core_bind_number(statement[INSERT_RATE], 6, set->flow[i].high);
        code = store_core_step(store, statement[INSERT_RATE], "writing a rate", NULL, err);
    }
    return code;
}

enum berth_code store_set_write(struct store *store, const struct graph *graph,
                                const struct sets *sets, struct berth_err *err)
{
    sqlite3_stmt *statement[STATEMENTS] = {NULL};
    enum berth_code code = BERTH_OK;
    if (sets->count == 0)
        return BERTH_OK;
    for (int i = 0; i < STATEMENTS && code == BERTH_OK; i++)
        code = store_core_prepare(store, sql[i], &statement[i], err);
    for (size_t i = 0; i < sets->count && code == BERTH_OK; i++)
        code =
            sets->item[i].source == VALUE_MEASURED
                ? write_set(store, statement, graph, &sets->item[i], err)
                : err_set(err, BERTH_BAD_DATA,
                          "a run holds a set that was not measured; only measured ones are kept");
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(statement[i]);
    return code;
}

/* A set while it is read from the rows of its flows. */
struct reading {
    const struct graph *graph;
    struct sets *sets;
    int64_t id;         /* 0 none yet */
    char *flows, *next; /* text of the set's flows, split at next for each flow */
    bool left_out;      /* metric or place unknown, or a row missing */
    struct set set;
    struct set_flow flow[SETS_FLOWS_MAX];
};

/* Adds the set whose rows are complete. Returns false when out of memory. */
static bool end_set(struct reading *reading)
{
    bool whole = reading->id != 0 && !reading->left_out && *reading->next == '\0' &&
                 reading->set.flow_count > 0;
    bool ok = !whole || sets_add(reading->sets, &reading->set);
    free(reading->flows);
    reading->flows = NULL;
    return ok;
}

/* Begins a set. Returns false when out of memory, in SQLite too. */
static bool begin_set(struct reading *reading, sqlite3_stmt *row)
{
    const char *metric = (const char *)sqlite3_column_text(row, 1),
               *flows = (const char *)sqlite3_column_text(row, 2);
    reading->id = sqlite3_column_int64(row, 0);
    reading->set = (struct set){.source = VALUE_MEASURED,
                                .measured_at_s = sqlite3_column_int64(row, 3),
                                .flow = reading->flow};
    reading->flows = reading->next = flows != NULL ? strdup(flows) : NULL;
    bool ok = metric != NULL && reading->flows != NULL;
    reading->left_out = !ok || !metric_parse(metric, &reading->set.metric);
    return ok;
}

/* Parses the next line of the set's text, "from to axes". */
static void add_flow(struct reading *reading, sqlite3_stmt *row)
{
    char *line = reading->next;
    if (reading->left_out || line == NULL)
        return;
    char *end = line + strcspn(line, "\n"), *to = line + strcspn(line, " "),
         *axes = to + (*to == ' ');
    axes += strcspn(axes, " ");
    if (*end != '\n' || axes >= end || reading->set.flow_count == SETS_FLOWS_MAX) {
        reading->left_out = true;
        return;
    }
    reading->next = end + 1;
    *to++ = *axes++ = *end = '\0';
    struct set_flow flow = {graph_find(reading->graph, line),
                            graph_find(reading->graph, to),
                            axes,
                            store_core_number(row, 5),
                            store_core_number(row, 6),
                            store_core_number(row, 7)};
    reading->left_out = flow.from == PLACE_NONE || flow.to == PLACE_NONE;
    reading->flow[reading->set.flow_count++] = flow;
}

static enum berth_code read_rows(struct store *store, sqlite3_stmt *row, struct reading *reading,
                                 struct berth_err *err)
{
    bool ok = true;
    int rc = SQLITE_DONE;
    sqlite3_bind_int64(row, 1, store->node);
    while (ok && (rc = store_core_next(row)) == SQLITE_ROW) {
        if (sqlite3_column_int64(row, 0) != reading->id)
            ok = end_set(reading) && begin_set(reading, row);
        if (ok)
            add_flow(reading, row);
    }
    ok = end_set(reading) && ok;
    if (!ok)
        return err_set(err, BERTH_NO_MEMORY, "out of memory for %zu sets", reading->sets->count);
    return rc == SQLITE_DONE ? BERTH_OK : store_core_fail(store, "reading sets", err);
}

enum berth_code store_set_load(struct store *store, const struct graph *graph, struct sets *sets,
                               struct berth_err *err)
{
    sqlite3_stmt *row = NULL;
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory for sets");
    *reading = (struct reading){.graph = graph, .sets = sets};
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_prepare(store,
                                  "SELECT s.id, s.metric, s.flows, s.measured_s, r.flow, "
                                  "r.bytes_per_s, r.low, r.high FROM flow_set s"
                                  " CROSS JOIN flow_rate r ON r.flow_set = s.id AND r.measured_s = "
                                  "s.measured_s WHERE s.node = ?1"
                                  " ORDER BY s.id, r.flow",
                                  &row, err);
    if (code == BERTH_OK)
        code = read_rows(store, row, reading, err);
    sqlite3_finalize(row);
    free(reading);
    return store_core_done(store, code);
}
