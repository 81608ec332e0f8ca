#include "cost/agreement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/policy.h"
#include "node/spread.h"
#include "node/transfer.h"

#define CERTAIN   0.2    /* logarithm of a factor that no unchanged pair is off by */
#define PAIRS     4      /* with fewer the usual deviation is unknown */
#define DEVIATION 1.4826 /* of a normal distribution, in medians of the absolute */
#define BEYOND    4      /* deviations */

/* The flow's own value, if both were measured; else NULL. */
static const struct value *own_of(const struct values *values, const struct set *set,
                                  const struct set_flow *flow)
{
    enum metric metric;
    if (set->source != VALUE_MEASURED || !(flow->bytes_per_s > 0) ||
        !transfer_alone_metric(set->metric, &metric))
        return NULL;
    const struct value *value = values_find(values, metric, flow->from, flow->to, flow->axes);
    return value != NULL && value->source == VALUE_MEASURED && value->value > 0 ? value : NULL;
}

/* ---- contradictions ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The usual distance of values measured twice, in the first count sets, all of one flow. off: room
 * for as many. */
static double usual_of(const struct values *values, const struct set *set, size_t sets, double *off)
{
    size_t count = 0;
    for (size_t s = 0; s < sets; s++) {
        const struct value *value = own_of(values, &set[s], set[s].flow);
        if (value != NULL)
            off[count++] = fabs(log(set[s].flow->bytes_per_s / value->value));
    }
    if (count < PAIRS)
        return CERTAIN;
    qsort(off, count, sizeof *off, compare);
    return fmin(fmax(BEYOND * DEVIATION * off[(count - 1) / 2], POLICY_SIMILAR), CERTAIN);
}

static bool is_contradicted(const struct contradiction *found, size_t count,
                            const struct value *value)
{
    bool is = false;
    for (size_t i = 0; i < count && !is; i++)
        is = found[i].value == value;
    return is;
}

/* Among others a flow gets no more than alone: only too high a rate counts, and less readily unless
 * the value's run of one contradicts it as well. */
static struct contradiction look(const struct values *values, const struct set *set, double usual,
                                 const struct contradiction *ones, size_t one_count)
{
    for (size_t i = 0; i < set->flow_count; i++) {
        const struct set_flow *flow = &set->flow[i];
        const struct value *value = own_of(values, set, flow);
        double off = value != NULL ? log(flow->bytes_per_s / value->value) : 0;
        bool is_off = (set->flow_count == 1 ? fabs(off) : off) > usual,
             meet = value != NULL && flow->low <= value->high && value->low <= flow->high;
        if (is_off && !meet &&
            (set->flow_count == 1 || off > CERTAIN || is_contradicted(ones, one_count, value)))
            return (struct contradiction){value, i};
    }
    return (struct contradiction){NULL, 0};
}

bool agreement_contradictions(const struct values *values, const struct sets *sets,
                              struct contradiction *ret)
{
    double *off = calloc(sets->count + 1, sizeof *off);
    size_t end;
    for (size_t first = 0; off != NULL && first < sets->count; first = end) {
        size_t ones = 0;
        for (end = first; end < sets->count && sets->item[end].metric == sets->item[first].metric;
             end++)
            ones += sets->item[end].flow_count == 1;
        double usual = usual_of(values, &sets->item[first], ones, off);
        for (size_t s = first; s < end; s++)
            ret[s] = look(values, &sets->item[s], usual, ret + first,
                          s - first < ones ? s - first : ones);
    }
    free(off);
    return off != NULL;
}

/* ---- agreement ---- */

const struct agreement *agreement_of(const struct agreement all[AGREE_KINDS], unsigned kind)
{
    return kind != 0 && kind < 1u << AGREE_KINDS ? &all[transfer_kind_index(kind)] : NULL;
}

/* The variance of a median, relative, from its 95 % interval. */
static double variance_of(double low, double high, double value)
{
    double half = (high - low) / 2 / value / 1.959964;
    return isnan(half) ? 0 : half * half;
}

/* Rates in runs of one beside the same values. */
struct twice {
    double squares, explained, explained_2; /* squares of differences; explained by intervals */
    uint32_t count;
    int sound; /* runs of one that agree, less those that contradict */
};

