#include "plan/bind/cores.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cost/memkind.h"
#include "cost/policy.h"
#include "node/locality.h"

/* With sub-NUMA clustering a package's L3 lies around several NUMA nodes and says nothing about
 * which GPU is near. */
static bool lies_around(const struct graph *graph, place_id llc, place_id numa)
{
    const struct cpuset *outer = graph_place(graph, llc)->cpus,
                        *inner = graph_place(graph, numa)->cpus;
    return outer != NULL && inner != NULL && cpuset_contains(outer, inner) &&
           !cpuset_equal(outer, inner);
}

static place_id group_place(const struct graph *graph, place_id core)
{
    place_id llc = locality_above(graph, core, PLACE_LLC), numa = locality_numa(graph, core);
    if (llc != PLACE_NONE && (numa == PLACE_NONE || !lies_around(graph, llc, numa)))
        return llc;
    if (numa != PLACE_NONE)
        return numa;
    place_id package = locality_above(graph, core, PLACE_PACKAGE);
    return package != PLACE_NONE ? package : 0;
}

static int compare_cores(const void *a, const void *b, void *arg)
{
    const struct graph *graph = arg;
    int32_t x = graph_place(graph, ((const struct bind_core *)a)->id)->number,
            y = graph_place(graph, ((const struct bind_core *)b)->id)->number;
    return (x > y) - (x < y);
}

static unsigned group_of(const struct graph *graph, struct bind_cores *cores, place_id core)
{
    place_id place = group_place(graph, core);
    for (unsigned i = 0; i < cores->group_count; i++)
        if (cores->group[i].place == place)
            return i;
    cores->group[cores->group_count] =
        (struct bind_group){.place = place,
                            .numa = locality_numa(graph, place),
                            .package = locality_above(graph, core, PLACE_PACKAGE)};
    return (unsigned)cores->group_count++;
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
    size_t count = graph_count(graph, PLACE_CORE), too_thin = 0, widest = 0;
    struct bind_cores cores = {.core = calloc(count + 1, sizeof *cores.core),
                               .group = calloc(count + 1, sizeof *cores.group)};
    if (cores.core == NULL || cores.group == NULL) {
        plan_bind_cores_done(&cores);
        return err_set(err, BERTH_NO_MEMORY, "no memory for the cores");
    }
    enum berth_code code = BERTH_OK;
    if (count == 0)
        code = err_set(err, BERTH_UNAVAILABLE,
                       "the cores of this node are not known: nothing says where tasks could run "
                       "(berth alloc --by GPU and berth route answer for gpus)");
    for (place_id c = graph_next(graph, PLACE_CORE, 0); code == BERTH_OK && c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1)) {
        if (graph_place(graph, c)->cpus == NULL)
            continue;
        struct cpuset mine = *graph_place(graph, c)->cpus;
        cpuset_and(&mine, cpus);
        size_t threads = cpuset_count(&mine);
        widest = threads > widest ? threads : widest;
        if (threads > 0 && threads >= (size_t)threads_per_core)
            cores.core[cores.count++] =
                (struct bind_core){.id = c, .use = lowest(&mine, threads_per_core)};
        else
            too_thin += threads > 0;
    }
    if (code == BERTH_OK && cores.count == 0)
        code = too_thin > 0
                   ? err_not_enough(err, "threads of a core", threads_per_core, (int64_t)widest,
                                    "no core has %" PRId64 " allowed threads; the widest has %zu",
                                    threads_per_core, widest)
                   : err_set(err, BERTH_NOTHING_ALLOWED,
                             "no core of this node is allowed (allowed.cpus)");
    if (code != BERTH_OK) {
        plan_bind_cores_done(&cores);
        return code;
    }
    qsort_r(cores.core, cores.count, sizeof *cores.core, compare_cores, (void *)graph);
    for (size_t i = 0; i < cores.count; i++) {
        cores.core[i].group = group_of(graph, &cores, cores.core[i].id);
        cores.group[cores.core[i].group].cores++;
    }
    *ret = cores;
    return BERTH_OK;
}

