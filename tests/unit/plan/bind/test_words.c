/* Bind's texts: lost and available gpus, few numbers, groups of tasks, times and sizes. */
#include "cost/evidence.h"
#include "unit/plan/bind/bind_answer.h"

#include "base/quantity.h"
#include "plan/bind/gpus.h"

static struct fixture begin(struct graph *graph, const struct note *notes, size_t note_count)
{
    struct fixture f = {.snap = snapshot_new(graph, values_new(), notes, note_count, 0, 1),
                        .allowed = {.given = true}};
    assert_true(f.snap != NULL && derive_costs(f.snap));
    locality_cpus(graph, &f.allowed.cpus);
    graph_unref(graph);
    return f;
}

static enum berth_code ask(struct fixture *f, int64_t tasks, int64_t each)
{
    struct bind_request request = {.tasks = tasks, .gpus_per_task = each, .allowed = &f->allowed};
    plan_bind_done(&f->answer);
    f->err = (struct berth_err){0};
    return plan_bind(f->snap, &request, &f->answer, &f->err);
}

static void gpus_that_were_lost_are_not_given_and_are_named(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    place_set_detail(&graph->places[nodes_place(graph, PLACE_GPU, 2)], "state", "lost");
    struct note note = {0};
    snprintf(note.code, sizeof note.code, "gpu-lost");
    snprintf(note.place, sizeof note.place, "gpu5");
    struct fixture f = begin(graph, &note, 1);
    assert_int_equal(ask(&f, 6, -1), BERTH_OK);
    for (size_t t = 0; t < 6; t++) {
        int number = graph_place(f.snap->graph, f.answer.task[t].gpus[0])->number;
        assert_true(number != 2 && number != 5);
    }
    assert_int_equal(f.answer.warnings.count, 1);
    assert_non_null(strstr(f.answer.warnings.item[0].text, "gpu2 and gpu5 is left out"));
    assert_int_equal(ask(&f, 7, -1), BERTH_NOT_ENOUGH);
    assert_string_equal(f.err.detail,
                        "7 tasks with 1 gpu each need 7; allowed and there: gpu0-gpu1, gpu3-gpu4, "
                        "gpu6-gpu7; gpu5 is lost; to share them add --tasks-per-gpu: "
                        "berth bind -n 7 --tasks-per-gpu 2");
    /* A task that may use lost gpus only does not run without any. */
    f.allowed.gpus = calloc(f.snap->graph->place_count, sizeof(bool));
    assert_non_null(f.allowed.gpus);
    f.allowed.gpus[nodes_place(f.snap->graph, PLACE_GPU, 2)] = true;
    assert_int_equal(ask(&f, 1, -1), BERTH_NOT_ENOUGH);
    assert_non_null(strstr(f.err.detail, "no gpu; gpu2 is lost"));
    assert_int_equal(ask(&f, 1, 0), BERTH_OK);
    end(&f);
}

static void a_list_that_does_not_fit_is_cut(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct snapshot *snap = snapshot_new(graph, values_new(), NULL, 0, 0, 1);
    struct allowed all = {.given = true};
    struct reasons warnings = {0};
    struct berth_err err = {0};
    struct bind_gpus gpus;
    char text[32];
    assert_int_equal(plan_bind_gpus_find(snap, &all, &warnings, &gpus, &err), BERTH_OK);
    plan_bind_gpus_list(graph, &gpus, text, sizeof text);
    assert_string_equal(text, "gpu0-gpu7");
    for (size_t size = 1; size < 10; size++) {
        plan_bind_gpus_list(graph, &gpus, text, size);
        assert_int_equal(strlen(text), size - 1);
    }
    plan_bind_gpus_done(&gpus);
    snapshot_unref(snap);
    graph_unref(graph);
}

static void cite(struct values *values, enum metric metric, place_id from, place_id to,
                 double value)
{
    nodes_value(values, metric, VALUE_MEASURED, from, to, "", value, NAN, NAN);
}

