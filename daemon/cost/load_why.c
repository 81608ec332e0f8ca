#include "cost/load_why.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/doubt.h"
#include "cost/limits.h"
#include "cost/policy.h"

#define RUNS_NAMED 3 /* runs that are not explained */

/* One iteration, to be explained. */
struct asked {
    const struct load_table *table;
    const struct load_flow *flow;
    size_t count;
    const struct load_scratch *scratch;
    struct reasons *warnings;
    const char *prefix; /* of subjects */
};

static const char *name_of(const struct asked *asked, size_t index)
{
    return graph_place(asked->table->snap->graph, asked->table->place[index])->name;
}

/* ---- transfers ---- */

/* What is not known of a flow; REASON_CODES nothing. */
static enum reason_code lack_of(const struct asked *asked, size_t i)
{
    const struct load_transfer *transfer = asked->scratch->transfer[i];
    const struct load_flow *flow = &asked->flow[i];
    if (transfer == NULL)
        return flow->from != flow->to && flow->bytes > 0 ? REASON_TRANSFER_UNKNOWN : REASON_CODES;
    const struct transfer *alone = &transfer->alone;
    if (transfer->known == LOAD_NOMINAL)
        return alone->basis == BASIS_REVERSE               ? REASON_TRANSFER_REVERSE
               : alone->stated > 0 || alone->value == NULL ? REASON_TRANSFER_STATED
                                                           : REASON_TRANSFER_OTHERS;
    unsigned lacks = transfer_lacks(alone, flow->bytes, flow->bytes);
    if ((lacks & LACKS_SIZE) != 0)
        return REASON_TRANSFER_SMALL;
    if ((lacks & LACKS_OWN_SIZES) != 0)
        return REASON_TRANSFER_SIMILAR;
    return transfer->known == LOAD_PUBLISHED ? REASON_TRANSFER_PUBLISHED : REASON_CODES;
}

static bool has_code(const struct reasons *reasons, size_t count, enum reason_code code)
{
    bool has = false;
    for (size_t i = 0; i < count && !has; i++)
        has = reasons->item[i].code == code;
    return has;
}

/* before: so many warnings were there; of an iteration beside the answer's own none is repeated. */
static void warn_of_flow(const struct asked *asked, size_t i, enum reason_code code, size_t before)
{
    char ends[REASON_SUBJECT_SIZE];
    if (code == REASON_CODES || (*asked->prefix != '\0' && has_code(asked->warnings, before, code)))
        return;
    snprintf(ends, sizeof ends, "%s%.24s>%.24s", asked->prefix, name_of(asked, asked->flow[i].from),
             name_of(asked, asked->flow[i].to));
    reasons_add_about(asked->warnings, code, ends, NO_NUMBERS);
}

static void warn_of_flows(const struct asked *asked)
{
    size_t before = asked->warnings->count;
    for (size_t i = 0; i < asked->count; i++) {
        const struct load_transfer *transfer = asked->scratch->transfer[i];
        const struct load_resource *shared = plan_load_shared(asked->scratch, i);
        warn_of_flow(asked, i, lack_of(asked, i), before);
        if (transfer != NULL && transfer->several && shared != NULL && shared->is_nominal &&
            shared->limit->role.part == LIMIT_LINK)
            warn_of_flow(asked, i, REASON_PATH_UNKNOWN, before);
    }
}

void plan_load_why_beside(const struct load_table *table, const struct load_flow *flows,
                          size_t count, const struct load_scratch *scratch, const char *prefix,
                          struct reasons *warnings)
{
    warn_of_flows(&(struct asked){table, flows, count, scratch, warnings, prefix});
}

/* ---- what is shared ---- */

static unsigned kind_of(const struct asked *asked, size_t i)
{
    return asked->scratch->transfer[i] != NULL ? asked->scratch->transfer[i]->kind : 0;
}

static void warn_of_stated(const struct asked *asked, const struct load_resource *shared)
{
    unsigned kinds = asked->scratch->kinds[shared - asked->table->resource];
    reasons_add_about(asked->warnings,
                      (kinds & (kinds - 1)) != 0 ? REASON_SHARED_BY_KINDS
                                                 : REASON_SHARED_UNMEASURED,
                      shared->name, NUMBERS(shared->step[0].bytes_per_s));
}

