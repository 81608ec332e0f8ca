#include "cost/agree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/resource_structure.h"
#include "node/spread.h"
#include "node/transfer.h"

#define ALIKE 0.05 /* as in cost/like.h */

static int index_of(unsigned kind)
{
    int index = 0;
    while (index < AGREE_KINDS && kind != 1u << index)
        index++;
    return index;
}

/* The variance of a median, relative, from its 95 % interval. */
static double variance_of(double low, double high, double value)
{
    double half = (high - low) / 2 / value / 1.959964;
    return isnan(half) ? 0 : half * half;
}

/* Squares, and what their own intervals explain of them: by chance they are off by twice its
 * deviation at most. */
struct squares {
    double off, explained, explained_2;
};

static double beyond(const struct squares *squares)
{
    return squares->off - squares->explained > 2 * sqrt(2 * squares->explained_2)
               ? squares->off - squares->explained
               : 0;
}

/* By kind, how many more sets of one agree than contradict: where most do not agree it is no matter
 * of some pairs. */
static void count_sound(const struct sets *sets, const struct contradiction *contradiction,
                        int *ret)
{
    enum metric metric;
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        if (sets->item[s].flow_count == 1 && sets->item[s].source == VALUE_MEASURED &&
            transfer_alone_metric(sets->item[s].metric, &metric))
            ret[index_of(transfer_kind_of(metric))] +=
                contradiction != NULL && contradiction[s].value != NULL ? -1 : 1;
}

static void add_rates(const struct values *values, const struct sets *sets,
                      const struct contradiction *contradiction, struct agreement *all)
{
    struct squares squares[AGREE_KINDS] = {{0}};
    int sound[AGREE_KINDS] = {0};
    count_sound(sets, contradiction, sound);
    for (size_t s = 0; sets != NULL && s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        enum metric metric;
        if (set->flow_count != 1 || set->source != VALUE_MEASURED ||
            !transfer_alone_metric(set->metric, &metric))
            continue;
        int kind = index_of(transfer_kind_of(metric));
        if (contradiction != NULL && contradiction[s].value != NULL && sound[kind] >= 0)
            continue; /* the pair is not as it was: nothing that others have to wait for */
        const struct set_flow *flow = set->flow;
        const struct value *value = values_find(values, metric, flow->from, flow->to, flow->axes);
        if (value == NULL || value->source != VALUE_MEASURED || !(value->value > 0) ||
            !(flow->bytes_per_s > 0))
            continue;
        double off = log(flow->bytes_per_s / value->value);
        double explained = variance_of(flow->low, flow->high, flow->bytes_per_s) +
                           variance_of(value->low, value->high, value->value);
        squares[kind].off += off * off;
        squares[kind].explained += explained;
        squares[kind].explained_2 += explained * explained;
        all[kind].rates++;
    }
    for (int k = 0; k < AGREE_KINDS; k++)
        all[k].rate = beyond(&squares[k]);
}

/* How much repetitions deviate that were measured one after the other. */
static void add_ones(const struct values *values, struct agreement *all)
{
    static const enum metric metrics[AGREE_KINDS] = {
        METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL, METRIC_GPU_GPU_COPY_ENGINE,
        METRIC_GPU_GPU_KERNEL};
    for (int k = 0; k < AGREE_KINDS; k++) {
        const struct value *v;
        double sum = 0;
        size_t count = 0;
        for (size_t left = values_range(values, metrics[k], PLACE_NONE, &v); left > 0;
             left--, v++) {
            double deviation =
                v->value > 0 ? spread_deviation((v->high - v->low) / 2, v->n) / v->value : 0;
            if (v->source != VALUE_MEASURED || !(deviation > 0) ||
                strstr(values_axes(values, v), "bytes=") != NULL)
                continue;
            /* the mean of logarithms is low by that */
            sum += log(deviation) + 0.5 / spread_freedom(v->n);
            count++;
        }
        all[k].one = count > 0 ? exp(sum / (double)count) : 0;
    }
}

