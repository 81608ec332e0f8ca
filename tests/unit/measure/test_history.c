/* Baselines, findings and expected hardware in the store and in snapshots. */
#include <math.h>

#include "unit/node/built_nodes.h"
#include "unit/store/store_world.h"

#include "measure/baseline_file.h"
#include "measure/baseline_update.h"
#include "store/baseline.h"
#include "store/expected_place.h"
#include "store/finding.h"

static struct history_env env; /* the default limits, set by main */

static struct snapshot *snapshot_of(const struct graph *graph, struct store *store)
{
    struct loaded all = loaded(store, graph);
    struct snapshot *snapshot = snapshot_new(graph, all.values, NULL, 0, 1, 1);
    assert_non_null(snapshot);
    free(all.notes);
    return snapshot;
}

/* One run of pingpongs around base ns, and the snapshot after it. */
static struct snapshot *after_run(struct world *world, struct store *store, double base,
                                  int64_t now_s)
{
    struct run run = pingpongs(world->graph, base);
    struct berth_err err = {0};
    int64_t id;
    for (size_t i = 0; i < run.values->count; i++)
        run.values->item[i].measured_at_s = now_s;
    assert_int_equal(store_write_run(store, world->graph, &run, &id, &err), BERTH_OK);
    struct snapshot *snapshot = snapshot_of(world->graph, store);
    env.now_s = now_s;
    history_advance(store, snapshot, &run, &env);
    assert_int_equal(snapshot->note_count, 0);
    run_done(&run);
    return snapshot;
}

static void a_run_is_taken_in_and_remembered(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    for (int i = 0; i < 6; i++)
        snapshot_unref(after_run(world, store, 100, 1790000000 + i));
    struct snapshot *slow = after_run(world, store, 200, 1790000100);
    assert_true(slow->baseline[0].median == 101 && slow->baseline[0].count == 6 &&
                slow->baseline[0].worse_runs > 0 && slow->baseline[0].low_runs == 1);
    assert_int_equal(slow->opened_count, CORES - 1);
    assert_int_equal(slow->opened[0].since_s, 1780000200); /* when that run was started */
    snapshot_unref(slow);
    store_close(store);
    store = opened(world, STORE_OK); /* another daemon */
    struct snapshot *again = snapshot_of(world->graph, store);
    env.now_s = 1790000200;
    history_load(store, again, &env);
    assert_true(again->baseline[0].worse_runs > 0 && again->baseline[0].low_runs == 1);
    assert_int_equal(again->opened_count, CORES - 1);
    assert_int_equal(again->opened[0].since_s, 1780000200);
    snapshot_unref(again);
    snapshot_unref(after_run(world, store, 100, 1790000300));
    store_close(store);
    assert_int_equal(
        query(
            world,
            "SELECT count(*) FROM finding WHERE opened_s = 1780000200 AND cleared_s = 1790000300"),
        CORES - 1);
    assert_int_equal(query(world, "SELECT count(*) FROM finding"), CORES - 1);
}

/* Runs of a value that scatters by a fifth are no change; one beyond its scatter is. */
static void noise_of_a_value_is_no_change(void **state)
{
    static const double scattered[] = {100, 120, 95, 118, 102, 121, 96, 119};
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct snapshot *before = NULL, *after;
    int64_t now_s = 1790000000;
    for (size_t i = 0; i < sizeof scattered / sizeof scattered[0]; i++) {
        after = after_run(world, store, scattered[i], now_s + (int64_t)i);
        if (i > BASELINE_READY) { /* intervals are narrow: they differ by themselves */
            assert_true(snapshot_differs(before, after));
            assert_false(history_differs(before, after, &env.limits));
        }
        snapshot_unref(before);
        before = after;
    }
    after = after_run(world, store, 300, now_s + 100);
    assert_true(history_differs(before, after, &env.limits));
    snapshot_unref(after);
    /* without a past, the least spread of such values counts */
    struct run run = pingpongs(world->graph, 100), more = pingpongs(world->graph, 108),
               much = pingpongs(world->graph, 190);
    for (size_t i = 0; i < run.values->count; i++) {
        more.values->item[i].measured_at_s = much.values->item[i].measured_at_s = now_s + 200;
        more.values->item[i].low = more.values->item[i].high = more.values->item[i].value;
        much.values->item[i].low = much.values->item[i].high = much.values->item[i].value;
    }
    struct run *runs[] = {&run, &more, &much};
    struct snapshot *of[3];
    for (int i = 0; i < 3; i++) {
        values_finish(runs[i]->values);
        of[i] = snapshot_new(world->graph, runs[i]->values, NULL, 0, 1, 1);
        runs[i]->values = NULL;
        run_done(runs[i]);
    }
    assert_false(history_differs(of[0], of[1], &env.limits));
    assert_true(history_differs(of[0], of[2], &env.limits));
    for (int i = 0; i < 3; i++)
        snapshot_unref(of[i]);
    snapshot_unref(before);
    store_close(store);
}

