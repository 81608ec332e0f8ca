#include "cost/published_bound.h"

#include <string.h>

#include "cost/limits.h"

static bool is_gpu(const struct graph *graph, place_id id)
{
    return graph_place(graph, id)->kind == PLACE_GPU;
}

/* Whether links of one kind, that are said to carry as much, join both pairs. */
static bool is_like(const struct limits *limits, const struct move *move, const struct value *v)
{
    enum link_kind its, other;
    const struct limits_pair *a = limits_pair(limits, move->from, move->to),
                             *b = limits_pair(limits, v->from, v->to);
    return limits_link_kind(limits, a, &its) && limits_link_kind(limits, b, &other) &&
           its == other && a->bytes_per_s == b->bytes_per_s;
}

const struct value *published_bound_access(const struct snapshot *snap, place_id by,
                                           place_id memory, const char *how)
{
    const char *axes = strcmp(how, "read") == 0 ? "" : "operation=write";
    return values_find(snap->values, METRIC_MEMORY_BANDWIDTH_BOUND, by, memory, axes);
}

void published_bound_apply(const struct snapshot *snap, struct move *move)
{
    bool is_read = move->driver == move->to;
    const struct value *bound =
        move->by == MOVE_KERNEL && move->rate == NULL
            ? published_bound_access(snap, move->driver, is_read ? move->from : move->to,
                                     is_read ? "read" : "write")
            : NULL;
    if (bound == NULL || !(bound->value < move->bytes_per_s))
        return;
    move->bytes_per_s = bound->value;
    move->most = bound;
    move->stated = 0;
    move->reach = NULL;
}

const struct value *published_bound_together(const struct snapshot *snap, const struct move *move)
{
    const struct graph *graph = snap->graph;
    const struct value *v, *like = NULL;
    if (move->by != MOVE_KERNEL || !is_gpu(graph, move->from) || !is_gpu(graph, move->to))
        return NULL;
    const struct limits *limits = snap->derived.limits;
    size_t n = values_range(snap->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v);
    for (; n > 0; v++, n--) {
        if (v->source != VALUE_PUBLISHED || !(v->value > 0) || v->from == v->to ||
            !is_gpu(graph, v->from) || !is_gpu(graph, v->to) ||
            strcmp(values_axes(snap->values, v), "operation=copy") != 0)
            continue;
        if ((v->from == move->from && v->to == move->to) ||
            (v->from == move->to && v->to == move->from))
            return v;
        if (limits != NULL && is_like(limits, move, v))
            like = v;
    }
    return like;
}
