/* Matrices as they are drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ui/cells.h"
#include "ui/matrix.h"

#define CELL(from, to, axes, value, low, high, source, why)                                        \
    "{\"from\":\"" from "\",\"to\":\"" to "\",\"axes\":{" axes "},\"value\":" value                \
    ",\"low\":" low ",\"high\":" high ",\"repetitions\":9,\"source\":\"" source                    \
    "\",\"measured_at_s\":null,\"why_not\":" why "}"

static struct ui draw(const char *unit, const char *cells, struct ui_matrix_options options,
                      bool colour)
{
    static char reply[65536];
    struct ui ui = {.width = 100, .colour = colour};
    snprintf(reply, sizeof reply,
             "{\"metric\":\"m\",\"unit\":\"%s\",\"cells\":[%s],\"basis\":{\"origin\":\"live\"}}",
             unit, cells);
    json_error_t where;
    json_t *json = json_loads(reply, 0, &where);
    if (json == NULL)
        fail_msg("%s", where.text);
    ui_matrix(&ui, json, &options);
    json_decref(json);
    assert_false(ui.failed);
    return ui;
}

static void rows_columns_sources_and_reasons(void **state)
{
    (void)state;
    struct ui ui = draw(
        "bytes_per_s",
        CELL("gpu10", "gpu2", "", "2.5e10", "2.4e10", "2.6e10", "measured", "null") "," CELL(
            "gpu2", "gpu10", "", "5e10", "null", "null", "nominal",
            "null") "," CELL("gpu2", "gpu2", "", "null", "null", "null", "measured", "\"one gpu\""),
        (struct ui_matrix_options){.better = 1}, false);
    assert_string_equal(ui.text,
                        "m: best gpu2 to gpu10 50 GB/s (nominal), worst gpu10 to gpu2 25 GB/s\n"
                        "GB/s, higher is better\n"
                        "\n"
                        "  from       gpu2  gpu10\n"
                        "  gpu2         -a    50n\n"
                        "  gpu10        25       \n"
                        "  95 % interval: half width 4 %; 9 repetitions\n"
                        "  n: nominal, not measured\n"
                        "  -a: one gpu\n");
    ui_done(&ui);
}

static void reasons_of_several_places_are_one(void **state)
{
    (void)state;
    struct ui ui = draw(
        "ns",
        CELL(
            "numa0", "gpu0", "", "null", "null", "null", "measured",
            "\"no memory of gpu0 here\"") "," CELL("numa0", "gpu1", "", "null", "null", "null",
                                                   "measured",
                                                   "\"no memory of gpu1 here\"") "," CELL("numa0",
                                                                                          "gpu2",
                                                                                          "",
                                                                                          "null",
                                                                                          "null",
                                                                                          "null",
                                                                                          "measure"
                                                                                          "d",
                                                                                          "\"no "
                                                                                          "right "
                                                                                          "to gpu2 "
                                                                                          "here\""),
        (struct ui_matrix_options){.better = -1}, false);
    assert_non_null(strstr(ui.text, "  -a: such as: no memory of gpu0 here\n"
                                    "  -b: no right to gpu2 here\n"));
    ui_done(&ui);
}

static void intervals_and_units(void **state)
{
    (void)state;
    struct ui ui = draw("ns",
                        CELL("core0", "core1", "\"operation\":\"cas\"", "250000", "240000",
                             "260000.5", "measured", "null"),
                        (struct ui_matrix_options){.intervals = true, .better = -1}, false);
    assert_non_null(
        strstr(ui.text, "m: core0 to core1 250 us\nus, lower is better\n\n  operation=cas\n"));
    assert_non_null(strstr(ui.text, "core0     240..260"));
    ui_done(&ui);
    /* nothing measured yet */
    ui = draw("bytes_per_s", "", (struct ui_matrix_options){.better = 1}, false);
    assert_string_equal(ui.text,
                        "m: no value is known\nGB/s, higher is better\nberth probe measures\n");
    ui_done(&ui);
}

static void many_combinations_with_few_cells_are_a_list(void **state)
{
    (void)state;
    struct ui ui =
        draw("ratio",
             CELL("a0", "b0", "\"k\":\"4\"", "4", "null", "null", "published", "null") "," CELL(
                 "a0", "b0", "\"k\":\"10\"", "1", "null", "null", "measured",
                 "null") "," CELL("a0", "b0", "\"k\":\"2\"", "2", "1", "3", "measured",
                                  "null") "," CELL("a0", "b0", "", "null", "null", "null",
                                                   "measured", "\"why\""),
             (struct ui_matrix_options){0}, false);
    assert_string_equal(ui.text, "m: 3 values from 1 to 4\nratio\n"
                                 "\n"
                                 "  axes      from  to  value  95 % interval  n\n"
                                 "  defaults  a0    b0      -                 9  why\n"
                                 "  k=2       a0    b0      2           1..3  9\n"
                                 "  k=4       a0    b0      4                 9  published\n"
                                 "  k=10      a0    b0      1                 9\n");
    ui_done(&ui);
}

