/* UCX's estimates of transports, by rates that were measured here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/formats.h"
#include "export/text.h"

#define RATES_MAX 65536

/* A variable of UCX's and the values that stand for it. */
struct variable {
    const char *name, *about;
    enum metric metric;
    const char *axes;
    enum place_kind kind; /* of both ends */
    bool is_same_place;   /* from a place to itself, not between two */
    double share;         /* of the value: bytes that UCX counts */
};

/* Source: ucx_info -c of UCX 1.13; docs/EXPORT.md names the variables that no value stands for. */
static const struct variable variables[] = {
    {"UCX_MM_BW", "cpu_copy between two cores, bytes=large", METRIC_CPU_COPY, "", PLACE_CORE, false,
     1},
    {"UCX_BCOPY_BW",
     "half of memory_bandwidth, operation=copy, threads=1, of the nearest memory: it counts reads "
     "and writes",
     METRIC_MEMORY_BANDWIDTH, "operation=copy;threads=1", PLACE_NUMA, true, 0.5},
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void put_variable(const struct snapshot *snap, const struct variable *variable,
                         double *rates, struct print *text)
{
    const struct value *first;
    size_t count = values_range(snap->values, variable->metric, PLACE_NONE, &first), found = 0;
    for (size_t i = 0; i < count && found < RATES_MAX; i++)
        if (first[i].source == VALUE_MEASURED && isfinite(first[i].value) && first[i].value > 0 &&
            graph_place(snap->graph, first[i].from)->kind == variable->kind &&
            graph_place(snap->graph, first[i].to)->kind == variable->kind &&
            (first[i].from == first[i].to) == variable->is_same_place &&
            strcmp(values_axes(snap->values, &first[i]), variable->axes) == 0)
            rates[found++] = first[i].value * variable->share;
    if (found == 0)
        return;
    qsort(rates, found, sizeof *rates, compare);
    export_text(text, "# %s: median of %zu, %.4g to %.4g GB/s\n%s=%.0fBps\n", variable->about,
                found, rates[0] / 1e9, rates[found - 1] / 1e9, variable->name,
                (rates[(found - 1) / 2] + rates[found / 2]) / 2);
}

enum berth_code export_ucx(const struct export_input *input, struct print *text,
                           struct berth_err *err)
{
    double *rates = calloc(RATES_MAX, sizeof *rates);
    if (rates == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the export");
    export_text_head(text, input->snap, "# ", "");
    size_t before = text->length;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        put_variable(input->snap, &variables[i], rates, text);
    free(rates);
    return text->length > before
               ? BERTH_OK
               : err_set(err, BERTH_ABSENT,
                         "no rate was measured here for which UCX has a variable");
}
