/**
 * GetMatrix's cells sorted into groups of equal axes, with the names of each group's rows and
 * columns in their order. Everything is borrowed from the reply.
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
};

struct ui_group {
    char *axes;               /* "how=read threads=all", "" the defaults */
    struct ui_one_cell *cell; /* rows * columns of them; from NULL: the daemon has none */
    const char **row, **column;
    const char *corner; /* what the rows are, NULL where a cell starts */
    size_t rows, columns, cells;
};

struct ui_cells {
    struct ui_group *group;
    size_t count, cells;
    char **name; /* owned: names that are not the reply's */
    size_t names;
};

/* NULL when out of memory, also for a matrix too large to draw (over 2^22 cells a group). */
struct ui_cells *ui_cells_new(const json_t *cells);
void ui_cells_free(struct ui_cells *cells);

/* gpu2 before gpu10, and kinds by their name. */
int ui_compare_names(const char *a, const char *b);
