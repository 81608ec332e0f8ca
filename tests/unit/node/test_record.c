#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "node/record.h"
#include "node/record_plain.h"
#include "node/record_values.h"
#include "node/spread.h"

#define PING                                                                                       \
    "{\"record\":\"value\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\",\"to\":\"core1\","
#define COPY                                                                                       \
    "{\"record\":\"value\",\"metric\":\"gpu_gpu_copy_engine\",\"from\":\"gpu0\",\"to\":\"gpu1\","
#define RUN                                                                                        \
    "{\"record\":\"run\",\"schema\":1,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":"       \
    "1790000000"

static struct record parsed(const char *line)
{
    struct record record;
    struct berth_err err = {0};
    if (record_parse(line, strlen(line), &record, &err) != BERTH_OK)
        fail_msg("%s: %s", line, err.detail);
    return record;
}

static void runs(void **state)
{
    (void)state;
    struct record record =
        parsed(RUN ",\"conditions\":{\"thp\":\"madvise\",\"cpus\":8},\"from_the_future\":[1]}\n");
    assert_int_equal(record.kind, RECORD_RUN);
    assert_string_equal(record.run.probe, "cpu");
    assert_int_equal(record.run.started_at, 1790000000);
    assert_int_equal(record.run.source, VALUE_MEASURED);
    assert_string_equal(json_string_value(json_object_get(record.run.conditions, "thp")),
                        "madvise");
    record_done(&record);

    record = parsed(RUN ",\"source\":\"published\"}");
    assert_int_equal(record.run.source, VALUE_PUBLISHED);
    assert_null(record.run.conditions);
    record_done(&record);
}

static void values_of_both_forms(void **state)
{
    (void)state;
    struct record record =
        parsed(PING "\"axes\":{\"operation\":\"cas\",\"flag\":\"from\"},\"value\":96."
                    "2,\"low\":95.8,\"high\":96.9,\"n\":9}");
    assert_int_equal(record.kind, RECORD_VALUE);
    assert_int_equal(record.value.metric, METRIC_CPU_PINGPONG);
    assert_string_equal(record.value.axes, "operation=cas");
    assert_true(record.value.value == 96.2 && record.value.low == 95.8 &&
                record.value.high == 96.9);
    assert_int_equal(record.value.n, 9);
    assert_true(isnan(record.value.t0_ns[TRANSFER_CALL]));
    assert_int_equal(record.value.sample_count, 0);
    record_done(&record);

    record = parsed(COPY "\"t0_call_ns\":6100,\"t0_chain_ns\":3400,\"samples\":[{\"bytes\":4096,"
                         "\"median_ns\":1990,\"low_ns\":1960,\"high_ns\":2030,\"n\":9},"
                         "{\"bytes\":16777216,\"median_ns\":46260}]}");
    assert_true(isnan(record.value.value));
    assert_true(record.value.t0_ns[TRANSFER_CALL] == 6100 &&
                record.value.t0_ns[TRANSFER_CHAIN] == 3400);
    assert_true(isnan(record.value.t0_ns[TRANSFER_QUEUE]) &&
                isnan(record.value.t0_ns[TRANSFER_LAUNCH]) &&
                isnan(record.value.t0_ns[TRANSFER_END]));
    assert_int_equal(record.value.sample_count, 2);
    assert_int_equal(record.value.samples[1].bytes, 16777216);
    assert_true(record.value.samples[0].high_ns == 2030 && isnan(record.value.samples[1].low_ns));
    assert_int_equal(record.value.samples[0].n, 9);
    /* as probes said it that timed one call */
    assert_true(isnan(record.value.t0_call_low_ns) && isnan(record.value.t0_call_high_ns) &&
                record.value.t0_call_n == 0);
    record_done(&record);

    record = parsed(COPY "\"t0_call_ns\":6100,\"t0_call_low_ns\":5800,\"t0_call_high_ns\":7300,"
                         "\"t0_call_n\":80,\"value\":1e10}");
    assert_true(record.value.t0_call_low_ns == 5800 && record.value.t0_call_high_ns == 7300);
    assert_int_equal(record.value.t0_call_n, 80);
    assert_int_equal(record.value.n, 0);
    record_done(&record);

    record = parsed("{\"record\":\"value\",\"metric\":\"memory_latency\",\"from\":\"numa0\",\"to\":"
                    "\"numa0\",\"axes\":{\"bytes\":32768},\"value\":1.2}");
    assert_string_equal(record.value.axes, "bytes=32768");
    record_done(&record);
}