/* Flows of different kinds that meet at a gpu. */
static void warn_of_kinds(const struct asked *asked, size_t i)
{
    const struct load_flow *a = &asked->flow[i];
    for (size_t j = i + 1; j < asked->count && asked->count <= LOAD_PLACES_MAX; j++) {
        const struct load_flow *b = &asked->flow[j];
        size_t at = a->from == b->from || a->from == b->to ? a->from : a->to;
        if (kind_of(asked, i) == 0 || kind_of(asked, j) == 0 ||
            kind_of(asked, i) == kind_of(asked, j) || (at != b->from && at != b->to) ||
            graph_place(asked->table->snap->graph, asked->table->place[at])->kind != PLACE_GPU)
            continue;
        reasons_add_about(asked->warnings, REASON_KINDS_UNMEASURED, name_of(asked, at), NO_NUMBERS);
    }
}

/* The smallest run that shows it, rather one with this very transfer. */
static const struct set *find_set(const struct asked *asked, const struct limit *limit,
                                  const struct transfer *alone)
{
    const struct snapshot *snap = asked->table->snap;
    const struct set *best = NULL;
    bool best_has = false;
    for (size_t s = 0; snap->sets != NULL && s < snap->sets->count; s++) {
        const struct set *set = &snap->sets->item[s];
        unsigned users = 0;
        bool has = false;
        for (size_t i = 0; set->metric == limit->metric && i < set->flow_count; i++) {
            const struct set_flow *flow = &set->flow[i];
            bool is_user =
                limits_uses(snap->derived.limits, limit, flow->from, flow->to, flow->axes);
            users += is_user;
            has = has || (is_user && flow->from == alone->from && flow->to == alone->to);
        }
        if (users < 2 || users < limit->step[0].flows ||
            (best != NULL &&
             (has < best_has || (has == best_has && set->flow_count >= best->flow_count))))
            continue;
        best = set;
        best_has = has;
    }
    return best;
}

static void cite_shared(const struct asked *asked, size_t i, struct evidence *evidence,
                        size_t start)
{
    const struct load_resource *shared = plan_load_shared(asked->scratch, i);
    const struct load_run *run = asked->scratch->run[i];
    const struct set *set = run != NULL ? run->set : NULL;
    bool is_shown = set == NULL && shared != NULL && !shared->is_nominal;
    if (is_shown && shared->value != NULL)
        evidence_add(evidence, start, shared->value);
    else if (is_shown)
        set = find_set(asked, shared->limit, &asked->scratch->transfer[i]->alone);
    if (set != NULL)
        evidence_add_set(evidence, start, set);
}

static void cite(const struct asked *asked, size_t i, struct evidence *evidence, size_t start)
{
    if (asked->scratch->transfer[i] == NULL)
        return;
    transfer_cite(&asked->scratch->transfer[i]->alone, evidence, start);
    cite_shared(asked, i, evidence, start);
}

/* ---- runs that are not explained ---- */

/* Index of the iteration's flow that the run's is; count: none. */
static size_t find_flow(const struct asked *asked, unsigned kind, const struct set_flow *flow)
{
    size_t i = 0;
    for (; i < asked->count; i++) {
        const struct load_transfer *transfer = asked->scratch->transfer[i];
        if (transfer != NULL && transfer->kind == kind && transfer->alone.from == flow->from &&
            transfer->alone.to == flow->to && asked->flow[i].bytes > 0)
            break;
    }
    return i;
}

/* A run that shared limits do not reproduce, and all flows of which the iteration has, not all of
 * them as that run says; UNEVEN where all together get what is expected; REASON_CODES none. */
static enum reason_code doubt_of_run(const struct asked *asked, size_t s)
{
    const struct set *set = &asked->table->snap->sets->item[s];
    const struct limits_run *run = &asked->table->snap->derived.limits->run[s];
    double got = 0, expected = 0;
    size_t in_runs = 0;
    if (run->predicted == NULL || run->is_reproduced || transfer_kind_of(set->metric) == 0)
        return REASON_CODES;
    for (size_t i = 0; i < set->flow_count; i++) {
        size_t at = find_flow(asked, transfer_kind_of(set->metric), &set->flow[i]);
        if (at == asked->count)
            return REASON_CODES;
        in_runs += asked->scratch->run[at] != NULL;
        got += set->flow[i].bytes_per_s;
        expected += run->predicted[i];
    }
    return in_runs == set->flow_count                     ? REASON_CODES
           : fabs(expected - got) <= POLICY_SIMILAR * got ? REASON_RUN_UNEVEN
                                                          : REASON_RUN_UNEXPLAINED;
}

