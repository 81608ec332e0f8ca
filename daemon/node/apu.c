#include "node/apu.h"

#include <string.h>

/* Products, by a part of the model's name. AMD, "AMD CDNA 3 Architecture" white paper. */
static const char *const models[] = {"MI300A"};

bool apu_is(const struct place *gpu)
{
    for (size_t i = 0; gpu->model != NULL && i < sizeof models / sizeof models[0]; i++)
        if (strstr(gpu->model, models[i]) != NULL)
            return true;
    return false;
}

place_id apu_at(const struct graph *graph, place_id numa)
{
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        if (graph_place(graph, g)->numa == numa && apu_is(graph_place(graph, g)))
            return g;
    return PLACE_NONE;
}
