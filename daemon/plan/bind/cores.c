#include "plan/bind/cores.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/memkind.h"
#include "cost/policy.h"
#include "node/locality.h"

#define SLOWER 1e4 /* beside distances, beyond any of them */

/* With sub-NUMA clustering a package's L3 lies around several NUMA nodes and says nothing about
 * which GPU is near. */
static bool lies_around(const struct graph *graph, place_id llc, place_id numa)
{
    const struct cpuset *outer = graph_place(graph, llc)->cpus,
                        *inner = graph_place(graph, numa)->cpus;
    return outer != NULL && inner != NULL && cpuset_contains(outer, inner) &&
           !cpuset_equal(outer, inner);
}

static unsigned group_of(const struct graph *graph, struct bind_cores *cores, place_id core)
{
    place_id llc = locality_above(graph, core, PLACE_LLC), numa = locality_numa(graph, core),
             package = locality_above(graph, core, PLACE_PACKAGE),
             place = numa != PLACE_NONE      ? numa
                     : package != PLACE_NONE ? package
                                             : 0;
    if (llc != PLACE_NONE && (numa == PLACE_NONE || !lies_around(graph, llc, numa)))
        place = llc;
    for (unsigned i = 0; i < cores->group_count; i++)
        if (cores->group[i].place == place)
            return i;
    numa = locality_numa(graph, place);
    place_id near = numa != PLACE_NONE ? numa : place;
    cores->group[cores->group_count] =
        (struct bind_group){.place = place,
                            .numa = numa,
                            .unit = {place, near, package != PLACE_NONE ? package : near, 0}};
    return (unsigned)cores->group_count++;
}

static int compare_cores(const void *a, const void *b, void *arg)
{
    const struct graph *graph = arg;
    int32_t x = graph_place(graph, ((const struct bind_core *)a)->id)->number,
            y = graph_place(graph, ((const struct bind_core *)b)->id)->number;
    return (x > y) - (x < y);
}

/* At most threads of the cpus, the lowest; 0 all. */
static struct cpuset lowest(const struct cpuset *cpus, int64_t threads)
{
    struct cpuset use = {0};
    int64_t n = 0;
    for (int c = cpuset_next(cpus, 0); c >= 0 && (threads == 0 || n < threads);
         c = cpuset_next(cpus, (unsigned)c + 1), n++)
        cpuset_add(&use, (unsigned)c);
    return use;
}

enum berth_code plan_bind_cores_init(const struct graph *graph, const struct cpuset *cpus,
                                     int64_t threads_per_core, struct bind_cores *ret,
                                     struct berth_err *err)
{
    size_t count = graph_count(graph, PLACE_CORE), all = 0, widest = 0;
    *ret = (struct bind_cores){.core = calloc(count + 1, sizeof *ret->core),
                               .group = calloc(count + 1, sizeof *ret->group)};
    if (ret->core == NULL || ret->group == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the cores");
    if (count == 0)
        return err_set(err, BERTH_UNAVAILABLE,
                       "the cores of this node are not known: nothing says where tasks could run "
                       "(berth alloc --by GPU and berth route answer for gpus)");
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1))
        if (graph_place(graph, c)->cpus != NULL)
            ret->core[all++].id = c;
    qsort_r(ret->core, all, sizeof *ret->core, compare_cores, (void *)graph);
    for (size_t i = 0; i < all; i++) {
        struct bind_core core = {ret->core[i].id, group_of(graph, ret, ret->core[i].id),
                                 *graph_place(graph, ret->core[i].id)->cpus};
        ret->group[core.group].all++;
        cpuset_and(&core.use, cpus);
        size_t threads = cpuset_count(&core.use);
        widest = threads > widest ? threads : widest;
        if (threads == 0 || threads < (size_t)threads_per_core)
            continue;
        core.use = lowest(&core.use, threads_per_core);
        ret->group[core.group].cores++;
        ret->core[ret->count++] = core;
    }
    if (ret->count > 0)
        return BERTH_OK;
    return widest > 0
               ? err_not_enough(err, "threads of a core", threads_per_core, (int64_t)widest,
                                "no core has %" PRId64 " allowed threads; the widest has %zu",
                                threads_per_core, widest)
               : err_set(err, BERTH_NOTHING_ALLOWED,
                         "no core of this node is allowed (allowed.cpus)");
}

void plan_bind_cores_done(struct bind_cores *cores)
{
    free(cores->core);
    free(cores->group);
    *cores = (struct bind_cores){0};
}

unsigned plan_bind_cores_in(const struct bind_cores *cores, size_t group, enum core_level level)
{
    unsigned count = 0;
    for (size_t g = 0; g < cores->group_count; g++)
        count += cores->group[g].unit[level] == cores->group[group].unit[level]
                     ? cores->group[g].cores
                     : 0;
    return count;
}

unsigned plan_bind_cores_near(const struct snapshot *snap, const struct bind_cores *cores,
                              place_id place)
{
    const struct cpuset *next_to = graph_place(snap->graph, place)->cpus;
    place_id numa = locality_numa(snap->graph, place);
    unsigned sharing = 0, same_numa = 0;
    for (size_t i = 0; i < cores->count; i++) {
        sharing += next_to != NULL && cpuset_intersects(next_to, &cores->core[i].use);
        same_numa += numa != PLACE_NONE && locality_numa(snap->graph, cores->core[i].id) == numa;
    }
    return sharing > 0 ? sharing : same_numa > 0;
}