/* The kind of transfer whose overhead it is, as callers see it; AGREE_KINDS none. */
static int kind_of_call(const struct values *values, const struct value *v)
{
    char text[64];
    enum metric metric;
    const char *axes = values_axes(values, v),
               *name = axes_get(v->metric, axes, "metric", text, sizeof text);
    if (v->source != VALUE_MEASURED || !(v->value > 0) || strstr(axes, "clock=") != NULL ||
        name == NULL || !metric_parse(name, &metric))
        return AGREE_KINDS;
    unsigned kind = transfer_kind_of(metric);
    return kind != 0 ? index_of(kind) : AGREE_KINDS;
}

/* What the same costs in a queue; NULL not known. */
static const struct value *queued(const struct values *values, const struct value *call)
{
    char axes[TRANSFER_AXES_MAX];
    snprintf(axes, sizeof axes, "clock=queue;%s", values_axes(values, call));
    return values_find(values, METRIC_TRANSFER_OVERHEAD, call->from, call->to, axes);
}

/* Where the devices take as long: what one pair takes more than another by its way is no
 * disagreement. */
static bool starts_alike(const struct values *values, const struct value *a, const struct value *b)
{
    const struct value *x = queued(values, a), *y = queued(values, b);
    return x == NULL || y == NULL || fabs(x->value - y->value) <= ALIKE * fmax(x->value, y->value);
}

static bool is_alike(const struct graph *graph, const struct values *values, const struct value *a,
                     const struct value *b)
{
    return a->axes == b->axes &&
           graph_place(graph, a->from)->kind == graph_place(graph, b->from)->kind &&
           graph_place(graph, a->to)->kind == graph_place(graph, b->to)->kind &&
           starts_alike(values, a, b);
}

/* Each beside the last one before it that is alike: so far are two measurements apart, as one and
 * the next time are. */
static void add_calls(const struct graph *graph, const struct values *values, struct agreement *all)
{
    const struct value *first;
    size_t count = values_range(values, METRIC_TRANSFER_OVERHEAD, PLACE_NONE, &first);
    for (size_t i = 1; i < count; i++) {
        int kind = kind_of_call(values, &first[i]);
        size_t before = i;
        while (kind < AGREE_KINDS && before > 0 &&
               !(is_alike(graph, values, &first[before - 1], &first[i]) &&
                 kind_of_call(values, &first[before - 1]) == kind))
            before--;
        if (kind == AGREE_KINDS || before == 0)
            continue;
        double off = log(first[i].value / first[before - 1].value);
        all[kind].call += off * off;
        all[kind].calls++;
    }
}

void agree_find(const struct graph *graph, const struct values *values, const struct sets *sets,
                const struct contradiction *contradiction, struct agreement ret[AGREE_KINDS])
{
    struct agreement all[AGREE_KINDS] = {{0}};
    add_rates(values, sets, contradiction, all);
    add_calls(graph, values, all);
    add_ones(values, all);
    for (int k = 0; k < AGREE_KINDS; k++) {
        all[k].rate = all[k].rates > 0 ? sqrt(all[k].rate / all[k].rates) : 0;
        all[k].call = all[k].calls > 0 ? sqrt(all[k].call / all[k].calls) : 0;
        ret[k] = all[k];
    }
}

double agree_own(const struct graph *graph, const struct values *values, enum metric metric)
{
    double sum = 0;
    size_t count = 0;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const struct value *v;
        for (size_t n = values_range_to(values, metric, g, g, &v); n > 0; v++, n--) {
            double its = v->source == VALUE_MEASURED && v->low > 0
                             ? spread_deviation(log(v->high / v->low) / 2, v->n)
                             : NAN;
            if (its > 0) {
                sum += log(its);
                count++;
            }
        }
    }
    return count > 0 ? exp(sum / (double)count) : 0;
}

const struct agreement *agree_of(const struct agreement all[AGREE_KINDS], unsigned kind)
{
    int index = index_of(kind);
    return index < AGREE_KINDS ? &all[index] : NULL;
}
