#include "plan/bind/structure.h"

#include <math.h>
#include <stdlib.h>

#include "node/locality.h"
#include "plan/bind/objective.h"

/* How far it is from one gpu to another, on the scale of locality_distance, where 10 is one NUMA
 * node. */
#define BY_LINK   1
#define IN_NUMA   10
#define BY_SWITCH 5 /* one PCIe switch, or one module, without a link between them */

/* How much farther bytes count that meet as many others on their way to the host. */
#define MEET_IN_MODULE  20 /* or switch */
#define MEET_IN_NUMA    10
#define MEET_IN_PACKAGE 5

/* a task's gpus stay together before all else: what goes between them nobody said */
#define OWN 100

struct ways {
    struct bind_price *price;
    double *near, *meet; /* by gpu and gpu */
    double bytes;        /* of all flows */
};

/* ---- what structure says of two gpus ---- */

static bool joins(const struct link *link, place_id a, place_id b)
{
    return (link->from == a && link->to == b) || (link->from == b && link->to == a);
}

/* By a link of their own, or by one of each to the same switch of gpus; INFINITY neither.
 * ret_switch: they have a PCIe switch in common. */
static double by_links(const struct graph *graph, place_id a, place_id b, bool *ret_switch)
{
    double nearest = INFINITY;
    *ret_switch = false;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *mine = &graph->links[i];
        place_id between = mine->from == a ? mine->to : mine->to == a ? mine->from : PLACE_NONE;
        if (between == PLACE_NONE || mine->state == LINK_DOWN)
            continue;
        nearest = joins(mine, a, b) ? BY_LINK : nearest;
        for (size_t j = 0;
             graph_place(graph, between)->kind == PLACE_SWITCH && j < graph->link_count; j++) {
            const struct link *other = &graph->links[j];
            if (other->state == LINK_DOWN || !joins(other, between, b))
                continue;
            bool is_pcie = mine->kind == LINK_PCIE;
            *ret_switch = *ret_switch || is_pcie;
            nearest = fmin(nearest, is_pcie ? BY_SWITCH : BY_LINK);
        }
    }
    return nearest;
}

static bool share(const struct graph *graph, place_id a, place_id b, enum place_kind kind)
{
    place_id mine = locality_above(graph, a, kind);
    return mine != PLACE_NONE && locality_above(graph, b, kind) == mine;
}

double plan_bind_structure_meet(const struct graph *graph, place_id a, place_id b)
{
    bool shares_switch;
    by_links(graph, a, b, &shares_switch);
    place_id numa = locality_numa(graph, a);
    bool shares_port = limits_pcie_port(graph, a, 0) != PLACE_NONE &&
                       limits_pcie_port(graph, a, 0) == limits_pcie_port(graph, b, 0);
    if (a == b || shares_port || shares_switch || share(graph, a, b, PLACE_MODULE))
        return MEET_IN_MODULE;
    if (numa != PLACE_NONE && locality_numa(graph, b) == numa)
        return MEET_IN_NUMA;
    return share(graph, a, b, PLACE_PACKAGE) ? MEET_IN_PACKAGE : 0;
}

static void look_at_pair(const struct ways *ways, size_t a, size_t b)
{
    const struct bind_price *price = ways->price;
    const struct graph *graph = price->snap->graph;
    size_t n = price->request.gpu_count;
    place_id x = price->request.gpu[a], y = price->request.gpu[b];
    bool shares_switch, shares_module = share(graph, x, y, PLACE_MODULE);
    double near = by_links(graph, x, y, &shares_switch);
    /* that they are next to the same cores does not join them */
    near =
        fmin(near, shares_module ? BY_SWITCH : fmax(locality_distance(price->snap, x, y), IN_NUMA));
    ways->near[a * n + b] = ways->near[b * n + a] = near;
    ways->meet[a * n + b] = ways->meet[b * n + a] = plan_bind_structure_meet(graph, x, y);
}

/* ---- a choice ---- */

static double from_gpu(const struct bind_price *price, enum bind_end end, size_t slot, size_t home)
{
    bool is_host = end == END_TO_HOST || end == END_FROM_HOST;
    uint16_t other = is_host ? price->memory[home] : price->nic[slot];
    return other != PRICE_NOWHERE
               ? locality_distance(price->snap, price->place[slot], price->place[other])
               : 0;
}

static bool is_outside(const struct bind_price *price, size_t flow)
{
    return price->kind[price->flow[flow].kind].end != END_GPU;
}