/* An unconfirmed finding stays through a restart, is no part of the list, and is dropped when the
 * second look does not see it. */
static void an_unconfirmed_finding_is_kept_but_not_listed(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    env.limits.looks = 2;
    for (int i = 0; i < 6; i++)
        snapshot_unref(after_run(world, store, 100, 1790000000 + i));
    snapshot_unref(after_run(world, store, 200, 1790000100));
    store_close(store);
    store = opened(world, STORE_OK); /* another daemon */
    struct snapshot *again = snapshot_of(world->graph, store);
    history_load(store, again, &env);
    assert_true(again->opened_count == CORES - 1 && again->opened[0].is_unconfirmed);
    assert_int_equal(again->second_look_count, CORES - 1);
    assert_int_equal(again->second_look[0].due_s,
                     again->opened[0].since_s + ASSESSMENT_SECOND_LOOK_S);
    snapshot_unref(again);
    struct finding_kept *kept = NULL;
    size_t count = 0;
    struct berth_err err = {0};
    assert_int_equal(store_finding_list(store, 0, 10, &kept, &count, &err), BERTH_OK);
    assert_int_equal(count, 0);
    free(kept);
    struct snapshot *good = after_run(world, store, 100, 1790000300);
    assert_true(good->opened_count == 0 && good->second_look_count == 0);
    snapshot_unref(good);
    snapshot_unref(after_run(world, store, 200, 1790000400));
    struct snapshot *confirmed = after_run(world, store, 400, 1790000600);
    assert_true(confirmed->opened_count == CORES - 1 && !confirmed->opened[0].is_unconfirmed);
    assert_int_equal(confirmed->second_look_count, 0);
    assert_int_equal(store_finding_list(store, 0, 10, &kept, &count, &err), BERTH_OK);
    assert_int_equal(count, CORES - 1);
    assert_int_equal(kept[0].finding.since_s, confirmed->opened[0].since_s);
    free(kept);
    snapshot_unref(confirmed);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM finding"), CORES - 1);
    env.limits.looks = 1;
}

/* The finding that counts the rest of a noisy run's values is unconfirmed, too, and names no cell
 * to look at again. */
static void the_rest_of_a_noisy_run_has_no_cell(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct graph *graph = nodes_cpu(&(struct shape){1, 1, 1, 100, 1, INT64_C(64) << 30});
    struct snapshot *last = NULL;
    nodes_finish(graph);
    env.limits.looks = 2;
    for (int r = 0; r < 7; r++) {
        struct run run = pingpongs(world->graph, 100);
        struct berth_err err = {0};
        int64_t id;
        values_free(run.values);
        run.values = values_new();
        for (int c = 0; c < 100; c++) {
            double ns = r == 6 && c < 70 ? 150 + c : 100;
            nodes_value(run.values, METRIC_MEMORY_LATENCY, VALUE_MEASURED,
                        nodes_place(graph, PLACE_CORE, c), nodes_place(graph, PLACE_NUMA, 0), "",
                        ns, ns, ns);
            run.values->item[c].measured_at_s = 1790000000 + r;
        }
        values_finish(run.values);
        assert_int_equal(store_write_run(store, graph, &run, &id, &err), BERTH_OK);
        snapshot_unref(last);
        last = snapshot_of(graph, store);
        env.now_s = 1790000000 + r;
        history_advance(store, last, &run, &env);
        run_done(&run);
    }
    assert_true(last->opened_count > 70);
    for (size_t i = 0; i < last->opened_count; i++)
        assert_true(last->opened[i].is_unconfirmed);
    assert_int_equal(last->second_look_count, last->opened_count - 1);
    snapshot_unref(last);
    graph_unref(graph);
    store_close(store);
    env.limits.looks = 1;
}

