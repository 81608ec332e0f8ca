#include "plan/route/price.h"

#include <math.h>
#include <string.h>

/* Newton's method: times are nearly straight lines over bytes. Parts end together to a thousandth
 * of the time. */
#define STEPS  8
#define ENOUGH 0.001

static double chunk_of(size_t k) { return (double)((int64_t)PRICE_CHUNK_LEAST << k); }

double price_hop_rate(const struct transfer *hop)
{
    return (hop->curve != NULL ? curve_wmax_bytes_per_s(hop->curve) : hop->bytes_per_s) /
           hop->slowdown;
}

double price_part_rate(const struct route_part *part)
{
    double rate = INFINITY;
    for (size_t i = 0; i < part->hop_count; i++)
        rate = fmin(rate, price_hop_rate(&part->hop[i]));
    return rate;
}

double price_rate(const struct route_option *option)
{
    double rate = 0;
    for (size_t p = 0; p < option->part_count; p++)
        rate += price_part_rate(&option->part[p]);
    return rate;
}

double price_piece(const struct route_part *part, double bytes)
{
    double all = part->share * bytes;
    return part->chunk_bytes > 0 && part->chunk_bytes < all ? part->chunk_bytes : all;
}

size_t price_kernels(const struct route_option *option, place_id gpu)
{
    size_t kernels = 0;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            kernels += option->part[p].hop[i].by == MECHANISM_KERNEL &&
                       option->part[p].hop[i].driver == gpu;
    return kernels;
}

bool price_is_enough(const struct route_option *option, double bytes)
{
    for (size_t p = 0; p < option->part_count && option->part_count > 1; p++)
        if (option->part[p].share * bytes < PRICE_LEAST_PART)
            return false;
    return true;
}

/* ---- one part ---- */

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

/* Doubt of hops that wait for the one before, where nobody measured that: an engine polls for such
 * an end, so it starts later by half of the start-up time of a call. */
static double late_ns(const struct route_part *part)
{
    double ns = 0;
    for (size_t i = 1; i < part->hop_count; i++) {
        const struct transfer *hop = &part->hop[i];
        if (isnan(hop->t0_behind_ns) && !isnan(hop->t0_call_ns))
            ns += transfer_call_more_ns(hop) / 2;
    }
    return ns;
}

void price_begin(const struct route_part *part, bool is_direct, struct price_pipe *pipe)
{
    pipe->part = part;
    pipe->rate = price_part_rate(part);
    pipe->least_bytes = pipe->begin_ns = pipe->launch_ns = 0;
    /* the time to see one more stream's end, else a call's */
    const struct transfer *last = &part->hop[part->hop_count - 1];
    pipe->end_ns = !isnan(last->t0_end_ns)    ? last->t0_end_ns
                   : !isnan(last->t0_call_ns) ? last->t0_call_ns
                                              : 0;
    pipe->late_ns = late_ns(part);
    pipe->least_chunk = part->hop_count > 1 && !part->in_one_piece ? 0 : PRICE_CHUNKS;
    for (size_t i = 0; i < part->hop_count; i++) {
        const struct transfer *hop = &part->hop[i];
        bool is_own = hop->basis == BASIS_OWN;
        /* else the start of smaller pieces is unknown */
        double from = is_own ? hop->least_bytes : TRANSFER_LARGE_BYTES;
        size_t least = 0;
        while (least < PRICE_CHUNKS && chunk_of(least) < from)
            least++;
        pipe->least_chunk = least > pipe->least_chunk ? least : pipe->least_chunk;
        pipe->begin_ns += more_ns(part, i);
        pipe->launch_ns += launch_ns(part, i);
        pipe->least_bytes = fmax(pipe->least_bytes, is_direct || !is_own ? 0 : hop->least_bytes);
    }
    for (size_t k = pipe->least_chunk; k < PRICE_CHUNKS; k++) {
        pipe->first_ns[k] = pipe->begin_ns;
        pipe->each_ns[k] = pipe->launch_ns;
        for (size_t i = 0; i < part->hop_count; i++) {
            double one_ns = transfer_queued_ns(&part->hop[i], chunk_of(k));
            pipe->first_ns[k] += one_ns;
            double each_ns = one_ns + chain_ns(&part->hop[i]);
            pipe->each_ns[k] = each_ns > pipe->each_ns[k] ? each_ns : pipe->each_ns[k];
        }
    }
}

/* Time in pieces of the best size, or in one. behind_ns: delay of the parts behind by each piece;
 * it counts for the choice only. */
