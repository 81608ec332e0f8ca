#include "cost/memkind.h"

#include <inttypes.h>
#include <stdio.h>

#include "cost/endpoints.h"
#include "node/gpu.h"
#include "node/locality.h"

const char *const memkind_names[] = {"system", "pinned", "managed", "device", NULL};

place_id memkind_common(const struct graph *graph, place_id gpu)
{
    return gpu_is_apu(graph_place(graph, gpu)) ? locality_numa(graph, gpu) : PLACE_NONE;
}

struct memkind_place memkind_place(const struct graph *graph, place_id memory, enum memkind kind,
                                   place_id gpu)
{
    struct memkind_place place = {memory,     kind,       gpu,   PLACE_NONE,
                                  PLACE_NONE, PLACE_NONE, false, false};
    if (graph_is(graph, memory, PLACE_GPU)) {
        place.owner = memory;
        place_id numa = graph_next(graph, PLACE_NUMA, 0);
        while (numa != PLACE_NONE && endpoints_gpu_of(graph, numa) != memory)
            numa = graph_next(graph, PLACE_NUMA, numa + 1);
        place.numa = numa;
    } else {
        place.numa = memory;
        place.apu = gpu_apu_at(graph, memory);
        place.owner = kind == MEMKIND_DEVICE ? gpu : endpoints_gpu_of(graph, memory);
    }
    place.moves = kind == MEMKIND_MANAGED && memory == gpu;
    place.migrates = place.moves && place.numa == PLACE_NONE;
    if (place.migrates)
        place.numa = locality_numa(graph, gpu);
    return place;
}

bool memkind_is_own(const struct graph *graph, const struct memkind_place *place, place_id gpu)
{
    return gpu != PLACE_NONE &&
           (place->owner == gpu ||
            (place->apu != PLACE_NONE && memkind_common(graph, gpu) == place->memory));
}

/* CUDA takes pages as the thread's policy says; HIP takes the gpu's own node unless told to follow
 * the policy. */
void memkind_call(const struct graph *graph, const struct memkind_place *place, int64_t bytes,
                  bool xnack, char *buffer, size_t size)
{
    bool has_gpu = place->gpu != PLACE_NONE;
    const struct place *memory = graph_place(graph, place->memory),
                       *gpu = graph_place(graph, has_gpu ? place->gpu : place->memory);
    bool is_amd = has_gpu && gpu_vendor(gpu) == VENDOR_AMD,
         is_near = has_gpu && locality_numa(graph, place->gpu) == place->memory,
         on_gpu = memory->kind == PLACE_GPU || place->kind == MEMKIND_DEVICE;
    const char *api = is_amd ? "hip" : "cuda";
    char policy[64] = "";
    if (!on_gpu && !(place->kind == MEMKIND_PINNED && is_amd && is_near))
        snprintf(policy, sizeof policy, "numa_set_preferred(%" PRId32 "); ", memory->number);
    if (place->kind == MEMKIND_SYSTEM)
        snprintf(buffer, size, "numa_alloc_onnode(%" PRId64 ", %" PRId32 ")%s", bytes,
                 memory->number, xnack ? " with HSA_XNACK=1 in the environment" : "");
    else if (place->kind == MEMKIND_DEVICE)
        snprintf(buffer, size, "%sMalloc(&p, %" PRId64 ") on %s", api, bytes, gpu->name);
    else if (place->kind == MEMKIND_MANAGED)
        snprintf(buffer, size, "%s%sMallocManaged(&p, %" PRId64 "), advised to %s", policy, api,
                 bytes, on_gpu ? gpu->name : "the host");
    else
        snprintf(buffer, size, "%s%s(&p, %" PRId64 ", %s)%s%s", policy,
                 is_amd ? "hipHostMalloc" : "cudaHostAlloc", bytes,
                 !is_amd   ? "cudaHostAllocDefault"
                 : is_near ? "hipHostMallocDefault"
                           : "hipHostMallocNumaUser",
                 is_amd && is_near ? " on " : "", is_amd && is_near ? gpu->name : "");
}
