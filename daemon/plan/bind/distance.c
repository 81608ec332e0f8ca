#include "plan/bind/distance.h"

#include <math.h>
#include <stdlib.h>

#include "node/locality.h"

/* From one GPU to another, on the scale of locality_distance, where 10 is one NUMA node. */
#define BY_LINK   1 /* the widest of the node; less wide ones are farther */
#define BY_SWITCH 5 /* one PCIe switch, or one module, without a link between them */
#define IN_NUMA   10

/* The GPUs of a task are together before all else: nobody said what goes between them. */
#define OWN 100

/* Bytes of two flows that share all of the way to the host, beside choice->meet. */
#define MEETING 4000

/* ---- two GPUs ---- */

static bool joins(const struct link *link, place_id a, place_id b)
{
    return link->state != LINK_DOWN &&
           ((link->from == a && link->to == b) || (link->from == b && link->to == a));
}

static double width_of(const struct link *link) { return fmax(link->nominal_bytes_per_s, 1); }

/* By a link of their own, or by one of each to the same switch of GPUs; INFINITY neither. widest:
 * of the links between GPUs. ret_switch: they have a PCIe switch in common. */
static double by_links(const struct graph *graph, place_id a, place_id b, double widest,
                       bool *ret_switch)
{
    double nearest = INFINITY;
    *ret_switch = false;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *mine = &graph->links[i];
        place_id between = mine->from == a ? mine->to : mine->to == a ? mine->from : PLACE_NONE;
        if (joins(mine, a, b))
            nearest = fmin(nearest, fmin(BY_LINK * widest / width_of(mine), BY_SWITCH));
        if (between == PLACE_NONE || mine->state == LINK_DOWN ||
            graph_place(graph, between)->kind != PLACE_SWITCH)
            continue;
        for (size_t j = 0; j < graph->link_count; j++) {
            if (!joins(&graph->links[j], between, b))
                continue;
            *ret_switch = *ret_switch || mine->kind == LINK_PCIE;
            nearest = fmin(nearest, mine->kind == LINK_PCIE ? BY_SWITCH : BY_LINK);
        }
    }
    return nearest;
}

static bool share(const struct graph *graph, place_id a, place_id b, enum place_kind kind)
{
    place_id mine = locality_above(graph, a, kind);
    return mine != PLACE_NONE && locality_above(graph, b, kind) == mine;
}

double plan_bind_distance_meet(const struct graph *graph, place_id a, place_id b)
{
    bool shares_switch;
    by_links(graph, a, b, 1, &shares_switch);
    place_id numa = locality_numa(graph, a), port = limits_pcie_port(graph, a, 0);
    if (a == b || (port != PLACE_NONE && port == limits_pcie_port(graph, b, 0)) || shares_switch ||
        share(graph, a, b, PLACE_MODULE))
        return 1;
    return numa != PLACE_NONE && locality_numa(graph, b) == numa ? 0.5
           : share(graph, a, b, PLACE_PACKAGE)                   ? 0.25
                                                                 : 0;
}

/* By GPU and GPU; that they are next to the same cores does not join them. */
static void find_near(const struct bind_distance *distance, double *near)
{
    const struct graph *graph = distance->snap->graph;
    const place_id *gpu = distance->gpus->gpu;
    size_t n = distance->gpus->count;
    double widest = 1;
    for (size_t i = 0; i < graph->link_count; i++)
        if (graph_place(graph, graph->links[i].from)->kind == PLACE_GPU &&
            graph_place(graph, graph->links[i].to)->kind == PLACE_GPU)
            widest = fmax(widest, width_of(&graph->links[i]));
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) {
            bool shares_switch;
            double other = share(graph, gpu[a], gpu[b], PLACE_MODULE)
                               ? BY_SWITCH
                               : fmax(locality_distance(distance->snap, gpu[a], gpu[b]), IN_NUMA);
            near[a * n + b] = near[b * n + a] =
                fmin(by_links(graph, gpu[a], gpu[b], widest, &shares_switch), other);
        }
}

/* ---- the search ---- */

bool plan_bind_distance_has_flows(const struct bind_price *price)
{
    for (size_t k = 0; k < price->kind_count; k++)
        if (price->kind[k].end == END_GPU)
            return true;
    return false;
}

struct work {
    struct search_problem problem;
    const struct bind_distance *distance;
};

