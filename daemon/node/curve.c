#include "node/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "node/transfer.h"

/* One size of a transfer, collected for a curve. */
struct size {
    char rest[TRANSFER_AXES_MAX]; /* the axes without bytes */
    struct curve_sample sample;
    const struct value *value;
};

static int compare_sizes(const void *a, const void *b)
{
    const struct size *x = a, *y = b;
    int order = strcmp(x->rest, y->rest);
    return order != 0 ? order
                      : (x->sample.bytes > y->sample.bytes) - (x->sample.bytes < y->sample.bytes);
}

static struct curve_sample make_sample(int64_t bytes, const struct value *v)
{
    double scale = (double)bytes * 1e9;
    return (struct curve_sample){bytes, scale / v->value,
                                 v->low > 0 ? (scale / v->low - scale / v->high) / 2 : NAN, v->n};
}

static void find_overheads(struct curve *curve, const struct overheads *overheads,
                           const struct graph *graph)
{
    double *const t0[] = {
        [TRANSFER_CALL] = &curve->t0_call_ns,     [TRANSFER_QUEUE] = &curve->t0_queue_ns,
        [TRANSFER_CHAIN] = &curve->t0_chain_ns,   [TRANSFER_BEHIND] = &curve->t0_behind_ns,
        [TRANSFER_LAUNCH] = &curve->t0_launch_ns, [TRANSFER_END] = &curve->t0_end_ns};
    enum place_kind kind = graph->places[curve->from].kind;
    bool by_itself = kind == PLACE_CORE || kind == PLACE_PU || kind == PLACE_LLC;
    struct overhead overhead =
        overheads_find(overheads, curve->metric, curve->from, curve->to, curve->axes);
    for (int clock = 0; clock < TRANSFER_CLOCKS; clock++) {
        const struct value *v = overhead.clock[clock];
        *t0[clock] = v != NULL && v->source == VALUE_MEASURED ? v->value
                     : by_itself && clock <= TRANSFER_QUEUE   ? curve->fit.piece[0].t0_ns
                                                              : NAN;
    }
    curve->b80_bytes = 4 * curve->t0_call_ns * 1e-9 * curve_wmax_bytes_per_s(curve);
}

/* Adds the curve through sizes of one transfer, if there is one. False when out of memory. */
static bool add_curve(struct curves *curves, const struct graph *graph, const struct size *sizes,
                      size_t count)
{
    struct curve_sample samples[CURVE_SIZES_MAX];
    const struct value *v = sizes[0].value;
    struct curve curve = {.metric = v->metric, .from = v->from, .to = v->to, .n = UINT32_MAX};
    curve.least_bytes = sizes[0].sample.bytes;
    curve.most_bytes = sizes[count - 1].sample.bytes;
    curve.size_count = count < CURVE_SIZES_MAX ? count : CURVE_SIZES_MAX;
    for (size_t i = 0; i < curve.size_count; i++) {
        const struct size *size =
            &sizes[curve.size_count > 1 ? i * (count - 1) / (curve.size_count - 1) : 0];
        samples[i] = size->sample;
        curve.n = size->value->n < curve.n ? size->value->n : curve.n;
        curve.measured_at_s = size->value->measured_at_s > curve.measured_at_s
                                  ? size->value->measured_at_s
                                  : curve.measured_at_s;
    }
    if (!curve_fit(samples, curve.size_count, &curve.fit))
        return true;
    if (!grow_by_one(&curves->item, curves->count, sizeof *curves->item) ||
        (curve.axes = strdup(sizes[0].rest)) == NULL)
        return false;
    find_overheads(&curve, curves->overheads, graph);
    curves->item[curves->count++] = curve;
    return true;
}

/* Adds the curves of all cells of one metric between two places: groups them by transfer, in order
 * of their sizes. */
static bool add_pair(struct curves *curves, const struct values *values, const struct graph *graph,
                     const struct value *first, size_t count)
{
    struct size *sizes = calloc(count, sizeof *sizes);
    size_t used = 0, next;
    bool ok = sizes != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        const struct value *v = &first[i];
        if (v->source != VALUE_MEASURED || v->why_not != NULL || !(v->value > 0))
            continue;
        int64_t bytes =
            transfer_split(values_axes(values, v), sizes[used].rest, sizeof sizes[used].rest);
        if (bytes <= 0)
            continue;
        sizes[used].sample = make_sample(bytes, v);
        sizes[used++].value = v;
    }
    if (used > 1)
        qsort(sizes, used, sizeof *sizes, compare_sizes);
    for (size_t i = 0; i < used && ok; i = next) {
        for (next = i + 1; next < used && strcmp(sizes[next].rest, sizes[i].rest) == 0; next++)
            ;
        ok = add_curve(curves, graph, &sizes[i], next - i);
    }
    free(sizes);
    return ok;
}

