/* Comparison of measured values with nominal ones, with their peers and with their baselines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "health/baseline.h"
#include "health/findings.h"
#include "health/suspects.h"
#include "node/graph.h"
#include "node/locality.h"
#include "node/metric.h"
#include "node/snapshot.h"
#include "node/spread.h"

#define PEERS_MIN 3 /* least number of peers that can tell which value is wrong */

/* Key of values that should be equal. */
struct class
{
    enum metric metric;
    uint32_t axes;
    uint64_t from, to; /* classes of the places: classify() */
    double relation;   /* relative position of the places: relation_of() */
};

struct member {
    struct class class;
    const struct value *value;
};

/* Returns the better end of the interval. */
static double best_case(const struct value *v)
{
    double end = metric_info(v->metric)->higher_is_better ? v->high : v->low;
    return isnan(end) ? v->value : end;
}

/* Returns the worse end of the interval. */
static double worst_case(const struct value *v)
{
    double end = metric_info(v->metric)->higher_is_better ? v->low : v->high;
    return isnan(end) ? v->value : end;
}

static double itself(const struct value *v) { return v->value; }

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (hash ^ 0xff) * UINT64_C(1099511628211);
}

/* Computes a hash of each place's kind and equipment: equal places have equal hashes. */
static void classify(const struct graph *graph, uint64_t *class)
{
    /* Counts the cores first. */
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1)) {
        place_id numa = locality_numa(graph, c);
        for (place_id p = c; p != PLACE_NONE; p = graph_place(graph, p)->parent) {
            class[p]++;
            numa = p == numa ? PLACE_NONE : numa;
        }
        if (numa != PLACE_NONE)
            class[numa]++;
    }
    for (place_id p = 0; (size_t)p < graph->place_count; p++) {
        const struct place *place = graph_place(graph, p);
        char number[48];
        snprintf(number, sizeof number, "%d %llu", (int)place->kind, (unsigned long long)class[p]);
        uint64_t hash = mix(UINT64_C(14695981039346656037), number);
        hash = mix(hash, place->kind == PLACE_GPU ? place->model : NULL);
        hash = mix(hash, place_detail(place, "memory"));
        class[p] = mix(hash, place_detail(place, "kind"));
    }
}

/* Returns the relative position of two places; NAN when no other pair is comparable. */
static double relation_of(const struct snapshot *snap, place_id from, place_id to)
{
    const struct graph *graph = snap->graph;
    const struct place *a = graph_place(graph, from), *b = graph_place(graph, to);
    if (a->kind == PLACE_GPU && from == to)
        return 0; /* the GPU's own memory */
    if (a->kind == PLACE_GPU && b->kind == PLACE_GPU) {
        /* Compare direct links only: paths of other pairs differ. */
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            if ((link->from == from && link->to == to) || (link->from == to && link->to == from))
                return -1.0 - (link->width * (double)LINK_KIND_COUNT + link->kind);
        }
        return NAN;
    }
    if (from == to && a->kind == PLACE_CORE)
        return 1; /* the core's two threads */
    place_id llc = locality_above(graph, from, PLACE_LLC);
    bool share_llc = a->kind == PLACE_CORE && b->kind == PLACE_CORE && llc != PLACE_NONE &&
                     llc == locality_above(graph, to, PLACE_LLC);
    return share_llc ? 5 : locality_distance(snap, from, to);
}

static int compare_u64(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int compare_class(const struct class *x, const struct class *y)
{
    int order = compare_u64(x->metric, y->metric);
    if (order == 0)
        order = compare_u64(x->axes, y->axes);
    if (order == 0)
        order = compare_u64(x->from, y->from);
    if (order == 0)
        order = compare_u64(x->to, y->to);
    return order != 0 ? order : (x->relation > y->relation) - (x->relation < y->relation);
}

/* Orders by class, then by value. */
static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = compare_class(&x->class, &y->class);
    return order != 0 ? order
                      : (x->value->value > y->value->value) - (x->value->value < y->value->value);
}

