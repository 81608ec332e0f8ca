/* Limits that the concurrent runs of one metric show: the runs as numbers (cost/limits_fit.h), and
 * back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits_fit.h"
#include "cost/limits_inner.h"
#include "cost/policy.h"

/* A probe measures far less; runs of a larger folder are served without limits. */
#define FLOWS_MAX 20000
#define ROOM_MAX  (16u << 20) /* bytes of the table of users */

struct problem {
    struct limits *limits;
    const struct values *values;
    const struct set *set;
    const struct limits_run *explained; /* by set */
    size_t set_count;
    const struct set_flow **flow; /* each different one */
    struct fit fit;
    unsigned char *users;
};

/* Runs that contradict values say nothing of limits. */
static bool counts(const struct problem *p, size_t s)
{
    return p->explained[s].contradiction.value == NULL;
}

/* The number of a flow: of the same one before it, else the next. */
static size_t number_of(struct problem *p, const struct set_flow *flow)
{
    size_t at = 0;
    while (at < p->fit.flow_count &&
           (p->flow[at]->from != flow->from || p->flow[at]->to != flow->to ||
            strcmp(p->flow[at]->axes, flow->axes) != 0))
        at++;
    if (at == p->fit.flow_count)
        p->flow[p->fit.flow_count++] = flow;
    return at;
}

/* The flows' numbers of all runs are one allocation, that of the first. */
static bool list_runs(struct problem *p, size_t flows, struct limits_run *result)
{
    struct fit_run *run = p->fit.run = calloc(p->set_count + 1, sizeof *run);
    p->flow = calloc(flows + 1, sizeof *p->flow);
    size_t *flow = run != NULL ? run->flow = calloc(flows + 1, sizeof *flow) : NULL;
    for (size_t s = 0; flow != NULL && p->flow != NULL && s < p->set_count; s++) {
        const struct set *set = &p->set[s];
        if (!counts(p, s))
            continue;
        result[s].predicted = calloc(set->flow_count + 1, sizeof *result->predicted);
        if (result[s].predicted == NULL)
            return false;
        *run++ = (struct fit_run){set->flow_count, set->flow, flow, &result[s], false};
        for (size_t i = 0; i < set->flow_count; i++)
            *flow++ = number_of(p, &set->flow[i]);
    }
    p->fit.run_count = (size_t)(run - p->fit.run);
    return flow != NULL && p->flow != NULL;
}

/* A flow's rate in a run of one, else its own value; at least its highest rate in any run. Runs of
 * one come first. */
static bool find_alone(struct problem *p)
{
    enum metric metric;
    bool has_metric = transfer_alone_metric(p->set->metric, &metric);
    double *alone = p->fit.alone = calloc(p->fit.flow_count + 1, sizeof *alone);
    for (size_t i = 0; alone != NULL && i < p->fit.flow_count; i++) {
        const struct set_flow *flow = p->flow[i];
        const struct value *value =
            has_metric ? values_find(p->values, metric, flow->from, flow->to, flow->axes) : NULL;
        alone[i] = value != NULL && value->source != VALUE_NOMINAL ? value->value : 0;
    }
    for (size_t r = 0; alone != NULL && r < p->fit.run_count; r++) {
        const struct fit_run *run = &p->fit.run[r];
        for (size_t i = 0; i < run->count; i++) {
            double rate = run->measured[i].bytes_per_s, *its = &alone[run->flow[i]];
            *its = run->count == 1 ? rate : fmax(*its, rate);
        }
    }
    return alone != NULL;
}

/* ---- candidates ---- */

static const struct limits_pair *pair_of(const struct problem *p, size_t flow)
{
    return limits_pair(p->limits, p->flow[flow]->from, p->flow[flow]->to);
}

/* True when several users got no more in some run than one of them alone: they go through one
 * port. That a memory carries just as much would be chance. */
static bool is_narrow(const struct problem *p, const unsigned char *users)
{
    for (size_t r = 0; r < p->fit.run_count; r++) {
        const struct fit_run *run = &p->fit.run[r];
        double together = 0, alone = 0;
        size_t count = 0;
        for (size_t i = 0; i < run->count; i++) {
            if (!users[run->flow[i]])
                continue;
            together += run->measured[i].bytes_per_s;
            alone = fmax(alone, p->fit.alone[run->flow[i]]);
            count++;
        }
        if (count > 1 && together <= alone * (1 + POLICY_SIMILAR))
            return true;
    }
    return false;
}

static bool is_candidate(const struct problem *p, const struct limit_role *role,
                         const unsigned char *users)
{
    const struct graph *graph = p->limits->graph;
    size_t count = 0, peers = 0;
    for (size_t i = 0; i < p->fit.flow_count; i++) {
        count += users[i];
        peers += users[i] && graph_are_gpus(graph, p->flow[i]->from, p->flow[i]->to);
    }
    switch (role->part) {
    case LIMIT_LINK: /* memories and ports stand for others */
        return count > 1 &&
               graph_place(graph, role->place)->kind == graph_place(graph, role->other)->kind;
    case LIMIT_GPU_PORT: /* before the memory behind it, with the same users, only if narrow */
        return count > 1 && is_narrow(p, users);
    case LIMIT_HIVE: /* of transfers with the host GPUs, memories and ports */
    case LIMIT_HOST_LINK:
        return count > 1 && peers > 0;
    case LIMIT_SWITCH_PORT: /* the GPU stands for it */
        return false;
    default:
        return count > 1;
    }
}

