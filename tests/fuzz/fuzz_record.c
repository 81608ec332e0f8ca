/* libFuzzer target: any bytes as one record, and what parses as values on a small node. */
#include <stdint.h>
#include <stdlib.h>

#include "record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct berth_err err = {0};
    struct record record;
    if (record_parse((const char *)data, size, &record, &err) != BERTH_OK)
        return 0;
    if (record.kind == RECORD_VALUE || record.kind == RECORD_SKIP) {
        struct graph *graph = graph_new();
        struct values *values = values_new();
        if (graph == NULL || values == NULL || graph_add_place(graph, PLACE_MACHINE, 0) == PLACE_NONE)
            abort();
        place_id core = graph_add_place(graph, PLACE_CORE, 0), gpu = graph_add_place(graph, PLACE_GPU, 1);
        if (core == PLACE_NONE || gpu == PLACE_NONE)
            abort();
        graph->places[core].parent = graph->places[gpu].parent = 0;
        if (graph_finish(graph, &err) != BERTH_OK)
            abort();
        if (record_add_values(&record, graph, VALUE_MEASURED, 1, values, &err) == BERTH_OK) {
            values_finish(values);
            for (size_t i = 0; i < values->count; i++) {
                const struct value *v = &values->item[i];
                if ((v->why_not == NULL && !(v->value > 0)) || v->low > v->value || v->high < v->value)
                    abort();
            }
        }
        values_free(values);
        graph_unref(graph);
    }
    record_done(&record);
    return 0;
}