/* Three of memory, of which two say the same, then two of transfers, which decided. */
static void numbers_that_decided_come_first_and_those_alike_once(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    struct evidence evidence = {0};
    place_id numa[3], gpu = nodes_place(graph, PLACE_GPU, 0);
    assert_non_null(values);
    for (int n = 0; n < 3; n++) {
        numa[n] = nodes_place(graph, PLACE_NUMA, n);
        cite(values, METRIC_MEMORY_LATENCY, numa[n], numa[n], n == 2 ? 120 : 96 + n);
    }
    cite(values, METRIC_HOST_GPU_COPY_ENGINE, gpu, numa[0], 28e9);
    cite(values, METRIC_HOST_GPU_COPY_ENGINE, gpu, numa[1], 28e9);
    struct snapshot *snap = nodes_snapshot(graph, values);
    for (int n = 0; n < 3; n++)
        evidence_add(&evidence, 0,
                     values_find(values, METRIC_MEMORY_LATENCY, numa[n], numa[n], ""));
    for (int n = 0; n < 2; n++)
        evidence_add(&evidence, 0,
                     values_find(values, METRIC_HOST_GPU_COPY_ENGINE, gpu, numa[n], ""));
    evidence_few(&evidence, 3, 9);
    assert_int_equal(evidence.count, 4);
    assert_true(evidence.item[0]->to == numa[0] &&
                evidence.item[0]->metric == METRIC_HOST_GPU_COPY_ENGINE &&
                evidence.item[1]->to == numa[1]);
    assert_true(evidence.item[2]->from == numa[0] && evidence.item[3]->from == numa[2]);
    evidence_few(&evidence, 2, 3);
    assert_true(evidence.count == 3 && evidence.item[0]->metric == METRIC_MEMORY_LATENCY &&
                evidence.item[2]->metric == METRIC_HOST_GPU_COPY_ENGINE);
    evidence_done(&evidence);
    snapshot_unref(snap);
}

static void what_is_said_of_several_tasks_is_said_once(void **state)
{
    (void)state;
    struct reasons warnings = {0};
    char name[32];
    for (size_t t = 3; t < 40; t++) {
        snprintf(name, sizeof name, "task %zu", t);
        reasons_add_about(&warnings, REASON_CORES_AWAY, name, NUMBERS(8, 4, t == 39));
    }
    assert_int_equal(warnings.count, 2);
    assert_true(warnings.item[0].subject_count == REASON_SUBJECTS_MAX &&
                warnings.item[0].more == 36 - REASON_SUBJECTS_MAX);
    assert_int_equal(
        strncmp(warnings.item[0].text, "task 3, task 4, task 5 and 33 more: some cores", 46), 0);
    assert_string_equal(warnings.item[1].subject[0], "task 39");
}

static void times_and_sizes_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *text;
    } times[] = {{0, "0 ns"},
                 {874.4, "874 ns"},
                 {999.6, "1 \u00b5s"},
                 {1750, "1.75 \u00b5s"},
                 {13421.8, "13.4 \u00b5s"},
                 {134217, "134 \u00b5s"},
                 {1.342e6, "1.34 ms"},
                 {2e9, "2 s"},
                 {3.6e12, "3600 s"}};
    static const struct {
        double bytes;
        const char *text;
    } sizes[] = {{0, "0 bytes"},      {1023, "1023 bytes"}, {1024, "1 KiB"},
                 {87381, "85.3 KiB"}, {64 << 20, "64 MiB"}, {1.5 * (1 << 30), "1.50 GiB"},
                 {0x1p62, "4 EiB"}};
    char text[QUANTITY_SIZE];
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        assert_string_equal(quantity_time(times[i].ns, text), times[i].text);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_string_equal(quantity_size(sizes[i].bytes, text), sizes[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_that_were_lost_are_not_given_and_are_named),
        cmocka_unit_test(a_list_that_does_not_fit_is_cut),
        cmocka_unit_test(numbers_that_decided_come_first_and_those_alike_once),
        cmocka_unit_test(what_is_said_of_several_tasks_is_said_once),
        cmocka_unit_test(times_and_sizes_have_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
