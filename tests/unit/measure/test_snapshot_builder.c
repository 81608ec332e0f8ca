/* Notes and values of a snapshot after a run of some cells. */
#include <math.h>

#include "unit/store/store_world.h"

#include "measure/snapshot_builder.h"

static struct history_env env; /* the default limits, set by main */

static const struct note earlier[] = {
    {"cpu", "probe-timeout", NOTE_WARNING, "core1",
     "hung, while it measured cpu_pingpong from core1 to core2", 1790000000, "cpu_pingpong",
     "core2"},
    {"cpu", "probe-crashed", NOTE_WARNING, "core0",
     "died, while it measured cpu_pingpong from core0 to core1", 1790000000, "cpu_pingpong",
     "core1"},
    {"cpu", "probe-failed", NOTE_WARNING, "machine0", "ended without an end record", 1790000000, "",
     ""},
    {"cpu", "probe-garbage", NOTE_WARNING, "core2", "printed a line", 1790000000, "", ""},
    {"cpu", "gpu-profiled", NOTE_INFO, "core1", "a claim profiles it", 1790000000, "", ""},
    {"cpu", "standin", NOTE_INFO, "machine0", "no record", 1790000000, "", ""},
    {"cpu", "data-wrong", NOTE_CRITICAL, "core0", "arrives wrong", 1790000000, "", ""},
    {"gpu", "probe-failed", NOTE_WARNING, "machine0", "of another probe", 1790000000, "", ""},
};

static const struct snapshot *after(struct world *world, struct store *store,
                                    const struct snapshot *base, struct run *take_run)
{
    const struct snapshot *next = NULL;
    struct berth_err err = {0};
    const struct snapshot_builder builder = {store, &env, 2, NULL};
    if (snapshot_builder_with_run(&builder, base, take_run, &next, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    (void)world;
    run_done(take_run);
    return next;
}

static size_t notes_of(const struct snapshot *snapshot, const char *code, const char *place)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->note_count; i++)
        count += strcmp(snapshot->notes[i].code, code) == 0 &&
                 strcmp(snapshot->notes[i].place, place) == 0;
    return count;
}

static struct snapshot *first(const struct graph *graph)
{
    struct run run = pingpongs(graph, 100);
    values_finish(run.values);
    struct snapshot *base =
        snapshot_new(graph, run.values, earlier, sizeof earlier / sizeof earlier[0], 1790000000, 1);
    run.values = NULL;
    run_done(&run);
    assert_non_null(base);
    return base;
}

/* A run from core 0 to all others, so the place of each note but machine0 is measured. */
static void a_run_in_the_background_ends_only_notes_of_its_cells(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct snapshot *base = first(world->graph);
    struct run run = pingpongs(world->graph, 101);
    run.is_partial = run.is_background = true;
    const struct snapshot *next = after(world, store, base, &run);
    assert_int_equal(notes_of(next, "probe-timeout", "core1"), 1); /* another cell */
    assert_int_equal(notes_of(next, "probe-crashed", "core0"), 0); /* its cell */
    assert_int_equal(notes_of(next, "probe-failed", "machine0"), 2);
    assert_int_equal(notes_of(next, "probe-garbage", "core2"), 0); /* of a run at its place */
    assert_int_equal(notes_of(next, "gpu-profiled", "core1"), 1);
    assert_int_equal(notes_of(next, "data-wrong", "core0"), 1);
    /* they are stored with the run, each with its cell */
    struct loaded all = loaded(store, world->graph);
    assert_int_equal(all.note_count, 4);
    size_t cells = 0;
    for (size_t i = 0; i < all.note_count; i++)
        cells += strcmp(all.notes[i].metric, "cpu_pingpong") == 0 &&
                 strcmp(all.notes[i].to, "core2") == 0;
    assert_int_equal(cells, 1);
    free(all.notes);
    values_free(all.values);
    snapshot_unref(next);
    snapshot_unref(base);
    store_close(store);
}

static void a_partial_run_of_a_user_ends_all_but_notes_of_other_cells(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct snapshot *base = first(world->graph);
    struct run run = pingpongs(world->graph, 101);
    run.is_partial = true;
    const struct snapshot *next = after(world, store, base, &run);
    assert_int_equal(notes_of(next, "probe-timeout", "core1"), 1);
    assert_int_equal(notes_of(next, "probe-crashed", "core0"), 0);
    assert_int_equal(notes_of(next, "probe-failed", "machine0"), 1); /* of the other probe */
    assert_int_equal(notes_of(next, "gpu-profiled", "core1"), 0);
    assert_int_equal(notes_of(next, "data-wrong", "core0"), 1);
    snapshot_unref(next);
    snapshot_unref(base);
    store_close(store);
}

static void a_cell_left_out_keeps_its_value(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct snapshot *base = first(world->graph);
    struct run run = pingpongs(world->graph, 100);
    const struct snapshot *before = after(world, store, base, &run);
    run = (struct run){.probe = "cpu", .backend = "cpu", .profile = "quick", .status = "complete"};
    run.is_partial = run.is_background = true;
    run.values = values_new();
    const struct value none = {.metric = METRIC_CPU_PINGPONG,
                               .from = core(world->graph, 0),
                               .to = core(world->graph, 1),
                               .value = (double)NAN,
                               .low = (double)NAN,
                               .high = (double)NAN,
                               .measured_at_s = 1790000100};
    assert_true(values_add(run.values, &none, "", "out of time"));
    const struct snapshot *next = after(world, store, before, &run);
    const struct value *kept =
        values_find(next->values, METRIC_CPU_PINGPONG, none.from, none.to, "");
    assert_true(kept != NULL && kept->value == 101);
    assert_false(snapshot_differs(before, next));
    struct loaded all = loaded(store, world->graph);
    kept = values_find(all.values, METRIC_CPU_PINGPONG, none.from, none.to, "");
    assert_true(kept != NULL && kept->value == 101);
    free(all.notes);
    values_free(all.values);
    snapshot_unref(next);
    snapshot_unref(before);
    snapshot_unref(base);
    store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_in_the_background_ends_only_notes_of_its_cells),
        TEST(a_partial_run_of_a_user_ends_all_but_notes_of_other_cells),
        TEST(a_cell_left_out_keeps_its_value),
    };
    struct config config;
    struct berth_err err = {0};
    if (config_init(&config, &err) != BERTH_OK)
        return 1;
    env.limits = health_limits_from(&config);
    env.now_s = 1790000000;
    config_done(&config);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
