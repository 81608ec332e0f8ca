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

static void warn_of_flow(const struct snapshot *snap, const struct flow *flow, const char *prefix,
                         enum reason_code code, struct reasons *warnings)
{
    const struct transfer *alone = &flow->user->alone;
    char ends[REASON_SUBJECT_SIZE];
    snprintf(ends, sizeof ends, "%s%.24s>%.24s", prefix,
             graph_place(snap->graph, alone->from)->name,
             graph_place(snap->graph, alone->to)->name);
    reasons_add_about(warnings, code, ends, NO_NUMBERS);
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
        enum reason_code lack = lack_of(&flows[i]);
        if (lack != REASON_CODES && !has_code(warnings, before, lack))
            warn_of_flow(snap, &flows[i], prefix, lack, warnings);
        if (is_path_unknown(snap, &flows[i]) && !has_code(warnings, before, REASON_PATH_UNKNOWN))
            warn_of_flow(snap, &flows[i], prefix, REASON_PATH_UNKNOWN, warnings);
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

/* True for a run all flows of which the iteration has, not at the rates of that run, and which got
 * less together than limits explain, or more. */
static bool is_unexplained(const struct snapshot *snap, size_t s, const struct flow *flows,
                           size_t count)
{
    const struct set *set = &snap->sets->item[s];
    const struct limits_run *run = &snap->derived.limits->run[s];
    unsigned kind = transfer_kind_of(set->metric);
    double got = 0, expected = 0;
    bool has_all = run->predicted != NULL && !run->is_reproduced && kind != 0;
    for (size_t i = 0; i < set->flow_count && has_all; i++) {
        const struct flow *flow = find_flow(flows, count, kind, &set->flow[i]);
        has_all = flow != NULL && flow->run != set;
        got += set->flow[i].bytes_per_s;
        expected += run->predicted[i];
    }
    return has_all && fabs(expected - got) > POLICY_SIMILAR * got;
}

/* The next run from s on that is not explained; the number of runs: none. */
static size_t next_unexplained(const struct snapshot *snap, size_t s, const struct flow *flows,
                               size_t count)
{
    size_t runs = snap->sets != NULL ? snap->derived.limits->run_count : 0;
    while (s < runs && !is_unexplained(snap, s, flows, count))
        s++;
    return s < runs ? s : SIZE_MAX;
}

bool iteration_is_explained(const struct snapshot *snap, const struct flow *flows, size_t count)
{
    return next_unexplained(snap, 0, flows, count) == SIZE_MAX;
}

static void warn_of_run(const struct snapshot *snap, size_t s, struct reasons *warnings)
{
    const struct set *set = &snap->sets->item[s];
    char text[SETS_FLOWS_MAX][REASON_SUBJECT_SIZE];
    const char *subject[SETS_FLOWS_MAX];
    double got = 0, expected = 0;
    for (size_t i = 0; i < set->flow_count; i++) {
        const struct set_flow *flow = &set->flow[i];
        subject[i] = text[i];
        snprintf(text[i], sizeof text[i], "%.30s>%.30s", graph_place(snap->graph, flow->from)->name,
                 graph_place(snap->graph, flow->to)->name);
        got += flow->bytes_per_s;
        expected += snap->derived.limits->run[s].predicted[i];
    }
    reasons_add(warnings, REASON_RUN_UNEXPLAINED,
                (struct reason_subjects){set->flow_count, subject}, NUMBERS(got, expected));
}

void iteration_warn(const struct snapshot *snap, const struct flow *flows, size_t count,
                    struct reasons *warnings)
{
    for (size_t i = 0; i < count; i++)
        if (flows[i].user != NULL)
            doubt_warn(snap, flows[i].user->alone.from, flows[i].user->alone.to,
                       flows[i].user->alone.kind, warnings);
    size_t s = next_unexplained(snap, 0, flows, count);
    if (s != SIZE_MAX)
        warn_of_run(snap, s, warnings);
}

/* ---- evidence ---- */

/* The smallest run that shows the limit, rather one with this very transfer; NULL none. */
static const struct set *find_set(const struct snapshot *snap, const struct flow *flow)
{
    const struct limit *limit =
        &snap->derived.limits->item[flow->shared - snap->derived.usage->limit];
    const struct set *best = NULL;
    bool best_has = false;
    for (size_t s = 0; snap->sets != NULL && s < snap->sets->count; s++) {
        const struct set *set = &snap->sets->item[s];
        unsigned users = 0;
        bool has = false;
        for (size_t i = 0; set->metric == limit->metric && i < set->flow_count; i++) {
            const struct set_flow *its = &set->flow[i];
            users += limits_uses(snap->derived.limits, limit, its->from, its->to, its->axes);
            has = has || is_transfer(flow, its->from, its->to);
        }
        bool is_better = best == NULL || has > best_has ||
                         (has == best_has && set->flow_count < best->flow_count);
        if (users < 2 || users < limit->step[0].flows || !is_better)
            continue;
        best = set;
        best_has = has;
    }
    return best;
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
        graph_place(limits->graph, limit->role.place)->kind == PLACE_GPU)
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