bool plan_load_is_explained(const struct load_table *table, const struct load_flow *flows,
                            size_t count, const struct load_scratch *scratch)
{
    const struct asked asked = {table, flows, count, scratch, NULL, ""};
    size_t s = 0, runs = table->snap->sets != NULL ? table->snap->derived.limits->run_count : 0;
    while (s < runs && doubt_of_run(&asked, s) != REASON_RUN_UNEXPLAINED)
        s++;
    return s == runs;
}

/* Its flow that is farthest from what is expected comes first. */
static void warn_of_run(const struct asked *asked, enum reason_code code, size_t s)
{
    const struct graph *graph = asked->table->snap->graph;
    const struct set *set = &asked->table->snap->sets->item[s];
    const double *predicted = asked->table->snap->derived.limits->run[s].predicted;
    char text[SETS_FLOWS_MAX][REASON_SUBJECT_SIZE];
    const char *subject[SETS_FLOWS_MAX];
    size_t most = 0;
    for (size_t i = 0; i < set->flow_count; i++) {
        const struct set_flow *flow = &set->flow[i];
        snprintf(text[i], sizeof text[i], "%.30s>%.30s", graph_place(graph, flow->from)->name,
                 graph_place(graph, flow->to)->name);
        subject[i] = text[i];
        if (fabs(predicted[i] / flow->bytes_per_s - 1) >
            fabs(predicted[most] / set->flow[most].bytes_per_s - 1))
            most = i;
    }
    subject[0] = text[most];
    subject[most] = text[0];
    reasons_add(asked->warnings, code, (struct reason_subjects){set->flow_count, subject},
                NUMBERS(set->flow[most].bytes_per_s, predicted[most]));
}

static void warn_of_runs(const struct asked *asked)
{
    const struct snapshot *snap = asked->table->snap;
    size_t runs = snap->sets != NULL ? snap->derived.limits->run_count : 0, named = 0;
    for (size_t s = 0; s < runs && named < RUNS_NAMED; s++) {
        enum reason_code code = doubt_of_run(asked, s);
        if (code == REASON_CODES)
            continue;
        warn_of_run(asked, code, s);
        named++;
    }
}

/* ---- all of it ---- */

enum berth_code plan_load_why_last(const struct load_table *table, const struct load_flow *flows,
                                   size_t count, const struct load_scratch *scratch, size_t last,
                                   struct evidence *evidence, size_t start, struct berth_err *err)
{
    const struct asked asked = {table, flows, count, scratch, NULL, ""};
    uint16_t shared = scratch->flow[last].slowed_by;
    cite(&asked, last, evidence, start);
    for (size_t i = 0; shared != SIM_NO_LIMIT && i < count; i++)
        if (i != last && scratch->flow[i].slowed_by == shared)
            cite(&asked, i, evidence, start);
    return evidence_code(evidence, err);
}

enum berth_code plan_load_why(const struct load_table *table, const struct load_flow *flows,
                              size_t count, const struct load_scratch *scratch,
                              struct evidence *evidence, size_t start, struct reasons *warnings,
                              struct berth_err *err)
{
    const struct asked asked = {table, flows, count, scratch, warnings, ""};
    unsigned kinds = 0;
    for (size_t i = 0; i < count; i++) {
        const struct load_resource *shared = plan_load_shared(scratch, i);
        const struct load_transfer *transfer = scratch->transfer[i];
        if (evidence != NULL)
            cite(&asked, i, evidence, start);
        if (shared != NULL && shared->is_nominal)
            warn_of_stated(&asked, shared);
        if (transfer != NULL && transfer->known == LOAD_NOMINAL && flows[i].bytes > 0 &&
            (transfer_lacks(&transfer->alone, flows[i].bytes, flows[i].bytes) & LACKS_START) != 0)
            warn_of_flow(&asked, i, REASON_START_UNKNOWN, 0);
        warn_of_kinds(&asked, i);
        kinds |= kind_of(&asked, i);
    }
    warn_of_flows(&asked);
    warn_of_runs(&asked);
    plan_doubt_warn(table->snap, table->place, table->place_count, kinds, warnings);
    return evidence != NULL ? evidence_code(evidence, err) : BERTH_OK;
}

/* ---- what nothing says of transfers together ---- */

