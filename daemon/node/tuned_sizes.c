#include "node/tuned_sizes.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_OF_TWO 32   /* sizes between one and its double */
#define AS_FAST      0.99 /* of the highest rate */

/* Time of one call by the caller's clock, and half its interval: the curve's and the start's. */
struct called {
    double ns, half_ns;
};

static struct called call_of(const struct curves *curves, const struct curve *curve, double bytes)
{
    double queued_ns = curve_time_ns(curve, bytes),
           half_ns = curve_fit_spread(&curve->fit, bytes) * queued_ns;
    const struct value *start =
        overheads_find(curves->overheads, curve->metric, curve->from, curve->to, curve->axes)
            .clock[TRANSFER_CALL];
    if (start != NULL && start->low > 0)
        half_ns += (start->high - start->low) / 2;
    return (struct called){curve_fit_called_ns(queued_ns, curve->t0_call_ns, curve->t0_queue_ns),
                           half_ns};
}

/* 1 the kernel is faster for certain, -1 the copy engine, 0 their intervals overlap. */
static int order_at(struct called engine, struct called kernel)
{
    return kernel.ns + kernel.half_ns < engine.ns - engine.half_ns   ? 1
           : engine.ns + engine.half_ns < kernel.ns - kernel.half_ns ? -1
                                                                     : 0;
}

static const char *why_no_curves(const struct curve *engine, const struct curve *kernel)
{
    return engine == NULL && kernel == NULL ? "no sizes of either mechanism are measured"
           : engine == NULL                 ? "no sizes by the copy engine are measured"
           : kernel == NULL                 ? "no sizes by a kernel are measured"
           : engine->most_bytes < kernel->least_bytes || kernel->most_bytes < engine->least_bytes
               ? "both mechanisms are measured at other sizes"
           : isnan(engine->t0_call_ns) || isnan(engine->t0_queue_ns)
               ? "the start of a copy by the copy engine is not measured"
           : isnan(kernel->t0_call_ns) || isnan(kernel->t0_queue_ns)
               ? "the start of a kernel is not measured"
               : NULL;
}

struct tuned_sizes_threshold tuned_sizes_threshold(const struct curves *curves,
                                                   const struct curve *engine,
                                                   const struct curve *kernel)
{
    struct tuned_sizes_threshold found = {NAN, NAN, false, false, false,
                                          NAN, NAN, NAN,   NAN,   why_no_curves(engine, kernel)};
    if (found.why_not != NULL)
        return found;
    double least = fmax((double)engine->least_bytes, (double)kernel->least_bytes),
           most = fmin((double)engine->most_bytes, (double)kernel->most_bytes), certain = NAN;
    int before = 0, changes = 0, steps = (int)(log2(most / least) * STEPS_OF_TWO);
    for (int i = 0; i <= steps; i++) {
        double bytes = least * exp2((double)i / STEPS_OF_TWO);
        struct called by_engine = call_of(curves, engine, bytes),
                      by_kernel = call_of(curves, kernel, bytes);
        int now = order_at(by_engine, by_kernel);
        if (now == 0)
            continue;
        if (before != 0 && now != before) {
            struct called best = now > 0 ? by_kernel : by_engine;
            changes++;
            found.bytes = ceil(bytes);
            found.certain_below = floor(certain);
            found.bytes_per_s = 1e9 * bytes / best.ns;
            found.low = 1e9 * bytes / (best.ns + best.half_ns);
            found.high =
                best.ns > best.half_ns ? 1e9 * bytes / (best.ns - best.half_ns) : (double)NAN;
            found.next_bytes_per_s = 1e9 * bytes / (now > 0 ? by_engine.ns : by_kernel.ns);
            found.is_kernel_below = before > 0;
        }
        found.is_kernel_above = now > 0;
        found.is_certain = true;
        before = now;
        certain = bytes;
    }
    if (changes == 1)
        return found;
    found.bytes = found.certain_below = NAN;
    found.bytes_per_s = found.low = found.high = found.next_bytes_per_s = NAN;
    found.is_kernel_below = found.is_kernel_above;
    found.is_certain = found.is_certain && changes == 0;
    found.why_not = changes > 1         ? "the faster mechanism changes at several sizes"
                    : !found.is_certain ? "the intervals of both overlap at all measured sizes"
                    : found.is_kernel_above
                        ? "a kernel is the faster one wherever their intervals differ"
                        : "the copy engine is the faster one wherever their intervals differ";
    return found;
}

double tuned_sizes_chunk(const struct curve *curve)
{
    double most = curve_wmax_bytes_per_s(curve);
    int first = (int)ceil(log2((double)curve->least_bytes)),
        last = (int)floor(log2((double)curve->most_bytes));
    for (int power = first; power <= last; power++) {
        double bytes = exp2(power);
        if (1e9 * bytes / curve_time_ns(curve, bytes) >= TUNED_SIZES_SHARE * most)
            return bytes;
    }
    return NAN;
}

/* The streams of a measured value of pieces of the usual size; 0 another. */
static int streams_of(const struct values *values, const struct value *v)
{
    char text[48], size[48], usual[48];
    const char *axes = values_axes(values, v),
               *streams = axes_get(METRIC_COPY_STREAMS, axes, "streams", text, sizeof text),
               *bytes = axes_get(METRIC_COPY_STREAMS, axes, "bytes", size, sizeof size);
    bool is_usual = bytes != NULL && strcmp(bytes, metric_axis_default(METRIC_COPY_STREAMS, "bytes",
                                                                       usual, sizeof usual)) == 0;
    long count = streams != NULL ? strtol(streams, NULL, 10) : 0;
    return v->source == VALUE_MEASURED && v->value > 0 && is_usual && count > 0 && count <= INT_MAX
               ? (int)count
               : 0;
}

struct tuned_sizes_streams tuned_sizes_streams(const struct values *values, place_id from,
                                               place_id to)
{
    struct tuned_sizes_streams found = {0};
    const struct value *first, *best = NULL;
    size_t count = values_range_to(values, METRIC_COPY_STREAMS, from, to, &first);
    for (size_t i = 0; i < count; i++)
        if (streams_of(values, &first[i]) > 0 && (best == NULL || first[i].value > best->value))
            best = &first[i];
    for (size_t i = 0; i < count && best != NULL; i++) {
        int streams = streams_of(values, &first[i]);
        if (streams > 0 && (found.value == NULL || streams < found.count) &&
            (first[i].value >= AS_FAST * best->value || first[i].high >= best->low)) {
            found.count = streams;
            found.value = &first[i];
        }
    }
    for (size_t i = 0; i < count; i++)
        if (&first[i] != found.value && streams_of(values, &first[i]) > 0 &&
            (found.next == NULL || first[i].value > found.next->value))
            found.next = &first[i];
    return found;
}