static struct assessment assessment_of(struct finding *finding, size_t count, bool is_cut)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(finding[i].code, sizeof finding[i].code, "code");
        snprintf(finding[i].place, sizeof finding[i].place, "core%zu", i);
        finding[i].severity = SEVERITY_WARNING;
        finding[i].value = finding[i].expected = NAN;
    }
    return (struct assessment){.finding = finding, .count = count, .is_cut = is_cut};
}

static size_t kept(struct store *store, const struct assessment *assessment, int64_t now_s)
{
    struct opened *opened = NULL;
    size_t count = 0;
    struct berth_err err = {0};
    if (store_finding_keep(store, assessment, now_s, false, &opened, &count, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    free(opened);
    return count;
}

static void a_cut_list_clears_nothing(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct finding finding[3] = {0};
    struct assessment three = assessment_of(finding, 3, false),
                      cut = assessment_of(finding, 1, true), one = assessment_of(finding, 1, false);
    assert_int_equal(kept(store, &three, 100), 3);
    assert_int_equal(kept(store, &cut, 200), 3);
    assert_int_equal(kept(store, &one, 300), 1);
    assert_int_equal(kept(store, &three, 400), 3);
    struct finding_kept *list = NULL;
    size_t count = 0;
    struct berth_err err = {0};
    assert_int_equal(store_finding_list(store, 0, 100, &list, &count, &err), BERTH_OK);
    assert_int_equal(count, 5);
    assert_true(list[0].finding.since_s == 400 && list[0].cleared_s == 0);
    assert_true(list[2].finding.since_s == 100 && list[2].cleared_s == 300);
    assert_true(list[4].finding.since_s == 100 && list[4].cleared_s == 0);
    assert_string_equal(list[4].finding.place, "core0");
    free(list);
    assert_int_equal(store_finding_list(store, 350, 100, &list, &count, &err), BERTH_OK);
    assert_int_equal(count, 2);
    free(list);
    store_close(store);
}

/* Reads the list of findings; the caller frees it. */
static struct finding_kept *listed(struct store *store, size_t expected)
{
    struct finding_kept *list = NULL;
    size_t count = 0;
    struct berth_err err = {0};
    assert_int_equal(store_finding_list(store, 0, 100, &list, &count, &err), BERTH_OK);
    assert_int_equal(count, expected);
    return list;
}

/* An event is as old as its first finding and stands until its last has cleared. */
static void findings_of_one_cause_are_one_event(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct finding finding[3] = {{0}, {.number = 1}, {.number = 1}};
    struct assessment all = assessment_of(finding, 3, false),
                      one = {.finding = &finding[2], .count = 1};
    finding[1].value = 50;
    finding[2].value = 90;
    finding[1].expected = finding[2].expected = 100;
    assert_int_equal(kept(store, &one, 100), 1);
    finding[2].number = 2;
    finding[2].represented_by = 1;
    assert_int_equal(kept(store, &all, 200), 3);
    struct finding_kept *list = listed(store, 3);
    /* the worst first, with the time of the other */
    assert_string_equal(list[0].finding.place, "core0");
    assert_string_equal(list[1].finding.place, "core1");
    assert_string_equal(list[2].finding.place, "core2");
    assert_true(list[1].event == list[2].event && list[0].event != list[1].event);
    assert_true(list[0].series == 1 && list[1].series == 2 && list[2].series == 2);
    assert_true(list[0].finding.since_s == 200 && list[1].finding.since_s == 100);
    free(list);
    /* the worse one clears: the other is as old as both */
    finding[2].number = 1;
    finding[2].represented_by = 0;
    assert_int_equal(kept(store, &one, 300), 1);
    list = listed(store, 2);
    assert_string_equal(list[1].finding.place, "core2");
    assert_true(list[1].finding.since_s == 100 && list[1].cleared_s == 0 && list[1].series == 1);
    free(list);
    /* a new one of the cause joins them */
    struct finding again[2] = {{.number = 1}, {.number = 2, .represented_by = 1}};
    struct assessment both = assessment_of(again, 2, false);
    strcpy(again[0].place, "core2");
    strcpy(again[1].place, "core3");
    assert_int_equal(kept(store, &both, 400), 2);
    both.count = 0;
    assert_int_equal(kept(store, &both, 500), 0);
    list = listed(store, 4);
    for (int i = 0; i < 3; i++)
        assert_true(list[i].event == list[0].event && list[i].finding.since_s == 100 &&
                    list[i].cleared_s == 500 && list[i].series == 3);
    assert_string_equal(list[3].finding.place, "core0");
    free(list);
    store_close(store);
}

/* The worst of each event are listed. */
static void an_event_of_many_hides_no_other(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct finding finding[101] = {{0}};
    struct assessment all = assessment_of(finding, 101, false);
    for (int i = 0; i < 101; i++) {
        finding[i].number = i + 1;
        finding[i].represented_by = i > 0 && i < 100 ? 1 : 0;
        finding[i].value = 50 + i;
        finding[i].expected = 100;
    }
    assert_int_equal(kept(store, &all, 100), 101);
    struct finding_kept *list = listed(store, STORE_FINDINGS_OF_EVENT + 1);
    assert_string_equal(list[0].finding.place, "core100");
    for (int i = 0; i < STORE_FINDINGS_OF_EVENT; i++)
        assert_true(list[i + 1].finding.value == finding[i].value && list[i + 1].series == 100);
    free(list);
    store_close(store);
}

/* A row stays, so that it knows since when it stands on the day that its cause is mended and it is
 * not. */
static void what_another_finding_explains_has_cleared(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct finding finding[3] = {{0}, {0}, {.explained_by = 1}};
    struct assessment all = assessment_of(finding, 3, false);
    struct finding_kept *list = NULL;
    size_t count = 0;
    struct berth_err err = {0};
    for (int step = 0; step < 4; step++) {
        bool is_explained = step % 2 == 1;
        finding[1].explained_by = is_explained ? 1 : 0;
        assert_int_equal(kept(store, &all, 100 + step), 3);
        assert_int_equal(store_finding_list(store, 0, 100, &list, &count, &err), BERTH_OK);
        assert_int_equal(count, 2);
        assert_string_equal(list[0].finding.place, "core1");
        assert_int_equal(list[0].finding.since_s, 100);
        assert_int_equal(list[0].cleared_s, is_explained ? 100 + step : 0);
        assert_int_equal(list[1].cleared_s, 0);
        free(list);
    }
    all.count = 0;
    assert_int_equal(kept(store, &all, 200), 0);
    assert_int_equal(store_finding_list(store, 0, 100, &list, &count, &err), BERTH_OK);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].finding.place, "core0");
    assert_int_equal(list[0].cleared_s, 200);
    assert_string_equal(list[1].finding.place, "core1");
    assert_int_equal(list[1].cleared_s, 103);
    free(list);
    store_close(store);
}

