/* Lines of a probe become a run; broken ones are counted and never stop it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/run_parser.h"

#define RUN                                                                                        \
    "{\"record\":\"run\",\"schema\":1,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":"       \
    "1790000000,\"conditions\":{\"thp\":\"always\"}}"
#define END "{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":5}"
#define VALUE                                                                                      \
    "{\"record\":\"value\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\",\"to\":\"core1\","       \
    "\"value\":96.2,\"low\":95.8,\"high\":96.9,\"n\":9}"

static struct graph *two_cores(void)
{
    struct graph *graph = graph_new();
    struct berth_err err = {0};
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < 2; i++) {
        place_id core = graph_add_place(graph, PLACE_CORE, i);
        struct cpuset cpus = {0};
        cpuset_add(&cpus, (unsigned)i);
        graph->places[core].parent = 0;
        place_set_cpus(&graph->places[core], &cpus);
    }
    assert_int_equal(graph_finish(graph, &err), BERTH_OK);
    return graph;
}

static bool feed(struct run_parser *collect, const char *line)
{
    return run_parser_line(collect, line, strlen(line));
}

static struct run_parser begin(const struct graph *graph)
{
    struct run_parser collect;
    struct berth_err err = {0};
    assert_int_equal(run_parser_init(&collect, graph, "cpu", "quick", 1790000000, &err), BERTH_OK);
    return collect;
}

/* "METRIC WHAT: WHY" of an item that was not measured. */
static const char *skipped_text(const struct run_parser *collect, size_t i)
{
    static char text[4096];
    const json_t *item = json_array_get(collect->skipped, i);
    const char *metric = json_string_value(json_object_get(item, "metric")),
               *what = json_string_value(json_object_get(item, "what")),
               *why = json_string_value(json_object_get(item, "why"));
    assert_true(what != NULL && why != NULL);
    snprintf(text, sizeof text, "%s%s%s%s%s", metric != NULL ? metric : "",
             metric != NULL ? " " : "", what, *what != '\0' ? ": " : "", why);
    return text;
}

static void nothing_counts_after_the_end(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, END));
    assert_true(feed(&collect, VALUE));
    assert_true(feed(&collect, END));
    run_parser_finish(&collect, "", "berth-probe-cpu", 7);
    assert_int_equal(collect.bad_lines, 2);
    assert_int_equal(collect.run.values->count, 0);
    assert_string_equal(collect.run.status, "complete");
    assert_int_equal(collect.run.note_count, 1);
    assert_non_null(strstr(collect.run.notes[0].text, "after the end record"));
    run_parser_done(&collect);
    graph_unref(graph);
}

static void a_good_run(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, "{\"record\":\"progress\",\"done\":1,\"total\":2}"));
    assert_true(feed(&collect, VALUE));
    assert_true(feed(&collect, "{\"record\":\"skip\",\"metric\":\"cpu_pingpong\",\"from\":"
                               "\"core1\",\"to\":\"core0\",\"why\":\"time budget\"}"));
    assert_true(feed(&collect, END));
    run_parser_finish(&collect, "", "berth-probe-cpu", 7);
    assert_int_equal(collect.bad_lines, 0);
    assert_int_equal(collect.run.note_count, 0);
    assert_string_equal(collect.run.status, "complete");
    assert_string_equal(collect.run.conditions, "{\"thp\":\"always\"}");
    assert_int_equal(collect.run.values->count, 2);
    assert_int_equal(collect.progress.done, 1);
    assert_int_equal(json_array_size(collect.skipped), 1);
    assert_string_equal(skipped_text(&collect, 0), "cpu_pingpong core1 core0: time budget");
    run_parser_done(&collect);
    graph_unref(graph);
}

