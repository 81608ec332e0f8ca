/* Results of all metrics as tables for a person. */
#include "cpu/report.h"

#include <stdlib.h>

#include "common/table.h"

bool cpu_table_print(const struct cpu_report *report, FILE *file)
{
    struct probe_row *rows = calloc(report->kept_count + 1, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < report->kept_count; i++) {
        const struct cpu_result *result = &report->kept[i];
        struct probe_row *row = &rows[i];
        row->metric = result->cell->metric;
        snprintf(row->from, sizeof row->from, "%s", result->cell->from);
        snprintf(row->to, sizeof row->to, "%s", result->cell->to);
        row->axes = cpu_report_axes(result->cell, result->bytes);
        row->summary = result->summary;
        row->why = result->why;
    }
    bool ok = probe_table_print(rows, report->kept_count, file);
    free(rows);
    return ok;
}