static void the_other_kinds(void **state)
{
    (void)state;
    struct record record = parsed("{\"record\":\"device\",\"gpu\":\"gpu0\",\"model\":\"NVIDIA "
                                  "H200\",\"bytes\":150754820096}");
    assert_int_equal(record.kind, RECORD_DEVICE);
    assert_string_equal(record.device.gpu, "gpu0");
    assert_int_equal(json_integer_value(json_object_get(record.object, "bytes")), 150754820096);
    record_done(&record);

    record = parsed("{\"record\":\"link\",\"from\":\"gpu0\",\"to\":\"switch0\",\"kind\":\"nvlink\","
                    "\"width\":18}");
    assert_string_equal(record.link.to, "switch0");
    record_done(&record);

    record = parsed("{\"record\":\"skip\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\",\"to\":"
                    "\"core9\",\"axes\":{\"operation\":\"cas\"},\"why\":\"core 9 is offline\"}");
    assert_int_equal(record.kind, RECORD_SKIP);
    assert_string_equal(record.skip.why, "core 9 is offline");
    assert_string_equal(record.skip.axes, "operation=cas");
    record_done(&record);

    record = parsed("{\"record\":\"set\",\"metric\":\"host_gpu_copy_engine\",\"flows\":[{\"from\":"
                    "\"gpu0\",\"to\":\"numa0\",\"bytes_per_s\":4.11e10}]}");
    assert_true(record.set.flow_count == 1 && record.set.flows[0].bytes_per_s == 4.11e10 &&
                isnan(record.set.flows[0].low));
    record_done(&record);

    record = parsed("{\"record\":\"progress\",\"done\":12,\"total\":96}");
    assert_true(record.progress.done == 12 && record.progress.total == 96 &&
                record.progress.cell == NULL);
    record_done(&record);

    record = parsed(
        "{\"record\":\"progress\",\"done\":1,\"total\":2,\"cell\":\"gpu_stream gpu0 gpu0\"}");
    assert_string_equal(record.progress.cell, "gpu_stream gpu0 gpu0");
    record_done(&record);

    record = parsed("{\"record\":\"finding\",\"code\":\"wrong-bytes\",\"from\":\"gpu0\",\"to\":"
                    "\"gpu1\",\"why\":\"one of two\"}");
    assert_int_equal(record.kind, RECORD_FINDING);
    assert_string_equal(record.finding.code, "wrong-bytes");
    assert_string_equal(record.finding.to, "gpu1");
    assert_string_equal(record.finding.why, "one of two");
    record_done(&record);

    record = parsed("{\"record\":\"load\",\"place\":\"gpu0\",\"at_ns\":5,\"bytes_per_s\":4e12,"
                    "\"clock_mhz\":1980,\"throttle\":\"power-cap\"}");
    assert_int_equal(record.kind, RECORD_LOAD);
    assert_true(record.load.why == NULL && record.load.bytes_per_s == 4e12 &&
                record.load.clock_mhz == 1980 && isnan(record.load.power_w) &&
                isnan(record.load.temperature_c) && isnan(record.load.flop_per_s));
    assert_string_equal(record.load.throttle, "power-cap");
    record_done(&record);

    record = parsed("{\"record\":\"load\",\"place\":\"numa1\",\"why\":\"it has no memory\"}");
    assert_string_equal(record.load.why, "it has no memory");
    record_done(&record);

    record = parsed("{\"record\":\"end\",\"status\":\"budget\",\"elapsed_ns\":2910000000}");
    assert_string_equal(record.end.status, "budget");
    assert_int_equal(record.end.elapsed_ns, 2910000000);
    record_done(&record);
    record_done(&record);
}