/* The users of one direction of a part for both; NULL none. */
static const unsigned char *users_of(const struct problem *p, const struct limit_role *role,
                                     enum limit_direction direction)
{
    const struct limit_role way = {role->part, direction, role->place, role->other};
    const struct limit *limit = role->direction == LIMIT_BOTH ? limits_find(p->limits, &way) : NULL;
    return limit != NULL ? p->users + (size_t)(limit - p->limits->item) * p->fit.flow_count : NULL;
}

static bool list_candidates(struct problem *p)
{
    size_t flows = p->fit.flow_count, parts = p->limits->count, count = 0;
    p->users = calloc(parts * flows + 1, 1);
    p->fit.candidate = calloc(parts + 1, sizeof *p->fit.candidate);
    if (p->users == NULL || p->fit.candidate == NULL)
        return false;
    for (size_t i = 0; i < flows; i++) {
        const struct limits_pair *pair = pair_of(p, i);
        for (size_t u = 0; u < pair->part_count; u++)
            p->users[pair->use[u] * flows + i] = 1;
    }
    for (size_t i = 0; i < parts && p->limits->item[i].source != LIMIT_RUNS; i++) {
        const struct limit_role *role = &p->limits->item[i].role;
        unsigned char *users = p->users + i * flows;
        if (!is_candidate(p, role, users))
            continue;
        bool is_one =
            role->part == LIMIT_GPU || role->part == LIMIT_HOST_LINK || role->part == LIMIT_HIVE ||
            (role->part == LIMIT_LINK && !graph_is(p->limits->graph, role->place, PLACE_GPU));
        p->fit.candidate[count] =
            (struct fit_candidate){.part = (uint16_t)i, .users = users, .is_one = is_one};
        for (int way = LIMIT_OUT; is_one && way <= LIMIT_IN; way++)
            p->fit.candidate[count].way[way] = users_of(p, role, (enum limit_direction)way);
        count++;
    }
    p->fit.candidate_count = count;
    return true;
}

/* ---- results ---- */

/* Adds the limit to all pairs that use its part; or, without a name, to those of its users. */
static void add_to_pairs(const struct limits *limits, size_t index, uint16_t part)
{
    const struct limit *limit = &limits->item[index];
    for (size_t i = 0; i < limits->slot_count * limits->slot_count; i++) {
        struct limits_pair *pair = &limits->pair[i];
        bool uses = limit->has_role && limits_pair_has(pair, pair->part_count, part);
        for (size_t u = 0; u < limit->user_count && !limit->has_role && !uses; u++)
            uses = pair == limits_pair(limits, limit->user[u].from, limit->user[u].to);
        if (uses && pair->use_count < LIMITS_USES_MAX)
            pair->use[pair->use_count++] = (uint16_t)index;
    }
}

static bool add_limit(const struct problem *p, const struct fit_limit *from)
{
    uint16_t at = limits_add(p->limits), part = UINT16_MAX;
    struct set_flow *user = calloc(p->fit.flow_count + 1, sizeof *user);
    if (at == UINT16_MAX || user == NULL) {
        free(user);
        return false;
    }
    struct limit *limit = &p->limits->item[at];
    *limit = (struct limit){.source = LIMIT_RUNS,
                            .metric = p->set->metric,
                            .has_role = from->candidate != FIT_NO_CANDIDATE,
                            .step_count = from->step_count,
                            .user = user,
                            .twin_count = from->twin_count};
    memcpy(limit->step, from->step, sizeof limit->step);
    for (size_t i = 0; i < p->fit.flow_count; i++)
        if (from->users[i])
            user[limit->user_count++] = *p->flow[i];
    for (size_t i = 0; i < from->twin_count; i++)
        limit->twin[i] = p->fit.candidate[from->twin[i]].part;
    if (limit->has_role) {
        part = p->fit.candidate[from->candidate].part;
        limit->role = p->limits->item[part].role;
        memcpy(limit->name, p->limits->item[part].name, sizeof limit->name);
    } else {
        const struct graph *graph = p->limits->graph;
        snprintf(limit->name, sizeof limit->name, "%s to %s and %zu more",
                 graph_place(graph, user->from)->name, graph_place(graph, user->to)->name,
                 limit->user_count - 1);
    }
    add_to_pairs(p->limits, at, part);
    return true;
}

bool limits_from_runs(struct limits *limits, const struct values *values, const struct sets *sets,
                      size_t first, size_t end)
{
    struct problem p = {.limits = limits,
                        .values = values,
                        .set = &sets->item[first],
                        .explained = &limits->run[first],
                        .set_count = end - first};
    size_t flows = 0;
    for (size_t s = 0; s < p.set_count; s++)
        flows += p.set[s].flow_count;
    if (flows > FLOWS_MAX || flows * limits->count > ROOM_MAX)
        return true;
    bool ok = list_runs(&p, flows, &limits->run[first]) && find_alone(&p) && list_candidates(&p) &&
              limits_fit(&p.fit);
    for (size_t i = 0; ok && i < p.fit.limit_count; i++)
        ok = add_limit(&p, &p.fit.limit[i]);
    free(p.fit.unnamed);
    free(p.fit.run != NULL ? p.fit.run[0].flow : NULL);
    free(p.fit.run);
    free(p.fit.alone);
    free(p.fit.candidate);
    free(p.users);
    free(p.flow);
    return ok;
}
