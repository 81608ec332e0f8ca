/* Text of a reply of GetCurves. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/ends.h"

#define LINE_SIZE 256

static int64_t count_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* "direction=write operation=copy"; cut where it does not fit. */
static const char *axes_text(const json_t *axes, char *buffer, size_t size)
{
    const char *key;
    json_t *value;
    size_t used = 0;
    buffer[0] = '\0';
    json_object_foreach((json_t *)(uintptr_t)axes, key, value)
    {
        if (used < size)
            used +=
                (size_t)snprintf(buffer + used, size - used, "%s%s=%s", used > 0 ? " " : "", key,
                                 json_string_value(value) == NULL ? "?" : json_string_value(value));
    }
    return buffer;
}

static void put_heading(struct ui_table *table, const char *const *heading, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ui_cell(table, "%s", heading[i]);
}

/* "1.77 us, 2.15 us at 6.9 KiB, then 383 GB/s": times at the joints of the pieces, and the rate of
 * the last piece. Between two small sizes no rate has a meaning. */
static void put_pieces(const struct ui *ui, struct ui_table *table, const json_t *pieces)
{
    char line[LINE_SIZE] = "", number[UI_NUMBER], at[UI_NUMBER];
    size_t used = 0, i;
    const json_t *piece;
    json_array_foreach(pieces, i, piece)
    {
        double rate = ui_member_number(piece, "bytes_per_s"),
               t0_ns = ui_member_number(piece, "t0_ns"),
               bytes = (double)count_of(piece, "from_bytes");
        if (used < sizeof line && i == 0)
            used += (size_t)snprintf(line, sizeof line, "%s", ui_time(ui, number, t0_ns));
        else if (used < sizeof line)
            used += (size_t)snprintf(
                line + used, sizeof line - used, ", %s at %s",
                ui_time(ui, number, t0_ns + (isnan(rate) ? 0 : bytes * 1e9 / rate)),
                ui_bytes(at, (int64_t)bytes));
        if (used < sizeof line && i + 1 == json_array_size(pieces))
            used += (size_t)snprintf(line + used, sizeof line - used,
                                     isnan(rate) ? ", then no longer" : ", then %s",
                                     ui_rate(number, rate));
    }
    ui_cell(table, "%s", line);
}

/* The first line: the highest rates of the transfers, and the size that reaches most of them. */
static void put_answer(struct ui *ui, const char *metric, const json_t *curves)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    struct ui_end *end = calloc(json_array_size(curves) + 1, sizeof *end);
    size_t count = 0;
    const json_t *curve;
    double b80 = 0;
    size_t i;
    json_array_foreach(curves, i, curve)
    {
        double bytes = ui_member_number(curve, "b80_bytes"),
               rate = ui_member_number(curve, "wmax_bytes_per_s");
        if (end != NULL && !isnan(rate))
            end[count++] =
                (struct ui_end){ui_member(curve, "from"), ui_member(curve, "to"), NULL, rate};
        b80 = bytes > b80 && bytes < 9e18 ? bytes : b80;
    }
    ui_text(&line, metric);
    ui_put(&line, ": ");
    if (count > 0) {
        char number[UI_NUMBER];
        ui_ends_put(&line, end, count, "bytes_per_s", 1);
        if (b80 > 0)
            ui_put(&line, "; 80 %% from %s on", ui_bytes(number, (int64_t)b80));
    } else {
        ui_put(&line, "%zu curves without a highest rate", json_array_size(curves));
    }
    ui_style(ui, UI_BOLD);
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui_style(ui, UI_PLAIN);
    ui->failed = ui->failed || line.failed || end == NULL;
    free(end);
    ui_done(&line);
}

/* "9 sizes of 4 KiB to 256 MiB" */
static const char *sizes_text(const json_t *curve, char *buffer, size_t size)
{
    char least[UI_NUMBER], most[UI_NUMBER];
    snprintf(buffer, size, "%lld sizes of %s to %s", (long long)count_of(curve, "sizes"),
             ui_bytes(least, count_of(curve, "least_bytes")),
             ui_bytes(most, count_of(curve, "most_bytes")));
    return buffer;
}

/* True when all curves have the same text: it then stands once above them. */
static bool is_common(const json_t *curves, bool is_of_axes)
{
    char first[LINE_SIZE], text[LINE_SIZE];
    const json_t *curve;
    size_t i;
    json_array_foreach(curves, i, curve)
    {
        char *at = i == 0 ? first : text;
        if (is_of_axes)
            axes_text(json_object_get(curve, "axes"), at, LINE_SIZE);
        else
            sizes_text(curve, at, LINE_SIZE);
        if (i > 0 && strcmp(first, text) != 0)
            return false;
    }
    return true;
}