/* 20 characters of two bytes each. */
#define TWENTY                                                                                     \
    "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"   \
    "\u00e9\u00e9\u00e9\u00e9\u00e9"

/* Lines that must be refused, each with a word of its error. */
static const struct {
    const char *line, *says;
} hostile[] = {
    {"", "JSON"},
    {"\n", "JSON"},
    {"{", "JSON"},
    {"{\"record\":\"progress\",\"done\":12,\"tot", "JSON"},
    {"[]", "JSON"},
    {"null", "JSON"},
    {"{\"record\":\"progress\",\"done\":1,\"total\":2} {}", "JSON"},
    {"{\"record\":\"progress\",\"done\":1,\"done\":2,\"total\":2}", "JSON"},
    {"{\"record\":\"progress\",\"done\":1,\"total\":\xff}", "JSON"},
    {"{\"record\":\"skip\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\",\"to\":\"core1\",\"why\":"
     "\"a\\u0000b\"}",
     "JSON"},
    {"{\"record\":\"skip\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\",\"to\":\"core1\",\"why\":"
     "\"\xc3\x28\"}",
     "JSON"},
    {"{}", "record is missing"},
    {"{\"record\":1}", "not a string"},
    {"{\"record\":\"\"}", "0 bytes"},
    {"{\"record\":\"bogus\"}", "unknown record bogus"},
    {"{\"record\":\"0123456789abcdef\"}", "16 bytes"},
    {"{\"record\":\"load\"}", "place is missing"},
    {"{\"record\":\"load\",\"place\":\"gpu0\"}", "bytes_per_s is missing"},
    {"{\"record\":\"load\",\"place\":\"gpu0\",\"bytes_per_s\":-1}", "bytes_per_s is -1"},
    {"{\"record\":\"load\",\"place\":\"gpu0\",\"bytes_per_s\":1,\"power_w\":\"1\"}",
     "power_w is not a number"},
    {"{\"record\":\"load\",\"place\":\"gpu0\",\"bytes_per_s\":1,\"throttle\":\"a b\"}",
     "throttle has a character"},
    {"{\"record\":\"load\",\"place\":\"gpu0\",\"why\":\"\"}", "why has 0 bytes"},
    {"{\"record\":\"run\"}", "schema is missing"},
    {"{\"record\":\"run\",\"schema\":2,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":1}",
     "schema is 2"},
    {"{\"record\":\"run\",\"schema\":1.0,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":1}",
     "schema is not an integer"},
    {"{\"record\":\"run\",\"schema\":1,\"probe\":\"a probe\",\"backend\":\"cpu\",\"started_at\":1}",
     "probe has a character"},
    {"{\"record\":\"run\",\"schema\":1,\"probe\":\"0123456789abcdef\",\"backend\":\"cpu\","
     "\"started_at\":1}",
     "probe has 16"},
    {"{\"record\":\"run\",\"schema\":1,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":-1}",
     "started_at is -1"},
    {"{\"record\":\"run\",\"schema\":1,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":"
     "999999999999999}",
     "started_at"},
    {"{\"record\":\"run\",\"schema\":1,\"probe\":\"cpu\",\"backend\":\"cpu\",\"started_at\":"
     "99999999999999999999}",
     "JSON"},
    {RUN ",\"source\":\"guessed\"}", "source is guessed"},
    {RUN ",\"conditions\":[]}", "conditions is not an object"},
    {RUN ",\"conditions\":{\"a\":{\"b\":1}}}", "condition a"},
    {"{\"record\":\"value\"}", "metric is missing"},
    {"{\"record\":\"value\",\"metric\":\"bogus\",\"from\":\"core0\",\"to\":\"core1\",\"value\":1}",
     "no metric bogus"},
    {"{\"record\":\"value\",\"metric\":\"cpu_pingpong\",\"from\":5,\"to\":\"core1\",\"value\":1}",
     "from is not a string"},
    {"{\"record\":\"value\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\",\"value\":1}",
     "to is missing"},
    {PING "\"n\":9}", "value is missing"},
    {PING "\"value\":null}", "value is not a number"},
    {PING "\"value\":\"96\"}", "value is not a number"},
    {PING "\"value\":NaN}", "JSON"},
    {PING "\"value\":1e999}", "JSON"},
    {PING "\"value\":1e300}", "value is 1e+300"},
    {PING "\"value\":-1}", "value is -1"},
    {PING "\"value\":1e-300}", "value is 1e-300"},
    {PING "\"value\":0}", "value is 0"},
    {PING "\"value\":10,\"low\":11,\"high\":12}", "excludes"},
    {PING "\"value\":10,\"low\":8,\"high\":9}", "excludes"},
    {PING "\"value\":10,\"low\":9}", "together"},
    {PING "\"value\":10,\"low\":-5,\"high\":12}", "low is -5"},
    {PING "\"value\":10,\"n\":0}", "n is 0"},
    {PING "\"value\":10,\"n\":-3}", "n is -3"},
    {PING "\"value\":10,\"n\":2.5}", "n is not an integer"},
    {PING "\"value\":10,\"n\":4294967297}", "n is 4294967297"},
    {PING "\"value\":10,\"t0_call_ns\":-1}", "t0_call_ns"},
    {PING "\"value\":10,\"t0_call_ns\":5}", "no transfer"},
    {PING "\"value\":10,\"t0_end_ns\":5}", "no transfer"},
    {COPY "\"value\":10,\"t0_launch_ns\":0}", "t0_launch_ns is 0"},
    {COPY "\"value\":10,\"t0_queue_ns\":0}", "t0_queue_ns is 0"},
    {COPY "\"value\":10,\"t0_call_ns\":5,\"t0_call_low_ns\":4}",
     "t0_call_low_ns and t0_call_high_ns come together or not at all"},
    {COPY "\"value\":10,\"t0_call_ns\":5,\"t0_call_high_ns\":6}",
     "t0_call_low_ns and t0_call_high_ns come together or not at all"},
    {COPY "\"value\":10,\"t0_call_ns\":5,\"t0_call_low_ns\":6,\"t0_call_high_ns\":7}",
     "the interval 6 to 7 excludes its value 5"},
    {COPY "\"value\":10,\"t0_call_ns\":5,\"t0_call_n\":0}", "t0_call_n is 0"},
    {COPY "\"value\":10,\"t0_call_n\":80}",
     "t0_call_low_ns, t0_call_high_ns and t0_call_n say nothing without t0_call_ns"},
    {COPY "\"value\":10,\"t0_queue_ns\":2,\"t0_call_low_ns\":4,\"t0_call_high_ns\":6}",
     "say nothing without t0_call_ns"},
    {COPY "\"value\":10,\"t0_call_ns\":5,\"t0_call_n\":\"80\"}", "t0_call_n is not an integer"},
    {PING "\"value\":10,\"axes\":[]}", "axes is not an object"},
    {PING "\"value\":10,\"axes\":{\"operation\":1.5}}", "axis operation"},
    {PING "\"value\":10,\"axes\":{\"flag\":-1}}", "axis flag"},
    {PING "\"value\":10,\"axes\":{\"bytes\":64}}", "no axis bytes"},
    {PING "\"value\":10,\"axes\":{\"operation\":\"a;flag=b\"}}", "without ; and ="},
    {PING "\"value\":10,\"axes\":{\"operation\":\"\"}}", "1 to 40"},
    {PING "\"value\":10,\"axes\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,"
          "\"i\":1}}",
     "more than 8 axes"},
    {PING "\"samples\":[{\"bytes\":1,\"median_ns\":1}]}", "has no samples"},
    {COPY "\"samples\":{}}", "not an array"},
    {COPY "\"samples\":[]}", "0 samples"},
    {COPY "\"samples\":[4096]}", "not an object"},
    {COPY "\"samples\":[{\"bytes\":4096}]}", "median_ns is missing"},
    {COPY "\"samples\":[{\"bytes\":-4096,\"median_ns\":10}]}", "bytes is -4096"},
    {COPY "\"samples\":[{\"bytes\":0,\"median_ns\":10}]}", "bytes is 0"},
    {COPY "\"samples\":[{\"bytes\":9223372036854775807,\"median_ns\":10}]}",
     "bytes is 9223372036854775807"},
    {COPY "\"samples\":[{\"bytes\":64,\"median_ns\":10},{\"bytes\":64,\"median_ns\":10}]}",
     "ascend"},
    {COPY "\"samples\":[{\"bytes\":64,\"median_ns\":10,\"low_ns\":11,\"high_ns\":12}]}",
     "excludes"},
    {COPY "\"value\":1,\"samples\":[{\"bytes\":64,\"median_ns\":10}]}", "exclude each other"},
    {COPY "\"axes\":{\"bytes\":64},\"samples\":[{\"bytes\":64,\"median_ns\":10}]}",
     "exclude each other"},
    {"{\"record\":\"set\",\"metric\":\"host_gpu_copy_engine\",\"flows\":[]}", "0 flows"},
    {"{\"record\":\"set\",\"metric\":\"cpu_pingpong\",\"flows\":[{\"from\":\"core0\",\"to\":"
     "\"core1\",\"bytes_per_s\":1}]}",
     "no rate"},
    {"{\"record\":\"set\",\"metric\":\"host_gpu_copy_engine\",\"flows\":[{\"from\":\"gpu0\",\"to\":"
     "\"numa0\",\"bytes_per_s\":0}]}",
     "bytes_per_s is 0"},
    {"{\"record\":\"set\",\"metric\":\"host_gpu_copy_engine\",\"flows\":[{\"from\":\"gpu0\",\"to\":"
     "\"numa0\",\"bytes_per_s\":1e300}]}",
     "bytes_per_s is 1e+300"},
    {"{\"record\":\"set\",\"metric\":\"host_gpu_copy_engine\",\"flows\":[{\"from\":\"gpu0\",\"to\":"
     "\"numa0\",\"bytes_per_s\":5,\"low\":6,\"high\":7}]}",
     "excludes"},
    {"{\"record\":\"set\",\"metric\":\"host_gpu_copy_engine\",\"flows\":[{\"from\":\"gpu0\",\"to\":"
     "\"numa0\",\"bytes_per_s\":5,\"axes\":{\"x\":1}}]}",
     "no axis x"},
    {"{\"record\":\"set\",\"metric\":\"host_gpu_copy_engine\",\"flows\":[1]}",
     "flow: not an object"},
    {"{\"record\":\"set\",\"metric\":\"host_gpu_copy_engine\",\"flows\":[{\"from\":\"gpu0\",\"to\":"
     "\"numa0\"}]}",
     "bytes_per_s is missing"},
    {"{\"record\":\"skip\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\",\"to\":\"core1\"}",
     "why is missing"},
    {"{\"record\":\"progress\",\"done\":3,\"total\":2}", "done is 3"},
    {"{\"record\":\"progress\",\"done\":-3,\"total\":2}", "done is -3"},
    {"{\"record\":\"end\",\"status\":\"perfect\",\"elapsed_ns\":1}", "unknown status perfect"},
    {"{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":-1}", "elapsed_ns"},
    {"{\"record\":\"end\",\"status\":\"complete\",\"elapsed_ns\":1,\"conditions\":{\"a\":[]}}",
     "condition a is not one value"},
    {"{\"record\":\"finding\",\"code\":\"ugly\",\"from\":\"gpu0\",\"to\":\"gpu1\",\"why\":\"x\"}",
     "unknown code ugly"},
    {"{\"record\":\"finding\",\"code\":\"gpu-lost\",\"from\":\"gpu0\",\"to\":\"gpu1\"}",
     "why is missing"},
    {"{\"record\":\"progress\",\"done\":1,\"total\":2,\"cell\":7}", "cell is not a string"},
    {"{\"record\":\"progress\",\"done\":1,\"total\":2,\"cell\":\"\"}", "cell has 0 bytes"},
    {"{\"record\":\"progress\",\"done\":1,\"total\":2,\"cell\":\"" TWENTY TWENTY TWENTY TWENTY
         TWENTY "a\"}",
     "cell has 201 bytes"},
    {"{\"record\":\"device\"}", "gpu is missing"},
    {"{\"record\":\"link\",\"from\":\"gpu0\"}", "to is missing"},
};

