#include "plan/route/price.h"

#include <math.h>
#include <string.h>

#include "cost/policy.h"

/* Newton's method: times are nearly straight lines over bytes. Parts end together to a thousandth
 * of the time. */
#define ROUNDS 9
#define ENOUGH 0.001

static double chunk_of(size_t k) { return (double)((int64_t)PRICE_CHUNK_LEAST << k); }

double price_hop_rate(const struct transfer *hop)
{
    return (hop->curve != NULL ? curve_wmax_bytes_per_s(hop->curve) : hop->bytes_per_s) /
           hop->slowdown;
}

double price_piece(const struct route_part *part, double bytes)
{
    double all = part->share * bytes;
    return part->chunk_bytes > 0 && part->chunk_bytes < all ? part->chunk_bytes : all;
}

/* ---- one part alone ---- */

/* Time of a piece that waits for another stream's event, on top of a queued one. */
static double chain_ns(const struct transfer *hop)
{
    return isnan(hop->t0_chain_ns) ? 0 : fmax(hop->t0_chain_ns - transfer_start_ns(hop), 0);
}

/* Time of the first piece of a hop on top of a queued one: the call, or waiting for the end of the
 * hop before. */
static double more_ns(const struct route_part *part, size_t i)
{
    const struct transfer *hop = &part->hop[i];
    if (i == 0 || hop->basis != BASIS_OWN)
        return transfer_call_more_ns(hop);
    return fmax(chain_ns(hop), isnan(hop->t0_behind_ns)
                                   ? transfer_call_more_ns(hop)
                                   : hop->t0_behind_ns - transfer_start_ns(hop));
}

/* Time of the caller's thread for each piece of a hop: two launches behind another hop, unless it
 * was measured. */
static double launch_ns(const struct route_part *part, size_t i)
{
    const struct transfer *hop = &part->hop[i];
    if (hop->basis != BASIS_OWN)
        return 0;
    if (!isnan(hop->t0_launch_ns))
        return hop->t0_launch_ns;
    return isnan(hop->t0_queue_ns) ? 0 : (i == 0 ? 1 : 2) * hop->t0_queue_ns;
}

static void make_pipe(const struct route_part *part, bool is_direct, struct price_pipe *pipe)
{
    const struct transfer *last = &part->hop[part->hop_count - 1];
    pipe->part = part;
    pipe->rate = INFINITY;
    pipe->least_bytes = pipe->launch_ns = pipe->late_ns = 0;
    /* the time to see one more stream's end, else a call's */
    pipe->end_ns = !isnan(last->t0_end_ns)    ? last->t0_end_ns
                   : !isnan(last->t0_call_ns) ? last->t0_call_ns
                                              : 0;
    pipe->least_chunk = part->hop_count > 1 && !part->in_one_piece ? 0 : PRICE_CHUNKS;
    for (size_t i = 0; i < part->hop_count; i++) {
        const struct transfer *hop = &part->hop[i];
        bool is_own = hop->basis == BASIS_OWN;
        /* else the start of smaller pieces is unknown */
        double from = is_own ? hop->least_bytes : TRANSFER_LARGE_BYTES;
        while (pipe->least_chunk < PRICE_CHUNKS && chunk_of(pipe->least_chunk) < from)
            pipe->least_chunk++;
        pipe->rate = fmin(pipe->rate, price_hop_rate(hop));
        pipe->more_ns[i] = more_ns(part, i);
        pipe->launch_ns += launch_ns(part, i);
        pipe->least_bytes = fmax(pipe->least_bytes, is_direct || !is_own ? 0 : from);
        /* an engine polls for such an end: it starts later by half of a call's start-up */
        if (i > 0 && isnan(hop->t0_behind_ns) && !isnan(hop->t0_call_ns))
            pipe->late_ns += transfer_call_more_ns(hop) / 2;
    }
    for (size_t k = pipe->least_chunk; k < PRICE_CHUNKS; k++) {
        pipe->each_ns[k] = pipe->launch_ns;
        pipe->first_ns[k] = 0;
        for (size_t i = 0; i < part->hop_count; i++) {
            pipe->one_ns[k][i] = transfer_queued_ns(&part->hop[i], chunk_of(k));
            pipe->first_ns[k] += pipe->more_ns[i] + pipe->one_ns[k][i];
            pipe->each_ns[k] = fmax(pipe->each_ns[k], pipe->one_ns[k][i] + chain_ns(&part->hop[i]));
        }
    }
}

