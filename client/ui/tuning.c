/* Text of the reply of GetTuning. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

static const char *const numbers[] = {"grid",        "block",   "unroll",
                                      "chunk_bytes", "streams", "threshold_bytes"};

static const json_t *tuned(const json_t *tuning, const char *key)
{
    return json_object_get(tuning, key);
}

static bool is_known(const json_t *tuning, const char *key)
{
    return json_is_integer(json_object_get(tuned(tuning, key), "value"));
}

static long long number_of(const json_t *tuning, const char *key)
{
    return (long long)json_integer_value(json_object_get(tuned(tuning, key), "value"));
}

static const char *mechanism(const json_t *tuning, const char *key)
{
    return strcmp(ui_member(tuning, key), "kernel") == 0 ? "a kernel" : "the copy engine";
}

static void put_ends(struct ui *ui, const json_t *tuning)
{
    const char *place = ui_member(tuning, "place"), *to = ui_member(tuning, "to");
    ui_text(ui, place);
    if (strcmp(place, to) == 0) {
        ui_put(ui, " in its own memory");
    } else {
        ui_put(ui, strcmp(ui_member(tuning, "operation"), "pull") == 0 ? " from " : " to ");
        ui_text(ui, to);
    }
}

/* The answer about a copy between two memories; false when nothing is known of its sizes. */
static bool put_copy(struct ui *ui, const json_t *tuning)
{
    char size[UI_NUMBER];
    bool changes = is_known(tuning, "threshold_bytes");
    if (ui_member(tuning, "above")[0] == '\0')
        return false;
    put_ends(ui, tuning);
    if (changes)
        ui_put(ui, ": copy by %s, from %s on by %s\n", mechanism(tuning, "below"),
               ui_bytes(size, number_of(tuning, "threshold_bytes")), mechanism(tuning, "above"));
    else
        ui_put(ui, ": copy by %s, whatever the size\n", mechanism(tuning, "above"));
    return true;
}

/* True where any number of a result is known. */
static bool is_tuned(const json_t *tuning)
{
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        if (is_known(tuning, numbers[n]))
            return true;
    return false;
}

/* Names a copy between two gpus to ask for; nothing with one gpu, or when the answer is about one.
 */
static void put_pair(struct ui *ui, const json_t *tunings)
{
    const json_t *tuning;
    const char *first = ui_member(json_array_get(tunings, 0), "place");
    size_t i;
    json_array_foreach(tunings, i, tuning)
    {
        const char *place = ui_member(tuning, "place");
        if (strcmp(place, ui_member(tuning, "to")) != 0)
            return;
        if (strcmp(place, first) == 0)
            continue;
        ui_put(ui, "for copies between two: berth tuning ");
        ui_text(ui, first);
        ui_put(ui, " ");
        ui_text(ui, place);
        ui_put(ui, "\n");
        return;
    }
}

/* Writes the answer. is_measured: a probe may tune the node. Returns false when no launch shape is
 * tuned, so that no row would have a number. */
static bool put_answer(struct ui *ui, const json_t *tunings, bool is_measured)
{
    const json_t *tuning;
    size_t i, shapes = 0, tuned_ones = 0, count = json_array_size(tunings);
    json_array_foreach(tunings, i, tuning)
    {
        if (put_copy(ui, tuning))
            return true;
        shapes += is_known(tuning, "block");
        tuned_ones += is_tuned(tuning);
    }
    if (count == 0)
        ui_put(ui, "no gpu, so nothing to tune\n");
    else if (tuned_ones == 0)
        ui_put(ui, "no launch shape is tuned for a gpu's own memory%s\n",
               is_measured ? " yet: berth probe does it" : "");
    else
        ui_put(ui, "%zu of %zu uses have a tuned launch shape\n", shapes, count);
    return tuned_ones > 0;
}

static void put_number(struct ui_table *table, const json_t *tuning, const char *key)
{
    if (!is_known(tuning, key))
        ui_cell(table, "-");
    else if (strcmp(key, "grid") == 0 && number_of(tuning, key) == 0)
        ui_cell(table, "all"); /* as many as the bytes need */
    else
        ui_cell(table, "%lld", number_of(tuning, key));
}