static void assert_refused(const char *line, size_t length, const char *says)
{
    struct record record;
    memset(&record, 0x5a, sizeof record);
    struct record before = record;
    struct berth_err err = {0};
    if (record_parse(line, length, &record, &err) != BERTH_BAD_DATA)
        fail_msg("accepted: %.200s", line);
    if (strstr(err.detail, says) == NULL)
        fail_msg("%.200s: says \"%s\", not \"%s\"", line, err.detail, says);
    assert_memory_equal(&record, &before, sizeof record);
    assert_int_equal(record_parse(line, length, &record, NULL), BERTH_BAD_DATA);
}

static void hostile_lines_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        assert_refused(hostile[i].line, strlen(hostile[i].line), hostile[i].says);
    const char nul[] = "{\"record\":\"progress\",\"done\":1,\0\"total\":2}";
    assert_refused(nul, sizeof nul - 1, "JSON");
    const char tail[] = "{\"record\":\"progress\",\"done\":1,\"total\":2}\0";
    assert_refused(tail, sizeof tail - 1, "JSON");
}

static void size_and_depth_are_limited(void **state)
{
    (void)state;
    const char start[] = "{\"record\":\"progress\",\"done\":1,\"total\":2,\"x\":\"", end[] = "\"}";
    char *line = malloc(RECORD_LINE_MAX + 1);
    memset(line, 'x', RECORD_LINE_MAX + 1);
    memcpy(line, start, sizeof start - 1);
    memcpy(line + RECORD_LINE_MAX - 2, end, 2);
    struct record record;
    assert_int_equal(record_parse(line, RECORD_LINE_MAX, &record, NULL), BERTH_OK);
    record_done(&record);
    memcpy(line + RECORD_LINE_MAX - 2, "x\"}", 3);
    assert_refused(line, RECORD_LINE_MAX + 1, "65537 bytes");

    memset(line, '[', RECORD_LINE_MAX);
    assert_refused(line, RECORD_LINE_MAX, "JSON");
    for (size_t i = 0; i + 5 <= RECORD_LINE_MAX; i += 5)
        memcpy(line + i, "{\"a\":", 5);
    assert_refused(line, RECORD_LINE_MAX, "JSON");
    free(line);
}