/* A part's bytes in pieces: the first of each hop, and all further ones of the slowest. */
struct pieces {
    double first_ns[ROUTE_HOPS_MAX], rest_ns, chunk;
};

static double sum_of(const struct pieces *pieces, size_t first, size_t end)
{
    double ns = 0;
    for (size_t i = first; i < end; i++)
        ns += pieces->first_ns[i];
    return ns;
}

/* Finds the pieces of the best size, or one. behind_ns: delay of the parts behind by each piece; it
 * counts for the choice only. */
static struct pieces best_pieces(const struct price_pipe *pipe, double bytes, double behind_ns,
                                 double *ret_alone_ns)
{
    const struct route_part *part = pipe->part;
    struct pieces best = {.chunk = 0};
    for (size_t i = 0; i < part->hop_count; i++)
        best.first_ns[i] = pipe->more_ns[i] + transfer_queued_ns(&part->hop[i], bytes);
    double best_ns = sum_of(&best, 0, part->hop_count);
    *ret_alone_ns = best_ns;
    for (size_t k = pipe->least_chunk; k < PRICE_CHUNKS && chunk_of(k) < bytes; k++) {
        double more = bytes / chunk_of(k) - 1,
               alone_ns = pipe->first_ns[k] + more * pipe->each_ns[k];
        if (alone_ns + more * behind_ns >= best_ns)
            continue;
        best_ns = alone_ns + more * behind_ns;
        *ret_alone_ns = alone_ns;
        best.chunk = chunk_of(k);
        best.rest_ns = more * pipe->each_ns[k];
        for (size_t i = 0; i < part->hop_count; i++)
            best.first_ns[i] = pipe->more_ns[i] + pipe->one_ns[k][i];
    }
    return best;
}

double price_path(const struct route_part *part, bool is_direct, double bytes, double *ret_rate)
{
    struct price_pipe pipe;
    double alone_ns;
    make_pipe(part, is_direct, &pipe);
    *ret_rate = pipe.rate;
    (void)best_pieces(&pipe, fmax(bytes, pipe.least_bytes), 0, &alone_ns);
    return alone_ns;
}

/* ---- parts together ---- */

/* NAN where either is. */
static double later(double a_ns, double b_ns) { return b_ns > a_ns || isnan(b_ns) ? b_ns : a_ns; }

/* Factor on the time to begin and to see the other parts, which is in doubt by itself. */
static double waits(enum iteration_end end)
{
    return end == ITERATION_FAST ? 0 : end == ITERATION_SLOW ? 2 : 1;
}

/* Doubt of the start of a hop: waiting for the hop before is uncertain by a call's start-up time,
 * unless it was measured. NAN unknown. */
static double doubt_ns(const struct price_pipe *pipe, size_t i, double piece)
{
    const struct transfer *hop = &pipe->part->hop[i];
    bool is_late = i > 0 && (hop->basis != BASIS_OWN || isnan(hop->t0_behind_ns));
    return transfer_call_half_ns(hop, piece) +
           (is_late ? fmax(pipe->more_ns[i] - chain_ns(hop), 0) : 0);
}

static struct flow flow_of(const struct route_work *work, const struct transfer *transfer,
                           double bytes)
{
    return iteration_queued(
        usage_find(work->snap->derived.usage, transfer->from, transfer->to, transfer->by), transfer,
        bytes);
}

