#include "cost/path_inference.h"

#include <math.h>
#include <string.h>

#include "node/transfer.h"

#define PATHS_MAX 8
/* Of the rate of both alone: a link that carries more tells nothing. */
#define CLEAR 0.9

/* Its rate in a run of one, else its own measured value; NAN unknown. */
static double alone_of(const struct values *values, const struct sets *sets, enum metric metric,
                       const struct set_flow *flow)
{
    enum metric alone;
    for (size_t s = 0; s < sets->count; s++) {
        const struct set_flow *its = sets->item[s].flow;
        if (sets->item[s].metric == metric && sets->item[s].flow_count == 1 &&
            its->from == flow->from && its->to == flow->to && strcmp(its->axes, flow->axes) == 0)
            return its->bytes_per_s;
    }
    const struct value *value = transfer_alone_metric(metric, &alone)
                                    ? values_find(values, alone, flow->from, flow->to, flow->axes)
                                    : NULL;
    return value != NULL && value->source == VALUE_MEASURED ? value->value : NAN;
}

/* The stated rate of the narrowest link, in the same direction, of both paths; INFINITY none. */
static double shared_width(const struct graph *graph, const struct link_path *a,
                           const struct link_path *b)
{
    double width = INFINITY;
    for (size_t i = 0; i < a->step_count; i++)
        for (size_t j = 0; j < b->step_count; j++)
            if (a->step[i].link == b->step[j].link && a->step[i].back == b->step[j].back)
                width = fmin(width, graph->links[a->step[i].link].nominal_bytes_per_s);
    return width;
}

/* Rules out paths that a run of the transfer with another one contradicts. Copies of one GPU may
 * slow each other in its engines, too. */
static void rule_out(const struct link_paths *paths, const struct graph *graph,
                     const struct values *values, const struct sets *sets, const struct set *set,
                     const struct link_path *path, size_t count, bool *may)
{
    struct link_path other;
    bool is_of_peers =
        (transfer_kind_of(set->metric) & (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)) != 0;
    place_id from = path->from, to = path->to;
    if (!is_of_peers || set->flow_count != 2 || set->source != VALUE_MEASURED)
        return;
    bool is_first = set->flow[0].from == from && set->flow[0].to == to;
    const struct set_flow *own = &set->flow[!is_first], *beside = &set->flow[is_first];
    if (own->from != from || own->to != to ||
        !link_path_find(paths, beside->from, beside->to, &other) || other.is_one_of_several)
        return;
    double together = own->bytes_per_s + beside->bytes_per_s,
           alone = alone_of(values, sets, set->metric, own) +
                   alone_of(values, sets, set->metric, beside);
    if (!(path->bytes_per_s <= CLEAR * alone))
        return;
    bool are_slower = together < (alone + fmin(path->bytes_per_s, alone)) / 2;
    for (size_t p = 0; p < count; p++) {
        double width = shared_width(graph, &path[p], &other);
        may[p] = may[p] &&
                 (are_slower ? !isinf(width) || from == beside->from : !(width <= CLEAR * alone));
    }
}

bool path_inference_find(const struct link_paths *paths, const struct graph *graph,
                         const struct values *values, const struct sets *sets, place_id from,
                         place_id to, struct link_path *ret)
{
    struct link_path path[PATHS_MAX + 1];
    bool may[PATHS_MAX + 1];
    size_t left = 0, last = 0;
    if (!link_path_find(paths, from, to, ret))
        return false;
    size_t count = ret->is_one_of_several && sets != NULL
                       ? link_path_all(paths, from, to, path, PATHS_MAX + 1)
                       : 0;
    if (count < 2 || count > PATHS_MAX)
        return true;
    memset(may, true, sizeof may);
    for (size_t s = 0; s < sets->count; s++)
        rule_out(paths, graph, values, sets, &sets->item[s], path, count, may);
    for (size_t p = 0; p < count; p++) {
        left += may[p];
        last = may[p] ? p : last;
    }
    if (left == 1) {
        *ret = path[last];
        ret->is_one_of_several = false;
    }
    return true;
}

/* ---- what to measure ---- */

static bool has_step(const struct link_path *path, uint32_t link, bool back)
{
    bool has = false;
    for (size_t i = 0; i < path->step_count; i++)
        has |= path->step[i].link == link && path->step[i].back == back;
    return has;
}

/* A transfer straight over a narrowest link that only this path has; not one of the same GPU, whose
 * engines both would use. */
static bool find_beside(const struct link_paths *paths, const struct graph *graph,
                        const struct link_path *path, size_t count, size_t p,
                        struct path_question *ret)
{
    for (size_t i = 0; i < path[p].step_count; i++) {
        const struct link *link = &graph->links[path[p].step[i].link];
        bool back = path[p].step[i].back, is_common = false;
        struct link_path straight;
        for (size_t other = 0; other < count; other++)
            is_common |= other != p && has_step(&path[other], path[p].step[i].link, back);
        ret->beside_from = back ? link->to : link->from;
        ret->beside_to = back ? link->from : link->to;
        if (!is_common && ret->beside_from != ret->from &&
            link->nominal_bytes_per_s <= path[p].bytes_per_s &&
            link_path_find(paths, ret->beside_from, ret->beside_to, &straight) &&
            straight.step_count == 1 && !straight.is_one_of_several)
            return true;
    }
    return false;
}

size_t path_inference_ask(const struct link_paths *paths, const struct graph *graph,
                          struct path_question *ret, size_t most)
{
    struct link_path path[PATHS_MAX + 1];
    size_t asked = 0;
    for (place_id a = graph_next(graph, PLACE_GPU, 0); a != PLACE_NONE;
         a = graph_next(graph, PLACE_GPU, a + 1))
        for (place_id b = graph_next(graph, PLACE_GPU, 0); b != PLACE_NONE;
             b = graph_next(graph, PLACE_GPU, b + 1)) {
            size_t count = a != b ? link_path_all(paths, a, b, path, PATHS_MAX + 1) : 0, told = 0;
            for (size_t p = 0; count <= PATHS_MAX && p < count && told + 1 < count && asked < most;
                 p++) {
                ret[asked] = (struct path_question){.from = a, .to = b};
                if (!find_beside(paths, graph, path, count, p, &ret[asked]))
                    continue;
                asked++;
                told++;
            }
        }
    return asked;
}
