/* Derives all shared limits, in the order that cost/limits.h tells. */
#include <math.h>
#include <stdlib.h>

#include "cost/limits_inner.h"

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
        limits_from_other_kinds(limits);
        for (size_t s = 0; s < count; s++)
            find_uneven(limits, &sets->item[s], &limits->run[s]);
        agreement_find(limits->graph, values, sets, contradiction, limits->agree);
        limits->own[0] = agreement_of_repetitions(limits->graph, values, METRIC_MEMORY_BANDWIDTH);
        limits->own[1] = agreement_of_repetitions(limits->graph, values, METRIC_GPU_STREAM);
    }
    free(contradiction);
    return ok;
}

struct limits *limits_new(const struct graph *graph, const struct sets *sets,
                          const struct values *values)
{
    struct limits *limits = limits_pairs(graph, values, sets);
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
