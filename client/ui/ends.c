/* The best and the worst of many values. */
#include "ui/ends.h"

#include <math.h>
#include <string.h>

#define ALIKE 0.05

static void put_source(struct ui *ui, const char *source)
{
    if (source == NULL || strcmp(source, "measured") == 0)
        return;
    ui_put(ui, " (");
    ui_text(ui, source);
    ui_put(ui, ")");
}

static bool is_alike(double a, double b) { return fabs(a - b) <= ALIKE * fmax(fabs(a), fabs(b)); }

/* "gpu1 to gpu3 398 GB/s", or "398 GB/s in 4 cells" where several are alike. */
static void put_end(struct ui *ui, const struct ui_end *end, const struct ui_end *value,
                    size_t count, const char *unit)
{
    char number[UI_NUMBER], place[UI_NUMBER];
    size_t alike = 0;
    for (size_t i = 0; i < count; i++)
        alike += is_alike(value[i].value, end->value);
    ui_value(ui, number, end->value, unit);
    if (alike > 1) {
        ui_put(ui, "%s", number);
    } else {
        ui_text(ui, ui_place(end->from, place));
        ui_put(ui, "%s", strcmp(end->from, end->to) == 0 ? "" : " to ");
        ui_text(ui, strcmp(end->from, end->to) == 0 ? "" : ui_place(end->to, place));
        ui_put(ui, " %s", number);
    }
    put_source(ui, end->source);
    if (alike > 1)
        ui_put(ui, " in %zu cells", alike);
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

void ui_ends_put(struct ui *ui, const struct ui_end *value, size_t count, const char *unit,
                 int better)
{
    const struct ui_end *low = value, *high = value;
    for (size_t i = 0; i < count; i++) {
        low = value[i].value < low->value ? &value[i] : low;
        high = value[i].value > high->value ? &value[i] : high;
    }
    if (count == 1) {
        put_end(ui, low, value, count, unit);
    } else if (is_alike(low->value, high->value)) {
        ui_put(ui, count == 2 ? "both alike, " : "all %zu alike, ", count);
        ui_ends_range(ui, low->value, high->value, unit);
        put_source(ui, low->source);
    } else {
        ui_put(ui, better == 0 ? "lowest " : "best ");
        put_end(ui, better > 0 ? high : low, value, count, unit);
        ui_put(ui, better == 0 ? ", highest " : ", worst ");
        put_end(ui, better > 0 ? low : high, value, count, unit);
    }
}