struct curves *curve_make_all(const struct values *values, const struct graph *graph)
{
    struct curves *curves = calloc(1, sizeof *curves);
    bool ok = curves != NULL && (curves->overheads = overheads_new(values)) != NULL;
    for (int m = 0; m < METRIC_COUNT && ok; m++) {
        const struct value *first;
        size_t count = transfer_is((enum metric)m)
                           ? values_range(values, (enum metric)m, PLACE_NONE, &first)
                           : 0,
               next;
        for (size_t i = 0; i < count && ok; i = next) {
            for (next = i + 1;
                 next < count && first[next].from == first[i].from && first[next].to == first[i].to;
                 next++)
                ;
            ok = next - i < 2 || add_pair(curves, values, graph, &first[i], next - i);
        }
    }
    if (ok)
        return curves;
    curve_free_all(curves);
    return NULL;
}

void curve_free_all(struct curves *curves)
{
    if (curves == NULL)
        return;
    for (size_t i = 0; i < curves->count; i++)
        free(curves->item[i].axes);
    free(curves->item);
    overheads_free(curves->overheads);
    free(curves);
}

static int compare(const struct curve *a, const struct curve *b)
{
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return strcmp(a->axes, b->axes);
}

static int compare_curves(const void *a, const void *b) { return compare(a, b); }

const struct curve *curve_find(const struct curves *curves, enum metric metric, place_id from,
                               place_id to, const char *axes)
{
    const struct curve key = {.metric = metric, .from = from, .to = to, .axes = (char *)axes};
    return curves->count == 0
               ? NULL
               : bsearch(&key, curves->item, curves->count, sizeof key, compare_curves);
}

size_t curve_range(const struct curves *curves, enum metric metric, const struct curve **ret_first)
{
    size_t first = 0;
    while (first < curves->count && curves->item[first].metric < metric)
        first++;
    size_t end = first;
    while (end < curves->count && curves->item[end].metric == metric)
        end++;
    *ret_first = end > first ? &curves->item[first] : NULL;
    return end - first;
}

double curve_time_ns(const struct curve *curve, double bytes)
{
    return curve_fit_time_ns(&curve->fit, bytes);
}

double curve_wmax_bytes_per_s(const struct curve *curve)
{
    return 1e9 / curve->fit.piece[curve->fit.piece_count - 1].ns_per_byte;
}

/* True when the largest size comes near enough to the highest rate, and the slope is certain
 * enough, for a rate of large transfers. */
static bool says_large(const struct curve *curve)
{
    double most = (double)curve->most_bytes,
           slope = curve->fit.piece[curve->fit.piece_count - 1].ns_per_byte;
    return most * slope >= 0.5 * curve_time_ns(curve, most) && !(curve->fit.last_half >= slope);
}

bool curve_fill_large(struct values *values, const struct graph *graph)
{
    values_finish(values);
    struct curves *curves = curve_make_all(values, graph);
    bool ok = curves != NULL;
    size_t kept = 0;
    /* Looks up all before the first is added: lookups need a finished set. */
    for (size_t i = 0; ok && i < curves->count; i++) {
        struct curve *curve = &curves->item[i];
        const struct value *given =
            values_find(values, curve->metric, curve->from, curve->to, curve->axes);
        if ((given != NULL && given->source == VALUE_MEASURED) || !says_large(curve))
            free(curve->axes);
        else
            curves->item[kept++] = *curve;
    }
    if (ok)
        curves->count = kept;
    for (size_t i = 0; ok && i < kept; i++) {
        const struct curve *curve = &curves->item[i];
        double slope = curve->fit.piece[curve->fit.piece_count - 1].ns_per_byte,
               half = curve->fit.last_half;
        const struct value v = {.metric = curve->metric,
                                .from = curve->from,
                                .to = curve->to,
                                .n = curve->n,
                                .measured_at_s = curve->measured_at_s,
                                .source = VALUE_MEASURED,
                                .value = 1e9 / slope,
                                .low = 1e9 / (slope + half),
                                .high = 1e9 / (slope - half)};
        ok = values_add(values, &v, curve->axes, NULL);
    }
    curve_free_all(curves);
    values_finish(values);
    return ok;
}
