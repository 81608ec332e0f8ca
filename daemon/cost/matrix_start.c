/* Sizes and start-up of a transfer: its own, else those of a similar pair, else unknown. */
#include <math.h>
#include <string.h>

#include "cost/matrix_inner.h"
#include "cost/policy.h"

/* The measured time of a few bytes of that very transfer in a queue: its start-up. NULL unknown. */
static const struct value *latency_of(const struct values *values, const struct value *rate)
{
    const char *axes = values_axes(values, rate);
    bool by_engine =
        rate->metric == METRIC_HOST_GPU_COPY_ENGINE || rate->metric == METRIC_GPU_GPU_COPY_ENGINE;
    const struct value *latency =
        by_engine && (*axes == '\0' || strcmp(axes, "sdma=off") == 0)
            ? values_find(values, METRIC_COPY_LATENCY, rate->from, rate->to, axes)
            : NULL;
    return latency != NULL && latency->source == VALUE_MEASURED && latency->value > 0 ? latency
                                                                                      : NULL;
}

static double measured_ns(const struct value *value)
{
    return value != NULL && value->source == VALUE_MEASURED ? value->value : NAN;
}

/* Takes the start-up times between two places under the same metric and axes. */
static void take_overheads(const struct snapshot *snap, place_id from, place_id to,
                           struct transfer *transfer)
{
    struct overhead its = overheads_find(snap->derived.curves->overheads, transfer->value->metric,
                                         from, to, transfer->axes);
    const struct value *call = its.clock[TRANSFER_CALL], *queue = its.clock[TRANSFER_QUEUE];
    transfer->call = call;
    transfer->t0_call_ns = call != NULL ? call->value : NAN;
    transfer->t0_queue_ns = queue != NULL ? queue->value : NAN;
    transfer->t0_chain_ns = measured_ns(its.clock[TRANSFER_CHAIN]);
    transfer->t0_behind_ns = measured_ns(its.clock[TRANSFER_BEHIND]);
    transfer->t0_launch_ns = measured_ns(its.clock[TRANSFER_LAUNCH]);
    transfer->t0_end_ns = measured_ns(its.clock[TRANSFER_END]);
}

/* Returns the curve of the most similar pair: of the same metric, axes, kinds and models. First one
 * with that rate and start-up (ret_fits), then one that shares a GPU, then the nearest in rate. The
 * probe measures many sizes for one of such pairs only. */
static const struct curve *similar_curve(const struct snapshot *snap,
                                         const struct transfer *transfer,
                                         const struct value *latency, bool *ret_fits)
{
    const struct graph *graph = snap->graph;
    const struct curve *first, *found = NULL;
    double found_off = INFINITY;
    size_t count = curve_range(snap->derived.curves, transfer->value->metric, &first);
    for (const struct curve *curve = first; curve < first + count; curve++) {
        double off = fabs(curve_wmax_bytes_per_s(curve) / transfer->bytes_per_s - 1);
        bool fits = off <= POLICY_SIMILAR &&
                    (latency == NULL ||
                     fabs(curve->t0_queue_ns / latency->value - 1) <= POLICY_SIMILAR),
             shares =
                 (curve->from == transfer->from && graph_is(graph, transfer->from, PLACE_GPU)) ||
                 (curve->to == transfer->to && graph_is(graph, transfer->to, PLACE_GPU));
        if ((!fits && isnan(curve->t0_queue_ns)) || strcmp(curve->axes, transfer->axes) != 0 ||
            !matrix_same_model(graph, curve->from, transfer->from) ||
            !matrix_same_model(graph, curve->to, transfer->to))
            continue;
        off += fits ? 0 : 1;
        off += shares ? 0 : POLICY_SIMILAR;
        if (off < found_off) {
            found = curve;
            found_off = off;
            *ret_fits = fits;
        }
    }
    return found;
}

/* Of a pair with another rate only the start-up stands; with a latency of its own the rest of that
 * start-up. */
static void take_similar(const struct snapshot *snap, struct transfer *transfer)
{
    const struct value *latency = latency_of(snap->values, transfer->value);
    bool fits = false;
    const struct curve *pair = similar_curve(snap, transfer, latency, &fits);
    if (pair != NULL) {
        take_overheads(snap, pair->from, pair->to, transfer);
        transfer->sizes = SOURCE_SIMILAR_PAIR;
        transfer->curve = fits ? pair : NULL;
    }
    if (latency == NULL || fits)
        return;
    double more_ns = latency->value - transfer->t0_queue_ns;
    transfer->sizes = SOURCE_MEASURED;
    transfer->call = latency;
    transfer->t0_queue_ns = latency->value;
    transfer->t0_call_ns += more_ns;
    transfer->t0_chain_ns += more_ns;
    transfer->t0_behind_ns += more_ns;
}

/* Between a measured start-up and the least size nothing surprises. */
static double least_bytes(const struct transfer *transfer)
{
    bool starts = transfer->call != NULL && transfer->call->source == VALUE_MEASURED;
    if (transfer->curve != NULL)
        return starts ? 0 : (double)transfer->curve->least_bytes / 4;
    return isnan(transfer->t0_queue_ns) ? TRANSFER_LARGE_BYTES : 0;
}

void matrix_start_of(const struct snapshot *snap, struct transfer *transfer)
{
    transfer->curve = curve_find(snap->derived.curves, transfer->value->metric, transfer->from,
                                 transfer->to, transfer->axes);
    take_overheads(snap, transfer->from, transfer->to, transfer);
    if (transfer->curve != NULL || !isnan(transfer->t0_queue_ns))
        transfer->sizes = SOURCE_MEASURED;
    else if (transfer->source == SOURCE_MEASURED)
        take_similar(snap, transfer);
    transfer->least_bytes = least_bytes(transfer);
}