/* Eight sizes of two kinds between four pairs: sizes go down, pairs across, a table for each kind.
 */
static void many_combinations_with_many_cells_are_turned(void **state)
{
    (void)state;
    static const char *const sizes[] = {"4096", "65536", "1048576", "memory"};
    static char cells[30000];
    size_t used = 0;
    for (int s = 0; s < 4; s++)
        for (int noise = 0; noise < 2; noise++)
            for (int p = 0; p < 4; p++)
                used += (size_t)snprintf(cells + used, sizeof cells - used,
                                         "%s" CELL("llc%d", "numa%d",
                                                   "\"noise\":\"%s\",\"bytes\":\"%s\"", "%d",
                                                   "null", "null", "measured", "null"),
                                         used > 0 ? "," : "", p / 2, p % 2, noise ? "core" : "none",
                                         sizes[s], 10 * s + p + 100 * noise);
    struct ui ui = draw("ns", cells, (struct ui_matrix_options){.better = -1}, false);
    assert_string_equal(ui.text, "m: 32 values from 0 to 133 ns\nns, lower is better\n"
                                 "\n"
                                 "  noise=core\n"
                                 "  bytes     llc0>numa0  llc0>numa1  llc1>numa0  llc1>numa1\n"
                                 "  4 KiB            100         101         102         103\n"
                                 "  64 KiB           110         111         112         113\n"
                                 "  1 MiB            120         121         122         123\n"
                                 "  memory           130         131         132         133\n"
                                 "\n"
                                 "  noise=none\n"
                                 "  bytes     llc0>numa0  llc0>numa1  llc1>numa0  llc1>numa1\n"
                                 "  4 KiB              0           1           2           3\n"
                                 "  64 KiB            10          11          12          13\n"
                                 "  1 MiB             20          21          22          23\n"
                                 "  memory            30          31          32          33\n");
    ui_done(&ui);
}

static void assert_begins(struct ui ui, const char *line)
{
    assert_memory_equal(ui.text, line, strlen(line));
    ui_done(&ui);
}

/* Values within 5 % are alike: noise would say which is best. Of reasons alone there is no value.
 */
static void the_first_line_is_the_answer(void **state)
{
    (void)state;
    struct ui_matrix_options higher = {.better = 1}, lower = {.better = -1};
    const char *alike =
                   CELL("gpu0", "gpu1", "", "3.97e11", "null", "null", "measured", "null") "," CELL(
                       "gpu1", "gpu0", "", "3.98e11", "null", "null", "measured", "null"),
               *unlike =
                   CELL("numa0", "numa0", "", "96", "null", "null", "measured", "null") "," CELL(
                       "numa0", "numa1", "", "1180", "null", "null", "measured", "null"),
               *none = CELL("gpu0", "gpu0", "", "null", "null", "null", "measured", "\"one gpu\"");
    assert_begins(draw("bytes_per_s", alike, higher, false), "m: both alike, 397 to 398 GB/s\n");
    assert_begins(draw("ns", unlike, lower, false),
                  "m: best numa0 96 ns, worst numa0 to numa1 1.18 us\n");
    char several[2048];
    snprintf(several, sizeof several, "%s,%s", alike,
             CELL("numa0", "gpu0", "", "1e11", "null", "null", "measured", "null"));
    assert_begins(draw("bytes_per_s", several, higher, false),
                  "m: best 398 GB/s in 2 cells, worst numa0 to gpu0 100 GB/s\n");
    assert_begins(draw("ns", none, lower, false), "m: no value is known; below stands why\n");
}

/* Seven combinations that a daemon never sends. */
static void odd_axes_are_turned(void **state)
{
    (void)state;
    static const char *const odd[] = {"",
                                      "\"a\":\"1\"",
                                      "\"a=b\":\"1\"",
                                      "\"a\":\"\"",
                                      "\"\":\"x y\"",
                                      "\"a\":\"x y\",\"b\":\"1\"",
                                      "\"a\":\"9\",\"c d\":\" \""};
    static char cells[30000];
    size_t used = 0;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        for (int p = 0; p < 5; p++)
            used += (size_t)snprintf(
                cells + used, sizeof cells - used,
                "%s" CELL("a%d", "b0", "%s", "1", "null", "null", "measured", "null"),
                used > 0 ? "," : "", p, odd[i]);
    struct ui ui = draw("ns", cells, (struct ui_matrix_options){0}, false);
    assert_non_null(strstr(ui.text, "a4>b0"));
    ui_done(&ui);
}

