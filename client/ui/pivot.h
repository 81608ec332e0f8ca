/**
 * A matrix with many combinations of axes, turned so that it can be read: the axis with the most
 * values goes down the rows, the pairs of places across the columns, and a table is left for each
 * combination of the other axes.
 */
#pragma once
#include "ui/cells.h"

/* Whether turning makes sense: there is such an axis, and the pairs are few enough to stand side by
 * side. */
bool ui_pivot_helps(const struct ui_cells *cells);

/* The names are borrowed from cells or the result's own; ui_cells_free ends it. NULL when out of
 * memory. */
struct ui_cells *ui_pivot(const struct ui_cells *cells);
