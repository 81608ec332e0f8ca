#include "plan/bind/crowds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bind/flow.h"
#include "plan/bind/start.h"

#define N           SEARCH_EXACT_SLOTS
#define SETS        (1U << N) /* of tasks */
#define PRICES_MAX  600       /* of one group: each is of a handful of transfers */
#define NO_RESOURCE SIZE_MAX

struct crowds {
    struct bind_price *price;
    /* by resource: another one that some transfer uses as well, or one that leads there; itself:
     * the first */
    size_t *with;
    /* by resource: gpus use it, or one that goes with it, for what they send each other */
    bool *is_between;
    /* by task: the first whose transfers with something outside are the same */
    size_t like[N];
    /* by set of tasks: the set that stands for those that are like it; how many */
    unsigned char lowest[SETS], members[SETS];
    unsigned char set[SETS]; /* those that stand for others, ascending */
    size_t set_count;
    uint16_t slot[N]; /* of the group that is looked at */
    size_t slots;
    uint16_t at[N];     /* by task: its slot; NOWHERE */
    double least[SETS]; /* by set of tasks: in the group's slots */
    double most[SETS];  /* by set of tasks: in the slots of all groups so far, the slowest */
    size_t prices;
};

static size_t first_of(const struct crowds *crowds, size_t resource)
{
    while (crowds->with[resource] != resource)
        resource = crowds->with[resource];
    return resource;
}

/* The first of those that go with what the arc uses. */
static size_t first_used(const struct crowds *crowds, const struct search_arc *arc)
{
    return arc->use_count > 0 ? first_of(crowds, crowds->price->use[arc->use].resource)
                              : NO_RESOURCE;
}

static const struct search_arc *arc_of(const struct bind_price *price, size_t kind, size_t from,
                                       size_t to)
{
    return &price->arc[(kind * price->request.gpu_count + from) * price->request.gpu_count + to];
}

static void join(struct crowds *crowds)
{
    const struct bind_price *price = crowds->price;
    size_t n = price->request.gpu_count;
    for (size_t i = 0; i < price->kind_count * n * n; i++)
        for (uint32_t u = 1; u < price->arc[i].use_count; u++)
            crowds->with[first_of(crowds, price->use[price->arc[i].use + u].resource)] =
                first_used(crowds, &price->arc[i]);
    for (size_t i = 0; i < price->kind_count * n * n; i++)
        if (price->kind[i / (n * n)].outside == OUTSIDE_NONE && price->arc[i].use_count > 0)
            crowds->is_between[first_used(crowds, &price->arc[i])] = true;
}

/* Which tasks have the same transfers with something outside, after as many others. */
static void find_like(struct crowds *crowds)
{
    const struct bind_price *price = crowds->price;
    for (size_t t = 0; t < price->request.tasks; t++)
        for (crowds->like[t] = 0; crowds->like[t] < t; crowds->like[t]++) {
            size_t a = 0, b = 0;
            bool same = true;
            while (same) {
                while (a < price->flow_count &&
                       (price->flow[a].to >= 0 || price->flow[a].from != (int32_t)crowds->like[t]))
                    a++;
                while (b < price->flow_count &&
                       (price->flow[b].to >= 0 || price->flow[b].from != (int32_t)t))
                    b++;
                if (a == price->flow_count || b == price->flow_count)
                    break;
                same = price->flow[a].kind == price->flow[b].kind &&
                       price->flow[a].turn == price->flow[b].turn;
                a++;
                b++;
            }
            if (same && a >= price->flow_count && b >= price->flow_count)
                break;
        }
}

/* What the transfers of these tasks that use that resource, or one that goes with it, take by
 * themselves. */
static double price_of(struct crowds *crowds, size_t resource)
{
    struct bind_price *price = crowds->price;
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct search_flow *flow = &price->flow[f];
        uint16_t slot = flow->to < 0 ? crowds->at[flow->from] : NOWHERE;
        price->load[f] = (struct load_flow){.bytes = 0};
        if (slot == NOWHERE ||
            first_used(crowds, arc_of(price, flow->kind, slot, slot)) != resource)
            continue;
        struct load_flow load = plan_bind_flow_between(price, price->kind[flow->kind].outside,
                                                       price->bytes[f], slot, slot, NOWHERE);
        if (plan_bind_flow_is_known(price, &load) && !price->kind[flow->kind].is_unpriced) {
            price->load[f] = load;
            price->load[f].turn = flow->turn;
        }
    }
    crowds->prices++;
    return plan_bind_start_time(price).step_ns;
}

/* Each set of tasks that has room in the group, in each order; those that are like one another only
 * once. */
static void price_sets(struct crowds *crowds, size_t resource, size_t place, unsigned set)
{
    if (crowds->prices > PRICES_MAX)
        return;
    if (place == crowds->slots) {
        crowds->least[set] = fmin(crowds->least[set], set != 0 ? price_of(crowds, resource) : 0);
        return;
    }
    price_sets(crowds, resource, place + 1, set);
    for (size_t t = 0; t < crowds->price->request.tasks; t++) {
        bool is_next = (set & 1U << t) == 0;
        for (size_t before = crowds->like[t]; before < t && is_next; before++)
            /* the lowest of those that are like it first */
            is_next = crowds->like[before] != crowds->like[t] || (set & 1U << before) != 0;
        if (!is_next)
            continue;
        crowds->at[t] = crowds->slot[place];
        price_sets(crowds, resource, place + 1, set | 1U << t);
        crowds->at[t] = NOWHERE;
    }
}

