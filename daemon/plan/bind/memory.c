#include "plan/bind/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/evidence.h"
#include "cost/memrate.h"
#include "node/allowed.h"
#include "node/locality.h"
#include "node/reasons.h"

struct work {
    const struct snapshot *snap;
    const struct allowed *allowed;
    struct bind_cores *cores;
};

/* What decides which of the NUMA nodes with a task's cores is its own. */
struct homes {
    unsigned *cores; /* by place: of the task */
    /* by place: its cores are the nearest to the task's gpus; told where there are several */
    bool *is_near;
    unsigned most; /* of cores */
};

/* With gpus, what they stream comes from that memory: a node with at least half as many cores as
 * the fullest may be preferred for its nearness. */
static bool is_before(const struct homes *homes, place_id a, place_id b, place_id wanted)
{
    if ((a == wanted) != (b == wanted))
        return a == wanted;
    if (homes->is_near[a] != homes->is_near[b])
        return homes->is_near[a];
    return homes->cores[a] > homes->cores[b];
}

/* Counts its cores; in how many NUMA nodes they are. */
static size_t count_cores(const struct work *work, const struct bind_task *task,
                          struct homes *homes)
{
    size_t numas = 0;
    for (size_t i = 0; i < work->cores->count; i++) {
        place_id numa = locality_numa(work->snap->graph, work->cores->core[i].id);
        if (numa == PLACE_NONE || !cpuset_intersects(&work->cores->core[i].use, &task->cpus))
            continue;
        numas += homes->cores[numa]++ == 0;
        homes->most = homes->cores[numa] > homes->most ? homes->cores[numa] : homes->most;
    }
    return numas;
}

/* Of the NUMA nodes with at least half as many of the task's cores as that with most (without gpus:
 * with as many) the wanted one, else one next to its gpus, else that with most; of equals the
 * first. */
static place_id home_numa(const struct work *work, size_t gpus, place_id wanted,
                          const struct homes *homes)
{
    place_id best = PLACE_NONE;
    for (size_t i = 0; i < work->cores->count; i++) {
        place_id numa = locality_numa(work->snap->graph, work->cores->core[i].id);
        if (numa == PLACE_NONE || homes->cores[numa] == 0 ||
            homes->cores[numa] * (gpus > 0 ? 2 : 1) < homes->most)
            continue;
        if (best == PLACE_NONE || is_before(homes, numa, best, wanted))
            best = numa;
    }
    return best;
}

/* Which NUMA nodes have the cores that are nearest to the task's gpus. */
static enum berth_code find_near(const struct work *work, const struct bind_task *task, size_t gpus,
                                 struct homes *homes, struct berth_err *err)
{
    bool *nearest = calloc(work->cores->group_count + 1, sizeof *nearest);
    if (nearest == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    enum berth_code code =
        plan_bind_cores_nearest(work->snap, work->cores, task->gpus, gpus, nearest, err);
    for (size_t g = 0; code == BERTH_OK && g < work->cores->group_count; g++)
        if (nearest[g] && work->cores->group[g].numa != PLACE_NONE)
            homes->is_near[work->cores->group[g].numa] = true;
    free(nearest);
    return code;
}

static bool is_gpu_memory(const struct place *numa)
{
    const char *memory = place_detail(numa, "memory");
    return memory != NULL && strcmp(memory, "gpu") == 0;
}

place_id plan_bind_memory_nearest(const struct snapshot *snap, const struct allowed *allowed,
                                  place_id home)
{
    const struct graph *graph = snap->graph;
    place_id best = PLACE_NONE;
    double least = INFINITY;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        const struct place *numa = graph_place(graph, n);
        double distance = home != PLACE_NONE ? locality_distance(snap, home, n) : 0;
        if (numa->capacity_bytes != 0 && !is_gpu_memory(numa) && allowed_has_memory(allowed, n) &&
            distance < least) {
            least = distance;
            best = n;
        }
    }
    return best;
}

