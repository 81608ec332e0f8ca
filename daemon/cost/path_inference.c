#include "cost/path_inference.h"

#include <math.h>
#include <string.h>

#define PATHS_MAX 8
/* of what both get alone: a link that carries more than that tells nothing */
#define CLEAR 0.9

/* Two transfers of a set: the one whose way is looked for, and the other, whose way is known. */
struct both {
    const struct set_flow *own, *beside;
    double alone, together; /* bytes per second of both */
    struct link_path way;   /* of the one beside */
};

static bool is_gpu(const struct graph *graph, place_id place)
{
    return graph_place(graph, place)->kind == PLACE_GPU;
}

/* What it gets alone: in a set of one, else where it was measured by itself; NAN not known. */
static double alone_of(const struct values *values, const struct sets *sets, enum metric metric,
                       const struct set_flow *flow)
{
    for (size_t s = 0; s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        if (set->metric == metric && set->flow_count == 1 && set->flow->from == flow->from &&
            set->flow->to == flow->to && strcmp(set->flow->axes, flow->axes) == 0)
            return set->flow->bytes_per_s;
    }
    enum metric single = metric == METRIC_GPU_GPU_KERNEL_CONCURRENT ? METRIC_GPU_GPU_KERNEL
                                                                    : METRIC_GPU_GPU_COPY_ENGINE;
    const struct value *value = values_find(values, single, flow->from, flow->to, flow->axes);
    return value != NULL && value->source == VALUE_MEASURED ? value->value : NAN;
}

static bool look(const struct link_paths *paths, const struct values *values,
                 const struct sets *sets, const struct set *set, place_id from, place_id to,
                 struct both *ret)
{
    bool of_peers = set->metric == METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT ||
                    set->metric == METRIC_GPU_GPU_KERNEL_CONCURRENT;
    if (!of_peers || set->flow_count != 2 || set->source != VALUE_MEASURED)
        return false;
    bool is_first = set->flow[0].from == from && set->flow[0].to == to;
    struct both both = {.own = &set->flow[!is_first],
                        .beside = &set->flow[is_first],
                        .together = set->flow[0].bytes_per_s + set->flow[1].bytes_per_s};
    if (both.own->from != from || both.own->to != to ||
        !link_path_find(paths, both.beside->from, both.beside->to, &both.way) ||
        both.way.is_one_of_several)
        return false;
    both.alone = alone_of(values, sets, set->metric, both.own) +
                 alone_of(values, sets, set->metric, both.beside);
    *ret = both;
    return both.alone > 0;
}

/* What of both ways is the same link in the same direction: its width, INFINITY nothing. */
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

/* Whether what both got agrees with that way. Copies of one gpu may hold each other up in its
 * engines, too. */
static bool agrees(const struct graph *graph, const struct both *both, const struct link_path *way,
                   double narrow)
{
    double width = shared_width(graph, way, &both->way), least = fmin(narrow, both->alone);
    bool are_slower = both->together < (both->alone + least) / 2;
    if (are_slower)
        return !isinf(width) || both->own->from == both->beside->from;
    return !(width <= CLEAR * both->alone);
}

bool path_inference_find(const struct link_paths *paths, const struct graph *graph,
                         const struct values *values, const struct sets *sets, place_id from,
                         place_id to, struct link_path *ret)
{
    struct link_path way[PATHS_MAX + 1];
    bool may[PATHS_MAX];
    size_t left = 0, last = 0;
    if (!link_path_find(paths, from, to, ret))
        return false;
    size_t count =
        ret->is_one_of_several && is_gpu(graph, from) && is_gpu(graph, to) && sets != NULL
            ? link_path_all(paths, from, to, way, PATHS_MAX + 1)
            : 0;
    if (count < 2 || count > PATHS_MAX)
        return true;
    memset(may, true, sizeof may);
    for (size_t s = 0; s < sets->count; s++) {
        struct both both;
        if (!look(paths, values, sets, &sets->item[s], from, to, &both) ||
            !(ret->bytes_per_s <= CLEAR * both.alone))
            continue;
        for (size_t w = 0; w < count; w++)
            may[w] = may[w] && agrees(graph, &both, &way[w], ret->bytes_per_s);
    }
    for (size_t w = 0; w < count; w++) {
        left += may[w];
        last = may[w] ? w : last;
    }
    if (left == 1) {
        *ret = way[last];
        ret->is_one_of_several = false;
    }
    return true;
}

/* ---- what is to be measured ---- */

static bool is_on(const struct link_path *way, size_t link, bool back)
{
    bool on = false;
    for (size_t i = 0; i < way->step_count; i++)
        on |= way->step[i].link == link && way->step[i].back == back;
    return on;
}

/* A transfer over a link that this way alone has and that is as narrow as it; not of from's own,
 * whose engines both would use. */
static bool find_beside(const struct link_paths *paths, const struct graph *graph,
                        const struct link_path *way, size_t count, size_t w,
                        struct path_question *ret)
{
    for (size_t i = 0; i < way[w].step_count; i++) {
        const struct link *link = &graph->links[way[w].step[i].link];
        bool back = way[w].step[i].back, others = false;
        place_id a = back ? link->to : link->from, b = back ? link->from : link->to;
        struct link_path direct;
        for (size_t other = 0; other < count; other++)
            others |= other != w && is_on(&way[other], way[w].step[i].link, back);
        if (others || a == ret->from || link->nominal_bytes_per_s > way[w].bytes_per_s ||
            !link_path_find(paths, a, b, &direct) || direct.step_count != 1 ||
            direct.is_one_of_several)
            continue;
        ret->beside_from = a;
        ret->beside_to = b;
        return true;
    }
    return false;
}

size_t path_inference_ask(const struct link_paths *paths, const struct graph *graph,
                          struct path_question *ret, size_t most)
{
    struct link_path way[PATHS_MAX + 1];
    size_t asked = 0;
    for (place_id a = graph_next(graph, PLACE_GPU, 0); a != PLACE_NONE;
         a = graph_next(graph, PLACE_GPU, a + 1))
        for (place_id b = graph_next(graph, PLACE_GPU, 0); b != PLACE_NONE;
             b = graph_next(graph, PLACE_GPU, b + 1)) {
            size_t count = a != b ? link_path_all(paths, a, b, way, PATHS_MAX + 1) : 0, told = 0;
            for (size_t w = 0; count <= PATHS_MAX && w < count && told + 1 < count && asked < most;
                 w++) {
                struct path_question one = {.from = a, .to = b};
                if (!find_beside(paths, graph, way, count, w, &one))
                    continue;
                ret[asked++] = one;
                told++;
            }
        }
    return asked;
}
