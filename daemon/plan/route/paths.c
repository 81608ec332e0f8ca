#include "plan/route/paths.h"

#include <math.h>
#include <stdlib.h>

#include "cost/endpoints.h"
#include "cost/matrix.h"
#include "node/gpu.h"

/* One program's kernels on one gpu share the blocks that it holds, launched with fewer each: a part
 * must be enough to fill a link. */
#define KERNELS_MAX 4

/* ---- hops ---- */

static bool add_hop(const struct route_work *work, place_id from, place_id to, enum mechanism by,
                    struct route_part *part)
{
    const struct matrix_item *item = matrix_find(work->matrix, from, to, by);
    struct transfer *hop = &part->hop[part->hop_count];
    if (item == NULL || (item->alone.basis != BASIS_OWN && !work->is_nominal))
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
    size_t count;
};

/* Through count memories. */
static void add_path(const struct route_work *work, enum path_kind kind, enum mechanism by,
                     const place_id *via, size_t count, struct list *list)
{
    struct path *path = &list->item[list->count];
    place_id from = work->request.from;
    path->kind = kind;
    path->by = by;
    path->part.hop_count = 0;
    for (size_t i = 0; i <= count; i++) {
        place_id to = i < count ? via[i] : work->request.to;
        if (!add_hop(work, from, to, by, &path->part))
            return;
        from = to;
    }
    /* all bytes lie there at once */
    int64_t room = count > 0 ? graph_place(work->graph, via[0])->capacity_bytes : -1;
    if (path->part.in_one_piece && room >= 0 && room < work->request.bytes)
        return;
    path->time_ns = price_path(&path->part, kind == PATH_DIRECT, work->bytes, &path->rate);
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
    bool are_gpus = graph_are_gpus(work->graph, from, to);
    for (int by = MECHANISM_COPY_ENGINE; by <= last; by++)
        add_path(work, PATH_DIRECT, (enum mechanism)by, NULL, 0, list);
    bool is_known = list->count > 0,
         has_kernel = is_known && (list->item[list->count - 1].by == MECHANISM_KERNEL || !are_gpus);
    work->is_nominal = true;
    for (int by = is_known ? MECHANISM_KERNEL : MECHANISM_COPY_ENGINE; by <= last && !has_kernel;
         by++)
        add_path(work, PATH_DIRECT, (enum mechanism)by, NULL, 0, list);
    if (list->count == 2 && list->item[1].rate <= list->item[0].rate &&
        list->item[0].part.hop[0].basis <= BASIS_REVERSE &&
        list->item[1].part.hop[0].basis > BASIS_REVERSE)
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
    const place_id *memory;
    size_t memories = work->request.direct ? 0 : matrix_memories(work->matrix, &memory),
           most = MECHANISMS * (1 + memories + memories * memories);
    struct list list = {.item = calloc(most, sizeof *list.item)};
    int last = work->request.overlap ? MECHANISM_COPY_ENGINE : MECHANISM_KERNEL;
    if (list.item == NULL)
        return false;
    work->is_nominal = false;
    add_direct(work, last, &list);
    bool has_others = !work->request.direct &&
                      !endpoints_share_memory(work->graph, work->request.from, work->request.to);
    for (int by = MECHANISM_COPY_ENGINE; by <= last && has_others; by++)
        add_through(work, (enum mechanism)by, &list);
    qsort(list.item, list.count, sizeof *list.item, by_hops);
    *ret = list.item;
    *ret_count = list.count;
    return true;
}

/* ---- options ---- */

/* Counts the kernels of the paths and of concurrent transfers on that gpu. */
static size_t kernels_on(const struct route_work *work, const struct path *const *path,
                         size_t count, place_id gpu)
{
    size_t kernels = 0;
    for (size_t i = 0; i < work->request.concurrent_count; i++)
        kernels += work->concurrent[i].by == MECHANISM_KERNEL && work->concurrent[i].driver == gpu;
    for (size_t p = 0; p < count; p++)
        for (size_t i = 0; i < path[p]->part.hop_count; i++)
            kernels += path[p]->by == MECHANISM_KERNEL && path[p]->part.hop[i].driver == gpu;
    return kernels;
}

bool paths_option(const struct route_work *work, const struct path *const *path, size_t count,
                  struct route_option *ret)
{
    ret->part_count = count;
    ret->worth_measuring[0] = '\0';
    for (size_t p = 0; p < count; p++) {
        ret->part[p] = path[p]->part;
        for (size_t i = 0; i < ret->part[p].hop_count; i++) {
            place_id driver = ret->part[p].hop[i].driver;
            size_t kernels =
                path[p]->by == MECHANISM_KERNEL ? kernels_on(work, path, count, driver) : 0;
            if (kernels > KERNELS_MAX && count > 1)
                return false;
            ret->part[p].kernels[i] = (uint8_t)kernels;
        }
    }
    return true;
}
