#include "cost/transfer.h"

#include <math.h>

#include "cost/policy.h"
#include "node/spread.h"

#define MANY 32 /* intervals: Student's distribution is the normal one */

struct transfer transfer_none(const struct graph *graph, place_id from, place_id to,
                              enum mechanism by)
{
    bool from_gpu = graph_is(graph, from, PLACE_GPU),
         peer = from_gpu && graph_is(graph, to, PLACE_GPU);
    unsigned engine = peer ? TRANSFER_PEER_ENGINE : TRANSFER_HOST_ENGINE,
             kernel = peer ? TRANSFER_PEER_KERNEL : TRANSFER_HOST_KERNEL;
    return (struct transfer){.from = from,
                             .to = to,
                             .by = by,
                             .kind = by == MECHANISM_COPY_ENGINE ? engine : kernel,
                             .driver = from_gpu ? from : to,
                             .source = SOURCE_LOWER_BOUND,
                             .axes = "",
                             .sizes = SOURCE_LOWER_BOUND,
                             .least_bytes = INFINITY,
                             .low = NAN,
                             .high = NAN,
                             .t0_queue_ns = NAN,
                             .t0_call_ns = NAN,
                             .t0_chain_ns = NAN,
                             .t0_behind_ns = NAN,
                             .t0_launch_ns = NAN,
                             .t0_end_ns = NAN,
                             .slowdown = 1};
}

double transfer_start_ns(const struct transfer *transfer)
{
    return !isnan(transfer->t0_queue_ns) ? transfer->t0_queue_ns
           : transfer->curve != NULL     ? transfer->curve->fit.piece[0].t0_ns
                                         : 0;
}

double transfer_queued_ns(const struct transfer *transfer, double bytes)
{
    double t0_ns = isnan(transfer->t0_queue_ns) ? 0 : transfer->t0_queue_ns;
    double alone_ns = transfer->curve != NULL ? curve_time_ns(transfer->curve, bytes)
                                              : t0_ns + bytes * 1e9 / transfer->bytes_per_s;
    return alone_ns + fmax(alone_ns - transfer_start_ns(transfer), 0) * (transfer->slowdown - 1);
}

/* Half the 95 % interval of one more transfer, relative; NAN unknown. */
static double spread_of(const struct transfer *transfer, double bytes)
{
    double fitted = transfer->curve != NULL ? curve_fit_spread(&transfer->curve->fit, bytes) : NAN,
           off = 0;
    if (transfer->slowdown_source != SOURCE_MEASURED)
        return NAN;
    if (transfer->curve != NULL && transfer->sizes == SOURCE_SIMILAR_PAIR) {
        /* its own rate is one more size, which the other pair's curve misses by so much */
        double time_ns = transfer_queued_ns(transfer, bytes),
               bytes_ns = fmax(time_ns - transfer_start_ns(transfer) * transfer->slowdown, 0);
        off = time_ns > 0 ? (curve_wmax_bytes_per_s(transfer->curve) / transfer->value->value - 1) *
                                bytes_ns / time_ns
                          : 0;
    }
    if (transfer->curve != NULL)
        /* many small pieces were timed together: each deviates as large ones do */
        return isnan(fitted) ? fitted
                             : hypot(off, fmax(fitted, spread_one(transfer->one, 0, 0, MANY)));
    /* a published range is no interval */
    return transfer->source == SOURCE_MEASURED && transfer->high >= transfer->low
               ? spread_cell_among((transfer->high - transfer->low) / 2 / transfer->bytes_per_s,
                                   transfer->value->n, transfer->one)
               : NAN;
}

struct estimate transfer_queued(const struct transfer *transfer, double bytes)
{
    double time_ns = transfer_queued_ns(transfer, bytes), spread = spread_of(transfer, bytes);
    return (struct estimate){.time_ns = time_ns,
                             .low_ns = isnan(spread) ? spread : time_ns * (1 - fmin(spread, 1)),
                             .high_ns = time_ns * (1 + spread),
                             .source = transfer_source(transfer, bytes, bytes),
                             .value = transfer->value};
}

double transfer_called_ns(const struct transfer *transfer, double bytes)
{
    double queued_ns = transfer_queued_ns(transfer, bytes);
    return isnan(transfer->t0_call_ns)
               ? queued_ns
               : curve_fit_called_ns(queued_ns, transfer->t0_call_ns, transfer_start_ns(transfer));
}

