/* Derives all shared limits, and what runs of one kind of transfers say of others. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits_inner.h"
#include "cost/policy.h"

#define HOST (TRANSFER_HOST_ENGINE | TRANSFER_HOST_KERNEL)
#define PEER (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)

/* ---- what runs of one kind say of others ---- */

/* False for parts that only runs show; they limit the kinds of both mechanisms together. */
static bool has_own_capacity(const struct graph *graph, const struct limit_role *role)
{
    switch (role->part) {
    case LIMIT_LINK:
        return role->direction != LIMIT_BOTH || graph_place(graph, role->place)->kind != PLACE_GPU;
    case LIMIT_HOST_LINK:
    case LIMIT_HOST_PORT:
    case LIMIT_PCIE_PORT:
    case LIMIT_PCIE_PORT2:
    case LIMIT_PCIE_PORT3:
    case LIMIT_MEMORY:
    case LIMIT_SWITCH_PORT:
        return true;
    default:
        return false;
    }
}

/* The highest capacity that runs show of a part is the best known one for other kinds. */
static void tell_part(const struct graph *graph, struct limit *part, const struct limit *found,
                      const unsigned *have_runs)
{
    unsigned kind = transfer_kind_of(found->metric);
    double most = part->source == LIMIT_OTHER_RUNS ? part->step[0].bytes_per_s : 0;
    for (size_t s = 0; s < found->step_count; s++)
        most = fmax(most, found->step[s].bytes_per_s);
    if (!has_own_capacity(graph, &part->role)) {
        part->mixes |= (kind & HOST) != 0 ? HOST : (kind & PEER) != 0 ? PEER : 0;
        if (part->mixes == 0)
            return;
        memcpy(part->apart, have_runs, sizeof part->apart);
    }
    if (kind != 0)
        part->apart[transfer_kind_index(kind)] = UINT_MAX;
    part->step[0].bytes_per_s = most;
    part->source = LIMIT_OTHER_RUNS;
}

/* Parts that are alike all over a node, by number: GPUs' host links, by direction, and both
 * directions between packages; ALIKE others. */
#define ALIKE 4

static size_t alike_of(const struct graph *graph, const struct limit *limit)
{
    const struct limit_role *role = &limit->role;
    if (!limit->has_role || limit->source == LIMIT_RUNS)
        return ALIKE;
    if (role->part == LIMIT_HOST_LINK)
        return role->direction;
    return role->part == LIMIT_LINK && role->direction == LIMIT_BOTH &&
                   graph_place(graph, role->place)->kind == PLACE_PACKAGE
               ? ALIKE - 1
               : ALIKE;
}

/* Parts of which no run shows the capacity count as the widest ones alike, unless they carried
 * more. */
static void tell_alike(struct limits *limits)
{
    double most[ALIKE + 1] = {0};
    for (size_t i = 0; i < limits->count; i++) {
        double *its = &most[alike_of(limits->graph, &limits->item[i])];
        if (limits->item[i].source == LIMIT_OTHER_RUNS)
            *its = fmax(*its, limits->item[i].step[0].bytes_per_s);
    }
    most[ALIKE] = 0;
    for (size_t i = 0; i < limits->count; i++) {
        struct limit *limit = &limits->item[i];
        double other = most[alike_of(limits->graph, limit)];
        if (limit->source == LIMIT_OTHER_RUNS || !(other > 0) ||
            limit->carried > other * (1 + POLICY_SIMILAR))
            continue;
        memset(limit->apart, 0, sizeof limit->apart);
        limit->step[0].bytes_per_s = other;
        limit->source = LIMIT_OTHER_RUNS;
    }
}

/* Runs of GPUs behind a port do not load the memory behind it: they tell nothing of that. */
static void forget_behind_ports(struct limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        const struct limit *found = &limits->item[i];
        if (found->source != LIMIT_RUNS || !found->has_role || found->role.part != LIMIT_GPU_PORT)
            continue;
        unsigned kind = transfer_kind_index(transfer_kind_of(found->metric));
        for (size_t m = 0; m < limits->count; m++) {
            struct limit *memory = &limits->item[m];
            if (memory->role.part == LIMIT_MEMORY && memory->role.place == found->role.place &&
                memory->apart[kind] != UINT_MAX)
                memory->apart[kind] = 0;
        }
    }
}

