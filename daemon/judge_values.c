/* Findings from measured values: against what is stated (nominal), and against values that should be like them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge_values.h"
#include "plan.h"

/* How much worse a value may be, as a share: 0.20 is 20 % less bandwidth, or so much latency that 20 % fewer fit a second. 0: not compared.
 * Copy engines are narrower than the links they use, by design. Ping-pong differs with the way on the mesh. */
static const struct threshold {
    double likes;   /* than the median of its likes */
    double nominal; /* than firmware, driver or link state */
} thresholds[METRIC_COUNT] = {
    [METRIC_CPU_PINGPONG] = {0.50, 0},
    [METRIC_MEMORY_BANDWIDTH] = {0.20, 0.50},
    [METRIC_MEMORY_LATENCY] = {0.20, 0.50},
    [METRIC_HOST_GPU_COPY_ENGINE] = {0.20, 0.50},
    [METRIC_HOST_GPU_KERNEL] = {0.20, 0.50},
    [METRIC_GPU_GPU_COPY_ENGINE] = {0.20, 0},
    [METRIC_GPU_GPU_KERNEL] = {0.20, 0.50},
};

#define LIKES_MIN 3     /* with fewer likes nobody can say who is wrong */
#define FINDINGS_MAX 64 /* of one rule; the worst ones, and one that counts the rest */

/* Values of one class should be the same. */
struct class {
    enum metric metric;
    uint32_t axes;
    uint64_t from, to; /* what kind of places: classify() */
    double relation;   /* how they stand to each other */
};

struct member {
    struct class class;
    const struct value *value;
};

/* A value that is too bad, before it is a finding. */
struct suspect {
    const struct value *value;
    double expected;
    double goodness; /* 1 is as expected, 0.5 half as good */
    size_t likes;    /* 0: against nominal */
};

struct suspects {
    struct suspect *item;
    size_t count;
};

static double goodness(const struct value *v, double value, double expected)
{
    return metric_info(v->metric)->higher_is_better ? value / expected : expected / value;
}

/* The end of the interval that speaks for the value. */
static double best_case(const struct value *v)
{
    double end = metric_info(v->metric)->higher_is_better ? v->high : v->low;
    return isnan(end) ? v->value : end;
}

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (hash ^ 0xff) * UINT64_C(1099511628211);
}

/* What kind of place each is: equal places get equal hashes. */
static void classify(const struct graph *graph, uint64_t *class)
{
    /* Begins as the number of cores. */
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE; c = graph_next(graph, PLACE_CORE, c + 1)) {
        place_id numa = plan_numa(graph, c);
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

/* NAN: the two are not comparable with any other pair. */
static double relation_of(const struct snapshot *snap, place_id from, place_id to)
{
    const struct graph *graph = snap->graph;
    const struct place *a = graph_place(graph, from), *b = graph_place(graph, to);
    if (a->kind == PLACE_GPU && b->kind == PLACE_GPU) {
        /* Pairs without a direct link go different ways. */
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            if ((link->from == from && link->to == to) || (link->from == to && link->to == from))
                return -1.0 - (link->width * (double)LINK_KIND_COUNT + link->kind);
        }
        return NAN;
    }
    place_id llc = plan_above(graph, from, PLACE_LLC);
    bool share_llc = a->kind == PLACE_CORE && b->kind == PLACE_CORE && llc != PLACE_NONE && llc == plan_above(graph, to, PLACE_LLC);
    return share_llc ? 5 : plan_distance(snap, from, to);
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

/* Within a class by value. */
static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = compare_class(&x->class, &y->class);
    return order != 0 ? order : (x->value->value > y->value->value) - (x->value->value < y->value->value);
}

/* The median of n ascending values without number leave_out. */
static double median_without(const struct member *member, size_t n, size_t leave_out)
{
    size_t low = (n - 2) / 2, high = (n - 1) / 2;
    return (member[low + (low >= leave_out)].value->value + member[high + (high >= leave_out)].value->value) / 2;
}

