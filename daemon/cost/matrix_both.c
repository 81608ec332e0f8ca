/* Transfers while as many bytes go the other way: measured, else published, else of transfers of
 * their kind. Where none of these is known, the simulator slows both by the limits that they share.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/matrix_inner.h"

const struct value *matrix_published_both(const struct snapshot *snap,
                                          const struct transfer *transfer)
{
    const struct limits *limits = snap->derived.limits;
    const struct value *first, *similar = NULL;
    if (transfer->kind != TRANSFER_PEER_KERNEL)
        return NULL;
    const struct limits_pair *pair = limits_pair(limits, transfer->from, transfer->to);
    size_t count = values_range(snap->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &first);
    for (const struct value *v = first; v < first + count; v++) {
        enum link_kind kind, its;
        if (v->source != VALUE_PUBLISHED || !(v->value > 0) || v->from == v->to ||
            graph_place(snap->graph, v->from)->kind != PLACE_GPU ||
            graph_place(snap->graph, v->to)->kind != PLACE_GPU ||
            strcmp(values_axes(snap->values, v), "operation=copy") != 0)
            continue;
        if ((v->from == transfer->from && v->to == transfer->to) ||
            (v->from == transfer->to && v->to == transfer->from))
            return v;
        const struct limits_pair *other = limits_pair(limits, v->from, v->to);
        if (limits_link_kind(limits, pair, &kind) && limits_link_kind(limits, other, &its) &&
            kind == its && pair->bytes_per_s == other->bytes_per_s)
            similar = v;
    }
    return similar;
}

static bool is_flow(const struct set_flow *flow, place_id from, place_id to, const char *axes)
{
    return flow->from == from && flow->to == to && strcmp(flow->axes, axes) == 0;
}

/* Returns a run of just the transfer and its reverse; NULL none. */
static const struct set *find_set(const struct snapshot *snap, const struct transfer *transfer)
{
    place_id from = transfer->from, to = transfer->to;
    for (size_t s = 0; snap->sets != NULL && s < snap->sets->count; s++) {
        const struct set *set = &snap->sets->item[s];
        const struct set_flow *flow = set->flow;
        if (set->flow_count != 2 || set->source != VALUE_MEASURED ||
            transfer_kind_of(set->metric) != transfer->kind ||
            !(flow[0].bytes_per_s + flow[1].bytes_per_s > 0))
            continue;
        bool back = is_flow(&flow[1], from, to, transfer->axes);
        if (is_flow(&flow[back], from, to, transfer->axes) &&
            is_flow(&flow[!back], to, from, transfer->axes))
            return set;
    }
    return NULL;
}

/* False when nobody measured both directions. */
static bool take_measured(const struct snapshot *snap, struct transfer *both)
{
    const struct values *values = snap->values;
    bool is_set = matrix_is_set(both->axes);
    char axes[TRANSFER_AXES_MAX];
    if (both->basis != BASIS_OWN || both->source != SOURCE_MEASURED)
        return false;
    snprintf(axes, sizeof axes, "direction=both%s%s", is_set ? ";" : "", is_set ? both->axes : "");
    const struct value *value =
        values_find(values, both->value->metric, both->from, both->to, axes);
    if (value == NULL)
        value = values_find(values, both->value->metric, both->to, both->from, axes);
    if (value != NULL && value->value > 0 && value->source == VALUE_MEASURED)
        both->both = value;
    else
        both->both_set = find_set(snap, both);
    const struct set_flow *flow = both->both_set != NULL ? both->both_set->flow : NULL;
    double rate = both->both != NULL ? both->both->value
                  : flow != NULL     ? flow[0].bytes_per_s + flow[1].bytes_per_s
                                     : 0;
    both->slowdown = rate > 0 ? fmax(1, 2 * both->bytes_per_s / rate) : 1;
    return rate > 0;
}

void matrix_both_fill(struct matrix *matrix)
{
    double most[MECHANISMS][2] = {{0}};
    for (size_t i = 0; i < matrix_size(matrix); i++) {
        struct transfer *both = &matrix->item[i].both;
        *both = matrix->item[i].alone;
        if (both->bytes_per_s > 0 && take_measured(matrix->snap, both)) {
            double *its = &most[both->by][transfer_is_peer(both)];
            *its = fmax(*its, both->slowdown);
        } else {
            both->slowdown_source = SOURCE_NOMINAL;
        }
    }
    for (size_t i = 0; i < matrix_size(matrix); i++) {
        struct transfer *both = &matrix->item[i].both;
        bool peer = transfer_is_peer(both);
        double its = most[both->by][peer];
        if (!(both->bytes_per_s > 0) || both->slowdown_source == SOURCE_MEASURED)
            continue;
        const struct value *published =
            both->basis != BASIS_OWN ? matrix_published_both(matrix->snap, both) : NULL;
        if (published != NULL) {
            both->slowdown = fmax(1, 2 * both->bytes_per_s / published->value);
            both->slowdown_source = SOURCE_PUBLISHED;
        } else if (its > 0 && both->source == SOURCE_MEASURED) {
            both->slowdown = its;
            both->slowdown_source = SOURCE_SIMILAR_PAIR;
        } else if (!peer && both->source == SOURCE_MEASURED) {
            /* with the host both mechanisms pass one port */
            both->slowdown = fmax(most[!both->by][peer], 1);
        }
    }
}
