/* History: results of queries, thinning of old values, and a small file for years. */
#include <math.h>

#include "base/embedded.h"
#include "store/history.h"
#include "store/retention.h"
#include "store_world.h"

#define DAY_S   86400
#define START_S (20000 * (int64_t)DAY_S)

static int64_t virtual_s(void *state) { return *(int64_t *)state; }

/* A store on a clock of its own. */
static struct store *begun(struct world *world, int64_t *now_s)
{
    struct clock clock = {.now_s = virtual_s, .state = now_s};
    struct store *store;
    struct berth_err err = {0};
    assert_int_equal(store_open(world->directory, &clock, &store, &err), BERTH_OK);
    assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
    return store;
}

/* A run of one value, from core 0 to core 1; NAN: a skip. */
static int64_t wrote(struct store *store, const struct graph *graph, int64_t at_s, double value,
                     const char *conditions)
{
    struct run run = {.probe = "cpu",
                      .backend = "cpu",
                      .profile = "quick",
                      .started_at_s = at_s,
                      .status = "complete",
                      .values = values_new()};
    struct value v = {.metric = METRIC_CPU_PINGPONG,
                      .from = core(graph, 0),
                      .to = core(graph, 1),
                      .value = value,
                      .n = 7,
                      .low = value * 0.875,
                      .high = value + 2.5};
    assert_true(values_add(run.values, &v, "", isnan(value) ? "no time" : NULL));
    run.conditions = strdup(conditions);
    return written(store, graph, &run);
}