/* A rate of a shape; of another pair of the same models it is none of this one. */
static void put_rate(struct ui_table *table, const json_t *tuning)
{
    const json_t *shape = tuned(tuning, "block");
    bool is_of_it = strcmp(ui_member(shape, "from"), ui_member(tuning, "place")) == 0 &&
                    strcmp(ui_member(shape, "to"), ui_member(tuning, "to")) == 0;
    char rate[UI_NUMBER];
    ui_cell(table, "%s",
            ui_rate(rate, is_of_it ? ui_member_number(shape, "bytes_per_s") : (double)NAN));
}

/* True for kernels in a gpu's own memory that are launched as those of the other gpu. */
static bool is_alike(const json_t *a, const json_t *b)
{
    return strcmp(ui_member(b, "place"), ui_member(b, "to")) == 0 &&
           strcmp(ui_member(a, "place"), ui_member(a, "to")) == 0 &&
           strcmp(ui_member(a, "operation"), ui_member(b, "operation")) == 0 &&
           strcmp(ui_member(a, "stale"), ui_member(b, "stale")) == 0 &&
           json_equal((json_t *)(uintptr_t)tuned(a, "grid"),
                      (json_t *)(uintptr_t)tuned(b, "grid")) &&
           json_equal((json_t *)(uintptr_t)tuned(a, "block"),
                      (json_t *)(uintptr_t)tuned(b, "block")) &&
           json_equal((json_t *)(uintptr_t)tuned(a, "unroll"),
                      (json_t *)(uintptr_t)tuned(b, "unroll"));
}

/* The number of results like this one; 0: it is shown with an earlier one. */
static size_t count_alike(const json_t *tunings, size_t index)
{
    const json_t *tuning = json_array_get(tunings, index);
    size_t count = 1, size = json_array_size(tunings);
    for (size_t i = 0; i < size; i++)
        if (i != index && is_alike(json_array_get(tunings, i), tuning)) {
            if (i < index)
                return 0;
            count++;
        }
    return count;
}

static void put_row(struct ui_table *table, const json_t *tuning, size_t alike)
{
    char chunk[UI_NUMBER];
    if (alike > 1)
        ui_cell(table, "%s +%zu", ui_member(tuning, "place"), alike - 1);
    else
        ui_cell(table, "%s", ui_member(tuning, "place"));
    ui_cell(table, "%s",
            strcmp(ui_member(tuning, "place"), ui_member(tuning, "to")) == 0
                ? "own"
                : ui_member(tuning, "to"));
    ui_cell(table, "%s", ui_member(tuning, "operation"));
    put_number(table, tuning, "block");
    put_number(table, tuning, "grid");
    put_number(table, tuning, "unroll");
    put_rate(table, tuning);
    ui_cell(table, "%s",
            is_known(tuning, "chunk_bytes")
                ? ui_count_bytes(chunk, number_of(tuning, "chunk_bytes"))
                : "-");
    put_number(table, tuning, "streams");
}

/* True when an earlier result has the same text there. */
static bool is_repeated(const json_t *tunings, size_t index, const char *object, const char *key)
{
    for (size_t i = 0; i < index; i++) {
        const json_t *earlier = json_array_get(tunings, i), *now = json_array_get(tunings, index);
        if (object != NULL) {
            earlier = tuned(earlier, object);
            now = tuned(now, object);
        }
        if (strcmp(ui_member(earlier, key), ui_member(now, key)) == 0)
            return true;
    }
    return false;
}

static void put_stale(struct ui *ui, const json_t *tunings)
{
    const json_t *tuning;
    size_t i;
    json_array_foreach(tunings, i, tuning)
    {
        if (ui_member(tuning, "stale")[0] == '\0' || is_repeated(tunings, i, NULL, "stale"))
            continue;
        ui_style(ui, UI_WARN);
        ui_line(ui, 2, "stale: %s; the next probe tunes anew", ui_member(tuning, "stale"));
        ui_style(ui, UI_PLAIN);
    }
}