/* A value that is no record leaves its cell empty, and the cell says why. */
static void broken_values_are_skips(void **state)
{
#define BROKEN "{\"record\":\"value\",\"metric\":\"cpu_pingpong\",\"from\":\"core"
    static const struct {
        const char *line, *skipped;
    } lines[] = {
        {BROKEN "0\",\"to\":\"core1\",\"axes\":{},\"value\":NaN}", "cpu_pingpong core0 core1: "},
        {BROKEN "0\",\"to\":\"core1\",\"value\":-Infinity}", "cpu_pingpong core0 core1: "},
        {BROKEN "1\",\"to\":\"core0\",\"axes\":{\"operation\":\"flag\"},\"value\":1e999,\"n\":4}",
         "cpu_pingpong core1 core0 operation=flag: "},
        {BROKEN "0\",\"to\":\"core1\",\"value\":null}", "cpu_pingpong core0 core1: "},
        {BROKEN "0\",\"to\":\"core1\",\"value\":0,\"n\":1}", "cpu_pingpong core0 core1: "},
        {BROKEN "0\",\"to\":\"core1\",\"value\":\"\xc3", "cpu_pingpong core0 core1: "},
        {BROKEN "0\",\"to\":\"core0\",\"value\":NaN}", NULL},
        {BROKEN "0\",\"to\":\"core9\",\"value\":NaN}", NULL},
        {BROKEN "0\",\"to\":\"core1\",\"axes\":{\"odd\":\"1\"},\"value\":NaN}", NULL},
        {BROKEN "0\",\"to\":\"core1", NULL},
        {BROKEN "0\",\"to\":\"core1\",\"value\":NaN,\"axes\":{\"op\":\"faa\"}}", NULL},
        {"{\"value\":NaN}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct graph *graph = two_cores();
        struct run_parser collect = begin(graph);
        assert_true(feed(&collect, lines[i].line)); /* before the run record it is nothing */
        assert_int_equal(collect.run.values->count, 0);
        assert_true(feed(&collect, RUN));
        assert_true(feed(&collect, lines[i].line));
        assert_int_equal(collect.bad_lines, 2);
        assert_int_equal(collect.run.values->count, lines[i].skipped != NULL);
        assert_int_equal(json_array_size(collect.skipped), lines[i].skipped != NULL);
        if (lines[i].skipped != NULL) {
            const struct value *none = &collect.run.values->item[0];
            const char *why = skipped_text(&collect, 0);
            size_t length = strlen(lines[i].skipped);
            assert_true(isnan(none->value));
            assert_non_null(strstr(none->why_not, "the probe printed no value of it: "));
            assert_int_equal(strncmp(why, lines[i].skipped, length), 0);
            assert_string_equal(why + length, none->why_not);
        }
        assert_true(feed(&collect, VALUE)); /* a number goes before the reason */
        assert_true(feed(&collect, lines[i].line));
        run_parser_done(&collect);
        graph_unref(graph);
    }
}

/* Why lines are no records is said, wherever it is cut. */
static void a_reason_is_cut_between_characters(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    for (int letters = 0; letters < 2; letters++) {
        struct run_parser collect = begin(graph);
        char line[300] = BROKEN "0\",\"to\":\"core1\",\"axes\":{\"";
        strcat(line, &"x"[1 - letters]);
        for (int i = 0; i < 50; i++)
            strcat(line, "\xc3\xa9");
        strcat(line, "\":\"1\"},\"value\":1}");
        assert_true(feed(&collect, RUN));
        assert_true(feed(&collect, line));
        assert_true(feed(&collect, END));
        run_parser_finish(&collect, "", "berth-probe-cpu", 7);
        assert_int_equal(json_array_size(collect.skipped), 1);
        run_parser_done(&collect);
    }
    graph_unref(graph);
}

/* Conditions of the end replace those of the beginning. */
static void conditions_of_the_end(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, "{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":7,"
                               "\"conditions\":{\"thp\":\"never\",\"at_once\":32}}"));
    assert_string_equal(collect.run.conditions, "{\"thp\":\"never\",\"at_once\":32}");
    assert_string_equal(collect.spent, "");
    run_parser_done(&collect);
    collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(
        feed(&collect,
             "{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":7,\"statistics\":{"
             "\"driver_ns\":250000000,\"_ns\":9000000,\"list_ns\":4000000,\"paths\":9000000,"
             "\"odd_ns\":\"9\",\"rates_ns\":1314999999,\"metric_ns\":{\"a_ns\":5000000000}}}"));
    assert_string_equal(collect.spent, " (driver 0.25, rates 1.31)");
    assert_int_equal(collect.bad_lines, 0);
    run_parser_done(&collect);
    graph_unref(graph);
}