static double part_time_ns(const struct price_pipe *pipe, double bytes, double behind_ns,
                           double *ret_chunk)
{
    double best_ns = pipe->begin_ns, all = fmax(bytes, pipe->least_bytes);
    size_t best = PRICE_CHUNKS;
    for (size_t i = 0; i < pipe->part->hop_count; i++)
        best_ns += transfer_queued_ns(&pipe->part->hop[i], all);
    for (size_t k = pipe->least_chunk; k < PRICE_CHUNKS && chunk_of(k) < all; k++) {
        double time_ns =
            pipe->first_ns[k] + (all / chunk_of(k) - 1) * (pipe->each_ns[k] + behind_ns);
        if (time_ns < best_ns) {
            best_ns = time_ns;
            best = k;
        }
    }
    *ret_chunk = best < PRICE_CHUNKS ? chunk_of(best) : 0;
    return best < PRICE_CHUNKS ? best_ns - (all / chunk_of(best) - 1) * behind_ns : best_ns;
}

/* ---- parts together ---- */

/* Parts with their bytes, in the order in which one thread begins them. */
struct shares {
    double rate, waiting_ns;
    double bytes[ROUTE_PARTS_MAX], chunk[ROUTE_PARTS_MAX], before_ns[ROUTE_PARTS_MAX],
        end_ns[ROUTE_PARTS_MAX];
};

/* When each part ends; when the last does. */
static double end_all(const struct price_pipe *const *pipe, size_t count, struct shares *shares)
{
    double before_ns = 0, last_ns = 0, behind = shares->rate;
    for (size_t p = 0; p < count; p++) {
        behind -= pipe[p]->rate;
        shares->before_ns[p] = before_ns;
        shares->end_ns[p] = before_ns + part_time_ns(pipe[p], shares->bytes[p],
                                                     pipe[p]->launch_ns * behind / pipe[p]->rate,
                                                     &shares->chunk[p]);
        before_ns += pipe[p]->launch_ns *
                     (shares->chunk[p] > 0 ? ceil(shares->bytes[p] / shares->chunk[p]) : 1);
        last_ns = shares->end_ns[p] > last_ns ? shares->end_ns[p] : last_ns;
    }
    return last_ns;
}

static double find_shares(const struct price_pipe *const *pipe, size_t count, double bytes,
                          struct shares *ret)
{
    struct shares shares = {.rate = 0};
    double best_ns = INFINITY, late_ns = 0;
    for (size_t p = 0; p < count; p++)
        shares.rate += pipe[p]->rate;
    for (size_t p = 0; p < count; p++) {
        shares.bytes[p] = bytes * pipe[p]->rate / shares.rate;
        shares.waiting_ns += p > 0 ? pipe[p]->end_ns : 0;
        late_ns = fmax(late_ns, count > 1 ? pipe[p]->late_ns : 0);
    }
    shares.waiting_ns += late_ns;
    *ret = shares;
    for (int step = 0; step <= (count > 1 ? STEPS : 0); step++) {
        double last_ns = end_all(pipe, count, &shares), mean_ns = 0, apart_ns = 0, total = 0;
        for (size_t p = 0; p < count; p++)
            mean_ns += shares.end_ns[p] * pipe[p]->rate / shares.rate;
        for (size_t p = 0; p < count; p++)
            apart_ns = fmax(apart_ns, fabs(shares.end_ns[p] - mean_ns));
        /* a piece more or less may be worth more than that all end together */
        if (last_ns < best_ns)
            *ret = shares;
        best_ns = fmin(best_ns, last_ns);
        if (apart_ns < ENOUGH * mean_ns)
            break;
        for (size_t p = 0; p < count; p++) {
            shares.bytes[p] =
                fmax(shares.bytes[p] + (mean_ns - shares.end_ns[p]) * 1e-9 * pipe[p]->rate, 1);
            total += shares.bytes[p];
        }
        for (size_t p = 0; p < count; p++)
            shares.bytes[p] *= bytes / total;
    }
    return best_ns + shares.waiting_ns;
}

double price_time_ns(const struct price_pipe *const *pipe, size_t count, double bytes)
{
    struct shares shares;
    return find_shares(pipe, count, bytes, &shares);
}

/* An option's parts. */
struct pipes {
    struct price_pipe own[ROUTE_PARTS_MAX];
    const struct price_pipe *pipe[ROUTE_PARTS_MAX];
};

