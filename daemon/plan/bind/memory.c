#include "plan/bind/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/memcores.h"
#include "node/locality.h"

/* Counts the task's cores in a NUMA node. */
static unsigned cores_in(const struct bind_cores *cores, const struct cpuset *cpus, place_id numa)
{
    unsigned count = 0;
    for (size_t i = 0; i < cores->count; i++)
        count += cores->group[cores->core[i].group].numa == numa &&
                 cpuset_intersects(&cores->core[i].use, cpus);
    return count;
}

/* Whether some cores of a NUMA node are nearest to the task's GPUs. */
static bool has_near(const struct bind_cores *cores, const bool *is_near, place_id numa)
{
    for (size_t g = 0; g < cores->group_count; g++)
        if (is_near[g] && cores->group[g].numa == numa)
            return true;
    return false;
}

/* Finds the NUMA node of a task's cores: of those with at least half as many as the fullest
 * (without GPUs: as many) the wanted one, else one next to its GPUs, else the fullest. */
static enum berth_code find_home(const struct snapshot *snap, const struct bind_cores *cores,
                                 const struct memory_request *request, size_t task, place_id *ret,
                                 struct berth_err *err)
{
    const struct cpuset *cpus = &request->cpus[task];
    size_t gpus = request->gpus_per_task;
    place_id wanted = request->wanted != NULL ? request->wanted[task] : PLACE_NONE;
    bool *is_near = calloc(cores->group_count + 1, sizeof *is_near);
    unsigned most = 0, best_count = 0;
    place_id best = PLACE_NONE;
    if (is_near == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    enum berth_code code = plan_bind_cores_nearest(
        snap, cores, gpus > 0 ? request->gpus + task * gpus : NULL, gpus, is_near, err);
    for (size_t g = 0; g < cores->group_count; g++) {
        unsigned count = cores_in(cores, cpus, cores->group[g].numa);
        most = cores->group[g].numa != PLACE_NONE && count > most ? count : most;
    }
    for (size_t g = 0; code == BERTH_OK && g < cores->group_count; g++) {
        place_id numa = cores->group[g].numa;
        unsigned count = cores_in(cores, cpus, numa);
        if (numa == PLACE_NONE || count == 0 || count * (gpus > 0 ? 2 : 1) < most)
            continue;
        int order = (best == wanted) - (numa == wanted);
        if (order == 0)
            order = has_near(cores, is_near, best) - has_near(cores, is_near, numa);
        if (best == PLACE_NONE || order < 0 || (order == 0 && count > best_count)) {
            best = numa;
            best_count = count;
        }
    }
    free(is_near);
    *ret = best;
    return code;
}

static bool is_usable(const struct snapshot *snap, const struct allowed *allowed, place_id id)
{
    const struct place *numa = graph_place(snap->graph, id);
    const char *memory = place_detail(numa, "memory");
    return numa->capacity_bytes != 0 && (memory == NULL || strcmp(memory, "gpu") != 0) &&
           allowed_has_memory(allowed, id);
}

place_id plan_bind_memory_nearest(const struct snapshot *snap, const struct allowed *allowed,
                                  place_id home)
{
    place_id best = PLACE_NONE;
    double least = INFINITY;
    for (place_id n = graph_next(snap->graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(snap->graph, PLACE_NUMA, n + 1)) {
        double distance = home != PLACE_NONE ? locality_distance(snap, home, n) : 0;
        if (is_usable(snap, allowed, n) && distance < least) {
            least = distance;
            best = n;
        }
    }
    return best;
}

/* Replaces the nearest memory by structure by one whose measured latency is certainly less. */
static void measured_memory(const struct allowed *allowed, struct memcores_access *access)
{
    const struct snapshot *snap = access->snap;
    place_id nearest = access->memory, best = nearest;
    struct memcores_value least = memcores_latency(access, INFINITY);
    for (place_id n = graph_next(snap->graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(snap->graph, PLACE_NUMA, n + 1)) {
        if (n == nearest || !is_usable(snap, allowed, n))
            continue;
        access->memory = n;
        struct memcores_value latency = memcores_latency(access, INFINITY);
        if (latency.high < least.low) {
            least = latency;
            best = n;
        }
    }
    access->memory = best;
}

/* Cites what a task's cores get from the memory that is chosen. */
static enum berth_code choose(const struct snapshot *snap, const struct allowed *allowed,
                              const struct cpuset *cpus, struct evidence *evidence,
                              place_id *memory, struct berth_err *err)
{
    struct memcores who;
    struct memkind_node node;
    struct evidence uncited = {0};
    struct memtime_basis trial = {.evidence = &uncited}, basis = {.evidence = evidence};
    enum berth_code code = memkind_node_init(snap->graph, &node, err);
    if (code != BERTH_OK)
        return code;
    code = memcores_init(snap->graph, cpus, &who, err);
    if (code == BERTH_OK) {
        struct memcores_access access = {
            .snap = snap, .node = &node, .who = &who, .memory = *memory, .basis = &trial};
        measured_memory(allowed, &access);
        *memory = access.memory;
        access.basis = &basis;
        memcores_latency(&access, INFINITY);
        memcores_rate(&access, false);
        if (trial.no_memory || basis.no_memory)
            code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
        memcores_done(&who);
    }
    evidence_done(&uncited);
    memkind_node_done(&node);
    return code;
}

enum berth_code plan_bind_memory(const struct snapshot *snap, const struct allowed *allowed,
                                 const struct bind_cores *cores,
                                 const struct memory_request *request, struct evidence *evidence,
                                 place_id *ret_memory, place_id *ret_home, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t t = 0; code == BERTH_OK && t < request->tasks; t++) {
        code = find_home(snap, cores, request, t, &ret_home[t], err);
        if (code != BERTH_OK)
            break;
        ret_memory[t] = plan_bind_memory_nearest(snap, allowed, ret_home[t]);
        if (ret_memory[t] != PLACE_NONE)
            code = choose(snap, allowed, &request->cpus[t], evidence, &ret_memory[t], err);
    }
    return code;
}
