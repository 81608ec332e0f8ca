#include "cost/transfer.h"

#include <math.h>

#include "cost/policy.h"
#include "node/gpu.h"
#include "node/spread.h"

#define MANY 32 /* intervals: Student's distribution is the normal one */

struct transfer transfer_none(const struct graph *graph, place_id from, place_id to,
                              enum mechanism by)
{
    return (struct transfer){.from = from,
                             .to = to,
                             .by = by,
                             .driver = graph_place(graph, from)->kind == PLACE_GPU ? from : to,
                             .source = SOURCE_LOWER_BOUND,
                             .sizes = SOURCE_LOWER_BOUND,
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
    return (struct estimate){time_ns, isnan(spread) ? spread : time_ns * (1 - fmin(spread, 1)),
                             time_ns * (1 + spread), transfer_source(transfer, bytes, bytes),
                             transfer->value};
}

double transfer_called_ns(const struct transfer *transfer, double bytes)
{
    double queued_ns = transfer_queued_ns(transfer, bytes);
    return isnan(transfer->t0_call_ns)
               ? queued_ns
               : curve_fit_called_ns(queued_ns, transfer->t0_call_ns, transfer_start_ns(transfer));
}

bool transfer_is_similar(const struct transfer *transfer, double bytes, double piece)
{
    double queued_ns = transfer_queued_ns(transfer, piece),
           first_ns = transfer_called_ns(transfer, piece) - queued_ns, pieces = bytes / piece;
    double off_ns =
        fabs(queued_ns - piece * 1e9 / transfer->bytes_per_s * transfer->slowdown) * pieces +
        first_ns;
    return transfer->sizes == SOURCE_SIMILAR_PAIR &&
           off_ns > POLICY_SAME * (queued_ns * pieces + first_ns);
}

enum source transfer_source(const struct transfer *transfer, double bytes, double piece)
{
    enum source source =
        transfer->source > transfer->slowdown_source ? transfer->source : transfer->slowdown_source;
    if (transfer_lacks_start(transfer, piece))
        return SOURCE_LOWER_BOUND;
    if (source == SOURCE_MEASURED &&
        (transfer_is_similar(transfer, bytes, piece) || !transfer_covers(transfer, piece)))
        return SOURCE_SIMILAR_PAIR;
    return source;
}

double transfer_call_half_ns(const struct transfer *transfer, double bytes)
{
    const struct agreement *drift = transfer->drift;
    const struct value *call = transfer->call;
    bool knows_drift = drift != NULL && drift->calls > 0;
    double own_ns = 0, drift_ns = 0;
    if (transfer_is_similar(transfer, bytes, bytes) && (transfer->curve == NULL || !knows_drift))
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

double transfer_covers_from(const struct transfer *transfer)
{
    if (transfer->basis != BASIS_OWN)
        return INFINITY;
    /* between a measured start-up and the least size nothing surprises */
    if (transfer->curve != NULL)
        return transfer->call != NULL && transfer->call->source == VALUE_MEASURED
                   ? 0
                   : (double)transfer->curve->least_bytes / 4;
    return isnan(transfer->t0_queue_ns) ? TRANSFER_LARGE_BYTES : 0;
}

bool transfer_covers(const struct transfer *transfer, double bytes)
{
    return bytes >= transfer_covers_from(transfer);
}

bool transfer_lacks_start(const struct transfer *transfer, double bytes)
{
    return transfer->curve == NULL && isnan(transfer->t0_queue_ns) && isnan(transfer->t0_call_ns) &&
           bytes > 0 && bytes < TRANSFER_LARGE_BYTES;
}

bool transfer_is_peer(const struct graph *graph, const struct transfer *transfer)
{
    return graph_place(graph, transfer->from)->kind == PLACE_GPU &&
           graph_place(graph, transfer->to)->kind == PLACE_GPU;
}

bool transfer_is_with_host(const struct graph *graph, const struct transfer *transfer)
{
    place_id numa =
        graph_place(graph, transfer->from)->kind == PLACE_GPU ? transfer->to : transfer->from;
    return graph_place(graph, numa)->kind == PLACE_NUMA && gpu_apu_at(graph, numa) == PLACE_NONE;
}

unsigned transfer_kind_bit(const struct graph *graph, const struct transfer *transfer)
{
    bool peer = transfer_is_peer(graph, transfer);
    if (transfer->by == MECHANISM_COPY_ENGINE)
        return peer ? TRANSFER_PEER_ENGINE : TRANSFER_HOST_ENGINE;
    return peer ? TRANSFER_PEER_KERNEL : TRANSFER_HOST_KERNEL;
}

enum metric transfer_metric(const struct graph *graph, const struct transfer *transfer)
{
    bool peer = transfer_is_peer(graph, transfer);
    if (transfer->by == MECHANISM_COPY_ENGINE)
        return peer ? METRIC_GPU_GPU_COPY_ENGINE : METRIC_HOST_GPU_COPY_ENGINE;
    return peer ? METRIC_GPU_GPU_KERNEL : METRIC_HOST_GPU_KERNEL;
}

enum berth_code transfer_cite(const struct graph *graph, const struct transfer *transfer,
                              struct evidence *evidence, size_t start, struct berth_err *err)
{
    bool ok = true;
    if (transfer->driver == PLACE_NONE)
        return BERTH_OK;
    if (transfer->value == NULL) {
        bool is_engine = transfer->basis == BASIS_ENGINE;
        double rate = is_engine || !(transfer->stated > transfer->bytes_per_s)
                          ? transfer->bytes_per_s
                          : transfer->stated;
        ok = evidence_add_stated(evidence, start, transfer_metric(graph, transfer),
                                 is_engine ? VALUE_PUBLISHED : VALUE_NOMINAL, transfer->from,
                                 transfer->to, rate);
    } else {
        ok = evidence_add(evidence, start, transfer->value) &&
             (transfer->call == NULL || evidence_add(evidence, start, transfer->call)) &&
             (transfer->both == NULL || evidence_add(evidence, start, transfer->both)) &&
             (transfer->both_set == NULL || evidence_add_set(evidence, start, transfer->both_set));
    }
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
}
