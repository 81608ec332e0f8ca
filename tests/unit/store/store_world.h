/* Fixture of the tests of the store: a folder and a small node for each test, and runs to write and
 * read back. */
#pragma once
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"
#include "unit/base/tree.h"

#define CORES 6
#define BOOT  "11111111-2222-3333-4444-555555555555"

static inline int64_t fixed_s(void *state)
{
    (void)state;
    return 1790000000;
}

static const struct clock fixed = {.now_s = fixed_s};

/* Every test has a folder of its own and a node of a few cores. */
struct world {
    char directory[48], database[64];
    struct graph *graph;
};

static inline struct graph *node(const char *fingerprint, int cores)
{
    struct graph *graph = graph_new();
    struct berth_err err = {0};
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < cores; i++) {
        place_id core = graph_add_place(graph, PLACE_CORE, i);
        graph->places[core].parent = 0;
    }
    memcpy(graph->fingerprint, fingerprint, 33);
    assert_true(graph_set_software(graph, "kernel", "6.1.0"));
    if (graph_finish(graph, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    return graph;
}

static inline int setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    strcpy(world->directory,
           /* memory is fastest */
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/berth-store-XXXXXX"
                                         : "/tmp/berth-store-XXXXXX");
    assert_non_null(mkdtemp(world->directory));
    snprintf(world->database, sizeof world->database, "%s/berth.db", world->directory);
    world->graph = node("0123456789abcdef0123456789abcdef", CORES);
    *state = world;
    return 0;
}

static inline int teardown(void **state)
{
    struct world *world = *state;
    tree_remove(world->directory);
    graph_unref(world->graph);
    free(world);
    return 0;
}

/* Returns the store's note; an empty code when there is none. */
static inline struct note noted(struct store *store)
{
    struct note note = {.text = "no note"};
    store_note(store, &note);
    return note;
}

static inline struct store *opened(struct world *world, enum store_state expected)
{
    struct store *store;
    struct berth_err err = {0};
    assert_int_equal(store_open(world->directory, &fixed, &store, &err), BERTH_OK);
    if (store_state(store) != expected)
        fail_msg("state %s: %s", store_state_name(store_state(store)), noted(store).text);
    assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
    return store;
}

static inline place_id core(const struct graph *graph, int number)
{
    char name[20];
    snprintf(name, sizeof name, "core%d", number);
    return graph_find(graph, name);
}

/* Makes a run of pingpongs from core 0 to each other one: base, base + 1, ... */
static inline struct run pingpongs(const struct graph *graph, double base)
{
    struct run run = {.probe = "cpu",
                      .backend = "cpu",
                      .profile = "quick",
                      .started_at_s = 1780000000 + (int64_t)base,
                      .elapsed_ns = 12345,
                      .status = "complete",
                      .conditions = strdup("{\"thp\":\"madvise\"}"),
                      .values = values_new()};
    for (int to = 1; to < CORES; to++) {
        struct value v = {.metric = METRIC_CPU_PINGPONG,
                          .from = core(graph, 0),
                          .to = core(graph, to),
                          .value = base + to,
                          .n = 9,
                          .low = base + to - 0.1,
                          .high = base + to + 0.1};
        assert_true(values_add(run.values, &v, "", NULL));
    }
    return run;
}

static inline int64_t written(struct store *store, const struct graph *graph, struct run *run)
{
    int64_t id = -1;
    struct berth_err err = {0};
    if (store_write_run(store, graph, run, &id, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    run_done(run);
    return id;
}

struct loaded {
    struct values *values;
    struct note *notes;
    size_t note_count;
    int64_t last_probe_at_s;
};

static inline struct loaded loaded(struct store *store, const struct graph *graph)
{
    struct loaded all = {.values = values_new()};
    struct berth_err err = {0};
    if (store_load_latest(store, graph, all.values, &all.notes, &all.note_count,
                          &all.last_probe_at_s, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    values_finish(all.values);
    return all;
}

static inline void loaded_done(struct loaded *all)
{
    values_free(all->values);
    free(all->notes);
}

static inline size_t count_loaded(struct store *store, const struct graph *graph)
{
    struct loaded all = loaded(store, graph);
    size_t count = all.values->count;
    loaded_done(&all);
    return count;
}

/* Returns the result of a query of another program over the file. */
static inline int64_t query(const struct world *world, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return number;
}

/* Makes a file with history; returns its size. */
static inline long filled(struct world *world, int runs)
{
    struct store *store = opened(world, STORE_OK);
    for (int i = 0; i < runs; i++) {
        struct run run = pingpongs(world->graph, i);
        char conditions[600];
        snprintf(conditions, sizeof conditions, "{\"number\":%d,\"padding\":\"%0500d\"}", i, i);
        free(run.conditions);
        run.conditions = strdup(conditions);
        written(store, world->graph, &run);
    }
    store_close(store);
    struct stat status;
    assert_int_equal(stat(world->database, &status), 0);
    return status.st_size;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
