#include "node/engine_limit.h"

#include <math.h>
#include <string.h>

#include "node/gpu.h"

/* A gpu of AMD copies by its SDMA engines, each made for the width of PCIe. They do not fill wide
 * xGMI links, but kernels do. The last row is for gpus without a published figure. */
static const struct engine_limit limits[] = {
    {"gfx90a", 50e9,
     "Schieffer et al., Understanding Data Movement in AMD Multi-GPU Systems with Infinity Fabric, "
     "V-A",
     36e9},
    {NULL, INFINITY, NULL, INFINITY},
};

const struct engine_limit *engine_limit_of(const struct graph *graph, place_id gpu)
{
    const struct place *place = graph_place(graph, gpu);
    const char *gfx = place_detail(place, "gfx");
    if (place->kind != PLACE_GPU || gpu_vendor(place) != VENDOR_AMD)
        return NULL;
    const struct engine_limit *limit = limits;
    while (limit->gfx != NULL && (gfx == NULL || strcmp(limit->gfx, gfx) != 0))
        limit++;
    return limit;
}
