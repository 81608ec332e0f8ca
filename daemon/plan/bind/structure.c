#include "plan/bind/structure.h"

#include <math.h>
#include <stdlib.h>

#include "node/locality.h"
#include "plan/bind/price_inner.h"

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
    size_t *host;        /* flows with something outside the gpus */
    size_t host_count;
    double bytes; /* of all flows */
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

static double from_gpu(const struct bind_price *price, enum outside outside, size_t slot,
                       size_t home)
{
    bool is_host = outside == OUTSIDE_TO_HOST || outside == OUTSIDE_FROM_HOST;
    uint16_t other = is_host ? price->memory[home] : price->nic[slot];
    return other != NOWHERE
               ? locality_distance(price->snap, price->place[slot], price->place[other])
               : 0;
}

static bool is_outside(const struct bind_price *price, size_t flow)
{
    return price->kind[price->flow[flow].kind].outside != OUTSIDE_NONE;
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
                                      ? from_gpu(price, price->kind[flow->kind].outside, from, home)
                                      : ways->near[from * n + slot[flow->to]]);
    }
    for (size_t b = 0; b < price->request.tasks * each; b++)
        for (size_t own = b - b % each; own < b; own++)
            far += OWN * ways->bytes * ways->near[slot[b] * n + slot[own]];
    for (size_t i = 0; i < ways->host_count; i++)
        for (size_t j = 0; j < i; j++) {
            size_t a = ways->host[i], b = ways->host[j];
            if (price->kind[price->flow[a].kind].outside ==
                price->kind[price->flow[b].kind].outside)
                far += 2 * fmin(price->bytes[a], price->bytes[b]) *
                       ways->meet[slot[price->flow[a].from] * n + slot[price->flow[b].from]];
        }
    return (struct search_cost){.time_ns = far, .sum_ns = far};
}

/* ---- the search ---- */

/* All ways add up in the one resource, so that what is certain of a choice is their sum. */
static void make_arcs(const struct ways *ways, struct search_arc *arc, struct search_use *use)
{
    const struct bind_price *price = ways->price;
    size_t n = price->request.gpu_count, used = 0;
    for (size_t k = 0; k < price->kind_count; k++)
        for (size_t pair = 0; pair < n * n; pair++) {
            const struct kind *kind = &price->kind[k];
            size_t from = pair / n, to = pair % n;
            if (kind->outside != OUTSIDE_NONE && from != to)
                continue;
            /* a task's memory may be another gpu's */
            double near = kind->outside == OUTSIDE_NONE ? ways->near[pair]
                          : price->request.each > 1     ? 0
                                                    : from_gpu(price, kind->outside, from, from);
            use[used] = (struct search_use){0, kind->bytes * near};
            arc[k * n * n + pair] = (struct search_arc){
                .alone_ns = kind->bytes * near, .use = (uint32_t)used++, .use_count = 1};
        }
}

/* What a gpu shares with others on the way to the host tells it apart, whether or not tasks are
 * next to it. */
static double *parted(const struct ways *ways, const double *apart)
{
    size_t n = ways->price->request.gpu_count;
    double *all = calloc(n * n, sizeof *all);
    for (size_t i = 0; all != NULL && i < n * n; i++)
        all[i] = apart[i] + ways->meet[i] / (2 * MEET_IN_MODULE);
    return all;
}

static bool search(struct ways *ways, const struct bind_price_choice *choice, uint16_t *slot)
{
    const struct bind_price *price = ways->price;
    const struct bind_price_request *request = &price->request;
    size_t n = request->gpu_count;
    static const uint16_t sort[] = {0};
    static const double start[] = {0};
    struct search_arc *arc = calloc(price->kind_count * n * n + 1, sizeof *arc);
    struct search_use *use = calloc(price->kind_count * n * n + 1, sizeof *use);
    double *apart = parted(ways, choice->apart);
    struct search_result found;
    struct search_problem problem = {
        .slots = n,
        .tasks = request->tasks,
        .each = request->each,
        .in_order = choice->in_order,
        .flow = price->flow,
        .flow_count = price->flow_count,
        .kinds = price->kind_count,
        .arc = arc,
        .use = use,
        .resources = 1,
        .sort = sort,
        .start_ns = start,
        .far = choice->far,
        .apart = apart,
        .price = weigh,
        .context = ways,
    };
    bool ok = arc != NULL && use != NULL && apart != NULL;
    if (ok)
        make_arcs(ways, arc, use);
    ok = ok && plan_search(&problem, slot, &found) && plan_search_settle(&problem, 0, slot, &found);
    free(arc);
    free(use);
    free(apart);
    return ok;
}

bool plan_bind_structure_tells(const struct bind_price *price)
{
    for (size_t f = 0; f < price->flow_count; f++)
        if (!is_outside(price, f))
            return true;
    return false;
}

enum berth_code plan_bind_structure_choose(struct bind_price *price,
                                           const struct bind_price_choice *choice,
                                           uint16_t *ret_slot, struct berth_err *err)
{
    size_t n = price->request.gpu_count;
    struct ways ways = {.price = price,
                        .near = calloc(n * n, sizeof *ways.near),
                        .meet = calloc(n * n, sizeof *ways.meet),
                        .host = calloc(price->flow_count + 1, sizeof *ways.host)};
    bool ok = ways.near != NULL && ways.meet != NULL && ways.host != NULL;
    for (size_t a = 0; ok && a < n; a++) {
        ways.meet[a * n + a] = MEET_IN_MODULE; /* tasks that share it */
        for (size_t b = a + 1; b < n; b++)
            look_at_pair(&ways, a, b);
    }
    for (size_t f = 0; ok && f < price->flow_count; f++) {
        ways.bytes += price->bytes[f];
        if (is_outside(price, f))
            ways.host[ways.host_count++] = f;
    }
    ok = ok && search(&ways, choice, ret_slot);
    free(ways.near);
    free(ways.meet);
    free(ways.host);
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
}