void plan_bind_cores_done(struct bind_cores *cores)
{
    free(cores->core);
    free(cores->group);
    *cores = (struct bind_cores){0};
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

/* ---- nearness ---- */

/* Returns the measured rate from host memory to a GPU, or NULL. */
static const struct value *rate_to(const struct snapshot *snap, place_id numa, place_id gpu)
{
    const struct value *v =
        numa != PLACE_NONE ? values_find(snap->values, METRIC_HOST_GPU_COPY_ENGINE, numa, gpu, "")
                           : NULL;
    return v != NULL && v->source == VALUE_MEASURED && v->value > 0 ? v : NULL;
}

/* Returns the best of all groups, or NULL when one of them was not measured. */
static const struct value *best_rate(const struct snapshot *snap, const struct bind_cores *cores,
                                     place_id gpu)
{
    const struct value *best = NULL;
    for (size_t g = 0; g < cores->group_count; g++) {
        const struct value *v = rate_to(snap, cores->group[g].numa, gpu);
        if (v == NULL)
            return NULL;
        best = best == NULL || v->value > best->value ? v : best;
    }
    return best;
}

int plan_bind_cores_compare(const struct nearness *a, const struct nearness *b)
{
    if (a->slowness != b->slowness)
        return a->slowness < b->slowness ? -1 : 1;
    return (a->distance > b->distance) - (a->distance < b->distance);
}

enum berth_code plan_bind_cores_nearness(const struct snapshot *snap,
                                         const struct bind_cores *cores, const place_id *gpus,
                                         size_t count, struct evidence *evidence,
                                         struct nearness *ret, struct berth_err *err)
{
    struct memkind_node memories;
    memset(ret, 0, cores->group_count * sizeof *ret);
    if (count == 0)
        return BERTH_OK;
    enum berth_code code = memkind_node_init(snap->graph, &memories, err);
    if (code != BERTH_OK)
        return code;
    for (size_t i = 0; code == BERTH_OK && i < count; i++) {
        /* a copy within one memory is slow and unnecessary */
        const struct value *best =
            memkind_is_one(&memories, gpus[i]) ? NULL : best_rate(snap, cores, gpus[i]);
        if (best != NULL && evidence != NULL && !evidence_add(evidence, 0, best))
            code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
        for (size_t g = 0; g < cores->group_count; g++) {
            const struct bind_group *group = &cores->group[g];
            double ratio =
                best != NULL ? best->value / rate_to(snap, group->numa, gpus[i])->value : 1;
            struct nearness near = {ratio > 1 + POLICY_SIMILAR ? ratio : 1,
                                    locality_distance(snap, gpus[i], group->place)};
            if (i == 0 || plan_bind_cores_compare(&near, &ret[g]) < 0)
                ret[g] = near;
        }
    }
    memkind_node_done(&memories);
    return code;
}

enum berth_code plan_bind_cores_nearest(const struct snapshot *snap, const struct bind_cores *cores,
                                        const place_id *gpus, size_t count, bool *ret,
                                        struct berth_err *err)
{
    struct nearness *near = calloc(cores->group_count + 1, sizeof *near);
    if (near == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    enum berth_code code = plan_bind_cores_nearness(snap, cores, gpus, count, NULL, near, err);
    size_t best = 0;
    for (size_t g = 1; g < cores->group_count; g++)
        best = plan_bind_cores_compare(&near[g], &near[best]) < 0 ? g : best;
    for (size_t g = 0; code == BERTH_OK && g < cores->group_count; g++)
        ret[g] = plan_bind_cores_compare(&near[g], &near[best]) == 0;
    free(near);
    return code;
}

enum berth_code plan_bind_cores_numas(const struct snapshot *snap, const struct bind_cores *cores,
                                      place_id gpu, place_id *ret, size_t *ret_count,
                                      struct berth_err *err)
{
    bool *nearest = calloc(cores->group_count + 1, sizeof *nearest);
    if (nearest == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for distances");
    enum berth_code code = plan_bind_cores_nearest(snap, cores, &gpu, 1, nearest, err);
    size_t count = 0;
    for (size_t g = 0; code == BERTH_OK && g < cores->group_count; g++) {
        bool is_new = cores->group[g].numa != PLACE_NONE && nearest[g];
        for (size_t i = 0; i < count && is_new; i++)
            is_new = ret[i] != cores->group[g].numa;
        if (is_new)
            ret[count++] = cores->group[g].numa;
    }
    if (code == BERTH_OK)
        *ret_count = count;
    free(nearest);
    return code;
}