static struct history history_of(struct store *store, const struct graph *graph, int64_t since_s)
{
    struct history history;
    struct berth_err err = {0};
    if (store_history(
            store, graph,
            &(struct history_series){METRIC_CPU_PINGPONG, core(graph, 0), core(graph, 1), ""},
            since_s, &history, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    return history;
}

static int keep_all(struct store *store, int64_t history_days, int64_t daily_days)
{
    const struct keep keep = {.history_days = history_days, .daily_days = daily_days};
    struct berth_err err = {0};
    bool more = true;
    int steps = 0;
    for (; more; steps++)
        if (store_retention(store, &keep, &more, &err) != BERTH_OK)
            fail_msg("%s", err.detail);
    return steps - 1;
}

static void points_ascend(void **state)
{
    struct world *world = *state;
    int64_t now_s = START_S + 10 * DAY_S;
    struct store *store = begun(world, &now_s);
    int64_t first = wrote(store, world->graph, START_S + 100, 50.25, "{\"thp\":\"always\"}");
    wrote(store, world->graph, START_S + 300, 52, "{\"thp\":\"never\"}");
    wrote(store, world->graph, START_S + 400, NAN, "{}");
    wrote(store, world->graph, START_S + 200, 51, "{\"thp\":\"always\"}"); /* the clock went back */
    struct history history = history_of(store, world->graph, INT64_MIN);
    assert_int_equal(history.count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(history.item[i].measured_at_s, START_S + 100 * (i + 1));
    assert_true(history.item[0].value == 50.25 && history.item[0].low == 50.25 * 0.875 &&
                history.item[0].high == 52.75);
    assert_int_equal(history.item[0].n, 7);
    assert_int_equal(history.item[0].run, first);
    assert_string_equal(history.item[0].conditions, "{\"thp\":\"always\"}");
    assert_string_equal(history.item[1].conditions, "{\"thp\":\"always\"}");
    assert_string_equal(history.item[2].conditions, "{\"thp\":\"never\"}");
    store_history_done(&history);
    history = history_of(store, world->graph, START_S + 200);
    assert_int_equal(history.count, 2);
    store_history_done(&history);
    struct berth_err err = {0};
    assert_int_equal(
        store_history(store, world->graph,
                      &(struct history_series){METRIC_CPU_PINGPONG, core(world->graph, 1),
                                               core(world->graph, 0), ""},
                      0, &history, &err),
        BERTH_OK);
    assert_int_equal(history.count, 0);
    store_history_done(&history);
    store_close(store);
}

/* Bounds are kept in few bytes; they come back as they were to eight digits, whatever they are. */
static void bounds_survive(void **state)
{
    static const double value[] = {13.4, 1e11, 0.000123, 50, 0, -3, 1e300, 55};
    static const double low[] = {13.2, 9.8765432e10, 0.00012, NAN, -1, -4, 1e-300, INFINITY};
    struct world *world = *state;
    int64_t now_s = START_S + DAY_S;
    struct store *store = begun(world, &now_s);
    for (int i = 0; i < 8; i++) {
        struct run run = {.probe = "cpu", .started_at_s = START_S + i, .values = values_new()};
        struct value v = {.metric = METRIC_CPU_PINGPONG,
                          .from = core(world->graph, 0),
                          .to = core(world->graph, 1),
                          .value = value[i],
                          .low = low[i],
                          .high = -low[i]};
        assert_true(values_add(run.values, &v, "", NULL));
        written(store, world->graph, &run);
    }
    struct history history = history_of(store, world->graph, INT64_MIN);
    assert_int_equal(history.count, 8);
    for (int i = 0; i < 8; i++) {
        assert_true(history.item[i].value == value[i]);
        assert_true(history.item[i].low == low[i] || (isnan(low[i]) && isnan(history.item[i].low)));
        assert_true(history.item[i].high == -low[i] ||
                    (isnan(low[i]) && isnan(history.item[i].high)));
    }
    store_history_done(&history);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM history WHERE abs(low - 13.2) < 1e-7"), 1);
}

static void old_days_become_medians(void **state)
{
    struct world *world = *state;
    int64_t now_s = START_S + 100 * DAY_S;
    struct store *store = begun(world, &now_s);
    static const double values[] = {5, 1, 9, 3}; /* median of four: 4; of the first three: 5 */
    char conditions[32];
    wrote(store, world->graph, START_S + 100, NAN, "{}");
    for (int day = 0; day < 20; day++)
        for (int i = 0; i < (day % 2 ? 3 : 4); i++) {
            snprintf(conditions, sizeof conditions, "{\"loadavg\":\"%d.%d\"}", day, i);
            wrote(store, world->graph, START_S + day * DAY_S + i * 3600, values[i] + 100 * day,
                  conditions);
        }
    /* settled; nothing is old enough for more: day 0 ended 99 days ago */
    assert_int_equal(keep_all(store, 100, 1000), 1);
    assert_int_equal(keep_all(store, 100, 1000), 0);
    assert_int_equal(query(world, "SELECT count(*) FROM fresh_value"), 0);
    now_s += DAY_S;
    assert_int_equal(keep_all(store, 100, 1000), 1);
    now_s += 9 * DAY_S - 1;
    assert_int_equal(keep_all(store, 100, 1000), 8); /* days end when they end */
    now_s += 1;
    assert_int_equal(keep_all(store, 100, 1000), 1);
    struct history history = history_of(store, world->graph, INT64_MIN);
    assert_int_equal(history.count, 10 + 35);
    for (int day = 0; day < 10; day++) {
        const struct point *point = &history.item[day];
        assert_int_equal(point->measured_at_s, START_S + day * DAY_S);
        assert_true(point->value == 100 * day + (day % 2 ? 5 : 4));
        assert_true(point->low == 100 * day + 1 && point->high == 100 * day + 9);
        assert_int_equal(point->n, day % 2 ? 3 : 4);
        assert_int_equal(point->run, 0);
        assert_null(point->conditions);
    }
    assert_true(history.item[10].value == 1005 && history.item[10].run != 0);
    store_history_done(&history);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 35);
    assert_int_equal(query(world, "SELECT count(*) FROM skip"), 0);
    assert_int_equal(query(world, "SELECT count(*) FROM text"), 35);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);

    now_s = START_S + 1005 * DAY_S;
    keep_all(store, 100, 1000);
    history = history_of(store, world->graph, INT64_MIN);
    assert_int_equal(history.count, 15);
    assert_int_equal(history.item[0].measured_at_s, START_S + 5 * DAY_S);
    store_history_done(&history);
    /* the latest of the series and of the probe */
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
    struct loaded all = loaded(store, world->graph);
    assert_int_equal(all.values->count, 1);
    assert_true(all.values->item[0].value == 1909);
    assert_int_equal(all.last_probe_at_s, START_S + 19 * DAY_S + 2 * 3600);
    loaded_done(&all);
    wrote(store, world->graph, now_s, 1, "{}");
    now_s += 2000 * DAY_S;
    wrote(store, world->graph, now_s, 2, "{}");
    keep_all(store, 100, 1000);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
    assert_int_equal(query(world, "SELECT count(*) FROM day"), 0);
    assert_int_equal(query(world, "SELECT count(*) FROM text"), 1);
    store_close(store);
}

/* A wrong clock makes everything old; that runs are written under it on several days makes it
 * believed. */
static void a_wrong_clock_throws_nothing_away(void **state)
{
    struct world *world = *state;
    int64_t now_s = START_S + 10 * DAY_S;
    struct store *store = begun(world, &now_s);
    const struct keep keep = {.history_days = 90, .daily_days = 730, .witness_days = 3};
    struct berth_err err = {0};
    for (int day = 0; day < 10; day++)
        wrote(store, world->graph, START_S + day * DAY_S, day, "{}");
    now_s += 3650 * DAY_S;
    for (int day = 0; day < 3; day++, now_s += DAY_S) {
        wrote(store, world->graph, now_s, 50, "{}");
        wrote(store, world->graph, now_s + 60, 50, "{}"); /* twice on a day is one day */
        for (bool more = true; more;)
            assert_int_equal(store_retention(store, &keep, &more, &err), BERTH_OK);
        assert_int_equal(query(world, "SELECT count(*) FROM value"),
                         day < 2 ? 10 + 2 * (day + 1) : 6);
    }
    store_close(store);
}

/* Notes go with their runs, but for those that a start shows. */
static void old_notes_go(void **state)
{
    struct world *world = *state;
    int64_t now_s = START_S + 10 * DAY_S;
    struct store *store = begun(world, &now_s);
    for (int i = 0; i < 3; i++) {
        struct run run = {.probe = "cpu",
                          .started_at_s = START_S + i * DAY_S,
                          .status = "crashed",
                          .notes = calloc(1, sizeof(struct note)),
                          .note_count = 1};
        snprintf(run.notes->code, sizeof run.notes->code, "crash-%d", i);
        written(store, world->graph, &run);
    }
    keep_all(store, 1, 1000);
    assert_int_equal(query(world, "SELECT count(*) FROM note"), 1);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
    struct loaded all = loaded(store, world->graph);
    assert_int_equal(all.note_count, 1);
    assert_string_equal(all.notes[0].code, "crash-2");
    loaded_done(&all);
    store_close(store);
}

#define STEP_CORES 20 /* all pairs are series for four steps */

static struct run all_pairs(const struct graph *graph, int64_t at_s, double more)
{
    struct run run = {.probe = "cpu", .started_at_s = at_s, .values = values_new()};
    for (int pair = 0; pair < STEP_CORES * STEP_CORES; pair++) {
        struct value v = {.metric = METRIC_CPU_PINGPONG,
                          .from = core(graph, pair / STEP_CORES),
                          .to = core(graph, pair % STEP_CORES),
                          .value = pair + more};
        assert_true(values_add(run.values, &v, "", NULL));
    }
    return run;
}

/* The series of the current day come a few at a time. An interruption while the day is settled or
 * thinned loses nothing. */
static void a_day_in_steps(void **state)
{
    struct world *world = *state;
    struct graph *graph = node("00000000000000000000000000000014", STEP_CORES);
    struct berth_err err = {0};
    int64_t now_s = START_S + 10 * DAY_S;
    for (int stop_after = 1; stop_after < 8; stop_after++) {
        struct store *store = begun(world, &now_s);
        assert_int_equal(store_begin(store, graph, BOOT, &err), BERTH_OK);
        for (int i = 0; i < 3; i++) {
            struct run run = all_pairs(graph, now_s - 5 * DAY_S + i, i);
            written(store, graph, &run);
        }
        const struct keep keep = {.history_days = 1, .daily_days = 1000};
        bool more;
        for (int i = 0; i < stop_after; i++)
            assert_int_equal(store_retention(store, &keep, &more, &err), BERTH_OK);
        store_close(store);
        store = begun(world, &now_s);
        assert_true(keep_all(store, 1, 1000) >= 4);
        store_close(store);
        assert_int_equal(query(world, "SELECT count(*) FROM day"),
                         stop_after * STEP_CORES * STEP_CORES);
        assert_int_equal(query(world, "SELECT count(*) FROM value"), 0);
        assert_int_equal(query(world, "SELECT sum(n) FROM day"),
                         stop_after * 3 * STEP_CORES * STEP_CORES);
        now_s += 10 * DAY_S;
    }
    graph_unref(graph);
}

static void has_points(struct store *store, const struct graph *graph, int to, size_t count)
{
    struct history history;
    struct berth_err err = {0};
    assert_int_equal(
        store_history(store, graph,
                      &(struct history_series){METRIC_CPU_PINGPONG, core(graph, to / STEP_CORES),
                                               core(graph, to % STEP_CORES), ""},
                      INT64_MIN, &history, &err),
        BERTH_OK);
    assert_int_equal(history.count, count);
    for (size_t i = 0; i < count; i++)
        assert_true(history.item[i].value == to + (double)i);
    store_history_done(&history);
}

/* Whatever has been copied already, each value is there once; and a run that comes in between, of a
 * day that has ended or of today, is not lost. */
static void settling_changes_no_answer(void **state)
{
    struct world *world = *state;
    struct graph *graph = node("00000000000000000000000000000014", STEP_CORES);
    struct berth_err err = {0};
    int64_t now_s = START_S + 10 * DAY_S + 3600;
    struct store *store = begun(world, &now_s);
    assert_int_equal(store_begin(store, graph, BOOT, &err), BERTH_OK);
    const struct keep keep = {.history_days = 100, .daily_days = 1000};
    /* two before, one while, one of today */
    const int64_t at_s[] = {now_s - 2 * DAY_S, now_s - DAY_S, now_s - DAY_S + 60, now_s};
    bool more = true;
    size_t runs = 0;
    for (; runs < 2; runs++) {
        struct run run = all_pairs(graph, at_s[runs], (double)runs);
        written(store, graph, &run);
    }
    for (int step = 0; more; step++) {
        if (step == 2) {
            for (; runs < 4; runs++) {
                struct run run = all_pairs(graph, at_s[runs], (double)runs);
                written(store, graph, &run);
            }
            now_s += DAY_S; /* so that today has ended, too */
        }
        assert_int_equal(store_retention(store, &keep, &more, &err), BERTH_OK);
        for (int series = 0; series < STEP_CORES * STEP_CORES; series += 57)
            has_points(store, graph, series, runs);
        assert_int_equal(query(world, "SELECT count(*) FROM value"),
                         runs * STEP_CORES * STEP_CORES);
        struct values *values = values_new();
        assert_int_equal(store_load_at(store, graph, METRIC_CPU_PINGPONG, at_s[1], values, &err),
                         BERTH_OK);
        values_finish(values);
        assert_int_equal(values->count, STEP_CORES * STEP_CORES);
        for (size_t i = 0; i < values->count; i++)
            assert_true(values->item[i].measured_at_s == at_s[1]);
        values_free(values);
    }
    assert_int_equal(query(world, "SELECT count(*) FROM settled_value"),
                     4 * STEP_CORES * STEP_CORES);
    assert_int_equal(query(world, "SELECT count(*) FROM fresh_value"), 0);
    store_close(store);
    graph_unref(graph);
}

static double value_at(struct store *store, const struct graph *graph, int64_t at_s,
                       int64_t *ret_when_s)
{
    struct values *values = values_new();
    struct berth_err err = {0};
    if (store_load_at(store, graph, METRIC_CPU_PINGPONG, at_s, values, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    values_finish(values);
    *ret_when_s = values->count > 0 ? values->item[0].measured_at_s : -1;
    double value = values->count > 0 ? values->item[0].value : -1;
    assert_true(!isnan(value) || strcmp(values->item[0].why_not, "no time") == 0);
    values_free(values);
    return value;
}

static void as_it_was_then(void **state)
{
    struct world *world = *state;
    int64_t now_s = START_S + 100 * DAY_S, when_s;
    struct store *store = begun(world, &now_s);
    wrote(store, world->graph, START_S, 1, "{}");
    wrote(store, world->graph, START_S + 3600, 3, "{}");
    wrote(store, world->graph, START_S + 80 * DAY_S, NAN, "{}");
    wrote(store, world->graph, START_S + 90 * DAY_S, 7, "{}");
    wrote(store, world->graph, START_S + 89 * DAY_S, 6, "{}");
    assert_true(value_at(store, world->graph, START_S - 1, &when_s) == -1);
    assert_true(value_at(store, world->graph, START_S, &when_s) == 1 && when_s == START_S);
    assert_true(value_at(store, world->graph, START_S + 85 * DAY_S, &when_s) == 3 &&
                when_s == START_S + 3600);
    assert_true(value_at(store, world->graph, START_S + 89 * DAY_S, &when_s) == 6);
    assert_true(value_at(store, world->graph, now_s, &when_s) == 6); /* the last written one */
    keep_all(store, 50, 1000);
    /* the median */
    assert_true(value_at(store, world->graph, START_S + 85 * DAY_S, &when_s) == 2 &&
                when_s == START_S);
    assert_true(value_at(store, world->graph, START_S + 90 * DAY_S, &when_s) == 6);
    keep_all(store, 50, 60);
    now_s += 30 * DAY_S;
    store_close(store);
}

static void only_a_reason(void **state)
{
    struct world *world = *state;
    int64_t now_s = START_S + DAY_S, when_s;
    struct store *store = begun(world, &now_s);
    wrote(store, world->graph, START_S + 5, NAN, "{}");
    assert_true(isnan(value_at(store, world->graph, START_S + 6, &when_s)) &&
                when_s == START_S + 5);
    assert_true(value_at(store, world->graph, START_S + 4, &when_s) == -1);
    store_close(store);
}

/* A file of the first version is upgraded with its contents. */
static void the_first_version(void **state)
{
    struct world *world = *state;
    char *error = NULL;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, embedded_migrations[0].text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_exec(db,
                 "PRAGMA user_version = 1; INSERT INTO node VALUES (1, "
                 "'0123456789abcdef0123456789abcdef', 'n');"
                 "INSERT INTO boot VALUES (1, 1, 'b', 1, NULL); INSERT INTO run VALUES (1, 1, "
                 "'cpu', 'cpu', 'quick', 5, 1, 'complete', NULL);"
                 "INSERT INTO series VALUES (1, 1, 'cpu_pingpong', 'core0', 'core1', '', 1, 13.4, "
                 "13.2, 13.7, 9, NULL);"
                 "INSERT INTO value VALUES (1, 1, 13.4, 13.2, NULL, 9)",
                 NULL, NULL, &error);
    assert_null(error);
    sqlite3_close(db);
    int64_t now_s = START_S;
    struct store *store = begun(world, &now_s);
    assert_int_equal(store_state(store), STORE_OK);
    struct history history = history_of(store, world->graph, INT64_MIN);
    assert_int_equal(history.count, 1);
    assert_true(history.item[0].value == 13.4 && history.item[0].low == 13.2 &&
                isnan(history.item[0].high));
    store_history_done(&history);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(points_ascend),
        TEST(bounds_survive),
        TEST(old_days_become_medians),
        TEST(a_wrong_clock_throws_nothing_away),
        TEST(old_notes_go),
        TEST(a_day_in_steps),
        TEST(settling_changes_no_answer),
        TEST(as_it_was_then),
        TEST(only_a_reason),
        TEST(the_first_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