/* What a task's cores are known to get from one memory, cited in evidence. */
static enum berth_code rates_of(const struct work *work, const struct accessor *who,
                                place_id memory, struct evidence *evidence,
                                struct memrate *ret_latency, struct berth_err *err)
{
    struct reasons unsaid = {0}; /* the values say themselves where they come from */
    struct memrate_basis basis = {.evidence = evidence, .warnings = &unsaid};
    struct memrate stream;
    enum berth_code code = memrate_latency(work->snap, who, memory, &basis, ret_latency, err);
    return code == BERTH_OK ? memrate_stream(work->snap, who, memory, "read", &basis, &stream, err)
                            : code;
}

/* The memory with the least latency, when that is measured to be less than that of the nearest by
 * structure; else that. */
static enum berth_code measured_memory(const struct work *work, const struct accessor *who,
                                       place_id nearest, place_id *ret_memory,
                                       struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct evidence unsaid = {0};
    struct memrate least, latency;
    place_id best = nearest;
    enum berth_code code = rates_of(work, who, nearest, &unsaid, &least, err);
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); code == BERTH_OK && n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        const struct place *numa = graph_place(graph, n);
        if (n == nearest || numa->capacity_bytes == 0 || is_gpu_memory(numa) ||
            !allowed_has_memory(work->allowed, n))
            continue;
        code = rates_of(work, who, n, &unsaid, &latency, err);
        if (code == BERTH_OK && latency.high < least.low) {
            least = latency;
            best = n;
        }
    }
    evidence_done(&unsaid);
    if (code == BERTH_OK)
        *ret_memory = best;
    return code;
}

static enum berth_code choose(const struct work *work, size_t t, place_id home,
                              struct bind_answer *answer, struct berth_err *err)
{
    struct bind_task *task = &answer->task[t];
    struct accessor who;
    struct memrate latency;
    task->memory = plan_bind_memory_nearest(work->snap, work->allowed, home);
    if (task->memory == PLACE_NONE) {
        reasons_note(&answer->warnings,
                     "no memory is named: this node has no NUMA node with memory that is allowed");
        return BERTH_OK;
    }
    enum berth_code code = memrate_cores(work->snap->graph, &task->cpus, &who, err);
    if (code != BERTH_OK)
        return code;
    code = measured_memory(work, &who, task->memory, &task->memory, err);
    if (code == BERTH_OK)
        code = rates_of(work, &who, task->memory, &answer->evidence, &latency, err);
    memrate_done(&who);
    if (home != PLACE_NONE && task->memory != home) {
        char text[120];
        snprintf(
            text, sizeof text,
            "memory of %s is used, as %s next to its cores has none, is not allowed or is slower",
            graph_place(work->snap->graph, task->memory)->name,
            graph_place(work->snap->graph, home)->name);
        reasons_note_task(&answer->warnings, t, text);
    }
    return code;
}

enum berth_code plan_bind_memory(const struct snapshot *snap, const struct allowed *allowed,
                                 struct bind_cores *cores, size_t t, place_id wanted,
                                 struct bind_answer *answer, struct berth_err *err)
{
    struct work work = {snap, allowed, cores};
    size_t places = snap->graph->place_count, gpus = (size_t)answer->gpus_per_task;
    struct homes homes = {.cores = calloc(places, sizeof *homes.cores),
                          .is_near = calloc(places, sizeof *homes.is_near)};
    enum berth_code code = BERTH_OK;
    if (homes.cores == NULL || homes.is_near == NULL) {
        code = err_set(err, BERTH_NO_MEMORY, "no memory for NUMA nodes");
    } else {
        if (count_cores(&work, &answer->task[t], &homes) > 1 && gpus > 0)
            code = find_near(&work, &answer->task[t], gpus, &homes, err);
        if (code == BERTH_OK)
            code = choose(&work, t, home_numa(&work, gpus, wanted, &homes), answer, err);
    }
    free(homes.cores);
    free(homes.is_near);
    return code;
}