/* Counts flows with the host that share the way as bytes over it. */
static double meeting(const struct work *work, const uint16_t *slot)
{
    const struct bind_price *price = work->distance->price;
    const double *meet = work->distance->choice->meet;
    double sum = 0;
    for (size_t a = 0; price != NULL && a < price->flow_count; a++)
        for (size_t b = 0; price->flow[a].to < 0 && b < a; b++)
            if (price->flow[b].to < 0 &&
                price->kind[price->flow[a].kind].end == price->kind[price->flow[b].kind].end)
                sum += MEETING * fmin(price->bytes[a], price->bytes[b]) *
                       meet[slot[price->flow[a].from] * work->problem.slots +
                            slot[price->flow[b].from]];
    return sum;
}

/* The sum of all flows. */
static struct search_cost price_of(void *context, const uint16_t *slot)
{
    const struct work *work = context;
    const struct search_problem *problem = &work->problem;
    double sum = meeting(work, slot);
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
        sum += problem->arc[(flow->kind * problem->slots + from) * problem->slots + to].alone_ns;
    }
    return (struct search_cost){.time_ns = sum, .sum_ns = sum};
}

/* The flows of the price, each pair of a task's GPUs, and one of each task with the host where
 * nothing is known to move. Their kinds: the price's, OWN, host. */
static size_t make_flows(const struct bind_distance *distance, struct search_flow *flow)
{
    const struct bind_price *price = distance->price;
    size_t each = distance->each, count = 0, kinds = price != NULL ? price->kind_count : 0;
    for (size_t f = 0; price != NULL && f < price->flow_count; f++) {
        flow[count] = price->flow[f];
        flow[count++].turn = 0;
    }
    for (size_t b = 0; b < distance->tasks * each; b++)
        for (size_t own = b - b % each; own < b; own++)
            flow[count++] = (struct search_flow){
                .kind = (uint16_t)kinds, .from = (int32_t)own, .to = (int32_t)b};
    for (size_t t = 0; price == NULL && t < distance->tasks; t++)
        flow[count++] = (struct search_flow){
            .kind = (uint16_t)(kinds + 1), .from = (int32_t)(t * each), .to = -1};
    return count;
}

/* All flows add up in one resource, so that what is certain of a choice is their sum. */
static void make_arcs(const struct bind_distance *distance, const double *near,
                      struct search_arc *arc, struct search_use *use)
{
    const struct bind_price *price = distance->price;
    size_t n = distance->gpus->count, kinds = price != NULL ? price->kind_count : 0, i = 0;
    double bytes = 1;
    for (size_t f = 0; price != NULL && f < price->flow_count; f++)
        bytes += price->bytes[f];
    for (size_t k = 0; k < kinds + 2; k++)
        for (size_t pair = 0; pair < n * n; pair++, i++) {
            double each = k == kinds                                   ? OWN * bytes
                          : k < kinds && price->kind[k].end == END_GPU ? price->kind[k].bytes
                                                                       : 0;
            use[i] = (struct search_use){0, each * near[pair]};
            arc[i] = (struct search_arc){
                .alone_ns = use[i].ns, .use = (uint32_t)i, .use_count = each > 0};
        }
}

enum berth_code plan_bind_distance_choose(const struct bind_distance *distance, uint16_t *ret_slot,
                                          struct berth_err *err)
{
    size_t n = distance->gpus->count, berths = distance->tasks * distance->each,
           kinds = (distance->price != NULL ? distance->price->kind_count : 0) + 2,
           flows = (distance->price != NULL ? distance->price->flow_count : 0) +
                   berths * distance->each + distance->tasks;
    static const uint16_t sort[] = {0};
    static const double start[] = {0};
    double *near = calloc(2 * n * n + 1, sizeof *near);
    struct search_flow *flow = calloc(flows, sizeof *flow);
    struct search_arc *arc = calloc(kinds * n * n + 1, sizeof *arc);
    struct search_use *use = calloc(kinds * n * n + 1, sizeof *use);
    bool ok = near != NULL && flow != NULL && arc != NULL && use != NULL;
    struct work work = {.distance = distance};
    work.problem = (struct search_problem){
        .slots = n,
        .tasks = distance->tasks,
        .each = distance->each,
        .in_order = distance->choice->in_order,
        .flow = flow,
        .kinds = kinds,
        .arc = arc,
        .use = use,
        .resources = 1,
        .sort = sort,
        .start_ns = start,
        .far = distance->choice->far,
        .apart = near + n * n,
        .meet = distance->choice->meet,
        .price = price_of,
        .context = &work,
    };
    struct search_result found;
    if (ok) {
        find_near(distance, near);
        make_arcs(distance, near, arc, use);
        work.problem.flow_count = make_flows(distance, flow);
        ok = plan_search(&work.problem, ret_slot, &found);
    }
    free(near);
    free(flow);
    free(arc);
    free(use);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
}
