#include "store/expected_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/core.h"

enum statement { INSERT, DELETE, LIST, COUNT, STATEMENTS };

static const char *const sql[STATEMENTS] = {
    [INSERT] =
        ("INSERT INTO expected_place (machine, identity, kind, place, model, seen_s) VALUES "
         "(?1, ?2, ?3, ?4, ?5, ?6)"
         " ON CONFLICT (machine, identity) DO UPDATE SET place = excluded.place WHERE place <> "
         "excluded.place"),
    [DELETE] = "DELETE FROM expected_place WHERE machine = ?1 AND identity = ?2",
    [LIST] = "SELECT identity, kind, place, model, seen_s FROM expected_place WHERE machine = ?1",
    [COUNT] = "SELECT count(*) FROM expected_place WHERE machine = ?1",
};

struct comparing {
    const struct graph *graph;
    int64_t now_s;
    bool forget;
    struct baseline_set *set;
    const struct baseline_set *given;
    sqlite3_stmt *statement[STATEMENTS];
};

static const char *name_of(const struct graph *graph)
{
    return graph->name != NULL ? graph->name : "";
}

/* True for hardware that a machine can lose and still boot. */
static bool is_watched(const struct place *place)
{
    return place->kind == PLACE_GPU || place->kind == PLACE_NIC || place->kind == PLACE_NUMA ||
           place->kind == PLACE_PACKAGE;
}

/* Returns the identity: numbers shift when an earlier device is gone, addresses do not. Partitions
 * of one GPU share an address and count as one. */
static const char *identity_of(const struct place *place)
{
    return place->pci != NULL ? place->pci : place->name;
}

static bool has(const struct graph *graph, const char *identity)
{
    for (size_t i = 0; i < graph->place_count; i++)
        if (is_watched(&graph->places[i]) && strcmp(identity_of(&graph->places[i]), identity) == 0)
            return true;
    return false;
}

static enum berth_code list_all(struct store *store, struct comparing *comparing, bool only_missing,
                                struct baseline_set *set, struct berth_err *err)
{
    sqlite3_stmt *row = comparing->statement[LIST];
    enum berth_code code = BERTH_OK;
    int rc = SQLITE_DONE;
    store_core_bind_text(row, 1, name_of(comparing->graph));
    while (code == BERTH_OK && (rc = store_core_next(row)) == SQLITE_ROW) {
        struct expected_place place = {.seen_s = sqlite3_column_int64(row, 4)};
        store_core_copy(row, 0, place.identity, sizeof place.identity);
        store_core_copy(row, 1, place.kind, sizeof place.kind);
        store_core_copy(row, 2, place.place, sizeof place.place);
        store_core_copy(row, 3, place.model, sizeof place.model);
        if (only_missing && has(comparing->graph, place.identity))
            continue;
        if (!baseline_set_add_place(set, &place))
            code = err_set(err, BERTH_NO_MEMORY, "no memory for places");
    }
    if (code == BERTH_OK && rc != SQLITE_DONE)
        code = store_core_fail(store, "reading expected places", err);
    sqlite3_reset(row);
    return code;
}

static enum berth_code insert(struct store *store, struct comparing *comparing,
                              const struct expected_place *place, struct berth_err *err)
{
    sqlite3_stmt *statement = comparing->statement[INSERT];
    store_core_bind_text(statement, 1, name_of(comparing->graph));
    store_core_bind_text(statement, 2, place->identity);
    store_core_bind_text(statement, 3, place->kind);
    store_core_bind_text(statement, 4, place->place);
    store_core_bind_text(statement, 5, place->model[0] != '\0' ? place->model : NULL);
    sqlite3_bind_int64(statement, 6, place->seen_s);
    return store_core_step(store, statement, "writing an expected place", NULL, err);
}

static enum berth_code insert_present(struct store *store, struct comparing *comparing,
                                      struct berth_err *err)
{
    const struct graph *graph = comparing->graph;
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < graph->place_count && code == BERTH_OK; i++) {
        const struct place *here = &graph->places[i];
        struct expected_place place = {.seen_s = comparing->now_s};
        if (!is_watched(here) || strlen(identity_of(here)) >= sizeof place.identity)
            continue;
        snprintf(place.identity, sizeof place.identity, "%s", identity_of(here));
        snprintf(place.kind, sizeof place.kind, "%s", place_kind_name(here->kind));
        snprintf(place.place, sizeof place.place, "%s", here->name);
        snprintf(place.model, sizeof place.model, "%.60s", here->model != NULL ? here->model : "");
        code = insert(store, comparing, &place, err);
    }
    return code;
}

static enum berth_code delete_places(struct store *store, struct comparing *comparing,
                                     const struct baseline_set *gone, struct berth_err *err)
{
    sqlite3_stmt *statement = comparing->statement[DELETE];
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < gone->place_count && code == BERTH_OK; i++) {
        store_core_bind_text(statement, 1, name_of(comparing->graph));
        store_core_bind_text(statement, 2, gone->place[i].identity);
        code = store_core_step(store, statement, "forgetting a place", NULL, err);
    }
    return code;
}

static enum berth_code compare_all(struct store *store, void *arg, struct berth_err *err)
{
    struct comparing *comparing = arg;
    struct baseline_set gone = {0};
    enum berth_code code =
        list_all(store, comparing, true, comparing->forget ? &gone : comparing->set, err);
    if (code == BERTH_OK)
        code = insert_present(store, comparing, err);
    if (code == BERTH_OK)
        code = delete_places(store, comparing, &gone, err);
    baseline_set_done(&gone);
    return code;
}

static enum berth_code list_only(struct store *store, void *arg, struct berth_err *err)
{
    struct comparing *comparing = arg;
    return list_all(store, comparing, false, comparing->set, err);
}

static enum berth_code put_all(struct store *store, void *arg, struct berth_err *err)
{
    struct comparing *comparing = arg;
    int64_t count = 0;
    store_core_bind_text(comparing->statement[COUNT], 1, name_of(comparing->graph));
    enum berth_code code = store_core_step(store, comparing->statement[COUNT],
                                           "counting expected places", &count, err);
    for (size_t i = 0; i < comparing->given->place_count && count == 0 && code == BERTH_OK; i++)
        code = insert(store, comparing, &comparing->given->place[i], err);
    return code;
}

static enum berth_code call(struct store *store, struct comparing *comparing,
                            enum berth_code (*work)(struct store *store, void *arg,
                                                    struct berth_err *err),
                            struct berth_err *err)
{
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    for (int i = 0; i < STATEMENTS && code == BERTH_OK; i++)
        code = store_core_prepare(store, sql[i], &comparing->statement[i], err);
    if (code == BERTH_OK)
        code = store_core_transact(store, work, comparing, err);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(comparing->statement[i]);
    return store_core_done(store, code);
}

enum berth_code store_expected_compare(struct store *store, const struct graph *graph,
                                       int64_t now_s, bool forget_gone, struct baseline_set *set,
                                       struct berth_err *err)
{
    return call(
        store,
        &(struct comparing){.graph = graph, .now_s = now_s, .forget = forget_gone, .set = set},
        compare_all, err);
}

enum berth_code store_expected_list(struct store *store, const struct graph *graph,
                                    struct baseline_set *set, struct berth_err *err)
{
    return call(store, &(struct comparing){.graph = graph, .set = set}, list_only, err);
}

enum berth_code store_expected_put(struct store *store, const struct graph *graph,
                                   const struct baseline_set *set, struct berth_err *err)
{
    return call(store, &(struct comparing){.graph = graph, .given = set}, put_all, err);
}