/* Bytes by how far they go, and those that meet others by how many. */
static struct search_cost weigh(void *context, const uint16_t *slot)
{
    const struct ways *ways = context;
    const struct bind_price *price = ways->price;
    size_t n = price->request.gpu_count, each = price->request.each;
    double far = 0;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct search_flow *flow = &price->flow[f];
        size_t from = slot[flow->from], home = slot[(size_t)flow->from / each * each];
        far += price->bytes[f] * (is_outside(price, f)
                                      ? from_gpu(price, price->kind[flow->kind].end, from, home)
                                      : ways->near[from * n + slot[flow->to]]);
    }
    for (size_t b = 0; b < price->request.tasks * each; b++)
        for (size_t own = b - b % each; own < b; own++)
            far += OWN * ways->bytes * ways->near[slot[b] * n + slot[own]];
    for (size_t a = 0; a < price->flow_count; a++)
        for (size_t b = 0; is_outside(price, a) && b < a; b++)
            if (price->kind[price->flow[a].kind].end == price->kind[price->flow[b].kind].end)
                far += 2 * fmin(price->bytes[a], price->bytes[b]) *
                       ways->meet[slot[price->flow[a].from] * n + slot[price->flow[b].from]];
    return (struct search_cost){.time_ns = far, .sum_ns = far};
}

/* ---- the search ---- */

/* All bytes add up in one resource, so that what is certain of a choice is their sum. */
static void make_arcs(const struct ways *ways, struct search_arc *arc, struct search_use *use)
{
    const struct bind_price *price = ways->price;
    size_t n = price->request.gpu_count;
    size_t i = 0;
    for (size_t k = 0; k < price->kind_count; k++)
        for (size_t from = 0; from < n; from++)
            for (size_t to = 0; to < n; to++, i++) {
                enum bind_end end = price->kind[k].end;
                /* a task's memory may be another GPU's */
                double near = end == END_GPU ? ways->near[from * n + to]
                              : price->request.each > 1 || from != to
                                  ? 0
                                  : from_gpu(price, end, from, from);
                use[i] = (struct search_use){0, price->kind[k].bytes * near};
                arc[i] = (struct search_arc){.alone_ns = use[i].ns,
                                             .use = (uint32_t)i,
                                             .use_count = end == END_GPU || from == to};
            }
}

bool plan_bind_structure_tells(const struct bind_price *price)
{
    for (size_t k = 0; k < price->kind_count; k++)
        if (price->kind[k].end == END_GPU)
            return true;
    return false;
}

static bool search(const struct ways *ways, const struct bind_objective_choice *choice,
                   uint16_t *slot)
{
    const struct bind_price_request *request = &ways->price->request;
    size_t n = request->gpu_count, arcs = ways->price->kind_count * n * n;
    static const uint16_t sort[] = {0};
    static const double start[] = {0};
    struct search_arc *arc = calloc(arcs + 1, sizeof *arc);
    struct search_use *use = calloc(arcs + 1, sizeof *use);
    struct search_result found;
    struct search_problem problem = {
        .slots = n,
        .tasks = request->tasks,
        .each = request->each,
        .in_order = choice->in_order,
        .flow = ways->price->flow,
        .flow_count = ways->price->flow_count,
        .kinds = ways->price->kind_count,
        .arc = arc,
        .use = use,
        .resources = 1,
        .sort = sort,
        .start_ns = start,
        .far = choice->far,
        .apart = choice->apart,
        .meet = ways->meet,
        .price = weigh,
        .context = (void *)ways,
    };
    bool ok = arc != NULL && use != NULL;
    if (ok)
        make_arcs(ways, arc, use);
    ok = ok && plan_search(&problem, slot, &found) && plan_search_settle(&problem, 0, slot, &found);
    free(arc);
    free(use);
    return ok;
}

enum berth_code plan_bind_structure_choose(struct bind_price *price,
                                           const struct bind_objective_choice *choice,
                                           uint16_t *ret_slot, struct berth_err *err)
{
    size_t n = price->request.gpu_count;
    struct ways ways = {.price = price,
                        .near = calloc(n * n, sizeof *ways.near),
                        .meet = calloc(n * n, sizeof *ways.meet)};
    bool ok = ways.near != NULL && ways.meet != NULL;
    for (size_t a = 0; ok && a < n; a++) {
        ways.meet[a * n + a] = MEET_IN_MODULE; /* tasks that share it */
        for (size_t b = a + 1; b < n; b++)
            look_at_pair(&ways, a, b);
    }
    for (size_t f = 0; f < price->flow_count; f++)
        ways.bytes += price->bytes[f];
    ok = ok && search(&ways, choice, ret_slot);
    free(ways.near);
    free(ways.meet);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
}
