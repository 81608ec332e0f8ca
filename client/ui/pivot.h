/**
 * A matrix with many combinations of axes, turned for reading. The axis with the most values goes
 * down the rows, the pairs of places across the columns. Each combination of the other axes has a
 * table of its own.
 */
#pragma once
#include "ui/cells.h"

/* True when turning helps: such an axis exists, and the pairs are few enough for columns. */
bool ui_pivot_helps(const struct ui_cells *cells);

/* Turns the cells. The names are borrowed from cells or owned by the result; ui_cells_free ends it.
 * NULL when out of memory. */
struct ui_cells *ui_pivot(const struct ui_cells *cells);
