#include "cost/memkind.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/gpu.h"
#include "node/locality.h"

const char *const memkind_names[] = {"system", "pinned", "managed", "device", NULL};

enum berth_code memkind_node_init(const struct graph *graph, struct memkind_node *ret,
                                  struct berth_err *err)
{
    place_id *numa_of = malloc((graph->place_count + 1) * sizeof *numa_of);
    if (numa_of == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus' memories");
    for (size_t i = 0; i < graph->place_count; i++)
        numa_of[i] = PLACE_NONE;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        if (gpu_is_apu(graph_place(graph, g)))
            numa_of[g] = locality_numa(graph, g);
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        bool is_gpus = graph_place(graph, link->from)->kind == PLACE_GPU ||
                       graph_place(graph, link->to)->kind == PLACE_GPU;
        bool is_numas = graph_place(graph, link->from)->kind == PLACE_NUMA ||
                        graph_place(graph, link->to)->kind == PLACE_NUMA;
        bool is_apus =
            gpu_is_apu(graph_place(graph, link->from)) || gpu_is_apu(graph_place(graph, link->to));
        if (link->kind == LINK_MEMBUS && is_gpus && is_numas && !is_apus) {
            numa_of[link->from] = link->to;
            numa_of[link->to] = link->from;
        }
    }
    *ret = (struct memkind_node){graph, numa_of};
    return BERTH_OK;
}

void memkind_node_done(struct memkind_node *node)
{
    free(node->numa_of);
    node->numa_of = NULL;
}

bool memkind_is_one(const struct memkind_node *node, place_id gpu)
{
    place_id numa = node->numa_of[gpu];
    return numa != PLACE_NONE && node->numa_of[numa] == PLACE_NONE;
}

place_id memkind_owner(const struct memkind_node *node, place_id memory)
{
    if (graph_place(node->graph, memory)->kind == PLACE_GPU)
        return memkind_is_one(node, memory) ? PLACE_NONE : memory;
    return node->numa_of[memory];
}