static void old_findings_are_forgotten(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    enum { MANY = 1500 };
    struct finding *finding = calloc(MANY, sizeof *finding);
    struct assessment all = assessment_of(finding, MANY, false),
                      none = assessment_of(finding, 0, false);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(kept(store, &all, 1000 + i), MANY);
        assert_int_equal(kept(store, &none, 2000 + i), 0);
    }
    store_close(store);
    free(finding);
    assert_int_equal(query(world, "SELECT count(*) FROM finding"), STORE_FINDINGS_MAX);
    assert_int_equal(query(world, "SELECT count(*) FROM finding WHERE opened_s >= 1002"), 2 * MANY);
}

/* The same machine by its name, with so many gpus, and the fingerprint that comes of it. */
static struct graph *machine(int gpus, int without)
{
    struct graph *graph = graph_new();
    struct berth_err err = {0};
    graph->name = strdup("n1");
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0, number = 0; i < gpus; i++) {
        char pci[32];
        if (i == without)
            continue;
        place_id gpu = graph_add_place(graph, PLACE_GPU, number++);
        graph->places[gpu].parent = 0;
        snprintf(pci, sizeof pci, "0000:%02x:00.0", 0xc0 + i);
        assert_true(place_set_text(&graph->places[gpu].pci, pci) &&
                    place_set_text(&graph->places[gpu].model, "Instinct"));
    }
    snprintf(graph->fingerprint, sizeof graph->fingerprint, "%031d%d", gpus, without >= 0);
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    return graph;
}

