#include "measure/gpu_use.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/probe_names.h"
#include "node/record.h"

bool gpu_use_has(const struct gpu_use *use, place_id gpu)
{
    bool found = false;
    for (size_t i = 0; i < use->count && !found; i++)
        found = use->item[i].gpu == gpu;
    return found;
}

bool gpu_use_has_each(const struct gpu_use *use, const struct gpu_use *gpus)
{
    bool all = true;
    for (size_t i = 0; i < gpus->count && all; i++)
        all = gpu_use_has(use, gpus->item[i].gpu);
    return all;
}

bool gpu_use_counts(const struct gpu_use *use, const struct graph *graph, place_id gpu)
{
    if (gpu == PLACE_NONE || graph_place(graph, gpu)->kind != PLACE_GPU)
        return false;
    const char *vendor = place_detail(graph_place(graph, gpu), "vendor");
    return use->vendor == NULL || (vendor != NULL && strcmp(vendor, use->vendor) == 0);
}

void gpu_use_add(struct gpu_use *use, place_id gpu, int64_t processes)
{
    if (!gpu_use_has(use, gpu) && use->count < GPU_USE_MAX) {
        use->item[use->count].gpu = gpu;
        use->item[use->count++].processes = processes;
    }
}

void gpu_use_line(struct gpu_use *use, const struct graph *graph, const char *line, size_t length)
{
    struct record record;
    if (record_parse(line, length, &record, NULL) != BERTH_OK)
        return;
    if (record.kind == RECORD_DEVICE) {
        /* slices of one device share its address */
        static const char *const keys[] = {"uuid", "pci"};
        json_int_t processes = json_integer_value(json_object_get(record.object, "processes"));
        place_id gpu = PLACE_NONE;
        for (size_t i = 0; i < 2 && gpu == PLACE_NONE; i++) {
            const char *name = json_string_value(json_object_get(record.object, keys[i]));
            gpu = name == NULL ? PLACE_NONE : graph_find(graph, name);
        }
        if (processes > 0 && gpu_use_counts(use, graph, gpu))
            gpu_use_add(use, gpu, processes);
    }
    record_done(&record);
}

bool gpu_use_has_all(const struct gpu_use *use, const struct graph *graph)
{
    bool all = true;
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE && all;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        all = !gpu_use_counts(use, graph, gpu) || gpu_use_has(use, gpu);
    return all;
}

bool gpu_use_has_places(const struct gpu_use *use, const struct graph *graph, const char *places)
{
    bool all = true;
    for (const char *c = places; *c != '\0' && all;) {
        char name[72];
        size_t length = strcspn(c, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, c);
        place_id gpu = graph_find(graph, name);
        all = !gpu_use_counts(use, graph, gpu) || gpu_use_has(use, gpu);
        c += length + (c[length] == ',');
    }
    return all;
}

char *gpu_use_names(const struct gpu_use *use, const struct graph *graph)
{
    struct probe_names names;
    probe_names_begin(&names);
    for (size_t i = 0; i < use->count; i++)
        probe_names_add(&names, ',', "%s", probe_names_gpu(graph, use->item[i].gpu));
    return probe_names_end(&names);
}
