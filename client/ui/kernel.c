/* Text of the reply of PredictKernel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

static const char *about(const char *test)
{
    static const char *const tests[][2] = {{"bs1", "copy"},
                                           {"bs2", "axpy"},
                                           {"bs3", "norm"},
                                           {"bs4", "dot"},
                                           {"bs5", "fused CG update"},
                                           {"bs6", "gather"},
                                           {"bs7", "scatter"}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (strcmp(tests[i][0], test) == 0)
            return tests[i][1];
    return "";
}

/* "5.81 us (5.62 to 6.00 us)" */
static void put_time(struct ui *ui, const json_t *time)
{
    char text[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER];
    double from_ns = ui_member_number(time, "low_ns"), to_ns = ui_member_number(time, "high_ns");
    ui_put(ui, "%s", ui_time(ui, text, ui_member_number(time, "time_ns")));
    if (!isnan(from_ns) && !isnan(to_ns))
        ui_put(ui, " (%s to %s)", ui_time(ui, low, from_ns), ui_time(ui, high, to_ns));
}

static void put_row(struct ui_table *table, const char *name, const json_t *time)
{
    char t0[UI_NUMBER], b80[UI_NUMBER];
    double b80_bytes = ui_member_number(time, "b80_bytes");
    ui_cell(table, "%s", name);
    ui_cell(table, "%s", ui_time(table->ui, t0, ui_member_number(time, "t0_ns")));
    ui_cell(table, "%s", ui_bytes(b80, isnan(b80_bytes) ? -1 : (int64_t)b80_bytes));
}

/* The doubt about the time, in a sentence. */
static void put_source(struct ui *ui, const json_t *reply)
{
    const char *source = ui_member(reply, "source");
    if (strcmp(source, "similar_pair") == 0)
        ui_line(ui, 0,
                "%s has the nearest share of written bytes; nothing shows how far your "
                "kernel is from it.",
                ui_member(reply, "test"));
    else if (strcmp(source, "lower_bound") == 0)
        ui_line(ui, 0, "At least so long: what starting takes is unknown.");
    else if (strcmp(source, "measured") != 0 && source[0] != '\0')
        ui_line(ui, 0, "By %s figures, not measured here.", source);
}

void ui_kernel(struct ui *ui, const json_t *reply)
{
    const json_t *queued = json_object_get(reply, "queued"),
                 *called = json_object_get(reply, "called");
    const char *test = ui_member(reply, "test");
    char text[UI_NUMBER], rate[UI_NUMBER];
    double bytes = ui_member_number(reply, "bytes"), time_ns = ui_member_number(queued, "time_ns"),
           flops_per_s = ui_member_number(reply, "flops_per_s");
    ui_style(ui, UI_BOLD);
    ui_text(ui, ui_member(reply, "place"));
    ui_put(ui, ": ");
    put_time(ui, queued);
    ui_style(ui, UI_PLAIN);
    ui_put(ui, " for %s by ", ui_bytes(text, (int64_t)bytes));
    ui_text(ui, test);
    ui_put(ui, " (%s), %s\n", about(test), ui_rate(rate, bytes * 1e9 / time_ns));
    if (json_is_object(called)) {
        ui_put(ui, "  alone, by the caller's clock: ");
        put_time(ui, called);
        ui_put(ui, "\n");
    }
    if (!isnan(flops_per_s))
        ui_put(ui, "  its arithmetic must reach %s GFLOP/s\n", ui_digits(text, flops_per_s / 1e9));
    put_source(ui, reply);
    ui_put(ui, "\nTime T0 + bytes / Wmax, Wmax %s; 80 %% of it from B80 on\n",
           ui_rate(rate, ui_member_number(reply, "wmax_bytes_per_s")));
    struct ui_table table;
    ui_table_begin(&table, ui, "lrr");
    ui_cell(&table, "start");
    ui_cell(&table, "T0");
    ui_cell(&table, "B80");
    put_row(&table, "behind another", queued);
    put_row(&table, "alone", called);
    ui_table_end(&table, 2, true);
}