static void judge_class(const struct member *member, size_t n, struct suspects *suspects)
{
    double allowed = thresholds[member->class.metric].likes;
    for (size_t i = 0; i < n && n > LIKES_MIN && allowed > 0; i++) {
        const struct value *v = member[i].value;
        double median = median_without(member, n, i), good = goodness(v, v->value, median);
        if (good < 1 - allowed && goodness(v, best_case(v), median) < 1 - allowed)
            suspects->item[suspects->count++] = (struct suspect){v, median, good, n - 1};
    }
}

/* What is stated for a value: by the firmware for the same, or the direct link's rate for large transfers; 0 nothing. */
static double stated(const struct snapshot *snap, const struct value *v)
{
    if (v->nominal > 0)
        return v->nominal;
    bool is_copy = v->metric == METRIC_HOST_GPU_COPY_ENGINE || v->metric == METRIC_HOST_GPU_KERNEL || v->metric == METRIC_GPU_GPU_COPY_ENGINE ||
                   v->metric == METRIC_GPU_GPU_KERNEL;
    char bytes[48];
    if (!is_copy || strcmp(axes_get(v->metric, values_axes(snap->values, v), "bytes", bytes, sizeof bytes), "large") != 0)
        return 0;
    for (size_t i = 0; i < snap->graph->link_count; i++) {
        const struct link *link = &snap->graph->links[i];
        bool joins = (link->from == v->from && link->to == v->to) || (link->from == v->to && link->to == v->from);
        if (joins && link->nominal_bytes_per_s > 0)
            return link->nominal_bytes_per_s;
    }
    return 0;
}

static void judge_stated(const struct snapshot *snap, const struct value *v, struct suspects *suspects)
{
    double expected = stated(snap, v), allowed = thresholds[v->metric].nominal;
    if (expected > 0 && allowed > 0 && goodness(v, best_case(v), expected) < 1 - allowed)
        suspects->item[suspects->count++] = (struct suspect){v, expected, goodness(v, v->value, expected), 0};
}

/* The same pair once for each metric and rule, by its worst axes. */
static int compare_pairs(const void *a, const void *b)
{
    const struct suspect *x = a, *y = b;
    int order = (x->likes > 0) - (y->likes > 0);
    if (order == 0)
        order = (int)x->value->metric - (int)y->value->metric;
    if (order == 0)
        order = x->value->from - y->value->from;
    if (order == 0)
        order = x->value->to - y->value->to;
    return order != 0 ? order : (x->goodness > y->goodness) - (x->goodness < y->goodness);
}

static bool is_same_pair(const struct suspect *a, const struct suspect *b)
{
    return (a->likes > 0) == (b->likes > 0) && a->value->metric == b->value->metric && a->value->from == b->value->from &&
           a->value->to == b->value->to;
}

static int compare_goodness(const void *a, const void *b)
{
    const struct suspect *x = a, *y = b;
    if (x->goodness != y->goodness)
        return x->goodness < y->goodness ? -1 : 1;
    return compare_pairs(a, b);
}

