/* Prints results for a person: one matrix for each metric and combination of axes, from down, to
 * across. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/metric.h"
#include "common/record.h"
#include "common/stats.h"

struct probe_row {
    enum probe_metric metric;
    char from[24], to[24];
    struct probe_axes axes;
    struct probe_summary summary;
    const char *why; /* borrowed; NULL: measured */
};

/* Sorts the rows. False when out of memory. */
bool probe_table_print(struct probe_row *rows, size_t count, FILE *file);