static void assert_note(struct run_parser *collect, const char *code, const char *word)
{
    assert_true(collect->run.note_count > 0);
    assert_string_equal(collect->run.notes[0].code, code);
    assert_non_null(strstr(collect->run.notes[0].text, word));
}

static void an_early_end_is_a_finding(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    feed(&collect, RUN);
    feed(&collect, VALUE);
    run_parser_finish(&collect, "", "berth-probe-cpu", 7);
    assert_string_equal(collect.run.status, "failed");
    assert_note(&collect, "probe-failed", "without an end record");
    assert_int_equal(collect.run.values->count, 1); /* the measured value stays */
    /* and whoever asked is told */
    assert_string_equal(skipped_text(&collect, 0), collect.run.notes[0].text);
    run_parser_done(&collect);
    graph_unref(graph);
}

static void a_crash_is_a_finding_and_a_wish_is_none(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    feed(&collect, RUN);
    run_parser_finish(&collect, "crashed", "berth-probe-cpu crashed (signal 11)", 7);
    assert_string_equal(collect.run.status, "crashed");
    assert_note(&collect, "probe-crashed", "signal 11");
    assert_int_equal(json_array_size(collect.skipped), 1);
    run_parser_done(&collect);
    collect = begin(graph);
    feed(&collect, RUN);
    run_parser_finish(&collect, "cancelled", "berth-probe-cpu was stopped", 7);
    assert_string_equal(collect.run.status, "cancelled");
    assert_int_equal(collect.run.note_count, 0);
    assert_int_equal(json_array_size(collect.skipped), 0);
    run_parser_done(&collect);
    graph_unref(graph);
}

static void rubbish_is_counted_and_cut(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    assert_true(feed(&collect, VALUE)); /* before the run record */
    assert_int_equal(collect.bad_lines, 1);
    assert_non_null(strstr(collect.first_bad, "before the run record"));
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, RUN)); /* twice */
    assert_true(feed(&collect, "{\"record\":\"value\",\"metric\":\"cpu_pingpong\",\"from\":"
                               "\"core0\",\"to\":\"core77\",\"value\":1,\"n\":1}"));
    assert_true(feed(&collect, "%%% no json"));
    assert_int_equal(collect.bad_lines, 4);
    bool more = true;
    for (int i = 0; i < 200 && more; i++)
        more = feed(&collect, "rubbish");
    assert_false(more);
    assert_int_equal(collect.bad_lines, RUN_PARSER_BAD_LINES_MAX);
    assert_int_equal(collect.run.values->count, 0);
    run_parser_finish(&collect, "garbage", "berth-probe-cpu printed rubbish", 7);
    assert_note(&collect, "probe-garbage", "rubbish");
    assert_int_equal(collect.run.note_count, 1);
    run_parser_done(&collect);
    graph_unref(graph);
}

#define TO_ITSELF(metric, core)                                                                    \
    "{\"record\":\"value\",\"metric\":\"" metric "\",\"from\":\"" core "\",\"to\":\"" core         \
    "\",\"value\":50,\"n\":1}"