/* Adds the flows of a part, and of the same hops back. */
static void add_flows(struct price *price, size_t p, double begin_ns, double bytes,
                      const struct pieces *pieces)
{
    const struct route_part *part = price->pipe[p].part;
    double piece = pieces->chunk > 0 ? pieces->chunk : bytes;
    for (size_t i = 0; i < part->hop_count; i++)
        for (int is_back = 0; is_back < (price->work->request.both ? 2 : 1); is_back++) {
            struct flow *flow = &price->flow[price->flows++];
            *flow = flow_of(price->work, is_back ? &price->back[p][i] : &part->hop[i], piece);
            flow->bytes = bytes;
            flow->start_ns = fmax(pieces->first_ns[i] - flow->bytes_ns, 0);
            flow->bytes_ns += pieces->rest_ns;
            flow->begin_ns = begin_ns + (is_back ? sum_of(pieces, i + 1, part->hop_count)
                                                 : sum_of(pieces, 0, i));
        }
}

/* Runs the flows of the parts beside the concurrent transfers. A part ends when its last piece has
 * passed the hops behind each of its flows. */
static void run(struct price *price, const struct pieces *pieces, enum iteration_end end)
{
    const struct route_request *request = &price->work->request;
    for (size_t i = 0; i < request->concurrent_count; i++)
        price->flow[price->flows++] =
            flow_of(price->work, &price->work->concurrent[i], (double)request->concurrent[i].bytes);
    iteration_run(price->work->iteration, price->flow, price->flows, end);
    const struct flow *flow = price->flow;
    for (size_t p = 0; p < price->count; p++) {
        size_t hops = price->pipe[p].part->hop_count;
        price->end_ns[p] = 0;
        for (size_t i = 0; i < hops; i++, flow += request->both ? 2 : 1)
            price->end_ns[p] = later(price->end_ns[p], flow->end_ns - price->launch_ns +
                                                           sum_of(&pieces[p], i + 1, hops));
    }
}

/* Sets when each part ends, at that end of the inputs' intervals. Returns the latest. */
static double end_all(struct price *price, enum iteration_end end)
{
    struct pieces pieces[ROUTE_PARTS_MAX];
    double before_ns = 0, last_ns = 0, behind = 0;
    price->flows = 0;
    for (size_t p = 0; p < price->count; p++)
        behind += price->pipe[p].rate;
    for (size_t p = 0; p < price->count; p++) {
        const struct price_pipe *pipe = &price->pipe[p];
        double bytes = fmax(price->bytes[p], pipe->least_bytes);
        behind -= pipe->rate;
        pieces[p] =
            best_pieces(pipe, bytes, pipe->launch_ns * behind / pipe->rate, &price->alone_ns[p]);
        price->chunk[p] = pieces[p].chunk;
        for (size_t i = 0; i < pipe->part->hop_count && end != ITERATION_EXPECTED; i++)
            pieces[p].first_ns[i] =
                fmax(pieces[p].first_ns[i] +
                         (waits(end) - 1) *
                             doubt_ns(pipe, i, pieces[p].chunk > 0 ? pieces[p].chunk : bytes),
                     0);
        price->before_ns[p] = waits(end) * before_ns;
        price->end_ns[p] = price->before_ns[p] + price->alone_ns[p];
        before_ns +=
            pipe->launch_ns * (price->chunk[p] > 0 ? ceil(price->bytes[p] / price->chunk[p]) : 1);
        if (!price->is_alone)
            add_flows(price, p, price->launch_ns + price->before_ns[p], bytes, &pieces[p]);
    }
    if (!price->is_alone)
        run(price, pieces, end);
    for (size_t p = 0; p < price->count; p++)
        last_ns = later(last_ns, price->end_ns[p]);
    return last_ns;
}