static struct snapshot *begun(struct store *store, const struct graph *graph)
{
    struct berth_err err = {0};
    assert_int_equal(store_begin(store, graph, BOOT, &err), BERTH_OK);
    struct snapshot *snapshot = snapshot_of(graph, store);
    history_begin(store, snapshot, &env);
    return snapshot;
}

static void a_gpu_that_is_gone_is_missed_until_that_is_accepted(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct graph *whole = machine(4, -1), *less = machine(4, 1), *more = machine(5, -1);
    struct berth_err err = {0};
    struct snapshot *snapshot = begun(store, whole);
    assert_int_equal(snapshot->note_count, 0);
    snapshot_unref(snapshot);
    for (int boot = 0; boot < 2; boot++) {
        env.now_s = 1790001000 + boot;
        snapshot = begun(store, less); /* gpu2 and gpu3 are gpu1 and gpu2 now */
        assert_int_equal(snapshot->note_count, 1);
        assert_string_equal(snapshot->notes[0].code, "gpu-missing");
        assert_string_equal(snapshot->notes[0].place, "gpu1");
        assert_int_equal(snapshot->notes[0].severity, SEVERITY_CRITICAL);
        assert_non_null(strstr(snapshot->notes[0].text, "0000:c1:00.0"));
        assert_int_equal(snapshot->opened_count, 1);
        assert_int_equal(snapshot->opened[0].since_s, 1790001000);
        if (boot == 0)
            snapshot_unref(snapshot);
    }
    history_load(store, snapshot, &env);
    assert_int_equal(snapshot->note_count, 1);
    struct accepted accepted;
    const struct snapshot *after = NULL;
    bool some[4] = {false};
    assert_int_equal(baseline_update(store, snapshot, some, &env, 2, &accepted, &after, &err),
                     BERTH_OK);
    assert_int_equal(after->note_count, 1); /* places were named: the hardware was not accepted */
    snapshot_unref(after);
    assert_int_equal(baseline_update(store, snapshot, NULL, &env, 3, &accepted, &after, &err),
                     BERTH_OK);
    assert_int_equal(accepted.count, 0);
    assert_int_equal(after->note_count + after->opened_count, 0);
    snapshot_unref(after);
    snapshot_unref(snapshot);
    snapshot = begun(store, more); /* it is back, with another one */
    assert_int_equal(snapshot->note_count, 0);
    snapshot_unref(snapshot);
    store_close(store);
    graph_unref(whole);
    graph_unref(less);
    graph_unref(more);
}

static void what_failed_is_noted_until_it_works(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct berth_err err = {0};
    struct accepted accepted;
    const struct note notes[] = {{.code = "past-unknown"},
                                 {.code = "probe-hung"},
                                 {.code = "gpu-missing"},
                                 {.code = "past-unknown"},
                                 {.code = "baseline-unreadable"}};
    struct snapshot *before = snapshot_new(world->graph, values_new(), notes, 5, 1, 1);
    const struct snapshot *after = NULL;
    assert_int_equal(baseline_update(store, before, NULL, &env, 2, &accepted, &after, &err),
                     BERTH_OK);
    assert_int_equal(after->note_count, 1);
    assert_string_equal(after->notes[0].code, "probe-hung");
    history_load(store, before, &env);
    assert_int_equal(before->note_count, 2);
    assert_string_equal(before->notes[1].code, "baseline-unreadable");
    snapshot_unref(before);
    snapshot_unref(after);
    store_close(store);
}

