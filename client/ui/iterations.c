/* The table of gpu_touch: the iterations from which managed memory is faster than another kind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/matrix.h"

static bool is_of(const json_t *cell, const json_t *other, const char *kind, const char *iterations)
{
    const json_t *axes = json_object_get(cell, "axes");
    return strcmp(ui_member(cell, "from"), ui_member(other, "from")) == 0 &&
           strcmp(ui_member(cell, "to"), ui_member(other, "to")) == 0 &&
           strcmp(ui_member(axes, "stride"), "word") == 0 &&
           strcmp(ui_member(axes, "xnack"), ui_member(json_object_get(other, "axes"), "xnack")) ==
               0 &&
           strcmp(ui_member(axes, "kind"), kind) == 0 &&
           (iterations == NULL || strcmp(ui_member(axes, "iterations"), iterations) == 0);
}

static double time_of(const json_t *cells, const json_t *other, const char *kind,
                      const char *iterations)
{
    size_t i;
    const json_t *cell;
    json_array_foreach(cells, i, cell)
    {
        if (is_of(cell, other, kind, iterations))
            return ui_member_number(cell, "value");
    }
    return NAN;
}

/* Returns the least measured iterations; 0: never, or unknown. */
static long first_faster(const json_t *cells, const json_t *of, const char *than)
{
    long least = 0;
    size_t i;
    const json_t *cell;
    json_array_foreach(cells, i, cell)
    {
        const char *word = ui_member(json_object_get(cell, "axes"), "iterations");
        long iterations = strtol(word, NULL, 10);
        if (is_of(cell, of, "managed", NULL) &&
            ui_member_number(cell, "value") < time_of(cells, of, than, word) &&
            (least == 0 || iterations < least))
            least = iterations;
    }
    return least;
}

void ui_iterations(struct ui *ui, const json_t *reply)
{
    static const char *const kinds[] = {"system", "pinned"};
    const json_t *cells = json_object_get(reply, "cells"), *cell;
    struct ui_table table;
    size_t i, rows = 0;
    ui_table_begin(&table, ui, "llrr");
    json_array_foreach(cells, i, cell)
    {
        if (!is_of(cell, cell, "managed", "1") || isnan(ui_member_number(cell, "value")))
            continue;
        if (rows++ == 0) {
            ui_cell(&table, "from");
            ui_cell(&table, "to");
            ui_cell(&table, "than malloc's");
            ui_cell(&table, "than pinned");
        }
        ui_cell(&table, "%s", ui_member(cell, "from"));
        ui_cell(&table, "%s", ui_member(cell, "to"));
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            long first = first_faster(cells, cell, kinds[k]);
            if (first > 0)
                ui_cell(&table, "%ld", first);
            else
                ui_cell(&table, "-");
        }
    }
    if (rows > 0)
        ui_put(ui, "\nIterations, of those measured, from which managed memory is faster\n");
    ui_table_end(&table, 2, true);
}
