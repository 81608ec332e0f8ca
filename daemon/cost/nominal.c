#include "cost/nominal.h"

#include <math.h>

struct reach {
    double part; /* 0: nobody says */
    const char *source;
};

/* Links of the other kinds say nothing of what they do not carry. */
static const struct reach table[LINK_KIND_COUNT] = {
    [LINK_XGMI] = {0.75, "copies over one xGMI link of an MI250X (Schieffer et al., V-A)"},
    [LINK_NVLINK] = {0.83, "copies between H200 (tests/nodes/h200x4)"},
    [LINK_C2C] = {0.83, "copies over NVLink between H200 (tests/nodes/h200x4)"},
    [LINK_PCIE] = {0.88, "copies between an H200 and the host (tests/nodes/h200x4)"},
};

static bool is_peer(const struct graph *graph, const struct move *move)
{
    return graph_place(graph, move->from)->kind == PLACE_GPU &&
           graph_place(graph, move->to)->kind == PLACE_GPU;
}

/* A measured one goes before a published one, whose part is negative until then. */
void plan_nominal_note(struct plan_nominal *nominal, const struct graph *graph,
                       const struct limits *limits, const struct move *move)
{
    enum link_kind kind;
    const struct limits_pair *pair = limits_pair(limits, move->from, move->to);
    double width = pair->bytes_per_s;
    if (move->rate == NULL || move->rate->source == VALUE_NOMINAL || !(width > 0) ||
        !limits_link_kind(limits, pair, &kind))
        return;
    double *its = &nominal->reached[move->by][is_peer(graph, move)][kind],
           part = fmin(move->bytes_per_s / width, 1);
    if (move->rate->source == VALUE_MEASURED)
        *its = fmax(*its, part);
    else if (*its <= 0)
        *its = fmin(*its, -part);
}

void plan_nominal_scale(const struct plan_nominal *nominal, const struct graph *graph,
                        const struct limits *limits, struct move *move)
{
    enum link_kind kind;
    const struct limits_pair *pair = limits_pair(limits, move->from, move->to);
    double width = pair->bytes_per_s;
    if (move->rate != NULL || move->most != NULL || !(width > 0) ||
        !limits_link_kind(limits, pair, &kind))
        return;
    bool peer = is_peer(graph, move);
    double its = fabs(nominal->reached[move->by][peer][kind]),
           others = peer ? 0
                         : fabs(nominal->reached[move->by == MOVE_KERNEL ? MOVE_COPY_ENGINE
                                                                         : MOVE_KERNEL][0][kind]);
    its = its > 0 ? its : others; /* with the host both mechanisms go through the same port */
    double part = its > 0 ? its : table[kind].part;
    move->stated = width;
    move->reach = its > 0 ? "such transfers here" : table[kind].source;
    if (part > 0 && part * width < move->bytes_per_s)
        move->bytes_per_s = part * width;
    else if (!(part > 0))
        move->reach = NULL;
}
