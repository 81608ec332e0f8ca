#include "cost/iteration_why.h"

#include <math.h>
#include <stdio.h>

#include "cost/doubt.h"
#include "cost/matrix.h"
#include "cost/policy.h"

static bool is_transfer(const struct flow *flow, place_id from, place_id to)
{
    return flow->user != NULL && flow->user->alone.from == from && flow->user->alone.to == to;
}

/* ---- warnings of transfers ---- */

/* Returns what is not known of a flow; REASON_CODES nothing. */
static enum reason_code lack_of(const struct flow *flow)
{
    const struct transfer *alone = &flow->user->alone;
    unsigned lacks = transfer_lacks(alone, flow->bytes, flow->bytes);
    if ((lacks & LACKS_START) != 0)
        return REASON_TRANSFER_SMALL;
    if (alone->basis == BASIS_LINKS)
        return REASON_TRANSFER_STATED;
    if (alone->basis != BASIS_OWN || alone->source == SOURCE_NOMINAL)
        return REASON_TRANSFER_OTHERS;
    if ((lacks & LACKS_SIZE) != 0)
        return REASON_TRANSFER_SMALL;
    if ((lacks & LACKS_OWN_SIZES) != 0)
        return REASON_TRANSFER_SIMILAR;
    return alone->source == SOURCE_PUBLISHED ? REASON_TRANSFER_PUBLISHED : REASON_CODES;
}

static bool has_code(const struct reasons *reasons, size_t count, enum reason_code code)
{
    bool has = false;
    for (size_t i = 0; i < count && !has; i++)
        has = reasons->item[i].code == code;
    return has;
}

static void warn_of_pair(const struct snapshot *snap, const char *prefix, place_id from,
                         place_id to, enum reason_code code, struct reason_numbers numbers,
                         struct reasons *warnings)
{
    char ends[REASON_SUBJECT_SIZE];
    snprintf(ends, sizeof ends, "%s%.24s>%.24s", prefix, graph_place(snap->graph, from)->name,
             graph_place(snap->graph, to)->name);
    reasons_add_about(warnings, code, ends, numbers);
}

/* True when a stated link slows it, and the driver may take another path. */
static bool is_path_unknown(const struct snapshot *snap, const struct flow *flow)
{
    const struct limit *shared = flow->shared;
    return shared != NULL && limits_is_stated(shared) && shared->role.part == LIMIT_LINK &&
           limits_pair(snap->derived.limits, flow->user->alone.from, flow->user->alone.to)->several;
}

void iteration_warn_of_transfers(const struct snapshot *snap, const struct flow *flows,
                                 size_t count, const char *prefix, struct reasons *warnings)
{
    size_t before = *prefix != '\0' ? warnings->count : 0;
    for (size_t i = 0; i < count; i++) {
        if (flows[i].user == NULL)
            continue;
        const enum reason_code code[] = {lack_of(&flows[i]), is_path_unknown(snap, &flows[i])
                                                                 ? REASON_PATH_UNKNOWN
                                                                 : REASON_CODES};
        for (int c = 0; c < 2; c++)
            if (code[c] != REASON_CODES && !has_code(warnings, before, code[c]))
                warn_of_pair(snap, prefix, flows[i].transfer->from, flows[i].transfer->to, code[c],
                             NO_NUMBERS, warnings);
    }
}

/* ---- runs that are not explained ---- */

/* The flow that the run's is; NULL none. */
static const struct flow *find_flow(const struct flow *flows, size_t count, unsigned kind,
                                    const struct set_flow *its)
{
    for (size_t i = 0; i < count; i++)
        if (is_transfer(&flows[i], its->from, its->to) && flows[i].user->alone.kind == kind)
            return &flows[i];
    return NULL;
}

/* What the transfers of a run got together, and are expected to get. */
struct got {
    double got, expected;
};

static struct got got_of(const struct set *set, const struct limits_run *run)
{
    struct got got = {0, 0};
    for (size_t i = 0; i < set->flow_count; i++) {
        got.got += set->flow[i].bytes_per_s;
        got.expected += run->predicted[i];
    }
    return got;
}

