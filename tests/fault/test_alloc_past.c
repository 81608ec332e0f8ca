/* Every allocation fails once while a run is taken into the baselines, a baseline is accepted and
 * exported, and another store imports it: nothing leaks, nothing is half done, and a file that is
 * there is whole. */
#include <math.h>
#include <unistd.h>

#include "fault.h"
#include "unit/store/store_world.h"

#include "measure/baseline_file.h"
#include "measure/baseline_update.h"
#include "store/baseline.h"

static struct history_env env;

static struct snapshot *snapshot_of(const struct graph *graph, struct store *store)
{
    struct loaded all = loaded(store, graph);
    free(all.notes);
    return snapshot_new(graph, all.values, NULL, 0, 1, 1);
}

static void expect_whole_file(const struct world *world)
{
    struct baseline_set set;
    bool same = false;
    struct berth_err err = {0};
    assert_true(baseline_set_init(&set));
    if (baseline_file_read(world->directory, world->graph, &set, &same, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    assert_true(same);
    assert_int_equal(set.values->count, CORES - 1);
    for (size_t i = 0; i < set.values->count; i++)
        /* what is in line keeps its values */
        assert_in_range(set.baseline[i].count, 1, BASELINE_VALUES);
    baseline_set_done(&set);
}

static void taking_and_accepting(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 100);
    struct berth_err err = {0};
    int64_t id;
    snprintf(env.folder, sizeof env.folder, "%s", world->directory);
    assert_int_equal(store_write_run(store, world->graph, &run, &id, &err), BERTH_OK);
    bool has_file = false;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool failed = true;
        for (long at = 1; failed; at += for_ever ? 7 : 1) {
            struct snapshot *snapshot = snapshot_of(world->graph, store);
            const struct snapshot *after = NULL;
            struct accepted accepted = {0};
            assert_non_null(snapshot);
            fault_arm(at, for_ever);
            history_advance(store, snapshot, &run, &env);
            enum berth_code code =
                baseline_update(store, snapshot, NULL, &env, 2, &accepted, &after, &err);
            failed = fault_disarm();
            assert_true(code == BERTH_OK || (failed && code == BERTH_NO_MEMORY));
            if (code == BERTH_OK) {
                assert_int_equal(accepted.count, CORES - 1);
                assert_true((accepted.file[0] != '\0') != (accepted.why_not[0] != '\0'));
                has_file = has_file || accepted.file[0] != '\0';
            }
            if (has_file)
                expect_whole_file(world);
            assert_int_equal(query(world, "SELECT count(*) NOT IN (0, 5) FROM baseline"), 0);
            assert_int_equal(query(world, "SELECT count(*) FROM baseline WHERE length(samples) % 8 "
                                          "<> 0 OR length(samples) NOT BETWEEN 8 AND 128"),
                             0);
            snapshot_unref(after);
            snapshot_unref(snapshot);
            err = (struct berth_err){0};
        }
    }
    assert_true(has_file);
    run_done(&run);
    store_close(store);
}

static void import_with_faults(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 100);
    struct berth_err err = {0};
    struct accepted accepted;
    int64_t id;
    snprintf(env.folder, sizeof env.folder, "%s", world->directory);
    assert_int_equal(store_write_run(store, world->graph, &run, &id, &err), BERTH_OK);
    struct snapshot *snapshot = snapshot_of(world->graph, store);
    const struct snapshot *after = NULL;
    assert_int_equal(baseline_update(store, snapshot, NULL, &env, 2, &accepted, &after, &err),
                     BERTH_OK);
    snapshot_unref(after);
    store_close(store);
    bool failed = true;
    long through = 0;
    for (long at = 1; failed; at++) {
        struct clock clock = fixed;
        assert_int_equal(store_open(NULL, &clock, &store, &err), BERTH_OK);
        assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
        struct snapshot *first = snapshot_new(world->graph, values_new(), NULL, 0, 0, 1);
        fault_arm(at, false);
        history_begin(store, first, &env);
        failed = fault_disarm();
        if (!failed)
            assert_int_equal(first->note_count, 0);
        snapshot_unref(first);
        /* once more without a fault: all of it is there, or comes now */
        first = snapshot_of(world->graph, store);
        history_begin(store, first, &env);
        assert_int_equal(first->note_count, 0);
        snapshot_unref(first);
        struct baseline_set set;
        assert_true(baseline_set_init(&set));
        assert_int_equal(store_baseline_list(store, world->graph, &set, &err), BERTH_OK);
        assert_int_equal(set.values->count, CORES - 1);
        baseline_set_done(&set);
        store_close(store);
        through = at;
    }
    print_message("import: through at allocation %ld\n", through);
    assert_true(through > 50);
    snapshot_unref(snapshot);
    run_done(&run);
}

/* What is left over in the end is what was there in the beginning. */
static void importing_leaks_nothing(void **state)
{
    import_with_faults(state);
    long before = fault_live();
    import_with_faults(state);
    assert_int_equal(fault_live(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(taking_and_accepting), TEST(importing_leaks_nothing)};
    struct config config;
    struct berth_err err = {0};
    if (config_init(&config, &err) != BERTH_OK)
        return 1;
    env.limits = health_limits_from(&config);
    env.now_s = 1790000000;
    config_done(&config);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