/* Finds the bytes with which all parts end together, from those that they have. */
static void share_out(struct price *price, double bytes)
{
    double best_ns = INFINITY, best[ROUTE_PARTS_MAX];
    for (int round = 0; round < ROUNDS && price->count > 1; round++) {
        double rate[ROUTE_PARTS_MAX], all = 0, mean_ns = 0, apart_ns = 0, total = 0,
                                      last_ns = end_all(price, ITERATION_EXPECTED);
        /* a piece more or less may be worth more than that all end together */
        if (last_ns < best_ns)
            memcpy(best, price->bytes, sizeof best);
        best_ns = fmin(best_ns, last_ns);
        for (size_t p = 0; p < price->count; p++) {
            rate[p] =
                price->pipe[p].rate * price->alone_ns[p] / (price->end_ns[p] - price->before_ns[p]);
            all += rate[p];
            mean_ns += price->end_ns[p] * rate[p];
        }
        mean_ns /= all;
        for (size_t p = 0; p < price->count; p++) {
            apart_ns = fmax(apart_ns, fabs(price->end_ns[p] - mean_ns));
            price->bytes[p] =
                fmax(price->bytes[p] + (mean_ns - price->end_ns[p]) * 1e-9 * rate[p], 1);
            total += price->bytes[p];
        }
        for (size_t p = 0; p < price->count; p++)
            price->bytes[p] *= bytes / total;
        if (apart_ns < ENOUGH * mean_ns)
            break;
    }
    if (price->count > 1)
        memcpy(price->bytes, best, sizeof best);
}

/* Returns the time of the bytes that the parts have. The ends of all parts but one are seen one
 * after the other, and events that nobody measured later. */
static double time_at(struct price *price, enum iteration_end end)
{
    double waiting_ns = 0, late_ns = 0;
    for (size_t p = 0; p < price->count && price->count > 1; p++) {
        waiting_ns += p > 0 ? price->pipe[p].end_ns : 0;
        late_ns = fmax(late_ns, price->pipe[p].late_ns);
    }
    return end_all(price, end) + waits(end) * (waiting_ns + late_ns);
}

double price_time_ns(struct price *price, double bytes)
{
    double rate = 0;
    for (size_t p = 0; p < price->count; p++)
        rate += price->pipe[p].rate;
    for (size_t p = 0; p < price->count; p++)
        price->bytes[p] = bytes * price->pipe[p].rate / rate;
    share_out(price, bytes);
    return time_at(price, ITERATION_EXPECTED);
}

/* ---- options ---- */

void price_begin(const struct route_work *work, const struct route_option *option,
                 struct price *price)
{
    const struct route_request *request = &work->request;
    price->work = work;
    price->count = option->part_count;
    /* both directions without a number share limits */
    price->is_alone = route_is_direct(option) && request->concurrent_count == 0 &&
                      option->part[0].hop[0].slowdown_source < SOURCE_NOMINAL;
    price->launch_ns =
        request->concurrent_count > 0 ? transfer_launch_ns(&option->part[0].hop[0]) : 0;
    for (size_t p = 0; p < option->part_count; p++) {
        make_pipe(&option->part[p], route_is_direct(option), &price->pipe[p]);
        for (size_t i = 0; i < option->part[p].hop_count && request->both; i++) {
            const struct transfer *hop = &option->part[p].hop[i];
            price->back[p][i] = *hop;
            price->back[p][i].from = hop->to;
            price->back[p][i].to = hop->from;
        }
    }
}

/* Sets what the option shares: the limit that slows it most, else that of its run. A run of just
 * these transfers shows what they get, whatever is stated of a limit. */