/* Returns the median of n ascending values without element leave_out; @end selects the value or an
 * end of its interval. */
static double median_without(const struct member *member, size_t n, size_t leave_out,
                             double (*end)(const struct value *v))
{
    size_t low = (n - 2) / 2, high = (n - 1) / 2;
    return (end(member[low + (low >= leave_out)].value) +
            end(member[high + (high >= leave_out)].value)) /
           2;
}

/* Returns the relative standard deviation of single repetitions, pooled over the class; at least
 * the known variation between runs. */
static double spread_of(const struct snapshot *snap, const struct member *member, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const struct value *v = member[i].value;
        double half = isnan(v->low) || isnan(v->high) ? 0 : (v->high - v->low) / 2;
        sum += pow(spread_deviation(half, v->n) / v->value, 2);
    }
    return fmax(
        sqrt(sum / (double)n),
        health_limits_spread(member->class.metric, values_axes(snap->values, member->value)));
}

/* Returns the relative deviation between runs of this value, if its baseline has enough of them;
 * otherwise 0. */
static double spread_of_runs(const struct snapshot *snap, const struct value *v)
{
    const struct baseline *baseline =
        snap->baseline != NULL ? &snap->baseline[v - snap->values->item] : NULL;
    return baseline != NULL && baseline->count >= BASELINE_READY
               ? baseline->deviation / baseline->median
               : 0;
}

static void compare_with_peers(const struct snapshot *snap, const struct member *member, size_t n,
                               const struct health_limits *limits, struct suspects *suspects)
{
    enum metric metric = member->class.metric;
    double allowed = limits->peers[health_limits_kind(metric)];
    if (n <= PEERS_MIN || allowed <= 0)
        return;
    double spread = spread_of(snap, member, n);
    for (size_t i = 0; i < n; i++) {
        const struct value *v = member[i].value;
        double median = median_without(member, n, i, itself),
               good = baseline_goodness(metric, v->value, median);
        bool is_far =
            good < 1 - allowed && -log(good) > limits->mads * fmax(spread, spread_of_runs(snap, v));
        if (is_far && baseline_goodness(metric, best_case(v),
                                        median_without(member, n, i, worst_case)) < 1 - allowed)
            suspects_add(suspects, &(struct suspect){.value = v,
                                                     .rule = RULE_PEERS,
                                                     .expected = median,
                                                     .goodness = good,
                                                     .others = n - 1});
    }
}

/* Returns the nominal value: the firmware's for the same metric, or the direct link's rate for
 * large copies; 0 none. */
static double nominal_of(const struct snapshot *snap, const struct value *v)
{
    if (v->nominal > 0)
        return v->nominal;
    bool is_copy = v->metric == METRIC_HOST_GPU_COPY_ENGINE ||
                   v->metric == METRIC_HOST_GPU_KERNEL || v->metric == METRIC_GPU_GPU_COPY_ENGINE ||
                   v->metric == METRIC_GPU_GPU_KERNEL;
    /* large, pinned, one direction: others, such as pageable memory, are slower by design */
    if (!is_copy || values_axes(snap->values, v)[0] != '\0')
        return 0;
    for (size_t i = 0; i < snap->graph->link_count; i++) {
        const struct link *link = &snap->graph->links[i];
        bool joins = (link->from == v->from && link->to == v->to) ||
                     (link->from == v->to && link->to == v->from);
        /* AMD's copy engines are narrower by design; a memory bus is one memory of both */
        bool is_narrower = link->kind == LINK_XGMI || link->kind == LINK_MEMBUS;
        if (joins && is_narrower && v->metric == METRIC_HOST_GPU_COPY_ENGINE)
            return 0;
        if (joins && link->nominal_bytes_per_s > 0)
            return link->nominal_bytes_per_s;
    }
    return 0;
}