/* Every prefix and every line with one byte changed either parses or is refused in words, and
 * nothing leaks. */
static void damaged_lines(void **state)
{
    (void)state;
    const char *const lines[] = {
        RUN ",\"conditions\":{\"thp\":\"madvise\"}}",
        PING "\"axes\":{\"operation\":\"cas\"},\"value\":96.2,\"low\":95.8,\"high\":96.9,\"n\":9}",
        COPY "\"samples\":[{\"bytes\":4096,\"median_ns\":1990,\"low_ns\":1960,\"high_ns\":2030,"
             "\"n\":9}]}",
    };
    size_t refused = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t length = strlen(lines[i]);
        char line[512];
        for (size_t at = 0; at < length; at++) {
            for (int byte = 0; byte < 256; byte += 1 + byte % 5) {
                struct record record;
                struct berth_err err = {0};
                memcpy(line, lines[i], length);
                line[at] = (char)byte;
                if (record_parse(line, length, &record, &err) == BERTH_OK) {
                    record_done(&record);
                    continue;
                }
                assert_int_equal(err.code, BERTH_BAD_DATA);
                assert_true(err.detail[0] != '\0');
                refused++;
            }
            assert_refused(lines[i], at, "JSON");
        }
    }
    assert_true(refused > 1000);
}

