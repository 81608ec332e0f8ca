#include "plan/bind/usable.h"

#include <inttypes.h>
#include <stdlib.h>

#include "node/locality.h"

/* Where sub-NUMA clustering is on, a package's llc lies around several NUMA nodes and says nothing
 * about which gpu is near. */
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
        cores.group[cores.core[i].group].free++;
    }
    *ret = cores;
    return BERTH_OK;
}

void plan_bind_cores_reset(struct bind_cores *cores)
{
    for (size_t i = 0; i < cores->count; i++)
        cores->core[i].taken = false;
    for (size_t g = 0; g < cores->group_count; g++) {
        cores->group[g].free = cores->group[g].cores;
        cores->group[g].tasks = 0;
    }
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
    return sharing > 0 ? sharing : same_numa;
}
