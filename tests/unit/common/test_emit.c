#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/emit.h"
#include "cpu/report.h"
#include "node/record.h"

/* A pipe that receives the output. */
struct sink {
    int read_end;
    struct probe_out out;
    char text[65536];
};

static void sink_open(struct sink *sink)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    *sink = (struct sink){.read_end = ends[0],
                          .out = {.fd = ends[1], .gate = PTHREAD_MUTEX_INITIALIZER}};
}

/* Returns the output since the last call. */
static const char *sink_take(struct sink *sink)
{
    ssize_t got = read(sink->read_end, sink->text, sizeof sink->text - 1);
    assert_true(got > 0);
    sink->text[got] = '\0';
    return sink->text;
}

static void sink_close(struct sink *sink)
{
    close(sink->read_end);
    close(sink->out.fd);
}

static void parse(const char *line, struct record *ret_record)
{
    struct berth_err err = {0};
    if (record_parse(line, strlen(line), ret_record, &err) != BERTH_OK)
        fail_msg("%s: %s", err.detail, line);
}

static void escapes(void **state)
{
    (void)state;
    struct sink sink;
    struct probe_line line;
    sink_open(&sink);
    probe_line_begin(&line, "x");
    probe_line_text(&line, "a", "q\"b\\s\n\x01\x7f");
    probe_line_text(&line, "good", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    probe_line_text(&line, "bad", "\xff|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82");
    assert_true(probe_line_write(&line, &sink.out));
    assert_string_equal(
        sink_take(&sink),
        "{\"record\":\"x\",\"a\":\"q\\\"b\\\\s\\u000a\\u0001\\u007f\","
        "\"good\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\","
        "\"bad\":\"\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\"}\n");
    sink_close(&sink);
}

static void numbers(void **state)
{
    (void)state;
    struct sink sink;
    struct probe_line line;
    sink_open(&sink);
    probe_line_begin(&line, "x");
    probe_line_number(&line, "a", 96.2);
    probe_line_number(&line, "b", 8.38199e10);
    probe_line_number(&line, "c", NAN);
    probe_line_number(&line, "d", -INFINITY);
    probe_line_integer(&line, "e", INT64_MIN);
    probe_line_open(&line, "o");
    probe_line_close(&line);
    probe_line_open(&line, "p");
    probe_line_integer(&line, "f", 0);
    probe_line_close(&line);
    assert_true(probe_line_write(&line, &sink.out));
    assert_string_equal(sink_take(&sink),
                        "{\"record\":\"x\",\"a\":96.2,\"b\":8.38199e+10,\"c\":null,\"d\":null,"
                        "\"e\":-9223372036854775808,\"o\":{},\"p\":{\"f\":0}}\n");
    sink_close(&sink);
}

static void too_long(void **state)
{
    (void)state;
    struct sink sink;
    struct probe_line line;
    char text[1000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    sink_open(&sink);
    probe_line_begin(&line, "x");
    for (int i = 0; i < 40; i++)
        probe_line_text(&line, "key", text);
    assert_false(probe_line_write(&line, &sink.out));
    probe_line_begin(&line, "y"); /* nothing of the long line was written */
    assert_true(probe_line_write(&line, &sink.out));
    assert_string_equal(sink_take(&sink), "{\"record\":\"y\"}\n");
    sink_close(&sink);
}

/* After the last line the gate stays shut; a full pipe is not waited for. */
static void last_line(void **state)
{
    (void)state;
    struct sink sink;
    struct probe_line line;
    sink_open(&sink);
    probe_line_begin(&line, "end");
    assert_true(probe_line_write_last(&line, &sink.out, 1000000));
    assert_int_not_equal(pthread_mutex_trylock(&sink.out.gate), 0);
    probe_line_begin(&line, "end");
    assert_false(probe_line_write_last(&line, &sink.out, 1000000));
    sink_close(&sink);
}

/* The daemon reads the lines of the report. */
static void values_parse(void **state)
{
    (void)state;
    struct sink sink;
    sink_open(&sink);
    struct cpu_report report = {.out = &sink.out, .total = 100, .progress_ns = INT64_MAX / 2};
    struct probe_summary summary = {.value = 123.456789, .low = 123.4567, .high = 130, .n = 9};
    struct record record;

    struct cpu_cell cell = {
        .metric = PROBE_CPU_PINGPONG, .from = "core0", .to = "core12", .cas = true};
    assert_true(cpu_report_value(&report, &cell, &summary));
    parse(sink_take(&sink), &record);
    assert_int_equal(record.kind, RECORD_VALUE);
    assert_int_equal(record.value.metric, METRIC_CPU_PINGPONG);
    assert_string_equal(record.value.from, "core0");
    assert_string_equal(record.value.to, "core12");
    assert_string_equal(record.value.axes, "operation=cas");
    assert_int_equal(record.value.n, 9);
    assert_true(fabs(record.value.value - 123.457) < 1e-9 &&
                record.value.low <= record.value.value && record.value.high == 130);
    record_done(&record);

    cell = (struct cpu_cell){.metric = PROBE_MEMORY_BANDWIDTH,
                             .from = "numa1",
                             .to = "numa0",
                             .direction = CPU_COPY,
                             .threads = 4};
    assert_true(cpu_report_value(&report, &cell, &summary));
    parse(sink_take(&sink), &record);
    assert_string_equal(record.value.axes, "operation=copy;threads=4");
    record_done(&record);

    cell = (struct cpu_cell){.metric = PROBE_MEMORY_BANDWIDTH, .from = "numa1", .to = "numa0"};
    summary.low = summary.high = NAN; /* too few repetitions for an interval */
    assert_true(cpu_report_value(&report, &cell, &summary));
    parse(sink_take(&sink), &record);
    assert_string_equal(record.value.axes, "");
    assert_true(isnan(record.value.low));
    record_done(&record);

    cell = (struct cpu_cell){
        .metric = PROBE_MEMORY_LATENCY, .from = "llc0", .to = "numa0", .bytes = 16384};
    assert_true(cpu_report_skip(&report, &cell, "time budget"));
    parse(sink_take(&sink), &record);
    assert_int_equal(record.kind, RECORD_SKIP);
    assert_string_equal(record.skip.why, "time budget");
    assert_string_equal(record.skip.axes, "bytes=16384");
    record_done(&record);

    assert_true(cpu_report_skip_metric(&report, PROBE_CPU_PINGPONG, "fewer than two cores"));
    parse(sink_take(&sink), &record);
    assert_string_equal(record.skip.from, "machine0");
    record_done(&record);
    cell = (struct cpu_cell){.metric = PROBE_CPU_COPY, .from = "core0", .to = "core1"};
    static const int64_t bytes[] = {4096, 65536};
    static const struct probe_summary times[] = {{500, 490, 520, 7}, {6000, 5900, 6100, 9}};
    assert_true(cpu_report_samples(&report, &cell, bytes, times, 2));
    parse(sink_take(&sink), &record);
    assert_string_equal(record.value.axes, "");
    assert_int_equal(record.value.sample_count, 2);
    assert_int_equal(record.value.samples[1].bytes, 65536);
    assert_true(record.value.samples[1].median_ns == 6000 &&
                record.value.samples[1].low_ns == 5900 && record.value.samples[1].n == 9);
    record_done(&record);
    cell = (struct cpu_cell){
        .metric = PROBE_CPU_QUEUE, .from = "core0", .to = "core1", .reader = true};
    assert_true(cpu_report_late(&report, &cell));
    assert_true(report.late);
    parse(sink_take(&sink), &record);
    assert_string_equal(record.skip.axes, "side=reader");
    record_done(&record);
    report.pairs.ways[1] = (struct cpu_report_method){8, 12, 1, 1.25, 7};
    assert_true(cpu_report_end(&report, "budget", 12345));
    const char *text = sink_take(&sink);
    json_t *end = json_loads(text, 0, NULL), *statistics = json_object_get(end, "statistics");
    assert_int_equal(json_integer_value(json_object_get(statistics, "cas_pairs_at_once")), 8);
    assert_int_equal(json_object_size(statistics), 5);
    json_decref(end);
    parse(text, &record);
    assert_int_equal(record.end.elapsed_ns, 12345);
    assert_int_equal(json_object_size(record.end.conditions), 0); /* results are no conditions */
    record_done(&record);
    sink_close(&sink);
}

static void progress(void **state)
{
    (void)state;
    struct sink sink;
    sink_open(&sink);
    struct cpu_report report = {.out = &sink.out, .total = 2};
    struct cpu_cell cell = {.metric = PROBE_CPU_PINGPONG, .from = "core0", .to = "core1"};
    assert_true(cpu_report_skip(&report, &cell, "why"));
    assert_non_null(
        strstr(sink_take(&sink), "\n{\"record\":\"progress\",\"done\":1,\"total\":2}\n"));
    assert_true(cpu_report_skip(&report, &cell, "why")); /* soon after, but the last */
    assert_non_null(strstr(sink_take(&sink), "\"done\":2"));
    sink_close(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),   cmocka_unit_test(numbers),      cmocka_unit_test(too_long),
        cmocka_unit_test(last_line), cmocka_unit_test(values_parse), cmocka_unit_test(progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