static void best_and_worst_have_their_colours(void **state)
{
    (void)state;
    const char *cells = CELL("a0", "b0", "", "100", "null", "null", "measured", "null") "," CELL(
        "a0", "b1", "", "200", "null", "null", "measured", "null");
    struct ui higher = draw("ns", cells, (struct ui_matrix_options){.better = 1}, true);
    struct ui lower = draw("ns", cells, (struct ui_matrix_options){.better = -1}, true);
    const char *good = "\033[48;5;22;", *bad = "\033[48;5;88;";
    assert_true(strstr(higher.text, bad) < strstr(higher.text, good));
    assert_true(strstr(lower.text, good) < strstr(lower.text, bad));
    assert_non_null(strstr(lower.text, good));
    ui_done(&higher);
    ui_done(&lower);
}

static void wide_matrices_come_in_blocks(void **state)
{
    (void)state;
    static char cells[60000];
    size_t used = 0;
    for (int i = 0; i < 64; i++)
        used += (size_t)snprintf(
            cells + used, sizeof cells - used,
            "%s" CELL("core0", "core%d", "", "%d", "null", "null", "measured", "null"),
            i > 0 ? "," : "", i, 100 + i);
    struct ui ui = draw("ns", cells, (struct ui_matrix_options){.better = -1}, false);
    for (const char *line = ui.text; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 100);
    assert_non_null(strstr(ui.text, " 163"));
    ui_done(&ui);
}

static void odd_cells(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "", "1", "null,{}", "{\"axes\":7,\"value\":\"x\"}",
        "{\"from\":3,\"axes\":{\"a\":1,\"b\":\"\\u0007\"},\"value\":1e300}"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct ui ui =
            draw("", odd[i], (struct ui_matrix_options){.better = 1, .intervals = true}, true);
        ui_done(&ui);
    }
}

/* Nine cells each of eight kinds in one direction and one in the other: those at the defaults or
 * the named ones are drawn, and the rest is listed. */
static void what_is_meant_is_drawn(void **state)
{
    (void)state;
    static char cells[40000];
    size_t used = 0;
    for (int kind = 0; kind < 9; kind++)
        for (int i = 0; i < 9; i++)
            used += (size_t)snprintf(
                cells + used, sizeof cells - used,
                "%s{\"from\":\"gpu%d\",\"to\":\"gpu%d\",\"axes\":{\"kind\":\"%s\",\"direction\":\"%"
                "s\"},\"value\":%d,\"low\":null,\"high\":null,"
                "\"repetitions\":9,\"source\":\"measured\",\"measured_at_s\":null,\"why_not\":"
                "null}",
                used > 0 ? "," : "", i / 3, i % 3,
                kind == 0 || kind == 8 ? "large" : (char[]){(char)('0' + kind), '\0'},
                kind == 8 ? "read" : "write", 100 * kind + i);
    json_t *defaults = json_pack("{s:s,s:s}", "kind", "large", "direction", "write"),
           *where = json_pack("{s:s}", "direction", "read");
    struct ui ui = draw("ns", cells, (struct ui_matrix_options){.choice = {NULL, defaults}}, false);
    assert_string_equal(
        ui.text,
        "m: lowest gpu0 0 ns, highest gpu2 8 ns\nns\n\n"
        "  direction=write kind=large\n"
        "  from      gpu0  gpu1  gpu2\n"
        "  gpu0         0     1     2\n"
        "  gpu1         3     4     5\n"
        "  gpu2         6     7     8\n\n"
        "  more combinations of axes with --where direction=read, --where kind=1|2|3|4|5|6|7\n");
    ui_done(&ui);
    ui = draw("ns", cells, (struct ui_matrix_options){.choice = {where, defaults}}, false);
    assert_non_null(strstr(ui.text, "  direction=read kind=large\n"));
    /* all requested cells are shown; the daemon leaves out the others */
    assert_non_null(strstr(ui.text, "  direction=write kind=large\n"));
    ui_done(&ui);
    json_decref(defaults);
    json_decref(where);
}

/* Both directions between two places, at large and at three sizes of one how: matrices at large, or
 * of the size that was named, or sizes down the rows. */
