#include "common/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_WIDTH 16 /* least width of a column, in letters */
#define MARGIN      8  /* least width of the names on the left */
/* fraction of the value: a wider interval is printed by its ends, because a percentage hides its
 * side */
#define FAR 0.05

static int compare_axes(const struct probe_axes *a, const struct probe_axes *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (size_t i = 0; i < 2 * a->count; i++) {
        /* Numbers ascend as numbers: longer ones are larger. */
        size_t x = strlen(a->text[i]), y = strlen(b->text[i]);
        bool number = a->text[i][0] >= '0' && a->text[i][0] <= '9';
        int order = number && x != y ? (x < y ? -1 : 1) : strcmp(a->text[i], b->text[i]);
        if (order != 0)
            return order;
    }
    return 0;
}

/* Names ascend by kind, then number. PCI addresses, which have no kind, ascend as text. */
static int compare_names(const char *a, const char *b)
{
    size_t x = strcspn(a, "0123456789"), y = strcspn(b, "0123456789");
    int order = x != y ? (x < y ? -1 : 1) : strncmp(a, b, x);
    if (order == 0 && x > 0)
        order = atoi(a + x) - atoi(b + y);
    return order != 0 ? order : strcmp(a, b);
}

static int compare_rows(const void *a, const void *b)
{
    const struct probe_row *x = a, *y = b;
    int order = x->metric != y->metric ? (x->metric < y->metric ? -1 : 1)
                                       : compare_axes(&x->axes, &y->axes);
    if (order == 0)
        order = compare_names(x->from, y->from);
    return order != 0 ? order : compare_names(x->to, y->to);
}

static int compare_columns(const void *a, const void *b)
{
    return compare_names(*(const char *const *)a, *(const char *const *)b);
}

static void print_title(const struct probe_row *row, FILE *file)
{
    enum probe_metric metric = row->metric;
    fprintf(file, "\n%s", probe_metric_name(metric));
    for (size_t i = 0; i < row->axes.count; i++)
        fprintf(file, " %s=%s", row->axes.text[2 * i], row->axes.text[2 * i + 1]);
    bool rate = strcmp(probe_metric_unit(metric), "bytes_per_s") == 0;
    fprintf(file, ", %s, and how far its 95 %% interval reaches\n",
            rate ? "GB/s" : probe_metric_unit(metric));
}

/* Formats a cell: "101.50 ± 1.0%" with the distance of the farther end, or "561.02
 * 489.11..4510.00". Returns its number of letters. */
static int write_number(const struct probe_row *row, char *text, size_t size)
{
    if (row->why != NULL)
        return snprintf(text, size, "-");
    double unit = strcmp(probe_metric_unit(row->metric), "bytes_per_s") == 0 ? 1e9 : 1;
    double value = row->summary.value, low = row->summary.low, high = row->summary.high;
    if (!isfinite(low) || !isfinite(high))
        return snprintf(text, size, "%.2f", value / unit);
    double reach = high > low ? fmax(high - value, value - low) / value : 0;
    if (reach > FAR)
        return snprintf(text, size, "%.2f %.2f..%.2f", value / unit, low / unit, high / unit);
    /* the sign has two bytes */
    return snprintf(text, size, "%.2f ±%4.1f%%", value / unit, 100 * reach) - 1;
}

/* Prints each reason once, with its count. */
static void print_reasons(const struct probe_row *rows, size_t count, FILE *file)
{
    for (size_t i = 0; i < count; i++) {
        const char *why = rows[i].why;
        size_t same = 0, before = 0;
        for (size_t j = 0; why != NULL && j < count; j++)
            if (rows[j].why != NULL && strcmp(rows[j].why, why) == 0) {
                same++;
                before += j < i;
            }
        if (why != NULL && before == 0)
            fprintf(file, "  not measured, %zu: %s\n", same, why);
    }
}

/* Prints one matrix: rows have the same metric and axes and ascend by from, then to. */
static bool print_matrix(const struct probe_row *rows, size_t count, FILE *file)
{
    const char **columns = malloc(count * sizeof *columns);
    if (columns == NULL)
        return false;
    size_t width = 0;
    char text[128];
    int letters = LEAST_WIDTH;
    for (size_t i = 0; i < count; i++) {
        int length = write_number(&rows[i], text, sizeof text);
        letters = length > letters ? length : letters;
        columns[i] = rows[i].to;
    }
    qsort(columns, count, sizeof *columns, compare_columns);
    for (size_t i = 0; i < count; i++)
        if (width == 0 || strcmp(columns[width - 1], columns[i]) != 0)
            columns[width++] = columns[i];

    print_title(&rows[0], file);
    int margin = MARGIN;
    for (size_t i = 0; i < count; i++)
        margin = (int)strlen(rows[i].from) > margin ? (int)strlen(rows[i].from) : margin;
    fprintf(file, "  %-*s", margin, "from\\to");
    for (size_t c = 0; c < width; c++)
        fprintf(file, " %*s", letters, columns[c]);
    for (size_t i = 0, c = width; i < count; i++) {
        const struct probe_row *row = &rows[i];
        /* A duplicate pair gets a line of its own. */
        if (i == 0 || strcmp(row->from, rows[i - 1].from) != 0 ||
            strcmp(row->to, rows[i - 1].to) == 0) {
            fprintf(file, "\n  %-*s", margin, row->from);
            c = 0;
        }
        for (; strcmp(columns[c], row->to) != 0; c++)
            fprintf(file, " %*s", letters, "");
        int length = write_number(&rows[i], text, sizeof text);
        fprintf(file, " %*s%s", letters - length, "", text);
        c++;
    }
    fprintf(file, "\n");
    print_reasons(rows, count, file);
    free(columns);
    return true;
}

bool probe_table_print(struct probe_row *rows, size_t count, FILE *file)
{
    qsort(rows, count, sizeof *rows, compare_rows);
    bool ok = true;
    for (size_t first = 0, next; ok && first < count; first = next) {
        for (next = first + 1; next < count && rows[next].metric == rows[first].metric &&
                               compare_axes(&rows[next].axes, &rows[first].axes) == 0;)
            next++;
        ok = print_matrix(rows + first, next - first, file);
    }
    return ok;
}
