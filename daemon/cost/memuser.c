#include "cost/memuser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node/curve.h"
#include "node/locality.h"

/* ---- cores ---- */

static void count_at(struct memuser *user, place_id at, bool is_inside)
{
    user->of[at]++;
    user->inside[at] = (uint16_t)(user->inside[at] + is_inside);
}

/* A NUMA node stands beside the places above a core, not among them: count it once. */
static void count_core(const struct graph *graph, place_id core, bool is_inside,
                       struct memuser *user)
{
    place_id numa = graph_place(graph, core)->numa;
    for (place_id p = core; p != PLACE_NONE; p = graph_place(graph, p)->parent) {
        count_at(user, p, is_inside);
        numa = p == numa ? PLACE_NONE : numa;
    }
    if (numa != PLACE_NONE)
        count_at(user, numa, is_inside);
}

enum berth_code memuser_of_cores(const struct graph *graph, const struct cpuset *cpus,
                                 struct memuser *ret, struct berth_err *err)
{
    size_t n = graph->place_count;
    uint16_t *inside = calloc(n, 2 * sizeof *inside);
    if (inside == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to count cores");
    struct memuser user = {.gpu = PLACE_NONE, .inside = inside, .of = inside + n};
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1)) {
        const struct cpuset *its = graph_place(graph, c)->cpus;
        count_core(graph, c, its != NULL && cpuset_intersects(its, cpus), &user);
    }
    user.cores = user.in_all = inside[0];
    *ret = user;
    return BERTH_OK;
}

void memuser_done(struct memuser *user)
{
    free(user->inside);
    user->inside = user->of = NULL;
}

/* ---- reach ---- */

/* Values that show that a GPU's kernels reach a kind of the host's memory. */
struct shown {
    enum metric metric;
    const char *axes; /* NULL ends a list */
};

static enum memuser_reach look(const struct snapshot *snap, const struct shown *shown,
                               place_id from, place_id to)
{
    const struct value *v;
    for (size_t n = values_range_to(snap->values, shown->metric, from, to, &v); n > 0; v++, n--)
        if (strcmp(values_axes(snap->values, v), shown->axes) == 0)
            return v->value > 0  ? MEMUSER_REACHED
                   : v->is_never ? MEMUSER_UNREACHED
                                 : MEMUSER_UNKNOWN;
    return MEMUSER_UNKNOWN;
}

/* Looks for one of them that shows it of any NUMA node. */
static enum memuser_reach look_at_host(const struct snapshot *snap, place_id gpu,
                                       const struct shown *shown)
{
    enum memuser_reach found = MEMUSER_UNKNOWN;
    for (; shown->axes != NULL; shown++)
        for (place_id n = graph_next(snap->graph, PLACE_NUMA, 0); n != PLACE_NONE;
             n = graph_next(snap->graph, PLACE_NUMA, n + 1)) {
            bool is_copy = shown->metric == METRIC_HOST_GPU_KERNEL;
            enum memuser_reach reach = look(snap, shown, is_copy ? n : gpu, is_copy ? gpu : n);
            if (reach == MEMUSER_REACHED)
                return reach;
            found = reach == MEMUSER_UNKNOWN ? found : reach;
        }
    return found;
}

static bool is_coherent(const struct graph *graph, place_id gpu)
{
    bool found = memkind_common(graph, gpu) != PLACE_NONE;
    for (size_t i = 0; i < graph->link_count && !found; i++)
        found = graph->links[i].kind == LINK_C2C &&
                (graph->links[i].from == gpu || graph->links[i].to == gpu);
    return found;
}

static enum memuser_reach reach_of_system(const struct snapshot *snap, place_id gpu)
{
    static const struct shown plain[] = {{METRIC_MEMORY_BANDWIDTH, ""},
                                         {METRIC_HOST_GPU_KERNEL, "kind=system;operation=read"},
                                         {0}},
                              xnack[] = {
                                  {METRIC_HOST_GPU_KERNEL, "kind=system;operation=read;xnack=on"},
                                  {0}};
    enum memuser_reach reach = look_at_host(snap, gpu, plain);
    if (reach != MEMUSER_REACHED && look_at_host(snap, gpu, xnack) == MEMUSER_REACHED)
        return MEMUSER_BY_XNACK;
    return reach == MEMUSER_UNKNOWN && is_coherent(snap->graph, gpu) ? MEMUSER_REACHED : reach;
}

/* Managed memory moves to the cores that touch it, or is touched from afar: they always reach it.
 */
enum memuser_reach memuser_reaches(const struct memuser *user, const struct snapshot *snap,
                                   const struct memkind_place *place)
{
    static const struct shown peer = {METRIC_GPU_GPU_KERNEL, "operation=read"};
    bool is_device = place->kind == MEMKIND_DEVICE;
    if (user->gpu == PLACE_NONE)
        return is_device && place->apu == PLACE_NONE ? MEMUSER_UNREACHED : MEMUSER_REACHED;
    return place->kind == MEMKIND_SYSTEM          ? user->system
           : place->kind == MEMKIND_MANAGED       ? user->managed
           : is_device && place->gpu != user->gpu ? look(snap, &peer, user->gpu, place->gpu)
                                                  : MEMUSER_REACHED;
}

/* ---- kernels ---- */

/* Returns the latest of that start and those of the GPU's curves of a metric. */
static struct memuser_start or_later(const struct snapshot *snap, enum metric metric, place_id gpu,
                                     struct memuser_start start)
{
    const struct curve *curve;
    double most = start.ns, least = start.ns > 0 ? start.ns - start.off_ns : INFINITY;
    for (size_t n = curve_range(snap->derived.curves, metric, &curve); n > 0; curve++, n--)
        if (curve->from == gpu || curve->to == gpu) {
            most = fmax(most, curve->fit.piece[0].t0_ns);
            least = fmin(least, curve->fit.piece[0].t0_ns);
        }
    return (struct memuser_start){most, isinf(least) ? 0 : most - least};
}

/* A kernel starts in its own memory as a streaming copy does, and elsewhere no faster than any that
 * is known there. The host's far memory is as far as another GPU's. */
struct memuser memuser_of_gpu(const struct snapshot *snap, place_id gpu)
{
    static const struct shown managed[] = {
        {METRIC_HOST_GPU_KERNEL, "kind=managed;operation=read"},
        {METRIC_HOST_GPU_KERNEL, "kind=managed"},
        {METRIC_HOST_GPU_KERNEL, "kind=migrating;operation=read"},
        {0}};
    const struct curve *own = curve_find(snap->derived.curves, METRIC_GPU_STREAM, gpu, gpu, "");
    place_id common = memkind_common(snap->graph, gpu);
    struct memuser user = {.gpu = gpu};
    user.own = memkind_place(snap->graph, common != PLACE_NONE ? common : gpu, MEMKIND_DEVICE, gpu);
    user.system = reach_of_system(snap, gpu);
    user.managed = look_at_host(snap, gpu, managed);
    user.in_own.ns = own != NULL ? own->fit.piece[0].t0_ns : 0;
    user.in_host = or_later(snap, METRIC_HOST_GPU_KERNEL, gpu, user.in_own);
    user.in_peer = or_later(snap, METRIC_GPU_GPU_KERNEL, gpu, user.in_own);
    user.in_far = or_later(snap, METRIC_GPU_GPU_KERNEL, gpu, user.in_host);
    return user;
}
