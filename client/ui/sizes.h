/**
 * Cells of one metric at many sizes (the axis bytes): the cells at the metric's own size, "large"
 * for most. A line names the other sizes.
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
    int64_t bytes[UI_SIZES_MOST]; /* the other sizes, each once, ascending */
    size_t count;
};

/* Cells of the reply at size own, each a new reference; ret_others receives the other sizes. NULL
 * when out of memory. */
json_t *ui_sizes_own(const json_t *cells, const char *own, struct ui_sizes *ret_others);

/* True when a group is a matrix: several rows and columns, and a transfer between two places. */
bool ui_sizes_matrix(const struct ui_cells *cells);

/* Prints one line about the other sizes and the option that shows them; nothing when there are
 * none. */
void ui_sizes_rest(struct ui *ui, const struct ui_sizes *others);
