/* Text of a reply of Load: verdict, findings, and a row for each place. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

#define SPARK_LOWEST 0.8 /* of the highest rate: where a sign is lowest */
#define SPARKS       10
#define STATES       4 /* columns of a place, not of its work */

/* Writes a sign for each tenth of the time. */
static void write_sparks(const struct ui *ui, const json_t *rates, char *text)
{
    double most = 0;
    size_t i;
    json_t *rate;
    text[0] = '\0';
    json_array_foreach((json_t *)(uintptr_t)rates, i, rate) most =
        fmax(most, json_number_value(rate));
    json_array_foreach((json_t *)(uintptr_t)rates, i, rate)
    {
        if (i < SPARKS && json_is_number(rate) && most > 0)
            strcat(text, ui_spark(ui, (json_number_value(rate) / most - SPARK_LOWEST) /
                                          (1 - SPARK_LOWEST)));
    }
}

static void put_clocks(struct ui_table *table, const json_t *clocks)
{
    double begin = json_number_value(json_array_get(clocks, 0)),
           end = json_number_value(json_array_get(clocks, json_array_size(clocks) - 1));
    if (begin > 0 && end > 0 && fabs(begin - end) >= 1)
        ui_cell(table, "%.0f to %.0f MHz", begin, end);
    else if (end > 0)
        ui_cell(table, "%.0f MHz", end);
    else
        ui_cell(table, "-");
}

/* Writes the reasons with their part of the time. */
static void put_throttle(struct ui_table *table, const json_t *throttle)
{
    char text[400] = "";
    size_t used = 0;
    const char *name;
    json_t *share;
    json_object_foreach((json_t *)(uintptr_t)throttle, name, share)
    {
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.0f %%",
                                     used > 0 ? ", " : "", name, 100 * json_number_value(share));
    }
    ui_cell(table, "%s", used > 0 ? text : "-");
}

/* Puts a row for a work of a place. is_first: with the place's name and state. */
static void put_work(struct ui_table *table, const json_t *place, const json_t *work, bool is_first)
{
    char number[UI_NUMBER], sparks[SPARKS * 4 + 1];
    double rate = ui_member_number(work, "rate"), others = ui_member_number(work, "others"),
           power = ui_member_number(place, "power_w"),
           temperature = ui_member_number(place, "temperature_c");
    ui_cell(table, "%s", is_first ? ui_member(place, "place") : "");
    ui_cell(table, "%s", ui_member(work, "work"));
    ui_cell(table, "%s", ui_value(table->ui, number, rate, ui_member(work, "unit")));
    if (others > 0)
        ui_cell(table, "%+.1f %%", 100 * (rate / others - 1));
    else
        ui_cell(table, "-");
    write_sparks(table->ui, json_object_get(work, "rates"), sparks);
    ui_cell(table, "%s", sparks);
    if (!is_first) {
        for (int i = 0; i < STATES; i++)
            ui_cell(table, "%s", "");
        return;
    }
    put_clocks(table, json_object_get(place, "clocks_mhz"));
    if (power >= 0)
        ui_cell(table, "%.0f W", power);
    else
        ui_cell(table, "-");
    if (temperature >= 0)
        ui_cell(table, "%.0f C", temperature);
    else
        ui_cell(table, "-");
    put_throttle(table, json_object_get(place, "throttle"));
}

static void put_place(struct ui_table *table, const json_t *place)
{
    size_t i;
    const json_t *work;
    json_array_foreach(json_object_get(place, "works"), i, work)
    {
        put_work(table, place, work, i == 0);
    }
}

void ui_load(struct ui *ui, const json_t *reply)
{
    static const char *const heads[] = {"place", "work",  "rate",    "others",      "over time",
                                        "clock", "power", "hottest", "held down by"};
    const json_t *places = json_object_get(reply, "places"),
                 *left_out = json_object_get(reply, "left_out"), *one;
    size_t i;
    ui_verdict(ui, reply);
    if (json_array_size(places) > 0) {
        struct ui_table table;
        ui_table_begin(&table, ui, "llrrlrrrl");
        for (i = 0; i < sizeof heads / sizeof *heads; i++)
            ui_cell(&table, "%s", heads[i]);
        json_array_foreach(places, i, one) { put_place(&table, one); }
        ui_table_end(&table, 0, true);
    }
    json_array_foreach(left_out, i, one)
    {
        ui_line(ui, 10, "left out: %s: %s", ui_member(one, "what"), ui_member(one, "why"));
    }
    ui_style(ui, UI_DIM);
    ui_put(ui, "%lld s of load; none of it is kept as a value\n",
           (long long)json_integer_value(json_object_get(reply, "elapsed_s")));
    ui_style(ui, UI_PLAIN);
    ui_basis(ui, ui_member(reply, "origin"));
}

void ui_load_progress(struct ui *ui, const json_t *reply, bool is_bar)
{
    long long elapsed = (long long)json_integer_value(json_object_get(reply, "elapsed_s")),
              duration = (long long)json_integer_value(json_object_get(reply, "duration_s"));
    if (is_bar)
        ui_bar(ui, elapsed, duration);
    ui_put(ui, "%lld of %lld s under load%s", elapsed, duration, is_bar ? "\033[K" : "\n");
}