static void put_row(struct ui *ui, struct ui_table *table, const json_t *curve, bool has_axes,
                    bool has_sizes)
{
    char text[LINE_SIZE], a[UI_NUMBER];
    double b80 = ui_member_number(curve, "b80_bytes");
    ui_cell(table, "%s", ui_member(curve, "from"));
    ui_cell(table, "%s", ui_member(curve, "to"));
    if (has_axes)
        ui_cell(table, "%s", axes_text(json_object_get(curve, "axes"), text, sizeof text));
    if (has_sizes)
        ui_cell(table, "%s", sizes_text(curve, text, sizeof text));
    ui_cell(table, "%s", ui_time(ui, a, ui_member_number(curve, "t0_call_ns")));
    ui_cell(table, "%s", ui_time(ui, a, ui_member_number(curve, "t0_queue_ns")));
    ui_cell(table, "%s", ui_rate(a, ui_member_number(curve, "wmax_bytes_per_s")));
    ui_cell(table, "%s", ui_bytes(a, b80 >= 0 && b80 < 9e18 ? (int64_t)b80 : -1));
    ui_cell(table, "%.1f %%", 100 * ui_member_number(curve, "residual"));
    put_pieces(ui, table, json_object_get(curve, "pieces"));
}

void ui_curves(struct ui *ui, const json_t *reply)
{
    static const char *const heading[] = {"t0 call", "t0 queue", "Wmax", "B80", "off by", "time"};
    const json_t *curves = json_object_get(reply, "curves"), *curve;
    bool has_axes = !is_common(curves, true), has_sizes = !is_common(curves, false);
    char align[12] = "ll", axes[LINE_SIZE], sizes[LINE_SIZE];
    struct ui_table table;
    size_t i;
    if (json_array_size(curves) == 0) {
        ui_line(ui, 2, "no curves: %s is no transfer, or was not measured at two sizes there",
                ui_member(reply, "metric"));
        return;
    }
    put_answer(ui, ui_member(reply, "metric"), curves);
    axes_text(json_object_get(json_array_get(curves, 0), "axes"), axes, sizeof axes);
    sizes_text(json_array_get(curves, 0), sizes, sizeof sizes);
    if (!has_axes || !has_sizes)
        ui_line(ui, 2, "%s%s%s", has_axes ? "" : axes,
                has_axes || has_sizes || *axes == '\0' ? "" : "; ", has_sizes ? "" : sizes);
    ui_put(ui, "\n");
    strcat(align, has_axes ? "l" : "");
    strcat(align, has_sizes ? "l" : "");
    strcat(align, "rrrrrl");
    ui_table_begin(&table, ui, align);
    ui_cell(&table, "from");
    ui_cell(&table, "to");
    if (has_axes)
        ui_cell(&table, "axes");
    if (has_sizes)
        ui_cell(&table, "measured");
    put_heading(&table, heading, sizeof heading / sizeof *heading);
    json_array_foreach(curves, i, curve) { put_row(ui, &table, curve, has_axes, has_sizes); }
    ui_table_end(&table, 0, true);
    ui_basis(ui, ui_member(json_object_get(reply, "basis"), "origin"));
}

/* "391 to 398 GB/s": the highest rates of the curves; "" where none has one. */
static void put_highest(struct ui_table *table, const json_t *curves)
{
    const json_t *curve;
    double least = NAN, most = NAN;
    struct ui line = {.utf8 = table->ui->utf8};
    size_t i;
    json_array_foreach(curves, i, curve)
    {
        least = fmin(least, ui_member_number(curve, "wmax_bytes_per_s"));
        most = fmax(most, ui_member_number(curve, "wmax_bytes_per_s"));
    }
    if (!isnan(least))
        ui_ends_range(&line, least, most, "bytes_per_s");
    ui_cell(table, "%s", line.text == NULL ? "" : line.text);
    ui_done(&line);
}

void ui_curves_list(struct ui *ui, const json_t *list)
{
    const json_t *metric, *best = json_array_get(list, 0);
    struct ui_table table;
    size_t count = json_array_size(list), i;
    if (count == 0) {
        ui_line(ui, 2, "no curves: no transfer was measured at two sizes");
        return;
    }
    ui_style(ui, UI_BOLD);
    ui_line(ui, 2, "%zu metric%s curves; of one: berth curves %s %s", count,
            count == 1 ? " has" : "s have", ui_member(best, "metric"),
            ui_member(json_array_get(json_object_get(best, "curves"), 0), "from"));
    ui_style(ui, UI_PLAIN);
    ui_table_begin(&table, ui, "lrrl");
    ui_cell(&table, "metric");
    ui_cell(&table, "curves");
    ui_cell(&table, "highest rates");
    ui_cell(&table, "about");
    json_array_foreach(list, i, metric)
    {
        const json_t *curves = json_object_get(metric, "curves");
        const char *about = ui_member(metric, "about");
        ui_cell(&table, "%s", ui_member(metric, "metric"));
        ui_cell(&table, "%zu", json_array_size(curves));
        put_highest(&table, curves);
        ui_cell(&table, "%.*s", (int)strcspn(about, ":;,"), about);
    }
    ui_table_end(&table, 0, true);
}
