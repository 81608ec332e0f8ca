/**
 * GetMatrix's cells in groups of equal axes, each with the sorted names of its rows and columns.
 * Everything is borrowed from the reply.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ui_one_cell {
    const char *from, *to, *source, *why_not; /* why_not: NULL when there is a value */
    double value, low, high;                  /* NAN unknown */
    long repetitions;                         /* 0 unknown */
    int64_t measured_at_s;                    /* 0 unknown */
};

struct ui_group {
    char *axes;               /* "operation=read threads=all"; "" for the defaults */
    struct ui_one_cell *cell; /* rows * columns cells; from NULL: the daemon has no such cell */
    const char **row, **column;
    const char *corner; /* meaning of the rows; NULL: the place where a cell starts */
    size_t rows, columns, cells;
};

struct ui_cells {
    struct ui_group *group;
    size_t count, cells;
    char **name; /* owned names, not in the reply */
    size_t names;
};

/* Sorts the cells. NULL when out of memory, and for a matrix too large to draw (over 2^22 cells a
 * group). */
struct ui_cells *ui_cells_new(const json_t *cells);
void ui_cells_free(struct ui_cells *cells);

/* Compares names: gpu2 before gpu10, and kinds by their name. */
int ui_compare_names(const char *a, const char *b);

/* ui/pivot.c: turns a matrix with many combinations of axes for reading. The axis with the most
 * values goes down the rows, the pairs of places across the columns. Each combination of the other
 * axes has a table of its own. */

/* True when turning helps: such an axis exists, and the pairs are few enough for columns. */
bool ui_pivot_helps(const struct ui_cells *cells);

/* Turns the cells. The names are borrowed from cells or owned by the result; ui_cells_free ends it.
 * NULL when out of memory. */
struct ui_cells *ui_pivot(const struct ui_cells *cells);
