#include "plan/route/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/endpoints.h"
#include "cost/limits.h"
#include "cost/matrix.h"
#include "node/gpu.h"
#include "plan/route/order.h"

/* One program's kernels on one gpu share the blocks that it holds, launched with fewer each: a part
 * must be enough to fill a link. */
#define KERNELS_MAX 4

/* ---- hops ---- */

static bool add_hop(const struct route_work *work, place_id from, place_id to, enum mechanism by,
                    bool may_be_nominal, struct route_part *part)
{
    const struct matrix_item *item = matrix_find(work->matrix, from, to, by);
    struct transfer *hop = &part->hop[part->hop_count];
    if (item == NULL || (item->alone.basis != BASIS_OWN && !may_be_nominal))
        return false;
    *hop = work->request.both ? item->both : item->alone;
    part->in_one_piece =
        part->hop_count > 0 &&
        (part->in_one_piece || endpoints_vendors_differ(work->graph, hop[-1].driver, hop->driver));
    part->hop_count++;
    return true;
}

/* ---- paths ---- */

struct list {
    struct path *item;
    size_t count, room;
    bool is_short; /* of memory */
};

static void finish(const struct route_work *work, struct path *path)
{
    const struct price_pipe *pipe = &path->pipe;
    price_begin(&path->part, path->kind == PATH_DIRECT, &path->pipe);
    path->rate = path->pipe.rate;
    path->time_ns = price_time_ns(&pipe, 1, work->bytes);
}

/* Through count memories. */
static void add_path(const struct route_work *work, enum path_kind kind, enum mechanism by,
                     const place_id *via, size_t count, struct list *list)
{
    bool may_be_nominal = work->is_nominal;
    if (list->count == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 64;
        struct path *more = realloc(list->item, room * sizeof *more);
        list->is_short = list->is_short || more == NULL;
        if (more == NULL)
            return;
        list->item = more;
        list->room = room;
    }
    struct path *path = &list->item[list->count];
    place_id from = work->request.from;
    path->kind = kind;
    path->by = by;
    path->part.hop_count = 0;
    for (size_t i = 0; i <= count; i++) {
        place_id to = i < count ? via[i] : work->request.to;
        if (!add_hop(work, from, to, by, may_be_nominal, &path->part))
            return;
        from = to;
    }
    /* all bytes lie there at once */
    int64_t room = count > 0 ? graph_place(work->graph, via[0])->capacity_bytes : -1;
    if (path->part.in_one_piece && room >= 0 && room < work->request.bytes)
        return;
    finish(work, path);
    list->count++;
}

/* True when bytes may stop there on their way. Memory that a gpu has in common with its cores is
 * that gpu. */
static bool may_stop(const struct route_work *work, place_id via, enum place_kind kind)
{
    if (via == work->request.from || via == work->request.to ||
        graph_place(work->graph, via)->kind != kind || !matrix_is_relay(work->matrix, via))
        return false;
    return kind == PLACE_GPU
               ? allowed_has_gpu(work->request.allowed, via) &&
                     !endpoints_is_lost(work->snap, via) && !gpu_is_cut(work->graph, via)
               : allowed_has_memory(work->request.allowed, via) &&
                     gpu_apu_at(work->graph, via) == PLACE_NONE;
}

static void add_through(const struct route_work *work, enum mechanism by, struct list *list)
{
    const place_id *memory;
    size_t count = matrix_memories(work->matrix, &memory);
    bool two = !work->is_nominal && graph_place(work->graph, work->request.from)->kind ==
                                        graph_place(work->graph, work->request.to)->kind;
    for (size_t m = 0; m < count; m++) {
        if (by == MECHANISM_COPY_ENGINE && may_stop(work, memory[m], PLACE_NUMA))
            add_path(work, PATH_HOST, by, &memory[m], 1, list);
        if (!may_stop(work, memory[m], PLACE_GPU))
            continue;
        add_path(work, PATH_ONE_GPU, by, &memory[m], 1, list);
        for (size_t n = 0; n < count && two; n++)
            if (n != m && may_stop(work, memory[n], PLACE_GPU))
                add_path(work, PATH_TWO_GPUS, by, (place_id[]){memory[m], memory[n]}, 2, list);
    }
}

/* Adds direct paths with measured or published rates; else nominal ones. Between gpus copy engines
 * may not fill links: kernels without a rate are added with a nominal one, if that is higher. */
static void add_direct(struct route_work *work, int last, struct list *list)
{
    place_id from = work->request.from, to = work->request.to;
    bool are_gpus = graph_place(work->graph, from)->kind == PLACE_GPU &&
                    graph_place(work->graph, to)->kind == PLACE_GPU;
    for (int by = MECHANISM_COPY_ENGINE; by <= last; by++)
        add_path(work, PATH_DIRECT, (enum mechanism)by, NULL, 0, list);
    bool is_known = list->count > 0,
         has_kernel = is_known && (list->item[list->count - 1].by == MECHANISM_KERNEL || !are_gpus);
    work->is_nominal = true;
    for (int by = is_known ? MECHANISM_KERNEL : MECHANISM_COPY_ENGINE; by <= last && !has_kernel;
         by++)
        add_path(work, PATH_DIRECT, (enum mechanism)by, NULL, 0, list);
    if (list->count == 2 && list->item[1].rate <= list->item[0].rate &&
        matrix_is_guess(work->matrix, from, to, MECHANISM_KERNEL))
        list->count = 1;
    /* gpus of two vendors have no direct path */
    work->is_nominal = !is_known && (list->count > 0 ||
                                     (are_gpus && endpoints_vendors_differ(work->graph, from, to)));
}