/* The time, the interval and the conditions of a shape. */
static void put_source(struct ui *ui, const json_t *tuning)
{
    const json_t *shape = tuned(tuning, "block"), *value;
    char when[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER], next[UI_NUMBER];
    const char *key;
    struct ui text = {.utf8 = ui->utf8, .width = ui->width};
    if (!is_known(tuning, "block"))
        return;
    ui_text(&text, ui_member(tuning, "operation"));
    if (ui_member(shape, "from")[0] != '\0')
        ui_put(&text, ", timed of %s in %s", ui_member(shape, "from"),
               strcmp(ui_member(shape, "from"), ui_member(shape, "to")) == 0
                   ? "its own memory"
                   : ui_member(shape, "to"));
    ui_put(&text, ": tuned");
    if (json_is_integer(json_object_get(shape, "measured_at_s")))
        ui_put(&text, " %s", ui_when(when, (int64_t)ui_member_number(shape, "measured_at_s")));
    if (!isnan(ui_member_number(shape, "low")))
        ui_put(&text, ", %s to %s, the next best %s", ui_rate(low, ui_member_number(shape, "low")),
               ui_rate(high, ui_member_number(shape, "high")),
               ui_rate(next, ui_member_number(shape, "next_bytes_per_s")));
    json_object_foreach(json_object_get(tuning, "conditions"), key, value)
    {
        if (strcmp(key, "fingerprint") == 0)
            continue;
        ui_put(&text, ", ");
        ui_text(&text, key);
        ui_put(&text, " ");
        ui_text(&text, json_string_value(value));
    }
    ui_put(ui, "  ");
    ui_paragraph(ui, 4, text.text != NULL ? text.text : "");
    ui->failed = ui->failed || text.failed;
    ui_done(&text);
}

/* The size where the mechanism changes, with the sizes at which neither is faster for certain. */
static void put_threshold(struct ui *ui, const json_t *tuning)
{
    const json_t *threshold = tuned(tuning, "threshold_bytes");
    char from[UI_NUMBER], below[UI_NUMBER], rate[UI_NUMBER], next[UI_NUMBER];
    if (!is_known(tuning, "threshold_bytes"))
        return;
    ui_put(ui, "  ");
    ui_line(ui, 4,
            "%s with %s, %s: %s for certain up to %s, %s from %s on (%s there, the other %s)",
            ui_member(tuning, "place"), ui_member(tuning, "to"), ui_member(tuning, "operation"),
            mechanism(tuning, "below"),
            ui_bytes(below, (int64_t)ui_member_number(tuning, "certain_below_bytes")),
            mechanism(tuning, "above"), ui_bytes(from, number_of(tuning, "threshold_bytes")),
            ui_rate(rate, ui_member_number(threshold, "bytes_per_s")),
            ui_rate(next, ui_member_number(threshold, "next_bytes_per_s")));
}

static void put_missing(struct ui *ui, const json_t *tunings)
{
    const json_t *tuning;
    size_t i;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        json_array_foreach(tunings, i, tuning)
        {
            if (is_known(tuning, numbers[n]) || is_repeated(tunings, i, numbers[n], "why_not"))
                continue;
            ui_put(ui, "  ");
            ui_line(ui, 4, "no %s: %s", numbers[n],
                    ui_member(tuned(tuning, numbers[n]), "why_not"));
        }
}

void ui_tuning(struct ui *ui, const json_t *reply)
{
    static const char *const heads[] = {"gpu",    "memory",  "use",   "block",  "grid",
                                        "unroll", "reaches", "chunk", "streams"};
    const json_t *tunings = json_object_get(reply, "tunings"), *tuning;
    const char *origin = ui_member(json_object_get(reply, "basis"), "origin");
    bool is_measured = strcmp(origin, "live") == 0 || strcmp(origin, "standin") == 0;
    struct ui_table table;
    size_t i;
    if (put_answer(ui, tunings, is_measured)) {
        ui_table_begin(&table, ui, "lllrrrrrr");
        for (i = 0; i < sizeof heads / sizeof *heads; i++)
            ui_cell(&table, "%s", heads[i]);
        json_array_foreach(tunings, i, tuning)
        {
            size_t alike = count_alike(tunings, i);
            if (alike > 0)
                put_row(&table, tuning, alike);
        }
        ui_table_end(&table, 2, true);
    }
    put_pair(ui, tunings);
    put_stale(ui, tunings);
    if (ui->why) {
        json_array_foreach(tunings, i, tuning)
        {
            if (count_alike(tunings, i) > 0)
                put_source(ui, tuning);
            put_threshold(ui, tuning);
        }
        put_missing(ui, tunings);
    }
    ui_basis(ui, origin);
}