place_id memkind_one_of(const struct memkind_node *node, place_id memory)
{
    for (place_id g = graph_next(node->graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(node->graph, PLACE_GPU, g + 1))
        if (node->numa_of[g] == memory && memkind_is_one(node, g))
            return g;
    return PLACE_NONE;
}

place_id memkind_numa(const struct memkind_node *node, place_id memory)
{
    return graph_place(node->graph, memory)->kind == PLACE_GPU ? node->numa_of[memory] : memory;
}

/* ---- reach ---- */

/* Words of the gpu probe about a transfer that is impossible, not one that it had no time for. */
static bool is_never(const char *why)
{
    static const char *const nevers[] = {"does not reach", "no managed memory", "has no access"};
    for (size_t i = 0; why != NULL && i < sizeof nevers / sizeof nevers[0]; i++)
        if (strstr(why, nevers[i]) != NULL)
            return true;
    return false;
}

static enum memkind_reach look(const struct snapshot *snap, enum metric metric, place_id from,
                               place_id to, const char *axes)
{
    const struct value *v;
    for (size_t n = values_range_to(snap->values, metric, from, to, &v); n > 0; v++, n--)
        if (strcmp(values_axes(snap->values, v), axes) == 0)
            return v->value > 0           ? MEMKIND_REACHED
                   : is_never(v->why_not) ? MEMKIND_UNREACHED
                                          : MEMKIND_UNKNOWN;
    return MEMKIND_UNKNOWN;
}

/* Reached where it is from any NUMA node. */
static enum memkind_reach look_from_any(const struct snapshot *snap, place_id gpu, const char *axes)
{
    enum memkind_reach found = MEMKIND_UNKNOWN;
    for (place_id n = graph_next(snap->graph, PLACE_NUMA, 0);
         n != PLACE_NONE && found != MEMKIND_REACHED;
         n = graph_next(snap->graph, PLACE_NUMA, n + 1)) {
        enum memkind_reach reach = look(snap, METRIC_HOST_GPU_KERNEL, n, gpu, axes);
        found = reach == MEMKIND_UNKNOWN ? found : reach;
    }
    return found;
}

static bool is_coherent(const struct memkind_node *node, place_id gpu)
{
    for (size_t i = 0; i < node->graph->link_count; i++) {
        const struct link *link = &node->graph->links[i];
        if (link->kind == LINK_C2C && (link->from == gpu || link->to == gpu))
            return true;
    }
    return memkind_is_one(node, gpu);
}

/* True when a rate of the gpu in ordinary memory was measured. */
static bool uses_system(const struct snapshot *snap, place_id gpu)
{
    const struct value *v;
    for (size_t n = values_range(snap->values, METRIC_MEMORY_BANDWIDTH, gpu, &v); n > 0; v++, n--)
        if (graph_place(snap->graph, v->to)->kind == PLACE_NUMA && v->value > 0 &&
            values_axes(snap->values, v)[0] == '\0')
            return true;
    return false;
}

struct memkind_user memkind_user(const struct memkind_node *node, const struct snapshot *snap,
                                 place_id gpu)
{
    static const char *const managed[] = {"kind=managed;operation=read", "kind=managed",
                                          "kind=migrating;operation=read"};
    struct memkind_user user = {.gpu = gpu};
    if (gpu == PLACE_NONE)
        return user;
    if (!uses_system(snap, gpu))
        user.system.reach = look_from_any(snap, gpu, "kind=system;operation=read");
    if (user.system.reach != MEMKIND_REACHED &&
        look_from_any(snap, gpu, "kind=system;operation=read;xnack=on") == MEMKIND_REACHED)
        user.system = (struct memkind_reached){MEMKIND_REACHED, .xnack = true};
    if (user.system.reach == MEMKIND_UNKNOWN && is_coherent(node, gpu))
        user.system.reach = MEMKIND_REACHED;
    for (size_t i = 0; i < sizeof managed / sizeof managed[0]; i++) {
        enum memkind_reach reach = look_from_any(snap, gpu, managed[i]);
        if (reach == MEMKIND_REACHED) {
            user.managed.reach = reach;
            break;
        }
        if (reach == MEMKIND_UNREACHED)
            user.managed.reach = reach;
    }
    return user;
}

/* Managed memory moves to the cores that touch it, or is touched from afar: they always reach it.
 */
struct memkind_reached memkind_reaches(const struct memkind_user *user,
                                       const struct memkind_node *node, const struct snapshot *snap,
                                       const struct memkind_place *place)
{
    struct memkind_reached found = {MEMKIND_REACHED, false};
    if (user->gpu == PLACE_NONE) {
        if (place->kind == MEMKIND_DEVICE && !memkind_is_one(node, place->gpu))
            found.reach = MEMKIND_UNREACHED;
    } else if (place->kind == MEMKIND_SYSTEM) {
        found = user->system;
    } else if (place->kind == MEMKIND_MANAGED) {
        found = user->managed;
    } else if (place->kind == MEMKIND_DEVICE && place->gpu != user->gpu) {
        found.reach = look(snap, METRIC_GPU_GPU_KERNEL, user->gpu, place->gpu, "operation=read");
    }
    return found;
}

/* ---- calls ---- */

/* CUDA takes pages as the thread's policy says; HIP takes the gpu's own node unless told to follow
 * the policy. */
void memkind_call(const struct memkind_node *node, const struct memkind_place *place, int64_t bytes,
                  bool xnack, char *buffer, size_t size)
{
    bool has_gpu = place->gpu != PLACE_NONE;
    const struct place *memory = graph_place(node->graph, place->memory),
                       *gpu = graph_place(node->graph, has_gpu ? place->gpu : place->memory);
    bool is_amd = has_gpu && gpu_vendor(gpu) == VENDOR_AMD,
         is_near = has_gpu && locality_numa(node->graph, place->gpu) == place->memory,
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