/* True for a run that got less together than limits explain, or more, and all flows of which the
 * iteration has, not at the rates of that run. */
static bool is_unexplained(const struct set *set, const struct limits_run *run,
                           const struct flow *flows, size_t count)
{
    unsigned kind = transfer_kind_of(set->metric);
    bool is = run->predicted != NULL && !run->is_reproduced && kind != 0;
    for (size_t i = 0; i < set->flow_count && is; i++) {
        const struct flow *flow = find_flow(flows, count, kind, &set->flow[i]);
        is = flow != NULL && flow->run != set;
    }
    struct got got = is ? got_of(set, run) : (struct got){0, 0};
    return is && fabs(got.expected - got.got) > POLICY_SIMILAR * got.got;
}

const struct set *iteration_unexplained(const struct snapshot *snap, const struct flow *flows,
                                        size_t count)
{
    const struct limits *limits = snap->derived.limits;
    for (size_t s = 0; snap->sets != NULL && s < limits->run_count; s++)
        if (is_unexplained(&snap->sets->item[s], &limits->run[s], flows, count))
            return &snap->sets->item[s];
    return NULL;
}

void iteration_warn(const struct snapshot *snap, const struct flow *flows, size_t count,
                    struct reasons *warnings)
{
    const struct set *set = iteration_unexplained(snap, flows, count);
    for (size_t i = 0; i < count; i++)
        if (flows[i].user != NULL)
            doubt_warn(snap, flows[i].transfer->from, flows[i].transfer->to,
                       flows[i].transfer->kind, warnings);
    if (set == NULL)
        return;
    struct got got = got_of(set, &snap->derived.limits->run[set - snap->sets->item]);
    for (size_t i = 0; i < set->flow_count; i++)
        warn_of_pair(snap, "", set->flow[i].from, set->flow[i].to, REASON_RUN_UNEXPLAINED,
                     NUMBERS(got.got, got.expected), warnings);
}

/* ---- evidence ---- */

/* The smallest run with this transfer that shows the limit, else the smallest; NULL none. */
static const struct set *find_set(const struct snapshot *snap, const struct flow *flow)
{
    const struct limits *limits = snap->derived.limits;
    const struct limit *limit = &limits->item[flow->shared - snap->derived.usage->limit];
    const struct set *best[2] = {NULL, NULL};
    for (size_t s = 0; snap->sets != NULL && s < snap->sets->count; s++) {
        const struct set *set = &snap->sets->item[s];
        unsigned users = 0;
        bool has = false;
        for (size_t i = 0; set->metric == limit->metric && i < set->flow_count; i++) {
            const struct set_flow *its = &set->flow[i];
            users += limits_uses(limits, limit, its->from, its->to, its->axes);
            has = has || is_transfer(flow, its->from, its->to);
        }
        if (users >= 2 && users >= limit->step[0].flows &&
            (best[has] == NULL || set->flow_count < best[has]->flow_count))
            best[has] = set;
    }
    return best[true] != NULL ? best[true] : best[false];
}

static void cite(const struct snapshot *snap, const struct flow *flow, struct evidence *evidence,
                 size_t start)
{
    const struct limit *shared = flow->shared;
    const struct set *set = flow->run;
    transfer_cite(flow->transfer, evidence, start);
    if (set == NULL && shared != NULL && shared->source == LIMIT_RUNS)
        set = find_set(snap, flow);
    if (set != NULL)
        evidence_add_set(evidence, start, set);
    if (shared != NULL && shared->source == LIMIT_PAIR)
        evidence_add(evidence, start, shared->value);
}

void iteration_cite(const struct snapshot *snap, const struct flow *flows, size_t count,
                    size_t last, struct evidence *evidence, size_t start)
{
    if (count == 0 || flows[last].user == NULL)
        return;
    cite(snap, &flows[last], evidence, start);
    for (size_t i = 0; i < count && flows[last].shared != NULL; i++)
        if (flows[i].shared == flows[last].shared)
            cite(snap, &flows[i], evidence, start);
}