static void accepting_keeps_all_but_the_baseline(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct berth_err err = {0};
    struct accepted accepted;
    struct snapshot *snapshot = after_run(world, store, 100, 1790000000);
    const struct snapshot *after = NULL;
    struct set_flow flow = {
        .from = 1, .to = 2, .axes = "", .bytes_per_s = 1e9, .low = NAN, .high = NAN};
    snapshot->sets = sets_new();
    assert_true(sets_add(snapshot->sets,
                         &(struct set){.metric = METRIC_CPU_COPY, .flow = &flow, .flow_count = 1}));
    snapshot->shapes = strdup("shapes");
    snapshot->has_standin = true;
    assert_int_equal(baseline_update(store, snapshot, NULL, &env, 2, &accepted, &after, &err),
                     BERTH_OK);
    snapshot_unref(snapshot);
    assert_int_equal(after->sets->count, 1);
    assert_true(after->sets->item[0].flow[0].bytes_per_s == 1e9);
    assert_true(after->has_standin);
    assert_string_equal(after->shapes, "shapes");
    snapshot_unref(after);
    store_close(store);
}

static void a_file_brings_back_what_was_written(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct berth_err err = {0};
    struct baseline_set set, read;
    char path[256];
    bool same = false;
    for (int i = 0; i < 20; i++)
        snapshot_unref(after_run(world, store, 100 + 0.01 * i, 1790000000 + i));
    assert_true(baseline_set_init(&set) && baseline_set_init(&read));
    assert_int_equal(store_baseline_list(store, world->graph, &set, &err), BERTH_OK);
    assert_int_equal(set.values->count, CORES - 1);
    /* A series whose values were all too uncertain has nothing to bring back. */
    const struct value *first = &set.values->item[0];
    assert_true(baseline_set_add(&set, METRIC_MEMORY_BANDWIDTH, first->from, first->to, "",
                                 &(struct baseline){0}, &(struct baseline_values){0}));
    if (baseline_file_write(world->directory, world->graph, &set, 1790000099, path, sizeof path,
                            &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    assert_int_equal(baseline_file_read(world->directory, world->graph, &read, &same, &err),
                     BERTH_OK);
    assert_true(same);
    assert_int_equal(read.values->count, set.values->count - 1);
    for (size_t i = 0; i < read.values->count; i++) {
        assert_true(read.baseline[i].median == set.baseline[i].median &&
                    read.baseline[i].deviation == set.baseline[i].deviation);
        assert_int_equal(read.baseline[i].count, BASELINE_VALUES);
        assert_int_equal(read.baseline[i].begun_s, 1790000000);
        assert_memory_equal(&read.samples[i], &set.samples[i], sizeof read.samples[i]);
        assert_int_equal(read.values->item[i].to, set.values->item[i].to);
    }
    baseline_set_done(&set);
    baseline_set_done(&read);
    store_close(store);
}

/* Invalid lines of the file, with their errors. */
static const struct {
    const char *text, *why;
} broken[] = {
    {"", "cut off"},
    {"x\n", ":1: it is no JSON object"},
    {"[]\n", ":1: it is no JSON object"},
    {"{\"record\":\"end\",\"count\":0}\n", ":1: a record before the baseline record"},
    {"HEAD{\"record\":\"end\",\"count\":1}\n", ":2: it counts other records"},
    {"HEADHEAD", ":2: a second baseline record"},
    {"HEADSERIES[96.2]}\nEND{\"record\":\"end\",\"count\":1}\n", ":4: something follows"},
    {"HEAD{\"record\":\"mystery\"}\nEND", ":2: it is no record"},
    {"HEADSERIES[]}\nEND", ":2: values is no array"},
    {"HEADSERIES[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}\nEND", ":2: values is no array"},
    {"HEADSERIES[-1]}\nEND", ":2: values has something"},
    {"HEADSERIES[1e300]}\nEND", ":2: values has something"},
    {"HEADSERIES[\"7\"]}\nEND", ":2: values has something"},
    {"HEADSERIES[96.2],\"metric\":\"x\"}\nEND", ":2: it is no JSON object"}, /* a name twice */
    {"HEAD{\"record\":\"place\",\"kind\":\"gpx\",\"place\":\"gpu0\",\"identity\":\"a\",\"model\":"
     "\"\",\"seen_s\":1}\nEND",
     ":2: it is no place"},
    {"HEAD{\"record\":\"place\",\"kind\":\"gpu\",\"place\":\"gpu0\",\"identity\":\"\",\"model\":"
     "\"\",\"seen_s\":1}\nEND",
     ":2: it is no place"},
    {"HEAD{\"record\":\"place\",\"kind\":\"gpu\",\"place\":\"gpu0\",\"identity\":\"a\",\"model\":"
     "\"\",\"seen_s\":-1}\nEND",
     ":2: seen_s is no integer"},
    {"HEADSERIES[96.2]}\n", "the end record is missing"},
};

static void write_text(const char *path, const char *text)
{
    static const struct {
        const char *word, *represents;
    } words[] = {
        {"HEAD", "{\"record\":\"baseline\",\"schema\":1,\"machine\":\"n\",\"fingerprint\":"
                 "\"0123456789abcdef0123456789abcdef\",\"written_at_s\":1}\n"},
        {"END", "{\"record\":\"end\",\"count\":1}\n"},
        {"SERIES", "{\"record\":\"expected\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\",\"to\":"
                   "\"core1\",\"axes\":{},\"begun_s\":1,\"accepted\":true,\"values\":"},
    };
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    while (*text != '\0') {
        size_t w = 0;
        while (w < 3 && strncmp(text, words[w].word, strlen(words[w].word)) != 0)
            w++;
        if (w < 3) {
            fputs(words[w].represents, file);
            text += strlen(words[w].word);
        } else {
            fputc(*text++, file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

static void a_broken_file_is_refused_whole(void **state)
{
    struct world *world = *state;
    char path[96];
    bool same = false;
    snprintf(path, sizeof path, "%s/unnamed.baseline", world->directory);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct berth_err err = {0};
        struct baseline_set set;
        assert_true(baseline_set_init(&set));
        write_text(path, broken[i].text);
        assert_int_equal(baseline_file_read(world->directory, world->graph, &set, &same, &err),
                         BERTH_BAD_DATA);
        if (strstr(err.detail, broken[i].why) == NULL)
            fail_msg("\"%s\" is refused with: %s", broken[i].text, err.detail);
        baseline_set_done(&set);
    }
    struct berth_err err = {0};
    struct baseline_set set;
    assert_true(baseline_set_init(&set));
    write_text(path, "HEADSERIES[96.2]}\nEND"); /* these words are right */
    assert_int_equal(baseline_file_read(world->directory, world->graph, &set, &same, &err),
                     BERTH_OK);
    assert_int_equal(set.values->count, 1);
    assert_true(same && set.baseline[0].accepted && set.baseline[0].median == 96.2);
    baseline_set_done(&set);
    assert_int_equal(unlink(path), 0);
    assert_true(baseline_set_init(&set));
    assert_int_equal(baseline_file_read(world->directory, world->graph, &set, &same, &err),
                     BERTH_ABSENT);
    baseline_set_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_is_taken_in_and_remembered),
        TEST(noise_of_a_value_is_no_change),
        TEST(an_unconfirmed_finding_is_kept_but_not_listed),
        TEST(the_rest_of_a_noisy_run_has_no_cell),
        TEST(a_cut_list_clears_nothing),
        TEST(findings_of_one_cause_are_one_event),
        TEST(an_event_of_many_hides_no_other),
        TEST(what_another_finding_explains_has_cleared),
        TEST(old_findings_are_forgotten),
        TEST(a_gpu_that_is_gone_is_missed_until_that_is_accepted),
        TEST(what_failed_is_noted_until_it_works),
        TEST(accepting_keeps_all_but_the_baseline),
        TEST(a_file_brings_back_what_was_written),
        TEST(a_broken_file_is_refused_whole),
    };
    struct config config;
    struct berth_err err = {0};
    if (config_init(&config, &err) != BERTH_OK)
        return 1;
    env.limits = health_limits_from(&config);
    env.limits.looks = 1;
    env.now_s = 1790000000;
    config_done(&config);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
