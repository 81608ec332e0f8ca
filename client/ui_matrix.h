/**
 * A matrix drawn for a person, from GetMatrix's reply: one table for each combination of axes, coloured from best to worst; or
 * a list where the combinations are many and their cells few. And ListMetrics' reply as a table.
 */
#pragma once
#include <jansson.h>

#include "ui.h"

struct ui_matrix_options {
    bool intervals; /* both bounds of each cell instead of its value */
    int better;     /* 1 higher, -1 lower, 0 unknown: no colours */
};

void ui_matrix(struct ui *ui, const json_t *reply, const struct ui_matrix_options *options);
void ui_metrics(struct ui *ui, const json_t *reply);