static void take_shared(const struct price *price, struct route_option *option)
{
    bool is_run = option->is_together && price->work->request.concurrent_count == 0;
    double most = 1 + POLICY_SAME;
    size_t own = !price->is_alone ? price->flows - price->work->request.concurrent_count : 0;
    option->is_shared_stated = false;
    for (size_t i = 0; i < own; i += price->work->request.both ? 2 : 1) {
        const struct flow *flow = &price->flow[i];
        double slower = (flow->end_ns - flow->begin_ns - flow->start_ns) / flow->bytes_ns;
        if (!(slower > 1 + POLICY_SAME))
            continue;
        option->is_shared_stated =
            option->is_shared_stated || (iteration_is_stated(flow) && !is_run);
        if (slower > most && flow->shared != NULL)
            option->shared = flow->shared;
        most = fmax(most, slower);
    }
}

/* Returns the source of the times of all hops. A hop of several counts as its least measured size
 * where its start-up is unknown. */
static enum source source_of(const struct route_option *option, double bytes)
{
    enum source worst =
        option->knows_both && option->is_together ? SOURCE_MEASURED : SOURCE_SIMILAR_PAIR;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++) {
            const struct transfer *hop = &option->part[p].hop[i];
            enum source source = transfer_source(hop, option->part[p].share * bytes,
                                                 price_piece(&option->part[p], bytes));
            bool counts_as_more =
                hop->basis == BASIS_OWN && !route_is_direct(option) && hop->source < SOURCE_NOMINAL;
            worst = estimate_worse(worst, counts_as_more && source == SOURCE_LOWER_BOUND
                                              ? SOURCE_SIMILAR_PAIR
                                              : source);
        }
    return worst;
}

/* True when kernels share a gpu, and no run shows their rates. */
static bool shares_gpu(const struct route_work *work, const struct route_option *option)
{
    bool is_known = option->is_together && work->request.concurrent_count == 0, shares = false;
    for (size_t p = 0; p < option->part_count && !is_known; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            shares = shares || option->part[p].kernels[i] > 1;
    return shares;
}

static bool is_start_known(const struct price *price)
{
    bool is_known = true;
    for (size_t p = 0; p < price->count; p++)
        for (size_t i = 0; i < price->pipe[p].part->hop_count; i++)
            is_known = is_known &&
                       !isnan(doubt_ns(&price->pipe[p], i,
                                       price->chunk[p] > 0 ? price->chunk[p] : price->bytes[p]));
    return is_known;
}

static void set_interval(struct price *price, struct route_option *option)
{
    const struct route_work *work = price->work;
    struct estimate *predicted = &option->predicted;
    enum source source = source_of(option, work->bytes);
    option->is_at_least = source >= SOURCE_NOMINAL;
    bool has_none = !option->knows_both || option->is_at_least || option->is_shared_stated ||
                    shares_gpu(work, option) || !is_start_known(price);
    if (price->is_alone)
        *predicted = transfer_called(&option->part[0].hop[0], work->bytes);
    else if (!has_none)
        *predicted = estimate_of(predicted->time_ns, time_at(price, ITERATION_FAST),
                                 time_at(price, ITERATION_SLOW));
    if (has_none || isnan(predicted->low_ns) || isnan(predicted->high_ns))
        predicted->low_ns = predicted->high_ns = NAN;
    if (option->is_at_least)
        predicted->low_ns = predicted->time_ns;
    predicted->source =
        estimate_worse(source, option->is_shared_stated ? SOURCE_NOMINAL : SOURCE_MEASURED);
}

void price_option(const struct route_work *work, bool may_lead, double most_ns,
                  struct route_option *option)
{
    struct price price;
    price_begin(work, option, &price);
    option->many_ns = may_lead ? price_time_ns(&price, PRICE_MANY) : INFINITY;
    option->predicted = estimate_of(price_time_ns(&price, work->bytes), NAN, NAN);
    for (size_t p = 0; p < option->part_count; p++) {
        option->part[p].share = price.bytes[p] / work->bytes;
        option->part[p].chunk_bytes = price.chunk[p];
    }
    take_shared(&price, option);
    if (option->predicted.time_ns < most_ns)
        set_interval(&price, option);
}
