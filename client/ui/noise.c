/* The table of noise: what an initiator gets of a memory alone, and while others read it. */
#include <math.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/matrix.h"

#define ROWS_MOST 14
#define AXES_MOST 4

/* A cell with these values of axes, the rest being alone and by default. */
struct wanted {
    const char *from, *to;
    const char *axes[AXES_MOST][2]; /* NULL ends them */
};

static double find(const json_t *matrix, const struct wanted *wanted)
{
    size_t i;
    const json_t *cell;
    json_array_foreach(json_object_get(matrix, "cells"), i, cell)
    {
        const json_t *axes = json_object_get(cell, "axes");
        bool is_it = strcmp(ui_member(cell, "from"), wanted->from) == 0 &&
                     strcmp(ui_member(cell, "to"), wanted->to) == 0;
        for (size_t k = 0; is_it && k < AXES_MOST && wanted->axes[k][0] != NULL; k++)
            is_it = strcmp(ui_member(axes, wanted->axes[k][0]), wanted->axes[k][1]) == 0;
        if (is_it)
            return ui_member_number(cell, "value");
    }
    return NAN;
}

/* Finds the value under this noise, and without: of a gpu as the copy kernels have it. */
static void find_both(const struct ui_noise *noise, const json_t *cell, double *ret_alone,
                      double *ret_noisy)
{
    const json_t *axes = json_object_get(cell, "axes");
    const char *from = ui_member(cell, "from"), *to = ui_member(cell, "to"),
               *beside = ui_member(axes, "beside"), *threads = ui_member(axes, "threads"),
               *kind = ui_member(axes, "noise");
    bool is_latency = strcmp(beside, "latency") == 0, reads = strcmp(beside, "read") == 0;
    const json_t *matrix = is_latency ? noise->latency : noise->bandwidth;
    struct wanted wanted = {from, to, {{"noise", kind}, {"bytes", "memory"}}};
    if (!is_latency) {
        wanted.axes[1][0] = "operation";
        wanted.axes[1][1] = beside;
        wanted.axes[2][0] = "threads";
        wanted.axes[2][1] = threads;
    }
    *ret_noisy = find(matrix, &wanted);
    wanted.axes[0][1] = "none";
    *ret_alone = find(matrix, &wanted);
    if (isnan(*ret_alone) && !is_latency)
        *ret_alone =
            find(noise->kernels,
                 &(struct wanted){reads ? to : from,
                                  reads ? from : to,
                                  {{"operation", beside}, {"bytes", "large"}, {"kind", "pinned"}}});
}

static void put_value(struct ui_table *table, bool is_latency, double value)
{
    char text[UI_NUMBER];
    ui_cell(table, "%s",
            isnan(value) ? "-"
            : is_latency ? ui_time(table->ui, text, value)
                         : ui_rate(text, value));
}

static void put_head(struct ui_table *table)
{
    static const char *const heads[] = {"from", "to", "", "alone", "beside", "", "noise"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        ui_cell(table, "%s", heads[i]);
}

void ui_noise(struct ui *ui, const json_t *reply, const struct ui_noise *noise)
{
    struct ui_table table;
    size_t i, rows = 0;
    const json_t *cell;
    ui_table_begin(&table, ui, "lllrrrr");
    json_array_foreach(json_object_get(reply, "cells"), i, cell)
    {
        const json_t *axes = json_object_get(cell, "axes");
        double alone, noisy, value = ui_member_number(cell, "value");
        if (isnan(value))
            continue;
        find_both(noise, cell, &alone, &noisy);
        if (isnan(noisy) || rows++ >= ROWS_MOST)
            continue;
        if (rows == 1)
            put_head(&table);
        bool is_latency = strcmp(ui_member(axes, "beside"), "latency") == 0;
        ui_cell(&table, "%s", ui_member(cell, "from"));
        ui_cell(&table, "%s", ui_member(cell, "to"));
        ui_cell(&table, "%s", ui_member(axes, "beside"));
        put_value(&table, is_latency, alone);
        put_value(&table, is_latency, noisy);
        if (isnan(alone))
            ui_cell(&table, "-");
        else
            ui_cell(&table, "%.0f %%", noisy / alone * 100);
        put_value(&table, false, value);
    }
    if (rows > 0)
        ui_put(ui, "\nAlone, and beside cores that read the same memory\n");
    ui_table_end(&table, 2, true);
    if (rows > ROWS_MOST)
        ui_line(ui, 2, "%zu rows more: --from and --to choose", rows - ROWS_MOST);
}