static void tell_others(struct limits *limits, const struct sets *sets)
{
    unsigned have_runs[TRANSFER_KINDS] = {0};
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        if (sets->item[s].flow_count > 1 && transfer_kind_of(sets->item[s].metric) != 0)
            have_runs[transfer_kind_index(transfer_kind_of(sets->item[s].metric))] = UINT_MAX;
    for (size_t i = 0; i < limits->count; i++) {
        const struct limit *found = &limits->item[i];
        if (found->source == LIMIT_RUNS && found->has_role)
            tell_part(limits->graph, limits_find(limits, &found->role), found, have_runs);
    }
    forget_behind_ports(limits);
    tell_alike(limits);
}

/* Limits with several users in a run that is not reproduced are not shared fairly. */
static void find_uneven(struct limits *limits, const struct set *set, const struct limits_run *run)
{
    for (size_t l = 0; l < limits->count && run->predicted != NULL && !run->is_reproduced; l++) {
        struct limit *limit = &limits->item[l];
        unsigned users = 0;
        if (limit->source != LIMIT_RUNS || limit->metric != set->metric)
            continue;
        for (size_t i = 0; i < set->flow_count; i++)
            users +=
                limits_uses(limits, limit, set->flow[i].from, set->flow[i].to, set->flow[i].axes);
        limit->is_uneven = limit->is_uneven || users > 1;
    }
}

/* ---- all of it ---- */

/* Sets of one flow ascend by metric and flow; so do the values. */
static bool take_alone(struct limits *limits, const struct values *values, const struct sets *sets)
{
    limits->alone = calloc((sets != NULL ? sets->count : 0) + 1, sizeof *limits->alone);
    for (size_t s = 0; limits->alone != NULL && sets != NULL && s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        const struct set_flow *flow = set->flow;
        enum metric metric;
        if (set->flow_count != 1 || *flow->axes != '\0' || !(flow->bytes_per_s > 0) ||
            !transfer_alone_metric(set->metric, &metric))
            continue;
        const struct value *value = values_find(values, metric, flow->from, flow->to, "");
        if (value == NULL || value->source == VALUE_NOMINAL)
            limits->alone[limits->alone_count++] =
                (struct value){.metric = metric,
                               .source = set->source,
                               .from = flow->from,
                               .to = flow->to,
                               .value = flow->bytes_per_s,
                               .low = flow->low,
                               .high = flow->high,
                               .measured_at_s = set->measured_at_s};
    }
    return limits->alone != NULL;
}

static bool find(struct limits *limits, const struct sets *sets, const struct values *values)
{
    size_t count = sets != NULL ? sets->count : 0, end;
    struct contradiction *contradiction = calloc(count + 1, sizeof *contradiction);
    limits->run = calloc(count + 1, sizeof *limits->run);
    bool ok = contradiction != NULL && limits->run != NULL && take_alone(limits, values, sets) &&
              limits_carried(limits, values, sets) &&
              (sets == NULL || agreement_contradictions(values, sets, contradiction));
    for (size_t s = 0; ok && s < count; s++)
        limits->run[s].contradiction = contradiction[s];
    limits->run_count = ok ? count : 0;
    for (size_t first = 0; ok && first < count; first = end) {
        for (end = first + 1; end < count && sets->item[end].metric == sets->item[first].metric;)
            end++;
        ok = limits_from_runs(limits, values, sets, first, end);
    }
    if (ok) {
        tell_others(limits, sets);
        for (size_t s = 0; s < count; s++)
            find_uneven(limits, &sets->item[s], &limits->run[s]);
        agreement_find(limits->graph, values, sets, contradiction, limits->agree);
        limits->own[0] = agreement_own(limits->graph, values, METRIC_MEMORY_BANDWIDTH);
        limits->own[1] = agreement_own(limits->graph, values, METRIC_GPU_STREAM);
    }
    free(contradiction);
    return ok;
}

struct limits *limits_new(const struct graph *graph, const struct sets *sets,
                          const struct values *values)
{
    struct limits *limits = limits_structure(graph, values, sets);
    if (limits == NULL || !find(limits, sets, values)) {
        limits_free(limits);
        return NULL;
    }
    for (size_t i = 0; i < limits->count; i++) {
        struct limit *limit = &limits->item[i];
        if (limit->source == LIMIT_RUNS)
            continue;
        limit->step_count = limit->step[0].bytes_per_s > 0;
        limit->step[0] = (struct limit_step){1, limit->step[0].bytes_per_s, NAN, NAN, NAN};
    }
    return limits;
}