/* Parts begin one after the other: those with the fewest pieces to start first, then the widest. */
static int by_hops(const void *a, const void *b)
{
    const struct path *x = a, *y = b;
    if (x->part.hop_count != y->part.hop_count)
        return x->part.hop_count < y->part.hop_count ? -1 : 1;
    if (x->rate != y->rate)
        return x->rate > y->rate ? -1 : 1;
    for (size_t i = 0; i < x->part.hop_count; i++)
        if (x->part.hop[i].to != y->part.hop[i].to)
            return x->part.hop[i].to < y->part.hop[i].to ? -1 : 1;
    return x->by < y->by ? -1 : 1;
}

bool paths_find(struct route_work *work, struct path **ret, size_t *ret_count)
{
    struct list list = {.item = NULL};
    int last = work->request.overlap ? MECHANISM_COPY_ENGINE : MECHANISM_KERNEL;
    work->is_nominal = false;
    add_direct(work, last, &list);
    bool is_one = endpoints_share_memory(work->graph, work->request.from, work->request.to);
    for (int by = MECHANISM_COPY_ENGINE; by <= last && !is_one; by++)
        add_through(work, (enum mechanism)by, &list);
    if (list.count > 0)
        qsort(list.item, list.count, sizeof *list.item, by_hops);
    for (size_t i = 0; i < list.count; i++) /* they have moved */
        list.item[i].pipe.part = &list.item[i].part;
    *ret = list.item;
    *ret_count = list.count;
    if (list.is_short)
        free(list.item);
    return !list.is_short;
}

/* ---- options ---- */

/* Counts kernels of concurrent transfers on that gpu. */
static size_t kernels_beside(const struct route_work *work, place_id gpu)
{
    size_t count = 0;
    for (size_t i = 0; i < work->request.concurrent_count; i++)
        count += work->concurrent[i].by == MECHANISM_KERNEL && work->concurrent[i].driver == gpu;
    return count;
}

void paths_option(const struct route_work *work, const struct path *const *path, size_t count,
                  struct route_option *ret)
{
    ret->part_count = count;
    ret->shared = NULL;
    ret->is_shared_stated = false;
    ret->soonest = ret->latest = 1;
    ret->worth_measuring[0] = '\0';
    for (size_t p = 0; p < count; p++) {
        ret->part[p] = path[p]->part;
        for (size_t i = 0; i < ret->part[p].hop_count; i++) {
            const struct transfer *hop = &ret->part[p].hop[i];
            ret->part[p].kernels_beside[i] =
                (uint8_t)(hop->by == MECHANISM_KERNEL ? kernels_beside(work, hop->driver) : 0);
        }
    }
}

/* True when no other path has the hop, and its gpu runs few enough kernels. */
static bool hop_fits(const struct route_work *work, const struct path *const *path, size_t count,
                     size_t its, const struct transfer *hop)
{
    size_t kernels = hop->by == MECHANISM_KERNEL ? kernels_beside(work, hop->driver) : 0;
    for (size_t p = 0; p < count; p++)
        for (size_t i = 0; i < path[p]->part.hop_count; i++) {
            const struct transfer *other = &path[p]->part.hop[i];
            if (p != its && other->from == hop->from && other->to == hop->to)
                return false;
            kernels += hop->by == MECHANISM_KERNEL && other->driver == hop->driver;
        }
    return kernels <= KERNELS_MAX;
}

/* Writes the limits of a hop that concurrent runs show. Returns their number. */
static size_t known_limits(const struct route_work *work, const struct transfer *hop,
                           uint16_t ret[LIMITS_USES_MAX])
{
    const struct limits *limits = work->snap->derived.limits;
    const char *axes = hop->basis == BASIS_OWN ? values_axes(work->snap->values, hop->value) : "";
    size_t count = limits_of(limits, hop->kind, hop->from, hop->to, axes, ret), known = 0;
    while (known < count && limits->item[ret[known]].source == LIMIT_RUNS)
        known++;
    return known;
}

/* True when nothing says what two hops get of the links or ports that they may share: runs show no
 * limit of both. */
static bool is_sharing_unknown(const struct route_work *work, const struct transfer *a,
                               const struct transfer *b)
{
    uint16_t x[LIMITS_USES_MAX], y[LIMITS_USES_MAX];
    if (!limits_meet(work->snap->derived.limits, (struct limits_ends){a->from, a->to},
                     (struct limits_ends){b->from, b->to}))
        return false;
    size_t count = known_limits(work, a, x), others = known_limits(work, b, y);
    for (size_t k = 0; k < count * others; k++)
        if (x[k % count] == y[k / count])
            return false;
    return true;
}

/* True when the simulator knows what paths share. */
static bool is_sharing_known(const struct route_work *work, const struct path *a,
                             const struct path *b)
{
    for (size_t i = 0; i < a->part.hop_count; i++)
        for (size_t j = 0; j < b->part.hop_count; j++)
            if (is_sharing_unknown(work, &a->part.hop[i], &b->part.hop[j]))
                return false;
    return true;
}

bool paths_fit(const struct route_work *work, const struct path *const *path, size_t count)
{
    for (size_t p = 0; p < count; p++) {
        if (path[p]->by != path[0]->by || path[p]->part.in_one_piece)
            return false;
        for (size_t i = 0; i < path[p]->part.hop_count; i++)
            if (!hop_fits(work, path, count, p, &path[p]->part.hop[i]))
                return false;
    }
    for (size_t p = 0; p < count; p++)
        for (size_t other = p + 1; other < count; other++)
            if (!is_sharing_known(work, path[p], path[other]))
                return false;
    return true;
}