static struct graph *node(void)
{
    struct graph *graph = graph_new();
    graph_add_place(graph, PLACE_MACHINE, 0);
    for (int i = 0; i < 4; i++) {
        place_id id = graph_add_place(graph, i < 2 ? PLACE_CORE : PLACE_GPU, i % 2);
        graph->places[id].parent = 0;
    }
    struct berth_err err = {0};
    if (graph_finish(graph, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    return graph;
}

static enum berth_code add(const char *line, const struct graph *graph, struct values *values,
                           struct berth_err *err)
{
    struct record record = parsed(line);
    enum berth_code code = record_add_values(&record, graph, VALUE_MEASURED, 77, values, err);
    record_done(&record);
    return code;
}

static void become_values(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct values *values = values_new();
    struct berth_err err = {0};
    assert_int_equal(
        add(PING "\"value\":96.2,\"low\":95.8,\"high\":96.9,\"n\":9}", graph, values, &err),
        BERTH_OK);
    assert_int_equal(
        add(COPY "\"axes\":{\"direction\":\"read\"},\"samples\":[{\"bytes\":4096,\"median_ns\":"
                 "2048,\"low_ns\":1024,\"high_ns\":4096,\"n\":7},"
                 "{\"bytes\":16777216,\"median_ns\":65536,\"low_ns\":0,\"high_ns\":70000}]}",
            graph, values, &err),
        BERTH_OK);
    assert_int_equal(add("{\"record\":\"skip\",\"metric\":\"cpu_pingpong\",\"from\":\"core1\","
                         "\"to\":\"core0\",\"why\":\"offline\"}",
                         graph, values, &err),
                     BERTH_OK);
    values_finish(values);
    assert_int_equal(values->count, 4);

    place_id gpu0 = graph_find(graph, "gpu0"), gpu1 = graph_find(graph, "gpu1");
    const struct value *v =
        values_find(values, METRIC_GPU_GPU_COPY_ENGINE, gpu0, gpu1, "bytes=4096;direction=read");
    assert_true(v->value == 2e9 && v->low == 1e9 && v->high == 4e9);
    assert_int_equal(v->n, 7);
    assert_int_equal(v->measured_at_s, 77);
    v = values_find(values, METRIC_GPU_GPU_COPY_ENGINE, gpu0, gpu1,
                    "bytes=16777216;direction=read");
    assert_true(v->value == 256e9 && isnan(v->low) && isnan(v->high));
    const struct value *skipped;
    assert_int_equal(
        values_range(values, METRIC_CPU_PINGPONG, graph_find(graph, "core1"), &skipped), 1);
    assert_string_equal(skipped->why_not, "offline");

    assert_int_equal(add("{\"record\":\"value\",\"metric\":\"cpu_pingpong\",\"from\":\"core0\","
                         "\"to\":\"core64\",\"value\":9}",
                         graph, values, &err),
                     BERTH_NO_SUCH_PLACE);
    assert_string_equal(err.arg[0].text, "core64");
    values_free(values);
    graph_unref(graph);
}

/* Single calls of a record become the interval of their median, which determines them again;
 * without them only the value is known. */
static void calls_become_values(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        double low_ns, high_ns;
        uint32_t n;
    } cases[] = {{"\"t0_call_ns\":6100,\"t0_queue_ns\":1810,", NAN, NAN, 0},
                 {"\"t0_call_ns\":6100,\"t0_queue_ns\":1810,\"t0_call_low_ns\":5600,\"t0_call_high_"
                  "ns\":7100,\"t0_call_n\":80,",
                  5600, 7100, 80},
                 {"\"t0_call_ns\":6100,\"t0_queue_ns\":1810,\"t0_call_low_ns\":5600,\"t0_call_high_"
                  "ns\":7100,",
                  5600, 7100, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct graph *graph = node();
        struct values *values = values_new();
        struct berth_err err = {0};
        char line[512];
        snprintf(line, sizeof line, COPY "%s\"value\":1e10,\"n\":7}", cases[i].keys);
        assert_int_equal(add(line, graph, values, &err), BERTH_OK);
        values_finish(values);
        place_id gpu0 = graph_find(graph, "gpu0"), gpu1 = graph_find(graph, "gpu1");
        char axes[2][TRANSFER_AXES_MAX];
        for (int clock = TRANSFER_CALL; clock <= TRANSFER_QUEUE; clock++)
            transfer_overhead_axes(METRIC_GPU_GPU_COPY_ENGINE, "", (enum transfer_clock)clock,
                                   axes[clock], sizeof axes[clock]);
        const struct value *call =
            values_find(values, METRIC_TRANSFER_OVERHEAD, gpu0, gpu1, axes[TRANSFER_CALL]);
        const struct value *queue =
            values_find(values, METRIC_TRANSFER_OVERHEAD, gpu0, gpu1, axes[TRANSFER_QUEUE]);
        assert_true(call != NULL && queue != NULL);
        assert_true(call->value == 6100 && queue->value == 1810 && isnan(queue->low) &&
                    isnan(queue->high) && queue->n == 0);
        assert_int_equal(call->n, cases[i].n);
        assert_true(isnan(call->low) == isnan(cases[i].low_ns) &&
                    isnan(call->high) == isnan(cases[i].high_ns));
        if (!isnan(call->low)) {
            assert_true(call->low > 5600 && call->low < 6100 && call->high > 6100 &&
                        call->high < 7100);
            double half = 1.959964 * spread_deviation((call->high - call->low) / 2, call->n);
            assert_true(fabs(half - 750) < 1e-6);
        }
        values_free(values);
        graph_unref(graph);
    }
}

static void compare_with_plain(const char *line, size_t *plain_count)
{
    char copy[512];
    struct record record;
    struct record_plain plain;
    snprintf(copy, sizeof copy, "%s", line);
    if (!record_plain(copy, strlen(copy), &plain))
        return;
    (*plain_count)++;
    if (record_parse(copy, strlen(copy), &record, NULL) != BERTH_OK)
        fail_msg("refused otherwise: %s", copy);
    assert_int_equal(record.kind, RECORD_VALUE);
    assert_int_equal(record.value.metric, plain.metric);
    assert_string_equal(record.value.from, plain.from);
    assert_string_equal(record.value.to, plain.to);
    assert_string_equal(record.value.axes, plain.axes);
    assert_true(record.value.value == plain.value && record.value.low == plain.low &&
                record.value.high == plain.high && record.value.n == plain.n);
    assert_true(record.value.sample_count == 0 && isnan(record.value.t0_ns[TRANSFER_CALL]));
    record_done(&record);
}

/* Lines have the same meaning with and without a tree: usual ones, and all variants by one
 * character. */
static void plain_lines_say_the_same(void **state)
{
    (void)state;
    static const char *const lines[] = {
        PING
        "\"axes\":{\"operation\":\"cas\"},\"value\":406.58999999999997,\"low\":396.93000000000001,"
        "\"high\":419.14400000000001,\"n\":25}",
        COPY "\"axes\":{},\"value\":1e11,\"low\":0,\"high\":123456789012345678,\"n\":1}",
        COPY "\"axes\":{\"direction\":\"read\",\"bytes\":\"4096\"},\"value\":3.5E+10,\"low\":3."
             "4e10,\"high\":3.6e10,\"n\":1000000}",
    };
    static const char characters[] = "\"\\{}[]:,.-+eE019 x\x01\xc3";
    size_t plain = 0, all = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t before = plain, length = strlen(lines[i]);
        compare_with_plain(lines[i], &plain);
        assert_int_equal(plain, before + 1);
        for (size_t at = 0; at < length; at++)
            for (size_t c = 0; c + 1 < sizeof characters; c++)
                for (int kind = 0; kind < 3; kind++, all++) { /* changed, put in, left out */
                    char line[512];
                    snprintf(line, sizeof line, "%.*s%.*s%s", (int)at, lines[i], kind < 2,
                             &characters[c], lines[i] + at + (kind != 1));
                    compare_with_plain(line, &plain);
                }
    }
    assert_true(plain > 100 && plain < all / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs),
        cmocka_unit_test(values_of_both_forms),
        cmocka_unit_test(the_other_kinds),
        cmocka_unit_test(hostile_lines_are_refused),
        cmocka_unit_test(size_and_depth_are_limited),
        cmocka_unit_test(damaged_lines),
        cmocka_unit_test(become_values),
        cmocka_unit_test(calls_become_values),
        cmocka_unit_test(plain_lines_say_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
