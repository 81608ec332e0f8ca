/**
 * Cells of one metric at many sizes (the axis bytes): those at the metric's own size, "large" for
 * most, and what is said of the others.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/cells.h"
#include "ui/ui.h"

#define UI_SIZES_MOST 64

struct ui_sizes {
    int64_t bytes[UI_SIZES_MOST]; /* of the others, each once, ascending */
    size_t count;
};

/* Those of the reply's cells whose axis bytes is own, each a reference; ret_others gets the other
 * sizes. NULL when out of memory. */
json_t *ui_sizes_own(const json_t *cells, const char *own, struct ui_sizes *ret_others);

/* Whether some group is a matrix: several rows and columns, and not only what stays in one place.
 */
bool ui_sizes_matrix(const struct ui_cells *cells);

/* One line: which other sizes there are and how to see them; nothing when there are none. */
void ui_sizes_rest(struct ui *ui, const struct ui_sizes *others);