/* A metric between two places; the two threads of a core are two. core0 has one. */
static void from_a_place_to_itself_there_is_no_value(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    cpuset_add(graph->places[graph_find(graph, "core1")].cpus, 9);
    struct run_parser collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, TO_ITSELF("cpu_pingpong", "core0")));
    assert_int_equal(collect.bad_lines, 1);
    assert_string_equal(collect.first_bad,
                        "cpu_pingpong from core0 to itself: the core has one thread");
    assert_true(feed(&collect, TO_ITSELF("cpu_copy", "core1")));
    assert_true(feed(&collect,
                     "{\"record\":\"set\",\"metric\":\"gpu_gpu_kernel_concurrent\",\"flows\":[{"
                     "\"from\":\"core1\",\"to\":\"core1\",\"bytes_per_s\":4}]}"));
    assert_true(collect.bad_lines == 3 && collect.run.values->count == 0 &&
                collect.run.sets->count == 0);
    assert_true(feed(&collect, TO_ITSELF("cpu_pingpong", "core1")) &&
                feed(&collect, TO_ITSELF("memory_latency", "core0")));
    assert_true(feed(&collect, "{\"record\":\"skip\",\"metric\":\"cpu_pingpong\",\"from\":"
                               "\"core0\",\"to\":\"core0\",\"why\":\"the core has one thread\"}"));
    assert_true(collect.bad_lines == 3 && collect.run.values->count == 3);
    run_parser_done(&collect);
    graph_unref(graph);
}

#define CELL(text) "{\"record\":\"progress\",\"done\":1,\"total\":2,\"cell\":\"" text "\"}"
#define FINDING(from, to)                                                                          \
    "{\"record\":\"finding\",\"code\":\"wrong-bytes\",\"from\":\"" from "\",\"to\":\"" to          \
    "\",\"why\":\"3 of 4\"}"

static void what_hung_is_named_and_skipped(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, CELL("cpu_copy core0 core1")));
    assert_true(feed(&collect, VALUE));
    assert_true(feed(&collect, CELL("cpu_queue core1 core0")));
    assert_string_equal(collect.cell.text, "cpu_queue core1 core0");
    run_parser_finish(&collect, "timeout", "berth-probe-cpu was killed", 7);
    assert_int_equal(collect.run.note_count, 1);
    assert_string_equal(collect.run.notes[0].code, "probe-timeout");
    assert_string_equal(collect.run.notes[0].place, "core1");
    assert_string_equal(collect.run.notes[0].probe, "cpu");
    assert_non_null(strstr(collect.run.notes[0].text, "cpu_queue from core1 to core0"));
    assert_int_equal(collect.run.values->count, 2);
    assert_int_equal(collect.run.values->item[1].metric, METRIC_CPU_QUEUE);
    assert_non_null(strstr(collect.run.values->item[1].why_not, "hung"));
    assert_int_equal(json_array_size(collect.skipped), 1);
    run_parser_done(&collect);

    /* An unknown cell is named too, and an ended cell is not the hung one. */
    collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, CELL("warp_drive gpu7")));
    run_parser_finish(&collect, "crashed", "berth-probe-cpu crashed", 7);
    assert_string_equal(collect.run.notes[0].place, "machine0");
    assert_non_null(strstr(collect.run.notes[0].text, "warp_drive gpu7"));
    assert_int_equal(collect.run.values->count, 0);
    run_parser_done(&collect);
    /* A set is named by its flows, and is no cell between two places. */
    collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(
        &collect, CELL("memory_bandwidth_concurrent machine0 machine0 numa0>core0+numa0>core1")));
    run_parser_finish(&collect, "timeout", "berth-probe-cpu was killed", 7);
    assert_string_equal(collect.cell.text,
                        "memory_bandwidth_concurrent machine0 machine0 numa0>core0+numa0>core1");
    assert_non_null(strstr(collect.run.notes[0].text, "numa0>core0+numa0>core1"));
    assert_int_equal(collect.run.values->count, 0);
    assert_int_equal(json_array_size(collect.skipped), 1);
    assert_non_null(strstr(skipped_text(&collect, 0), "numa0>core1: the probe hung"));
    run_parser_done(&collect);
    collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, CELL("cpu_copy core0 core1")));
    assert_true(feed(&collect, END));
    assert_string_equal(collect.cell.text, "");
    run_parser_finish(&collect, "crashed", "berth-probe-cpu crashed", 7);
    assert_null(strstr(collect.run.notes[0].text, "cpu_copy"));
    run_parser_done(&collect);
    graph_unref(graph);
}

