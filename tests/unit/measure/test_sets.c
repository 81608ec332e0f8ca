/* Sets of transfers: how they are told apart, and that they come back from the store as they were.
 */
#include <math.h>

#include "unit/store/store_world.h"

#include "measure/run_parser.h"
#include "node/sets.h"
#include "store/retention.h"
#include "store/store.h"

static void add(struct sets *sets, int64_t at_s, enum value_source source, size_t count,
                const place_id *from, const double *rate)
{
    struct set_flow flows[8];
    for (size_t i = 0; i < count; i++)
        flows[i] =
            (struct set_flow){from[i], 1, i == 2 ? "operation=write" : "", rate[i], NAN, NAN};
    const struct set set = {METRIC_MEMORY_BANDWIDTH_CONCURRENT, source, at_s, flows, count};
    assert_true(sets_add(sets, &set));
}

static void the_same_set_is_kept_once(void **state)
{
    (void)state;
    struct sets *sets = sets_new();
    add(sets, 10, VALUE_MEASURED, 2, (place_id[]){3, 2}, (double[]){30, 20});
    add(sets, 20, VALUE_MEASURED, 2, (place_id[]){2, 3}, (double[]){21, 31}); /* in another order */
    assert_int_equal(sets->count, 1);
    assert_true(sets->item[0].measured_at_s == 20 && sets->item[0].flow[0].from == 2 &&
                sets->item[0].flow[0].bytes_per_s == 21);
    /* does not replace a measurement */
    add(sets, 30, VALUE_PUBLISHED, 2, (place_id[]){2, 3}, (double[]){1, 1});
    assert_true(sets->count == 1 && sets->item[0].measured_at_s == 20);
    add(sets, 40, VALUE_PUBLISHED, 1, (place_id[]){2}, (double[]){1});
    /* a measurement replaces it */
    add(sets, 50, VALUE_MEASURED, 1, (place_id[]){2}, (double[]){2});
    /* twice the same way is two flows */
    add(sets, 60, VALUE_MEASURED, 3, (place_id[]){2, 2, 2}, (double[]){1, 1, 1});
    add(sets, 70, VALUE_MEASURED, 1, (place_id[]){3}, (double[]){2});
    assert_int_equal(sets->count, 4);
    assert_true(sets->item[0].flow_count == 1 && sets->item[0].measured_at_s == 50 &&
                sets->item[1].flow[0].from == 3);
    assert_string_equal(sets->item[3].flow[2].axes, "operation=write");
    struct sets *all = sets_new();
    assert_true(sets_add_all(all, sets) && sets_add_all(all, NULL) && sets_add_all(all, sets));
    assert_int_equal(all->count, 4);
    sets_free(all);
    sets_free(sets);
    sets_free(NULL);
}

