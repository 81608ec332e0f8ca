/* The best and the worst of many values. */
#include "ui/ends.h"

#include <math.h>
#include <string.h>

#define ALIKE 0.05

void ui_ends_add(struct ui_ends *ends, const struct ui_end *value)
{
    if (isnan(value->value))
        return;
    if (ends->count == 0 || value->value < ends->low.value)
        ends->low = *value;
    if (ends->count == 0 || value->value > ends->high.value)
        ends->high = *value;
    ends->count++;
}

static void put_source(struct ui *ui, const char *source)
{
    if (source == NULL || strcmp(source, "measured") == 0)
        return;
    ui_put(ui, " (");
    ui_text(ui, source);
    ui_put(ui, ")");
}

/* "gpu1 to gpu3 398 GB/s" */
static void put_end(struct ui *ui, const struct ui_end *end, const char *unit)
{
    char value[UI_NUMBER];
    ui_text(ui, end->from);
    if (strcmp(end->from, end->to) != 0) {
        ui_put(ui, " to ");
        ui_text(ui, end->to);
    }
    ui_put(ui, " %s", ui_value(ui, value, end->value, unit));
    put_source(ui, end->source);
}

void ui_ends_range(struct ui *ui, double low, double high, const char *unit)
{
    char one[UI_NUMBER], other[UI_NUMBER];
    ui_value(ui, one, low, unit);
    ui_value(ui, other, high, unit);
    size_t digits = strcspn(one, " ");
    if (strcmp(one, other) == 0)
        ui_put(ui, "%s", one);
    else if (strcmp(one + digits, other + strcspn(other, " ")) == 0)
        ui_put(ui, "%.*s to %s", (int)digits, one, other);
    else
        ui_put(ui, "%s to %s", one, other);
}

void ui_ends_put(struct ui *ui, const struct ui_ends *ends, const char *unit, int better)
{
    const struct ui_end *best = better > 0 ? &ends->high : &ends->low,
                        *worst = better > 0 ? &ends->low : &ends->high;
    if (ends->count == 1) {
        put_end(ui, best, unit);
    } else if (ends->high.value - ends->low.value <= ALIKE * fabs(ends->high.value)) {
        ui_put(ui, ends->count == 2 ? "both alike, " : "all %zu alike, ", ends->count);
        ui_ends_range(ui, ends->low.value, ends->high.value, unit);
        put_source(ui, worst->source);
    } else {
        ui_put(ui, better == 0 ? "lowest " : "best ");
        put_end(ui, best, unit);
        ui_put(ui, better == 0 ? ", highest " : ", worst ");
        put_end(ui, worst, unit);
    }
}
