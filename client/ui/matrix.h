/**
 * A matrix drawn for a person, from GetMatrix's reply: one table for each combination of axes,
 * coloured from best to worst; where the combinations are many, those that are meant (ui/axes.h),
 * one axis down the rows (ui/pivot.h), or a list if their cells are few. And ListMetrics' reply as
 * a table.
 */
#pragma once
#include <jansson.h>

#include "ui/axes.h"
#include "ui/ui.h"

struct ui_matrix_options {
    bool intervals;          /* both bounds of each cell instead of its value */
    bool picked;             /* only some axes were asked for */
    struct ui_choice choice; /* which combinations are meant, where many are there */
    bool all_sizes;          /* not only the size that is the default of the axis bytes */
    int better;              /* 1 higher, -1 lower, 0 unknown: no colours */
};

void ui_matrix(struct ui *ui, const json_t *reply, const struct ui_matrix_options *options);
void ui_metrics(struct ui *ui, const json_t *reply);