/* ---- how far ---- */

/* Returns the measured rate from a group's memory to a GPU, or NULL. */
static const struct value *rate_to(const struct snapshot *snap, const struct bind_group *group,
                                   place_id gpu)
{
    const struct value *v =
        group->numa != PLACE_NONE
            ? values_find(snap->values, METRIC_HOST_GPU_COPY_ENGINE, group->numa, gpu, "")
            : NULL;
    return v != NULL && v->source == VALUE_MEASURED && v->value > 0 ? v : NULL;
}

/* Returns the best of all usable groups, or NULL when one of them was not measured, or a copy is
 * not needed: the GPU's memory is a processor's too. */
static const struct value *best_rate(const struct snapshot *snap, const struct bind_cores *cores,
                                     place_id gpu)
{
    const struct value *best = NULL;
    for (size_t g = 0; g < cores->group_count; g++) {
        const struct value *v = rate_to(snap, &cores->group[g], gpu);
        if (cores->group[g].cores > 0 &&
            (v == NULL || memkind_common(snap->graph, gpu) != PLACE_NONE))
            return NULL;
        if (cores->group[g].cores > 0 && (best == NULL || v->value > best->value))
            best = v;
    }
    return best;
}

void plan_bind_cores_far(const struct snapshot *snap, const struct bind_cores *cores,
                         const place_id *gpus, size_t count, struct evidence *evidence, double *ret)
{
    for (size_t g = 0; g < cores->group_count; g++)
        ret[g] = count > 0 ? INFINITY : 0;
    for (size_t i = 0; i < count; i++) {
        const struct value *best = best_rate(snap, cores, gpus[i]), *rate;
        if (best != NULL)
            evidence_add(evidence, 0, best);
        for (size_t g = 0; g < cores->group_count; g++) {
            rate = best != NULL ? rate_to(snap, &cores->group[g], gpus[i]) : NULL;
            double slower = rate != NULL ? best->value / rate->value - 1 : 0;
            ret[g] = fmin(ret[g], (slower > POLICY_SIMILAR ? slower * SLOWER : 0) +
                                      locality_distance(snap, gpus[i], cores->group[g].place));
        }
    }
}

/* Flags the first group of each NUMA node with usable cores at the least distance. */
static void flag_nearest(const struct bind_cores *cores, const double *far, bool *ret)
{
    double least = INFINITY;
    for (size_t g = 0; g < cores->group_count; g++)
        least = cores->group[g].cores > 0 ? fmin(least, far[g]) : least;
    for (size_t g = 0; g < cores->group_count; g++) {
        const struct bind_group *group = &cores->group[g];
        ret[g] = group->cores > 0 && group->numa != PLACE_NONE && far[g] <= least;
        for (size_t other = 0; other < g; other++)
            ret[g] = ret[g] && !(ret[other] && cores->group[other].numa == group->numa);
    }
}

enum berth_code plan_bind_cores_numas(const struct snapshot *snap, const struct bind_cores *cores,
                                      const place_id *gpus, size_t count, place_id *ret,
                                      struct berth_err *err)
{
    size_t groups = cores->group_count;
    struct evidence uncited = {0};
    double *far = calloc(groups, sizeof *far);
    bool *near = calloc(count * groups + 1, sizeof *near);
    bool has_memory = far != NULL && near != NULL;
    for (size_t i = 0; has_memory && i < count; i++) {
        plan_bind_cores_far(snap, cores, &gpus[i], 1, &uncited, far);
        flag_nearest(cores, far, near + i * groups);
    }
    for (size_t i = 0; has_memory && i < count; i++) {
        const bool *own = near + i * groups;
        size_t before = 0, all = 0, numas = 0;
        for (size_t other = 0; other < count; other++)
            if (memcmp(near + other * groups, own, groups * sizeof *near) == 0) {
                before += other < i;
                all++;
            }
        for (size_t g = 0; g < groups; g++)
            numas += own[g];
        size_t nth = before * numas / all;
        ret[i] = PLACE_NONE;
        for (size_t g = 0; g < groups; g++)
            if (own[g] && nth-- == 0)
                ret[i] = cores->group[g].numa;
    }
    evidence_done(&uncited);
    free(far);
    free(near);
    return has_memory ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for distances");
}

void plan_bind_cores_room(const struct bind_cores *cores, const place_id *numa, size_t gpus,
                          int64_t cores_per_task, struct bind_room *ret)
{
    for (size_t g = 0; g < gpus; g++) {
        size_t group = 0, first = 0;
        while (group < cores->group_count && cores->group[group].numa != numa[g])
            group++;
        ret->unit[g] = SEARCH_ANYWHERE;
        if (numa[g] == PLACE_NONE || group == cores->group_count)
            continue;
        enum core_level level = plan_bind_cores_in(cores, group, LEVEL_NUMA) < cores_per_task
                                    ? LEVEL_PACKAGE
                                    : LEVEL_NUMA;
        while (cores->group[first].unit[level] != cores->group[group].unit[level])
            first++;
        ret->unit[g] = (uint16_t)first;
        ret->most[first] = (uint16_t)(plan_bind_cores_in(cores, group, level) / cores_per_task);
    }
}