static bool is_over_host(const struct asked *asked, size_t i)
{
    const struct load_transfer *transfer = asked->scratch->transfer[i];
    return transfer != NULL && asked->flow[i].bytes > 0 &&
           limits_pair(asked->table->snap->derived.limits, transfer->alone.from, transfer->alone.to)
               ->over_host;
}

/* Those between the same two are one behind the other. */
static bool meet(const struct load_flow *a, const struct load_flow *b)
{
    bool is_same = a->from == b->from && a->to == b->to;
    return !is_same &&
           (a->from == b->from || a->to == b->to || a->from == b->to || a->to == b->from);
}

/* By what both directions of a pair get, or by a limit that runs show. */
static bool share_what_was_measured(const struct asked *asked, size_t i, size_t j)
{
    const struct load_table *table = asked->table;
    const struct load_transfer *a = asked->scratch->transfer[i], *b = asked->scratch->transfer[j];
    const struct matrix_item *pair =
        matrix_find(table->matrix, a->alone.from, a->alone.to, a->alone.by);
    bool found = a->alone.from == b->alone.to && a->alone.to == b->alone.from &&
                 a->alone.by == b->alone.by && pair != NULL && pair->peer_both != NULL;
    for (size_t x = a->use; x < a->use + a->use_count; x++)
        for (size_t y = b->use; y < b->use + b->use_count && !found; y++) {
            const struct load_resource *resource = &table->resource[table->use[x]];
            found =
                table->use[x] == table->use[y] && resource->limit != NULL && !resource->is_nominal;
        }
    return found;
}

static bool is_in_set(const struct set *set, const struct load_transfer *transfer)
{
    bool is = false;
    for (size_t f = 0; f < set->flow_count && !is; f++)
        is = set->flow[f].from == transfer->alone.from && set->flow[f].to == transfer->alone.to;
    return is && transfer_kind_of(set->metric) == transfer->kind;
}

static bool were_measured_together(const struct asked *asked, size_t i, size_t j)
{
    const struct sets *sets = asked->table->snap->sets;
    const struct load_transfer *const *transfer = asked->scratch->transfer;
    bool found = false;
    for (size_t s = 0; sets != NULL && s < sets->count && !found; s++)
        found = is_in_set(&sets->item[s], transfer[i]) && is_in_set(&sets->item[s], transfer[j]);
    return found;
}

/* A link between packages of unknown width: several use it, and get more in all, each in the mean
 * while its bytes move, than a run showed it to carry. */
static void find_between(const struct asked *asked, struct load_untried *ret)
{
    const struct limits *limits = asked->table->snap->derived.limits;
    for (const struct limit *limit = limits->item;
         limit < limits->item + limits->count && !ret->is_any; limit++) {
        double rate = 0;
        if (limit->source != LIMIT_STATED || limit->role.part != LIMIT_LINK ||
            limit->step_count > 0 ||
            graph_place(limits->graph, limit->role.place)->kind == PLACE_GPU)
            continue;
        ret->users = 0;
        for (size_t i = 0; i < asked->count; i++) {
            const struct load_transfer *transfer = asked->scratch->transfer[i];
            const struct sim_flow *flow = &asked->scratch->flow[i];
            if (transfer == NULL || !(flow->bytes > 0) ||
                (transfer->kind & (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)) == 0 ||
                !limits_uses(limits, limit, transfer->alone.from, transfer->alone.to, ""))
                continue;
            ret->users++;
            rate += flow->bytes * 1e9 / fmax(flow->end_ns - flow->begin_ns - flow->start_ns, 1);
        }
        ret->is_any = ret->users > 1 && rate > limit->carried * (1 + POLICY_SIMILAR);
        ret->between = ret->is_any ? limit : NULL;
    }
}

struct load_untried plan_load_untried(const struct load_table *table, const struct load_flow *flows,
                                      size_t count, const struct load_scratch *scratch)
{
    const struct asked asked = {table, flows, count, scratch, NULL, ""};
    struct load_untried untried = {.is_any = false};
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; is_over_host(&asked, i) && j < count; j++)
            if (meet(&flows[i], &flows[j]) && is_over_host(&asked, j) &&
                !share_what_was_measured(&asked, i, j) && !were_measured_together(&asked, i, j))
                return (struct load_untried){.is_any = true, .flow = {i, j}};
    find_between(&asked, &untried);
    return untried;
}