/* Finds shares and pieces; gives the time. */
static double share_out(struct route_option *option, double bytes, struct pipes *ret_pipes,
                        struct shares *ret)
{
    for (size_t p = 0; p < option->part_count; p++) {
        price_begin(&option->part[p], route_is_direct(option), &ret_pipes->own[p]);
        ret_pipes->pipe[p] = &ret_pipes->own[p];
    }
    double time_ns = find_shares(ret_pipes->pipe, option->part_count, bytes, ret);
    for (size_t p = 0; p < option->part_count; p++) {
        option->part[p].share = ret->bytes[p] / bytes;
        option->part[p].chunk_bytes = ret->chunk[p];
    }
    return time_ns;
}

void price_shares(struct route_option *option, double bytes)
{
    struct pipes pipes;
    struct shares shares;
    option->predicted.time_ns = share_out(option, bytes, &pipes, &shares);
}

/* ---- intervals ---- */

/* Half the interval of a part that takes time_ns: the relative one of the least certain hop, and
 * those of all starts. Waiting for the hop before is uncertain by a call's start-up time, unless it
 * was measured. */
static double half_ns(const struct price_pipe *pipe, double bytes, double chunk, double time_ns)
{
    const struct route_part *part = pipe->part;
    double piece = chunk > 0 ? chunk : bytes, relative = 0, starts_ns = 0;
    for (size_t i = 0; i < part->hop_count; i++) {
        const struct transfer *hop = &part->hop[i];
        struct estimate queued = transfer_queued(hop, piece);
        bool is_late = i > 0 && (hop->basis != BASIS_OWN || isnan(hop->t0_behind_ns));
        relative = queued.high_ns / queued.time_ns - 1 > relative || isnan(queued.high_ns)
                       ? queued.high_ns / queued.time_ns - 1
                       : relative;
        starts_ns += transfer_call_half_ns(hop, piece) +
                     (is_late ? fmax(more_ns(part, i) - chain_ns(&part->hop[i]), 0) : 0);
    }
    return hypot(relative * time_ns, starts_ns);
}

/* True when nobody got the rate, or when starting so few bytes matters and is unknown. */
static bool is_at_least(const struct route_option *option, double bytes)
{
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++) {
            const struct transfer *hop = &option->part[p].hop[i];
            bool counts_as_more = hop->basis == BASIS_OWN && !route_is_direct(option);
            double piece = price_piece(&option->part[p], bytes);
            unsigned lacks = counts_as_more ? LACKS_RATE : LACKS_RATE | LACKS_START;
            if ((transfer_lacks(hop, option->part[p].share * bytes, piece) & lacks) != 0)
                return true;
        }
    return false;
}

/* True when kernels share a gpu, and no run shows their rates. */
static bool shares_gpu(const struct route_option *option)
{
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++) {
            const struct route_part *part = &option->part[p];
            if (part->hop[i].by == MECHANISM_KERNEL &&
                (part->kernels_beside[i] > 0 ||
                 (!option->is_together && price_kernels(option, part->hop[i].driver) > 1)))
                return true;
        }
    return false;
}

void price_option(struct route_option *option, double bytes)
{
    struct pipes pipes;
    struct shares shares;
    double time_ns = share_out(option, bytes, &pipes, &shares), low_ns = 0, high_ns = 0;
    for (size_t p = 0; p < option->part_count; p++) {
        double more_ns =
                   shares.before_ns[p] + shares.waiting_ns, /* as long as that is, as unsure */
            its_ns = shares.end_ns[p] + shares.waiting_ns,
               half = hypot(half_ns(pipes.pipe[p], fmax(shares.bytes[p], pipes.own[p].least_bytes),
                                    shares.chunk[p], shares.end_ns[p] - shares.before_ns[p]),
                            more_ns);
        low_ns = fmax(low_ns, its_ns - half);
        high_ns = its_ns + half > high_ns || isnan(half) ? its_ns + half : high_ns;
    }
    option->predicted = estimate_of(time_ns, low_ns * option->soonest, high_ns * option->latest);
    if (route_is_direct(option))
        option->predicted = transfer_called(&option->part[0].hop[0], bytes);
    option->is_at_least = is_at_least(option, bytes);
    if (isnan(option->predicted.high_ns) || !option->knows_both || option->is_at_least ||
        shares_gpu(option))
        option->predicted.low_ns = option->predicted.high_ns = NAN;
    if (option->is_at_least)
        option->predicted.low_ns = time_ns;
}