static void of_many_sizes_the_large_one_is_drawn(void **state)
{
    (void)state;
    static const char *const sizes[] = {"large", "4096", "65536", "4194304"};
    static char cells[40000];
    size_t used = 0;
    for (int size = 0; size < 4; size++)
        for (int how = 0; how < 3; how++)
            for (int way = 0; way < 2; way++)
                used += (size_t)snprintf(cells + used, sizeof cells - used,
                                         "%s" CELL("gpu%d", "gpu%d",
                                                   "\"bytes\":\"%s\",\"operation\":\"h%d\"", "%d",
                                                   "null", "null", "measured", "null"),
                                         used > 0 ? "," : "", way, 1 - way, sizes[size], how,
                                         100 * size + 10 * how + way);
    json_t *defaults = json_pack("{s:s,s:s}", "bytes", "large", "operation", "h0"),
           *where = json_pack("{s:s}", "bytes", "large");
    const char *drawn =
        "m: lowest gpu0 to gpu1 0 ns, highest gpu1 to gpu0 1 ns\nns\n\n"
        "  bytes=large operation=h0\n"
        "  from      gpu0  gpu1\n"
        "  gpu0               0\n"
        "  gpu1         1      \n\n"
        "  more combinations of axes with --where operation=h1|h2\n\n"
        "  3 sizes besides, 4 KiB to 4 MiB: --size 64K shows one of them, --size all every one\n";
    struct ui ui = draw("ns", cells, (struct ui_matrix_options){.choice = {NULL, defaults}}, false);
    assert_string_equal(ui.text, drawn);
    ui_done(&ui);
    ui = draw("ns", cells,
              (struct ui_matrix_options){.all_sizes = true, .choice = {NULL, defaults}}, false);
    assert_non_null(strstr(ui.text, "  operation=h1\n"
                                    "  bytes     gpu0>gpu1  gpu1>gpu0\n"
                                    "  4 KiB           110        111\n"
                                    "  64 KiB          210        211\n"
                                    "  4 MiB           310        311\n"
                                    "  large            10         11\n"));
    assert_null(strstr(ui.text, "besides"));
    ui_done(&ui);
    /* as a daemon that was asked for large */
    cells[strstr(cells, ",{\"from\":\"gpu0\",\"to\":\"gpu1\",\"axes\":{\"bytes\":\"4096\"") -
          cells] = '\0';
    ui = draw("ns", cells, (struct ui_matrix_options){.choice = {where, defaults}}, false);
    assert_memory_equal(ui.text, drawn, strlen(ui.text));
    assert_null(strstr(ui.text, "besides"));
    ui_done(&ui);
    json_decref(defaults);
    json_decref(where);
}

/* Values within one place are no matrix: an axis goes down the rows, or it is a list; still of the
 * large size only. */
static void sizes_in_one_place(void **state)
{
    (void)state;
    static char cells[40000];
    size_t used = 0;
    for (int size = 0; size < 3; size++)
        for (int test = 0; test < 7; test++)
            used += (size_t)snprintf(cells + used, sizeof cells - used,
                                     "%s" CELL("gpu0", "gpu0", "\"bytes\":\"%s\",\"test\":\"bs%d\"",
                                               "%d", "null", "null", "measured", "null"),
                                     used > 0 ? "," : "",
                                     size == 0   ? "large"
                                     : size == 1 ? "4096"
                                                 : "4097",
                                     test, 10 * size + test);
    json_t *defaults = json_pack("{s:s,s:s}", "bytes", "large", "test", "bs1");
    struct ui ui = draw("ns", cells, (struct ui_matrix_options){.choice = {NULL, defaults}}, false);
    assert_non_null(strstr(
        ui.text,
        "  bytes=large\n  test      gpu0>gpu0\n  bs0               0\n  bs1               1\n"));
    assert_non_null(
        strstr(ui.text, "  2 sizes besides, 4 KiB to 4097 B: --size 4097 shows one of them"));
    ui_done(&ui);
    json_decref(defaults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_columns_sources_and_reasons),
        cmocka_unit_test(reasons_of_several_places_are_one),
        cmocka_unit_test(intervals_and_units),
        cmocka_unit_test(many_combinations_with_few_cells_are_a_list),
        cmocka_unit_test(many_combinations_with_many_cells_are_turned),
        cmocka_unit_test(the_first_line_is_the_answer),
        cmocka_unit_test(odd_axes_are_turned),
        cmocka_unit_test(best_and_worst_have_their_colours),
        cmocka_unit_test(wide_matrices_come_in_blocks),
        cmocka_unit_test(odd_cells),
        cmocka_unit_test(what_is_meant_is_drawn),
        cmocka_unit_test(of_many_sizes_the_large_one_is_drawn),
        cmocka_unit_test(sizes_in_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
