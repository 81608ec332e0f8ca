/* libFuzzer target: any bytes as one record, and what parses as values, curves and sets on a small
 * node. */
#include <stdint.h>
#include <stdlib.h>

#include "node/curve.h"
#include "node/record.h"
#include "node/record_values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const struct record *record, const struct graph *graph)
{
    struct berth_err err = {0};
    struct values *values = values_new();
    if (values == NULL)
        abort();
    if (record_add_values(record, graph, VALUE_MEASURED, 1, values, &err) == BERTH_OK) {
        if (!curve_fill_large(values, graph))
            abort();
        for (size_t i = 0; i < values->count; i++) {
            const struct value *v = &values->item[i];
            if ((v->why_not == NULL && !(v->value > 0)) || v->low > v->value || v->high < v->value)
                abort();
        }
    }
    values_free(values);
}

static void check_set(const struct record *record, const struct graph *graph)
{
    struct berth_err err = {0};
    struct sets *sets = sets_new();
    if (sets == NULL)
        abort();
    if (record_add_set(record, graph, VALUE_MEASURED, 1, sets, &err) == BERTH_OK)
        for (size_t i = 0; i < sets->item[0].flow_count; i++) {
            const struct set_flow *flow = &sets->item[0].flow[i];
            if (!(flow->bytes_per_s > 0) || flow->low > flow->bytes_per_s ||
                flow->high < flow->bytes_per_s)
                abort();
        }
    sets_free(sets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_err err = {0};
    struct record record;
    if (record_parse((const char *)data, size, &record, &err) != BERTH_OK)
        return 0;
    if (record.kind == RECORD_VALUE || record.kind == RECORD_SKIP || record.kind == RECORD_SET) {
        struct graph *graph = graph_new();
        if (graph == NULL || graph_add_place(graph, PLACE_MACHINE, 0) == PLACE_NONE)
            abort();
        place_id core = graph_add_place(graph, PLACE_CORE, 0),
                 gpu = graph_add_place(graph, PLACE_GPU, 1);
        if (core == PLACE_NONE || gpu == PLACE_NONE)
            abort();
        graph->places[core].parent = graph->places[gpu].parent = 0;
        if (graph_finish(graph, &err) != BERTH_OK)
            abort();
        if (record.kind == RECORD_SET)
            check_set(&record, graph);
        else
            check_values(&record, graph);
        graph_unref(graph);
    }
    record_done(&record);
    return 0;
}
