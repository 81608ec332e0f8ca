#include "cpu_table.h"

#include <stdlib.h>
#include <string.h>

struct row {
    const struct cpu_result *result;
    struct cpu_axes axes;
    size_t index;
};

static int compare_axes(const struct cpu_axes *a, const struct cpu_axes *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (size_t i = 0; i < 2 * a->count; i++) {
        /* Numbers ascend as numbers: longer ones are larger. */
        size_t x = strlen(a->text[i]), y = strlen(b->text[i]);
        int order = x != y && (i & 1) && a->text[i][0] <= '9' ? (x < y ? -1 : 1) : strcmp(a->text[i], b->text[i]);
        if (order != 0)
            return order;
    }
    return 0;
}

/* Names ascend by kind, then number. */
static int compare_names(const char *a, const char *b)
{
    size_t x = strcspn(a, "0123456789"), y = strcspn(b, "0123456789");
    int order = x != y ? (x < y ? -1 : 1) : strncmp(a, b, x);
    return order != 0 ? order : atoi(a + x) - atoi(b + y);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->result->cell->metric != y->result->cell->metric)
        return x->result->cell->metric < y->result->cell->metric ? -1 : 1;
    int order = compare_axes(&x->axes, &y->axes);
    if (order == 0)
        order = compare_names(x->result->cell->from, y->result->cell->from);
    return order != 0 ? order : compare_names(x->result->cell->to, y->result->cell->to);
}

static void print_title(const struct row *row, double unit, FILE *file)
{
    enum probe_metric metric = row->result->cell->metric;
    fprintf(file, "\n%s", probe_metric_name(metric));
    for (size_t i = 0; i < row->axes.count; i++)
        fprintf(file, " %s=%s", row->axes.text[2 * i], row->axes.text[2 * i + 1]);
    fprintf(file, "  [%s, 95%% interval]\n", unit == 1 ? probe_metric_unit(metric) : "GB/s");
}

static void print_rows(const struct row *rows, size_t count, double unit, FILE *file)
{
    for (size_t i = 0; i < count; i++) {
        const struct cpu_result *result = rows[i].result;
        fprintf(file, "  %-8s %-8s ", result->cell->from, result->cell->to);
        if (result->why != NULL)
            fprintf(file, "%10s  %s\n", "-", result->why);
        else
            fprintf(file, "%10.2f  %.2f .. %.2f  n=%u\n", result->summary.value / unit, result->summary.low / unit,
                    result->summary.high / unit, result->summary.n);
    }
}

bool cpu_table_print(const struct cpu_report *report, FILE *file)
{
    struct row *rows = malloc((report->kept_count + 1) * sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < report->kept_count; i++)
        rows[i] = (struct row){.result = &report->kept[i], .axes = cpu_report_axes(report->kept[i].cell)};
    qsort(rows, report->kept_count, sizeof *rows, compare_rows);
    for (size_t first = 0, next; first < report->kept_count; first = next) {
        enum probe_metric metric = rows[first].result->cell->metric;
        for (next = first; next < report->kept_count && rows[next].result->cell->metric == metric &&
                           compare_axes(&rows[next].axes, &rows[first].axes) == 0;)
            next++;
        double unit = strcmp(probe_metric_unit(metric), "bytes_per_s") == 0 ? 1e9 : 1;
        print_title(&rows[first], unit, file);
        print_rows(rows + first, next - first, unit, file);
    }
    free(rows);
    return true;
}