static struct sets *loaded_sets(struct world *world, const struct graph *graph)
{
    struct store *store = opened(world, STORE_OK);
    struct sets *sets = sets_new();
    struct berth_err err = {0};
    assert_int_equal(store_begin(store, graph, BOOT, &err), BERTH_OK);
    if (store_set_load(store, graph, sets, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    store_close(store);
    return sets;
}

static void write_sets(struct world *world, struct sets *take_sets)
{
    struct store *store = opened(world, STORE_OK);
    struct run run = {.probe = "cpu",
                      .backend = "cpu",
                      .profile = "full",
                      .status = "complete",
                      .started_at_s = 1,
                      .sets = take_sets};
    struct berth_err err = {0};
    int64_t id;
    assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
    if (store_write_run(store, world->graph, &run, &id, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    run_done(&run);
    store_close(store);
}

static void sets_come_back_from_the_store(void **state)
{
    struct world *world = *state;
    struct sets *sets = sets_new();
    add(sets, 100, VALUE_MEASURED, 3, (place_id[]){3, 2, 4}, (double[]){1.0 / 3, 2e10, 5});
    sets->item[0].flow[1].low = 0.25;
    sets->item[0].flow[1].high = 0.5;
    add(sets, 100, VALUE_MEASURED, 1, (place_id[]){5}, (double[]){7e9});
    write_sets(world, sets);
    sets = sets_new();
    add(sets, 200, VALUE_MEASURED, 1, (place_id[]){5}, (double[]){8e9});
    write_sets(world, sets);

    sets = loaded_sets(world, world->graph);
    assert_int_equal(sets->count, 2);
    const struct set *one = &sets->item[0], *three = &sets->item[1];
    assert_true(one->flow_count == 1 && one->measured_at_s == 200 &&
                one->flow[0].bytes_per_s == 8e9 && isnan(one->flow[0].low));
    assert_true(three->flow_count == 3 && three->measured_at_s == 100 &&
                three->metric == METRIC_MEMORY_BANDWIDTH_CONCURRENT);
    assert_true(three->flow[1].from == 3 && three->flow[1].bytes_per_s == 1.0 / 3 &&
                three->flow[1].low == 0.25 && three->flow[1].high == 0.5);
    assert_string_equal(three->flow[2].axes, "operation=write");
    sets_free(sets);

    /* A node that lost places loses the sets with them, no more; another node has none. */
    struct graph *smaller = node("0123456789abcdef0123456789abcdef", 5),
                 *other = node("ffffffffffffffffffffffffffffffff", CORES);
    place_id last = graph_find(world->graph, "core5");
    sets = sets_new();
    add(sets, 300, VALUE_MEASURED, 2, (place_id[]){last, 2}, (double[]){1, 2});
    write_sets(world, sets);
    sets = loaded_sets(world, world->graph);
    assert_int_equal(sets->count, 3);
    sets_free(sets);
    sets = loaded_sets(world, smaller);
    assert_int_equal(sets->count, 2);
    sets_free(sets);
    sets = loaded_sets(world, other);
    assert_int_equal(sets->count, 0);
    sets_free(sets);
    graph_unref(smaller);
    graph_unref(other);
}

/* The last measurement of an old day stays, none of still older days, and the latest of a set in
 * any case. */
static void old_sets_are_thinned(void **state)
{
    struct world *world = *state;
    const int64_t today = 1790000000 / 86400, old = (today - 100) * 86400,
                  older = (today - 900) * 86400, now = today * 86400;
    const int64_t at_s[] = {older + 10, old + 10, old + 20, old + 86390, now + 10, now + 20};
    for (size_t i = 0; i < sizeof at_s / sizeof *at_s; i++) {
        struct store *store = opened(world, STORE_OK);
        struct run run = {.probe = "cpu",
                          .backend = "cpu",
                          .profile = "full",
                          .status = "complete",
                          .started_at_s = at_s[i],
                          .sets = sets_new()};
        struct berth_err err = {0};
        int64_t id;
        add(run.sets, at_s[i], VALUE_MEASURED, 2, (place_id[]){2, 3}, (double[]){(double)i + 1, 2});
        if (i == 0)
            add(run.sets, at_s[i], VALUE_MEASURED, 1, (place_id[]){4}, (double[]){9});
        assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
        assert_int_equal(store_write_run(store, world->graph, &run, &id, &err), BERTH_OK);
        run_done(&run);
        store_close(store);
    }
    assert_int_equal(query(world, "SELECT count(*) FROM flow_rate"), 13);
    struct store *store = opened(world, STORE_OK);
    struct berth_err err = {0};
    assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
    for (bool more = true; more;)
        assert_int_equal(store_retention(store,
                                         &(struct keep){.history_days = 90, .daily_days = 730},
                                         &more, &err),
                         BERTH_OK);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM flow_rate"), 1 + 2 * 3);
    assert_int_equal(
        query(world, "SELECT count(*) FROM flow_rate WHERE bytes_per_s IN (4, 5, 6) AND flow = 0"),
        3);
    struct sets *sets = loaded_sets(world, world->graph);
    assert_true(sets->count == 2 && sets->item[0].flow[0].bytes_per_s == 9 &&
                sets->item[1].measured_at_s == now + 20);
    sets_free(sets);
}

static void only_measured_sets_are_stored(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run run = {.probe = "cpu",
                      .backend = "cpu",
                      .profile = "full",
                      .status = "complete",
                      .sets = sets_new()};
    struct berth_err err = {0};
    int64_t id = -1;
    add(run.sets, 1, VALUE_MEASURED, 1, (place_id[]){2}, (double[]){1});
    add(run.sets, 1, VALUE_PUBLISHED, 1, (place_id[]){3}, (double[]){1});
    assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
    assert_int_equal(store_write_run(store, world->graph, &run, &id, &err), BERTH_BAD_DATA);
    assert_int_equal(id, -1);
    run_done(&run);
    store_close(store);
    struct sets *sets = loaded_sets(world, world->graph);
    assert_int_equal(sets->count, 0); /* all of a run or nothing */
    sets_free(sets);
}

static void a_probe_prints_sets(void **state)
{
    struct world *world = *state;
    struct run_parser collect;
    struct berth_err err = {0};
    static const char *const lines[] = {
        "{\"record\":\"run\",\"schema\":1,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":1}",
        ("{\"record\":\"set\",\"metric\":\"memory_bandwidth_concurrent\",\"flows\":[{\"from\":"
         "\"core1\",\"to\":\"core0\",\"bytes_per_s\":5},"
         "{\"from\":\"core0\",\"to\":\"core0\",\"axes\":{\"operation\":\"write\"},\"bytes_per_s\":"
         "4,"
         "\"low\":3,\"high\":5}]}"),
        "{\"record\":\"set\",\"metric\":\"memory_bandwidth_concurrent\",\"flows\":[{\"from\":"
        "\"core77\",\"to\":\"core0\",\"bytes_per_s\":5}]}",
        "{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":5}",
    };
    assert_int_equal(run_parser_init(&collect, world->graph, "cpu", "quick", 1790000000, &err),
                     BERTH_OK);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_true(run_parser_line(&collect, lines[i], strlen(lines[i])));
    assert_int_equal(collect.bad_lines, 1);
    assert_non_null(strstr(collect.first_bad, "core77"));
    assert_int_equal(collect.run.sets->count, 1);
    const struct set *set = &collect.run.sets->item[0];
    assert_true(set->source == VALUE_MEASURED && set->measured_at_s == 1790000000 &&
                set->flow_count == 2);
    assert_true(set->flow[0].bytes_per_s == 4 && set->flow[0].low == 3 &&
                set->flow[1].bytes_per_s == 5);
    run_parser_done(&collect);
}

static void sets_of_a_probe_are_counted(void **state)
{
    struct world *world = *state;
    struct run_parser collect;
    struct berth_err err = {0};
    char line[256];
    assert_int_equal(run_parser_init(&collect, world->graph, "cpu", "quick", 1790000000, &err),
                     BERTH_OK);
    snprintf(
        line, sizeof line,
        "{\"record\":\"run\",\"schema\":1,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":1}");
    assert_true(run_parser_line(&collect, line, strlen(line)));
    for (int i = 0; i < RUN_PARSER_SETS_MAX + 2; i++) {
        snprintf(line, sizeof line,
                 "{\"record\":\"set\",\"metric\":\"memory_bandwidth_concurrent\",\"flows\":[{"
                 "\"from\":\"core1\",\"to\":\"core0\","
                 "\"axes\":{\"threads\":%d},\"bytes_per_s\":5}]}",
                 i);
        assert_true(run_parser_line(&collect, line, strlen(line)));
    }
    assert_true(collect.bad_lines == 2 && collect.run.sets->count == RUN_PARSER_SETS_MAX);
    run_parser_done(&collect);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_set_is_kept_once),
        cmocka_unit_test_setup_teardown(sets_come_back_from_the_store, setup, teardown),
        cmocka_unit_test_setup_teardown(old_sets_are_thinned, setup, teardown),
        cmocka_unit_test_setup_teardown(only_measured_sets_are_stored, setup, teardown),
        cmocka_unit_test_setup_teardown(a_probe_prints_sets, setup, teardown),
        cmocka_unit_test_setup_teardown(sets_of_a_probe_are_counted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