/* Of each set that in which tasks have given their places to the lowest of those that are like
 * them. */
static void find_lowest(struct crowds *crowds)
{
    size_t tasks = crowds->price->request.tasks;
    for (unsigned set = 0; set < 1U << tasks; set++) {
        unsigned count[N] = {0}, lowest = 0, members = 0;
        for (size_t t = 0; t < tasks; t++)
            count[crowds->like[t]] += set >> t & 1;
        for (size_t t = 0; t < tasks; t++)
            if (count[crowds->like[t]] > 0) {
                count[crowds->like[t]]--;
                lowest |= 1U << t;
                members++;
            }
        crowds->lowest[set] = (unsigned char)lowest;
        crowds->members[set] = (unsigned char)members;
        if (lowest == set)
            crowds->set[crowds->set_count++] = (unsigned char)set;
    }
}

/* Some more tasks in the slots of this group; NULL: nothing, whoever is there. */
static void spread(struct crowds *crowds, const double *least, size_t slots)
{
    /* only of smaller sets, and of itself, is what was before looked at */
    for (size_t i = crowds->set_count; i-- > 0;) {
        unsigned set = crowds->set[i];
        double best = INFINITY;
        for (size_t k = 0; k <= i; k++) {
            unsigned here = crowds->set[k];
            if ((here & ~set) == 0 && crowds->members[here] <= slots)
                best = fmin(best, fmax(crowds->most[crowds->lowest[set & ~here]],
                                       least != NULL ? least[here] : 0));
        }
        crowds->most[set] = best;
    }
}

/* How the tasks are spread best where these resources, of one sort of transfers, are all there is:
 * slots have one each. */
static double spread_over(struct crowds *crowds, const size_t *resource)
{
    size_t n = crowds->price->request.gpu_count;
    for (unsigned set = 0; set < SETS; set++)
        crowds->most[set] = set == 0 ? 0 : INFINITY;
    for (size_t s = 0; s < n; s++) {
        bool is_first = true;
        for (size_t before = 0; before < s; before++)
            is_first = is_first && resource[before] != resource[s];
        if (resource[s] == NO_RESOURCE)
            spread(crowds, NULL, 1);
        if (resource[s] == NO_RESOURCE || !is_first)
            continue;
        crowds->slots = 0;
        for (size_t i = s; i < n; i++)
            if (resource[i] == resource[s])
                crowds->slot[crowds->slots++] = (uint16_t)i;
        for (unsigned set = 0; set < SETS; set++)
            crowds->least[set] = INFINITY;
        crowds->prices = 0;
        price_sets(crowds, resource[s], 0, 0);
        spread(crowds, crowds->prices > PRICES_MAX ? NULL : crowds->least, crowds->slots);
    }
    return crowds->most[(1U << crowds->price->request.tasks) - 1];
}

static double find(struct crowds *crowds)
{
    const struct bind_price *price = crowds->price;
    size_t n = price->request.gpu_count;
    double least_ns = 0;
    join(crowds);
    find_like(crowds);
    find_lowest(crowds);
    for (size_t t = 0; t < N; t++)
        crowds->at[t] = NOWHERE;
    for (size_t k = 0; k < price->kind_count; k++) {
        size_t resource[N];
        bool is_new = price->kind[k].outside != OUTSIDE_NONE;
        for (size_t s = 0; s < n && is_new; s++) {
            resource[s] = first_used(crowds, arc_of(price, k, s, s));
            if (resource[s] != NO_RESOURCE && crowds->is_between[resource[s]])
                resource[s] = NO_RESOURCE;
        }
        /* Kinds that use the same are looked at with the first of them. */
        for (size_t before = 0; before < k && is_new; before++) {
            bool same = price->kind[before].outside != OUTSIDE_NONE;
            for (size_t s = 0; s < n && same; s++)
                same = resource[s] == NO_RESOURCE ||
                       resource[s] == first_used(crowds, arc_of(price, before, s, s));
            is_new = !same;
        }
        if (is_new)
            least_ns = fmax(least_ns, spread_over(crowds, resource));
    }
    return least_ns;
}

bool plan_bind_crowds(struct bind_price *price, double *ret_ns)
{
    size_t resources = plan_load_resource_count(price->table);
    bool has_outside = false;
    for (size_t k = 0; k < price->kind_count; k++)
        has_outside = has_outside || price->kind[k].outside != OUTSIDE_NONE;
    *ret_ns = 0;
    if (!has_outside || price->request.each > 1 || price->request.may_lack ||
        price->request.gpu_count > N || price->request.tasks > price->request.gpu_count)
        return true;
    struct crowds crowds = {.price = price,
                            .with = calloc(resources + 1, sizeof *crowds.with),
                            .is_between = calloc(resources + 1, sizeof *crowds.is_between)};
    bool ok = crowds.with != NULL && crowds.is_between != NULL;
    for (size_t r = 0; ok && r < resources; r++)
        crowds.with[r] = r;
    if (ok)
        *ret_ns = find(&crowds);
    free(crowds.with);
    free(crowds.is_between);
    return ok;
}