static enum berth_code report(struct judge_work *work, const struct suspect *suspect, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct value *v = suspect->value;
    const struct metric_info *info = metric_info(v->metric);
    const struct place *from = graph_place(graph, v->from), *to = graph_place(graph, v->to);
    struct finding *finding = judge_part_add(work, SEVERITY_WARNING, suspect->likes > 0 ? "slower-than-likes" : "below-nominal",
                                             to->kind == PLACE_NUMA ? to->name : from->name);
    if (finding == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    const char *axes = values_axes(work->snap->values, v);
    double scale = strcmp(info->unit, "bytes_per_s") == 0 ? 1e-9 : 1;
    char against[64] = "what is stated";
    if (suspect->likes > 0)
        snprintf(against, sizeof against, "the median of %zu like it", suspect->likes);
    snprintf(finding->text, sizeof finding->text, "%s from %s to %s%s%s is %.4g %s, %.0f %% of %s (%.4g)", info->name, from->name, to->name,
             axes[0] != '\0' ? " with " : "", axes, v->value * scale, scale == 1 ? info->unit : "GB/s", 100 * v->value / suspect->expected,
             against, suspect->expected * scale);
    finding->value = v->value;
    finding->expected = suspect->expected;
    finding->unit = info->unit;
    return BERTH_OK;
}

static enum berth_code report_all(struct judge_work *work, struct suspects *suspects, struct berth_err *err)
{
    size_t pairs = 0;
    qsort(suspects->item, suspects->count, sizeof *suspects->item, compare_pairs);
    for (size_t i = 0; i < suspects->count; i++)
        if (pairs == 0 || !is_same_pair(&suspects->item[pairs - 1], &suspects->item[i]))
            suspects->item[pairs++] = suspects->item[i];
    qsort(suspects->item, pairs, sizeof *suspects->item, compare_goodness);
    for (size_t i = 0; i < pairs && i < FINDINGS_MAX; i++) {
        enum berth_code code = report(work, &suspects->item[i], err);
        if (code != BERTH_OK)
            return code;
    }
    if (pairs > FINDINGS_MAX) {
        struct finding *finding = judge_part_add(work, SEVERITY_WARNING, "more", graph_place(work->snap->graph, 0)->name);
        if (finding == NULL)
            return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
        snprintf(finding->text, sizeof finding->text, "%zu more values are out of line; the worst %d are listed", pairs - FINDINGS_MAX, FINDINGS_MAX);
    }
    return BERTH_OK;
}

/* All measured values are compared, those that are not asked about as likes of the others. */
static size_t collect(struct judge_work *work, const uint64_t *class, struct member *member, struct suspects *suspects)
{
    const struct snapshot *snap = work->snap;
    size_t count = 0;
    for (size_t i = 0; i < snap->values->count; i++) {
        const struct value *v = &snap->values->item[i];
        if (v->source != VALUE_MEASURED || isnan(v->value) || v->value <= 0)
            continue;
        if (judge_part_asks(work, v->from) || judge_part_asks(work, v->to))
            work->measured++;
        judge_stated(snap, v, suspects);
        double relation = relation_of(snap, v->from, v->to);
        if (!isnan(relation))
            member[count++] = (struct member){{v->metric, v->axes, class[v->from], class[v->to], relation}, v};
    }
    return count;
}

enum berth_code judge_values(struct judge_work *work, struct berth_err *err)
{
    size_t n = work->snap->values->count;
    struct member *member = calloc(n + 1, sizeof *member);
    struct suspects suspects = {.item = calloc(2 * n + 1, sizeof *suspects.item)};
    uint64_t *class = calloc(work->snap->graph->place_count, sizeof *class);
    enum berth_code code = BERTH_OK;
    if (member == NULL || suspects.item == NULL || class == NULL) {
        code = err_set(err, BERTH_NO_MEMORY, "no memory to compare values");
    } else {
        classify(work->snap->graph, class);
        size_t count = collect(work, class, member, &suspects);
        qsort(member, count, sizeof *member, compare_members);
        for (size_t first = 0, end; first < count; first = end) {
            for (end = first + 1; end < count && compare_class(&member[end].class, &member[first].class) == 0;)
                end++;
            judge_class(member + first, end - first, &suspects);
        }
        size_t asked = 0;
        for (size_t i = 0; i < suspects.count; i++)
            if (judge_part_asks(work, suspects.item[i].value->from) || judge_part_asks(work, suspects.item[i].value->to))
                suspects.item[asked++] = suspects.item[i];
        suspects.count = asked;
        code = report_all(work, &suspects, err);
    }
    free(member);
    free(suspects.item);
    free(class);
    return code;
}