static void compare_with_nominal(const struct snapshot *snap, const struct value *v,
                                 const struct health_limits *limits, struct suspects *suspects)
{
    double expected = nominal_of(snap, v), allowed = health_limits_nominal(limits, v->metric);
    if (expected > 0 && allowed > 0 &&
        baseline_goodness(v->metric, best_case(v), expected) < 1 - allowed)
        suspects_add(suspects, &(struct suspect){
                                   .value = v,
                                   .rule = RULE_NOMINAL,
                                   .expected = expected,
                                   .goodness = baseline_goodness(v->metric, v->value, expected)});
}

static void compare_with_baseline(const struct snapshot *snap, const struct value *v,
                                  const struct health_limits *limits, struct suspects *suspects)
{
    if (snap->baseline == NULL)
        return;
    const struct baseline *baseline = &snap->baseline[v - snap->values->item];
    enum baseline_verdict verdict = baseline_compare(baseline, v, limits);
    if (verdict == BASELINE_WORSE || verdict == BASELINE_BETTER)
        suspects_add(
            suspects,
            &(struct suspect){.value = v,
                              .rule = verdict == BASELINE_WORSE ? RULE_BASELINE : RULE_BETTER,
                              .expected = baseline->median,
                              .goodness = baseline_goodness(v->metric, v->value, baseline->median),
                              .others = baseline->count,
                              .is_overloaded = baseline->is_overloaded && verdict == BASELINE_WORSE,
                              .runs = verdict == BASELINE_WORSE ? baseline->low_runs : 0});
}

/* True for a start of transfers that was estimated: a part of one, or that of the kernels on one
 * GPU. It has no interval, so nothing tells a fault from noise. */
static bool is_estimated(const struct value *v)
{
    return v->metric == METRIC_TRANSFER_OVERHEAD && isnan(v->low);
}

/* Compares all measured values: those outside the selection serve as peers of the others. */
static size_t collect_members(struct findings *findings, const uint64_t *class,
                              struct member *member, struct suspects *suspects)
{
    const struct snapshot *snap = findings->snap;
    size_t count = 0;
    for (size_t i = 0; i < snap->values->count; i++) {
        const struct value *v = &snap->values->item[i];
        if (v->source != VALUE_MEASURED || isnan(v->value) || v->value <= 0)
            continue;
        if (findings_is_selected(findings, v->from) || findings_is_selected(findings, v->to))
            findings->measured++;
        if (is_estimated(v))
            continue;
        compare_with_nominal(snap, v, findings->limits, suspects);
        compare_with_baseline(snap, v, findings->limits, suspects);
        double relation = relation_of(snap, v->from, v->to);
        if (!isnan(relation))
            member[count++] =
                (struct member){{v->metric, v->axes, class[v->from], class[v->to], relation}, v};
    }
    return count;
}

enum berth_code value_findings_add(struct findings *findings, struct berth_err *err)
{
    size_t n = findings->snap->values->count;
    struct member *member = calloc(n + 1, sizeof *member);
    struct suspects suspects = {.item = calloc(RULE_COUNT * n + 1, sizeof *suspects.item)};
    uint64_t *class = calloc(findings->snap->graph->place_count, sizeof *class);
    enum berth_code code = BERTH_OK;
    if (member == NULL || suspects.item == NULL || class == NULL) {
        code = err_set(err, BERTH_NO_MEMORY, "no memory to compare values");
    } else {
        classify(findings->snap->graph, class);
        size_t count = collect_members(findings, class, member, &suspects);
        qsort(member, count, sizeof *member, compare_members);
        for (size_t first = 0, end; first < count; first = end) {
            for (end = first + 1;
                 end < count && compare_class(&member[end].class, &member[first].class) == 0;)
                end++;
            compare_with_peers(findings->snap, member + first, end - first, findings->limits,
                               &suspects);
        }
        size_t asked = 0;
        for (size_t i = 0; i < suspects.count; i++)
            if (findings_is_selected(findings, suspects.item[i].value->from) ||
                findings_is_selected(findings, suspects.item[i].value->to))
                suspects.item[asked++] = suspects.item[i];
        suspects.count = asked;
        code = suspects_report(findings, &suspects, err);
    }
    free(member);
    free(suspects.item);
    free(class);
    return code;
}