static void a_finding_counts_the_paths_of_its_place(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    assert_true(feed(&collect, RUN));
    assert_true(feed(&collect, FINDING("core0", "core1")));
    assert_true(feed(&collect, FINDING("core0", "core0")));
    assert_true(feed(&collect, FINDING("core0", "core1")));
    assert_true(feed(&collect, FINDING("core1", "core0")));
    assert_true(feed(&collect, FINDING("core1", "core9")));
    assert_int_equal(collect.bad_lines, 1);
    assert_int_equal(collect.run.note_count, 2);
    assert_int_equal(collect.run.notes[0].severity, NOTE_CRITICAL);
    assert_string_equal(
        collect.run.notes[0].text,
        "what goes from core0 to core1 arrives wrong: 3 of 4; so do 2 more of its paths");
    assert_string_equal(collect.run.notes[1].place, "core1");
    run_parser_done(&collect);
    graph_unref(graph);
}

/* A set has no places: its flows are named, by the node's names, however many they are. */
static void a_skipped_set_says_its_flows(void **state)
{
    (void)state;
    struct graph *graph = two_cores();
    struct run_parser collect = begin(graph);
    assert_true(feed(&collect, RUN));
#define SET_SKIP                                                                                   \
    "{\"record\":\"skip\",\"metric\":\"gpu_gpu_copy_engine_concurrent\",\"from\":\"machine0\","    \
    "\"to\":\"machine0\",\"why\":\"time budget\",\"flows\":"
    assert_true(feed(
        &collect, SET_SKIP
        "[{\"from\":\"core0\",\"to\":\"core1\"},{\"from\":\"core1\",\"to\":\"0000:01:00.0\"}]}"));
    assert_string_equal(
        skipped_text(&collect, 0),
        "gpu_gpu_copy_engine_concurrent core0 to core1, core1 to 0000:01:00.0: time budget");
    assert_true(feed(&collect, SET_SKIP "[]}"));
    assert_string_equal(skipped_text(&collect, 1),
                        "gpu_gpu_copy_engine_concurrent machine0 machine0: time budget");
    assert_int_equal(collect.bad_lines, 0);
    assert_true(feed(&collect, SET_SKIP "[{\"from\":\"core0\"}]}"));
    assert_true(feed(&collect, SET_SKIP "[7]}"));
    assert_true(feed(&collect, SET_SKIP "\"core0\"}"));
    assert_int_equal(collect.bad_lines, 3);
    assert_int_equal(json_array_size(collect.skipped), 2);
    char line[20000] = SET_SKIP "[";
    for (int i = 0; i < 128; i++)
        strcat(line, i > 0 ? ",{\"from\":\"core0\",\"to\":\"core1\"}"
                           : "{\"from\":\"core1\",\"to\":\"core0\"}");
    assert_true(feed(&collect, strcat(line, "]}")));
    const char *said = skipped_text(&collect, 2);
    assert_int_equal(
        strncmp(said, "gpu_gpu_copy_engine_concurrent core1 to core0, core0 to core1, ", 63), 0);
    assert_non_null(strstr(said, ": time budget"));
    run_parser_done(&collect);
    graph_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_run),
        cmocka_unit_test(broken_values_are_skips),
        cmocka_unit_test(a_reason_is_cut_between_characters),
        cmocka_unit_test(conditions_of_the_end),
        cmocka_unit_test(a_skipped_set_says_its_flows),
        cmocka_unit_test(nothing_counts_after_the_end),
        cmocka_unit_test(an_early_end_is_a_finding),
        cmocka_unit_test(a_crash_is_a_finding_and_a_wish_is_none),
        cmocka_unit_test(rubbish_is_counted_and_cut),
        cmocka_unit_test(from_a_place_to_itself_there_is_no_value),
        cmocka_unit_test(what_hung_is_named_and_skipped),
        cmocka_unit_test(a_finding_counts_the_paths_of_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