static void add_rates(const struct values *values, const struct sets *sets,
                      const struct contradiction *contradiction, struct agreement *all)
{
    struct twice twice[AGREE_KINDS] = {{0}};
    for (int pass = 0; pass < 2; pass++)
        for (size_t s = 0; sets != NULL && s < sets->count; s++) {
            const struct set *set = &sets->item[s];
            enum metric metric;
            if (set->flow_count != 1 || set->source != VALUE_MEASURED ||
                !transfer_alone_metric(set->metric, &metric))
                continue;
            struct twice *its = &twice[transfer_kind_index(transfer_kind_of(metric))];
            bool contradicts = contradiction != NULL && contradiction[s].value != NULL;
            const struct value *value = own_of(values, set, set->flow);
            if (pass == 0)
                its->sound += contradicts ? -1 : 1;
            if (pass == 0 || value == NULL || (contradicts && its->sound >= 0))
                continue; /* one changed pair is no matter of all */
            const struct set_flow *flow = set->flow;
            double off = log(flow->bytes_per_s / value->value),
                   explained = variance_of(flow->low, flow->high, flow->bytes_per_s) +
                               variance_of(value->low, value->high, value->value);
            its->squares += off * off;
            its->explained += explained;
            its->explained_2 += explained * explained;
            its->count++;
        }
    for (int k = 0; k < AGREE_KINDS; k++) {
        double more = twice[k].squares - twice[k].explained;
        bool is_chance = !(more > 2 * sqrt(2 * twice[k].explained_2));
        all[k].rates = twice[k].count;
        all[k].rate = is_chance ? 0 : sqrt(more / twice[k].count);
    }
}

double agreement_of_repetitions(const struct graph *graph, const struct values *values,
                                enum metric metric)
{
    const struct value *v;
    double sum = 0;
    size_t count = 0;
    for (size_t left = values_range(values, metric, PLACE_NONE, &v); left > 0; left--, v++) {
        bool is_gpu = graph_is(graph, v->from, PLACE_GPU) || graph_is(graph, v->to, PLACE_GPU);
        double deviation = spread_deviation((v->high - v->low) / 2, v->n) / v->value;
        if (v->source != VALUE_MEASURED || !is_gpu || !(deviation > 0) ||
            strstr(values_axes(values, v), "bytes=") != NULL)
            continue;
        /* the mean of logarithms of deviations with n repetitions each is low by half of this */
        sum += log(deviation) + 0.5 / spread_freedom(v->n);
        count++;
    }
    return count > 0 ? exp(sum / (double)count) : 0;
}

/* The kind of transfer whose start-up by a caller's clock it is; 0 none. */
static unsigned kind_of_call(const struct values *values, const struct value *v)
{
    char text[64];
    enum metric metric;
    const char *axes = values_axes(values, v),
               *name = axes_get(v->metric, axes, "metric", text, sizeof text);
    return v->source == VALUE_MEASURED && v->value > 0 && strstr(axes, "clock=") == NULL &&
                   name != NULL && metric_parse(name, &metric)
               ? transfer_kind_of(metric)
               : 0;
}

/* The start-up of the same in a queue; NULL unknown. */
static const struct value *queued(const struct values *values, const struct value *call)
{
    char axes[TRANSFER_AXES_MAX];
    snprintf(axes, sizeof axes, "clock=queue;%s", values_axes(values, call));
    return values_find(values, METRIC_TRANSFER_OVERHEAD, call->from, call->to, axes);
}

/* True for two start-up times of one transfer between places of the same kinds whose devices take
 * equal times. Paths of different length do not disagree. */
static bool is_similar(const struct graph *graph, const struct values *values,
                       const struct value *a, const struct value *b)
{
    const struct value *x = queued(values, a), *y = queued(values, b);
    return a->axes == b->axes &&
           graph_place(graph, a->from)->kind == graph_place(graph, b->from)->kind &&
           graph_place(graph, a->to)->kind == graph_place(graph, b->to)->kind &&
           (x == NULL || y == NULL ||
            fabs(x->value - y->value) <= POLICY_SIMILAR * fmax(x->value, y->value));
}

/* Each beside the last similar one before it, as a measurement and the next one are. */
static void add_calls(const struct graph *graph, const struct values *values, struct agreement *all)
{
    const struct value *first;
    size_t count = values_range(values, METRIC_TRANSFER_OVERHEAD, PLACE_NONE, &first);
    for (size_t i = 1; i < count; i++) {
        unsigned kind = kind_of_call(values, &first[i]);
        size_t before = kind != 0 ? i : 0;
        while (before > 0 && !(is_similar(graph, values, &first[before - 1], &first[i]) &&
                               kind_of_call(values, &first[before - 1]) == kind))
            before--;
        if (before == 0)
            continue;
        double off = log(first[i].value / first[before - 1].value);
        struct agreement *its = &all[transfer_kind_index(kind)];
        its->call += off * off;
        its->calls++;
    }
    for (int k = 0; k < AGREE_KINDS; k++)
        all[k].call = all[k].calls > 0 ? sqrt(all[k].call / all[k].calls) : 0;
}

void agreement_find(const struct graph *graph, const struct values *values, const struct sets *sets,
                    const struct contradiction *contradiction, struct agreement ret[AGREE_KINDS])
{
    static const enum metric metrics[AGREE_KINDS] = {
        METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL, METRIC_GPU_GPU_COPY_ENGINE,
        METRIC_GPU_GPU_KERNEL};
    memset(ret, 0, AGREE_KINDS * sizeof *ret);
    add_rates(values, sets, contradiction, ret);
    add_calls(graph, values, ret);
    for (int k = 0; k < AGREE_KINDS; k++)
        ret[k].one = agreement_of_repetitions(graph, values, metrics[k]);
}