unsigned transfer_lacks(const struct transfer *transfer, double bytes, double piece)
{
    double queued_ns = transfer_queued_ns(transfer, piece),
           first_ns = transfer_called_ns(transfer, piece) - queued_ns, pieces = bytes / piece,
           off_ns =
               fabs(queued_ns - piece * 1e9 / transfer->bytes_per_s * transfer->slowdown) * pieces +
               first_ns;
    bool starts_late = transfer->sizes == SOURCE_LOWER_BOUND && piece < TRANSFER_LARGE_BYTES,
         is_similar = transfer->sizes == SOURCE_SIMILAR_PAIR &&
                      off_ns > POLICY_SAME * (queued_ns * pieces + first_ns);
    return (starts_late ? LACKS_START : 0U) | (piece < transfer->least_bytes ? LACKS_SIZE : 0U) |
           (is_similar ? LACKS_OWN_SIZES : 0U);
}

enum source transfer_source(const struct transfer *transfer, double bytes, double piece)
{
    enum source source = estimate_worse(transfer->source, transfer->slowdown_source);
    unsigned lacks = transfer_lacks(transfer, bytes, piece);
    if ((lacks & LACKS_START) != 0)
        return SOURCE_LOWER_BOUND;
    return source == SOURCE_MEASURED && (lacks & (LACKS_SIZE | LACKS_OWN_SIZES)) != 0
               ? SOURCE_SIMILAR_PAIR
               : source;
}

double transfer_call_half_ns(const struct transfer *transfer, double bytes)
{
    const struct agreement *drift = transfer->drift;
    const struct value *call = transfer->call;
    bool knows_drift = drift != NULL && drift->calls > 0;
    double own_ns = 0, drift_ns = 0;
    if ((transfer_lacks(transfer, bytes, bytes) & LACKS_OWN_SIZES) != 0 &&
        (transfer->curve == NULL || !knows_drift))
        return NAN;
    if (call != NULL && call->high >= call->low)
        own_ns = spread_cell((call->high - call->low) / 2, call->n);
    if (knows_drift && !isnan(transfer->t0_call_ns))
        drift_ns = spread_one(0, drift->call, drift->calls, 1) * transfer->t0_call_ns;
    return hypot(own_ns, drift_ns);
}

struct estimate transfer_called(const struct transfer *transfer, double bytes)
{
    struct estimate time = transfer_queued(transfer, bytes);
    const struct agreement *drift = transfer->drift;
    double half_ns = hypot(time.high_ns - time.time_ns, transfer_call_half_ns(transfer, bytes));
    if (drift != NULL && drift->rates > 0)
        half_ns = hypot(half_ns, spread_one(0, drift->rate, drift->rates, 1) * time.time_ns);
    time.time_ns = transfer_called_ns(transfer, bytes);
    time.low_ns = isnan(half_ns) ? half_ns : fmax(time.time_ns - half_ns, 0);
    time.high_ns = time.time_ns + half_ns;
    return time;
}

double transfer_launch_ns(const struct transfer *transfer)
{
    double queue_ns = isnan(transfer->t0_queue_ns) ? 0 : transfer->t0_queue_ns;
    return isnan(transfer->t0_call_ns) ? queue_ns
                                       : fmin(queue_ns, transfer_call_more_ns(transfer) / 2);
}

double transfer_call_more_ns(const struct transfer *transfer)
{
    return isnan(transfer->t0_call_ns)
               ? 0
               : fmax(transfer->t0_call_ns - transfer_start_ns(transfer), 0);
}

enum metric transfer_metric(const struct transfer *transfer)
{
    return transfer->kind == TRANSFER_PEER_ENGINE   ? METRIC_GPU_GPU_COPY_ENGINE
           : transfer->kind == TRANSFER_PEER_KERNEL ? METRIC_GPU_GPU_KERNEL
           : transfer->kind == TRANSFER_HOST_ENGINE ? METRIC_HOST_GPU_COPY_ENGINE
                                                    : METRIC_HOST_GPU_KERNEL;
}

void transfer_cite(const struct transfer *transfer, struct evidence *evidence, size_t start)
{
    const struct value *value[] = {transfer->value, transfer->call, transfer->both};
    for (size_t i = 0; i < 3; i++)
        if (value[i] != NULL)
            evidence_add(evidence, start, value[i]);
    if (transfer->both_set != NULL)
        evidence_add_set(evidence, start, transfer->both_set);
}
