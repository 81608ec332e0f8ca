#include "cost/load_untried.h"

#include <math.h>
#include <stdlib.h>

#include "cost/limits.h"
#include "cost/policy.h"

/* What is looked for. open: by two flows, the lower first, whether nothing says what they get
 * together. */
struct looking {
    const struct load_table *table;
    const struct load_flow *flow;
    size_t count;
    const struct load_scratch *scratch;
    bool *open;
    size_t left;
};

static bool is_over_host(const struct looking *looking, size_t i)
{
    const struct load_ride *ride = looking->scratch->ride[i];
    const struct limits *limits = looking->table->snap->derived.limits;
    return ride != NULL && looking->flow[i].bytes > 0 &&
           limits_pair(limits, ride->move.from, ride->move.to)->over_host;
}

/* Those from one gpu to one other are one behind the other. */
static bool meet(const struct load_flow *a, const struct load_flow *b)
{
    bool is_same = a->from == b->from && a->to == b->to;
    return !is_same &&
           (a->from == b->from || a->to == b->to || a->from == b->to || a->to == b->from);
}

/* Both directions between two gpus, which values tell. */
static bool are_both(const struct looking *looking, size_t i, size_t j)
{
    const struct move *there = &looking->scratch->ride[i]->move,
                      *back = &looking->scratch->ride[j]->move;
    const struct pair *pair =
        plan_pairs_find(looking->table->pairs, there->from, there->to, there->by);
    return there->from == back->to && there->to == back->from && there->by == back->by &&
           pair != NULL && pair->alike_both != NULL;
}

static bool share_what_was_measured(const struct looking *looking, size_t i, size_t j)
{
    const struct load_table *table = looking->table;
    const struct load_ride *a = looking->scratch->ride[i], *b = looking->scratch->ride[j];
    const uint16_t *use = table->use + a->use, *other = table->use + b->use;
    bool found = are_both(looking, i, j);
    for (size_t x = 0; x < a->use_count; x++)
        for (size_t y = 0; y < b->use_count && !found; y++)
            found = use[x] == other[y] && table->resource[use[x]].limit != NULL &&
                    !table->resource[use[x]].is_nominal;
    return found;
}

static void find_open(struct looking *looking)
{
    for (size_t i = 0; i < looking->count; i++)
        for (size_t j = i + 1; is_over_host(looking, i) && j < looking->count; j++)
            if (meet(&looking->flow[i], &looking->flow[j]) && is_over_host(looking, j) &&
                !share_what_was_measured(looking, i, j)) {
                looking->open[i * looking->count + j] = true;
                looking->left++;
            }
}

/* The step's flows that the set's are, which were measured together there. */
static void close_measured(struct looking *looking, const struct set *set)
{
    size_t at[SETS_FLOWS_MAX], found = 0;
    unsigned kind = transfer_kind_of(set->metric);
    for (size_t i = 0; i < looking->count && found < SETS_FLOWS_MAX; i++) {
        const struct load_ride *ride = looking->scratch->ride[i];
        bool has = false;
        for (size_t f = 0; ride != NULL && ride->kind == kind && f < set->flow_count && !has; f++)
            has = set->flow[f].from == ride->move.from && set->flow[f].to == ride->move.to;
        if (has)
            at[found++] = i;
    }
    for (size_t x = 0; x < found; x++)
        for (size_t y = x + 1; y < found; y++) {
            bool *open = &looking->open[at[x] * looking->count + at[y]];
            looking->left -= *open;
            *open = false;
        }
}

/* Transfers between gpus through an item, and what they get in all, each in the mean while its
 * bytes move. */
struct users {
    size_t count;
    double bytes_per_s;
};

static struct users users_of(const struct looking *looking, const struct limits *limits,
                             const struct limit *limit)
{
    struct users users = {0, 0};
    for (size_t i = 0; i < looking->count; i++) {
        const struct load_ride *ride = looking->scratch->ride[i];
        const struct sim_flow *flow = &looking->scratch->flow[i];
        bool is_peer = ride != NULL &&
                       (ride->kind & (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)) != 0 &&
                       flow->bytes > 0;
        if (!is_peer || !limits_uses(limits, limit, ride->move.from, ride->move.to, ""))
            continue;
        users.count++;
        users.bytes_per_s +=
            flow->bytes * 1e9 / fmax(flow->end_ns - flow->begin_ns - flow->start_ns, 1);
    }
    return users;
}

/* What joins two packages, of which nothing is known but that less, in one set, did not fill it. */
static void find_between(const struct looking *looking, const struct limits *limits,
                         struct load_untried *ret)
{
    for (size_t i = 0; i < limits->count && !ret->is_any; i++) {
        const struct limit *item = &limits->item[i];
        if (item->source != LIMIT_STATED || item->role.part != LIMIT_LINK || item->step_count > 0 ||
            graph_place(limits->graph, item->role.place)->kind == PLACE_GPU)
            continue;
        struct users users = users_of(looking, limits, item);
        ret->is_any = users.count > 1 && users.bytes_per_s > item->carried * (1 + POLICY_SIMILAR);
        ret->between = ret->is_any ? item : NULL;
        ret->users = users.count;
    }
}

struct load_untried plan_load_untried(const struct load_table *table, const struct load_flow *flows,
                                      size_t count, const struct load_scratch *scratch)
{
    const struct limits *limits = table->snap->derived.limits;
    const struct sets *sets = table->snap->sets;
    struct looking looking = {
        table, flows, count, scratch, calloc(count * count + 1, sizeof *looking.open), 0};
    struct load_untried untried = {.is_any = looking.open == NULL};
    if (looking.open == NULL)
        return untried;
    find_open(&looking);
    for (size_t s = 0; sets != NULL && looking.left > 0 && s < sets->count; s++)
        if (sets->item[s].flow_count > 1)
            close_measured(&looking, &sets->item[s]);
    size_t first = 0;
    while (looking.left > 0 && !looking.open[first])
        first++;
    if (looking.left > 0)
        untried = (struct load_untried){.is_any = true, .flow = {first / count, first % count}};
    else if (limits != NULL)
        find_between(&looking, limits, &untried);
    free(looking.open);
    return untried;
}