/* ---- flows that nobody measured together ---- */

static bool is_over_host(const struct snapshot *snap, const struct flow *flow)
{
    return flow->user != NULL &&
           limits_pair(snap->derived.limits, flow->user->alone.from, flow->user->alone.to)
               ->over_host;
}

/* Those between the same two are one behind the other. */
static bool meet(const struct transfer *a, const struct transfer *b)
{
    bool is_same = a->from == b->from && a->to == b->to;
    return !is_same &&
           (a->from == b->from || a->to == b->to || a->from == b->to || a->to == b->from);
}

/* By what both directions of a pair get, or by a limit that runs show. */
static bool share_what_was_measured(const struct snapshot *snap, const struct flow *a,
                                    const struct flow *b)
{
    const struct transfer *x = &a->user->alone, *y = &b->user->alone;
    const struct matrix_item *pair = matrix_find(snap->derived.matrix, x->from, x->to, x->by);
    bool found = x->from == y->to && x->to == y->from && x->by == y->by && pair != NULL &&
                 pair->peer_both != NULL;
    for (unsigned i = 0; i < a->limit_count; i++)
        for (unsigned k = 0; k < b->limit_count && !found; k++)
            found = a->limit[i] == b->limit[k] && a->limit[i] < snap->derived.limits->count &&
                    snap->derived.limits->item[a->limit[i]].source == LIMIT_RUNS;
    return found;
}

static bool were_measured_together(const struct snapshot *snap, const struct flow *a,
                                   const struct flow *b)
{
    bool found = false;
    for (size_t s = 0; snap->sets != NULL && s < snap->sets->count && !found; s++) {
        const struct set *set = &snap->sets->item[s];
        unsigned kind = transfer_kind_of(set->metric);
        bool has_a = false, has_b = false;
        for (size_t i = 0; i < set->flow_count; i++) {
            has_a = has_a || find_flow(a, 1, kind, &set->flow[i]) != NULL;
            has_b = has_b || find_flow(b, 1, kind, &set->flow[i]) != NULL;
        }
        found = has_a && has_b;
    }
    return found;
}

/* True for a link between packages of unknown capacity whose users get more in all, each in the
 * mean while its bytes move, than a run showed it to carry. */
static bool carries_more(const struct limits *limits, const struct limit *limit,
                         const struct flow *flows, size_t count, size_t *ret_users)
{
    double rate = 0;
    *ret_users = 0;
    if (limit->source != LIMIT_STATED || limit->role.part != LIMIT_LINK || limit->step_count > 0 ||
        graph_is(limits->graph, limit->role.place, PLACE_GPU))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct flow *flow = &flows[i];
        if (flow->user == NULL ||
            (flow->user->alone.kind & (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)) == 0 ||
            !limits_uses(limits, limit, flow->user->alone.from, flow->user->alone.to, ""))
            continue;
        ++*ret_users;
        rate += flow->bytes * 1e9 / fmax(flow->end_ns - flow->begin_ns - flow->start_ns, 1);
    }
    return *ret_users > 1 && rate > limit->carried * (1 + POLICY_SIMILAR);
}

struct untried iteration_untried(const struct snapshot *snap, const struct flow *flows,
                                 size_t count)
{
    const struct limits *limits = snap->derived.limits;
    struct untried untried = {.users = 0};
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; is_over_host(snap, &flows[i]) && k < count; k++)
            if (is_over_host(snap, &flows[k]) &&
                meet(&flows[i].user->alone, &flows[k].user->alone) &&
                !share_what_was_measured(snap, &flows[i], &flows[k]) &&
                !were_measured_together(snap, &flows[i], &flows[k]))
                return (struct untried){.pair = {flows[i].user, flows[k].user}};
    for (size_t i = 0; i < limits->count && untried.link == NULL; i++)
        if (carries_more(limits, &limits->item[i], flows, count, &untried.users))
            untried.link = &limits->item[i];
    return untried;
}
