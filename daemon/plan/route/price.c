#include "plan/route/price.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/ends.h"
#include "node/reasons.h"
#include "plan/route/links_time.h"

#define SHARED_ROUNDS 8    /* until shares are off by less than 0.1 % */
#define SAME          1e-9 /* times as long: such a difference is the numbers' */

/* ---- the time of one option ---- */

/* Whether so few bytes are moved that starting them matters, of which nothing is known. */
static bool lacks_start(const struct route_option *option, double bytes)
{
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++) {
            const struct move *hop = &option->way[w].hop[i];
            double piece = plan_route_answer_piece(option, w, bytes);
            bool counts_as_more = hop->rate != NULL && !plan_route_answer_is_direct(option);
            if (option->is_by_links ? piece < MOVE_LARGE_BYTES
                                    : plan_move_lacks_start(hop, piece) && !counts_as_more)
                return true;
        }
    return false;
}

static bool has_ceiling(const struct route_option *option)
{
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++)
            if (plan_move_is_ceiling(&option->way[w].hop[i]))
                return true;
    return false;
}

void plan_route_price(struct route_option *option, double bytes)
{
    option->predicted = option->is_by_links ? plan_links_time(option->way, option->way_count, bytes,
                                                              option->share, option->chunk_bytes)
                                            : plan_split_time(option->way, option->way_count, bytes,
                                                              option->share, option->chunk_bytes);
    option->lacks_start = lacks_start(option, bytes);
    option->is_at_least = option->lacks_start || has_ceiling(option);
    if (!option->knows_both || option->is_at_least)
        option->predicted.low_ns = option->predicted.high_ns = NAN;
    if (option->is_at_least)
        option->predicted.low_ns = option->predicted.time_ns;
}

/* ---- what moves meanwhile ---- */

enum berth_code plan_route_price_meanwhile(struct route_work *work, struct berth_err *err)
{
    const struct route_request *request = &work->request;
    const struct graph *graph = work->snap->graph;
    if (request->meanwhile_count > ROUTE_CONCURRENT_MAX)
        return err_invalid(err, "concurrent", "at most %d transfers are weighed",
                           ROUTE_CONCURRENT_MAX);
    for (size_t i = 0; i < request->meanwhile_count; i++) {
        const struct route_transfer *other = &request->meanwhile[i];
        struct move *move = &work->meanwhile[i], kernel;
        char named[32];
        snprintf(named, sizeof named, "concurrent[%zu]", i);
        for (int end = 0; end < 2; end++) {
            const struct place *place = graph_place(graph, end == 0 ? other->from : other->to);
            if (place->kind != PLACE_GPU && place->kind != PLACE_NUMA)
                return err_invalid(err, named, "%s is no memory: a gpu or a NUMA node is",
                                   place->name);
        }
        enum berth_code code =
            plan_ends_check_answers(work->snap, request->allowed, other->from, err);
        if (code == BERTH_OK)
            code = plan_ends_check_answers(work->snap, request->allowed, other->to, err);
        if (code == BERTH_OK && other->from == other->to)
            code = err_invalid(err, named, "the bytes are in %s already",
                               graph_place(graph, other->from)->name);
        if (code == BERTH_OK)
            code = plan_ends_check_room(graph, other->from, other->bytes, err);
        if (code == BERTH_OK)
            code = plan_ends_check_room(graph, other->to, other->bytes, err);
        if (code != BERTH_OK)
            return code;
        const struct plan_pairs *pairs = work->ends.pairs;
        bool engine =
            plan_pairs_move(work->snap, pairs, other->from, other->to, MOVE_COPY_ENGINE, move);
        bool by_kernel =
            plan_pairs_move(work->snap, pairs, other->from, other->to, MOVE_KERNEL, &kernel);
        if (!engine && !by_kernel)
            return err_invalid(err, named, "nothing is known of a transfer from %s to %s",
                               graph_place(graph, other->from)->name,
                               graph_place(graph, other->to)->name);
        double bytes = (double)other->bytes;
        bool may = by_kernel && !plan_pairs_is_guess(pairs, other->from, other->to, MOVE_KERNEL) &&
                   (kernel.rate != NULL || move->rate != NULL || plan_move_is_own(&kernel));
        if (may && (!engine || plan_move_queued(&kernel, bytes).time_ns <
                                   plan_move_queued(move, bytes).time_ns))
            *move = kernel;
    }
    return BERTH_OK;
}

/* How many times as long a hop, begun launch_ns later, takes beside what moves meanwhile over the
 * same lanes, which carry what was seen to go over them and not what they are said to; 1 where that
 * is not known. */
static double crowded(const struct route_work *work, const struct pair *pair, double rate,
                      double bytes, double launch_ns)
{
    double slower = 1;
    for (size_t w = 0; pair != NULL && w < LANES_WORDS; w++)
        for (uint64_t bits = pair->lanes->bit[w]; bits != 0; bits &= bits - 1) {
            double lane = plan_pairs_lane(work->ends.pairs, 64 * w + (size_t)__builtin_ctzll(bits)),
                   others = 0, their_bytes = 0, users = 1;
            for (size_t i = 0; i < work->request.meanwhile_count; i++) {
                const struct move *move = &work->meanwhile[i];
                const struct pair *other =
                    plan_pairs_find(work->ends.pairs, move->from, move->to, move->by);
                double left = (double)work->request.meanwhile[i].bytes -
                              plan_way_hop_rate(move) * launch_ns / 1e9;
                if (other == NULL || (other->lanes->bit[w] & bits & -bits) == 0 || left <= 0)
                    continue;
                others += plan_way_hop_rate(move);
                their_bytes += left;
                users++;
            }
            if (rate + others <= lane)
                continue;
            /* All that goes over it, or its fair share, or what the others leave. */
            double least = fmin((bytes + their_bytes) / lane, users * bytes / lane);
            slower = fmax(slower, fmin(least, others < lane ? bytes / (lane - others) : INFINITY) *
                                      rate / bytes);
        }
    return slower;
}

/* How many kernels of what moves meanwhile run on the gpu of that hop, if that is a kernel, too. */
static size_t kernels_beside(const struct route_work *work, const struct move *hop)
{
    size_t count = 0;
    for (size_t i = 0; i < work->request.meanwhile_count; i++)
        count += hop->by == MOVE_KERNEL && work->meanwhile[i].by == MOVE_KERNEL &&
                 work->meanwhile[i].driver == hop->driver;
    return count;
}

/* How many times as long it takes at most beside them: as if each were held up by its part of the
 * blocks alone, until one has ended. */
static double at_their_part(const struct route_work *work, const struct move *hop, double alone_ns)
{
    double slower = 1;
    for (size_t i = 0; i < work->request.meanwhile_count; i++) {
        const struct move *move = &work->meanwhile[i];
        if (hop->by == MOVE_KERNEL && move->by == MOVE_KERNEL && move->driver == hop->driver)
            slower += fmin(1, plan_move_queued_ns(move, (double)work->request.meanwhile[i].bytes) /
                                  alone_ns);
    }
    return slower;
}

/* How many times as long a kernel takes because so many share its gpu that their parts count as too
 * small to fill a link. */
static double too_small(const struct route_work *work, const struct route_option *option,
                        const struct move *hop)
{
    size_t kernels = hop->by == MOVE_KERNEL
                         ? plan_way_kernels(option->way, option->way_count, hop->driver) +
                               kernels_beside(work, hop)
                         : 0;
    return fmax((double)kernels / WAY_KERNELS_MAX, 1);
}

static bool is_mixed(const struct route_work *work, const struct move *hop)
{
    for (size_t i = 0; i < work->request.meanwhile_count; i++)
        if (work->meanwhile[i].by != hop->by)
            return true;
    return false;
}

/* The flows of an option's hops, and each as it is alone; how many. Those of a way move as fast as
 * the slowest of them where its pieces follow each other. In one piece each begins when the one
 * before has ended, and shares nothing with it, unless as much comes back: then the last hop there
 * is the first one back, and all are used at once. */
static size_t add_hops(const struct route_work *work, const struct route_option *option,
                       double launch_ns, bool comes_back, struct move *alone,
                       struct step_flow *flows)
{
    size_t count = 0;
    for (size_t w = 0; w < option->way_count; w++) {
        const struct way *way = &option->way[w];
        bool at_once = option->chunk_bytes[w] > 0 || comes_back;
        double begin_ns = launch_ns, bytes = option->share[w] * work->ends.bytes;
        for (size_t i = 0; i < way->hop_count; i++, count++) {
            alone[count] = way->hop[i];
            if (at_once)
                alone[count].slowdown *=
                    fmax(plan_way_hop_rate(&way->hop[i]) / plan_way_rate(way), 1);
            flows[count] =
                (struct step_flow){.move = &alone[count], .bytes = bytes, .begin_ns = begin_ns};
            begin_ns += at_once ? 0 : plan_move_queued_ns(&alone[count], bytes);
        }
    }
    return count;
}

/* With the shares that it has; then it has those that the hops' new rates give. */
static enum berth_code price_once(struct route_work *work, struct route_option *option,
                                  struct berth_err *err)
{
    const struct route_request *request = &work->request;
    struct step_flow flows[STEP_FLOWS_MAX];
    struct move *hop[ROUTE_WAYS_MAX * WAY_HOPS_MAX], alone[ROUTE_WAYS_MAX * WAY_HOPS_MAX],
        back[ROUTE_WAYS_MAX * WAY_HOPS_MAX];
    const struct pair *pair[ROUTE_WAYS_MAX * WAY_HOPS_MAX];
    size_t own = 0;
    /* what moves meanwhile is there when this is called */
    double launch_ns =
        request->meanwhile_count > 0 ? plan_step_launch_ns(&option->way[0].hop[0]) : 0;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++, own++) {
            hop[own] = &option->way[w].hop[i];
            option->beside[w][i] = (uint8_t)kernels_beside(work, hop[own]);
            pair[own] = option->way[w].pair[i];
        }
    /* elsewhere the ways have what both directions share already */
    bool comes_back = option->is_by_links && request->both &&
                      2 * own + request->meanwhile_count <= STEP_FLOWS_MAX;
    size_t count = add_hops(work, option, launch_ns, comes_back, alone, flows);
    for (size_t i = 0; i < request->meanwhile_count; i++)
        flows[count++] = (struct step_flow){.move = &work->meanwhile[i],
                                            .bytes = (double)request->meanwhile[i].bytes};
    for (size_t i = 0; i < own && comes_back; i++) {
        back[i] = alone[i];
        back[i].from = alone[i].to;
        back[i].to = alone[i].from;
        flows[count++] =
            (struct step_flow){.move = &back[i], .bytes = flows[i].bytes, .begin_ns = launch_ns};
    }
    enum berth_code code = plan_step(work->snap, flows, count, err);
    double most = 1, sooner = 1, later = 1;
    for (size_t i = 0; code == BERTH_OK && i < own; i++) {
        double start_ns = plan_move_start_ns(&alone[i]),
               alone_ns = plan_move_queued_ns(&alone[i], flows[i].bytes) - start_ns;
        double slower = alone_ns > 0 ? fmax((flows[i].time.time_ns - start_ns) / alone_ns, 1) : 1;
        double at_most =
            at_their_part(work, &alone[i], flows[i].bytes / plan_way_hop_rate(&alone[i]) * 1e9);
        double by_lanes =
            crowded(work, pair[i], plan_way_hop_rate(&alone[i]), flows[i].bytes, flows[i].begin_ns);
        double by_parts = too_small(work, option, hop[i]);
        bool is_by_lanes = by_lanes > slower;
        slower = fmax(slower, by_lanes) * by_parts;
        if (slower > 1 + SAME)
            hop[i]->slowdown = alone[i].slowdown * slower;
        hop[i]->is_slowed_by_guess =
            hop[i]->is_slowed_by_guess ||
            (slower > 1.001 &&
             (flows[i].shared == NULL || flows[i].is_nominal || is_by_lanes || by_parts > 1));
        sooner = fmin(sooner, flows[i].soonest_ns / flows[i].time.time_ns);
        later = fmax(later, fmax(flows[i].latest_ns / flows[i].time.time_ns, at_most / slower));
        if (slower > most && flows[i].shared != NULL)
            option->shared = flows[i].shared;
        most = fmax(most, slower);
        if (slower > 1.001 && flows[i].shared == NULL)
            reasons_note(&work->answer->warnings,
                         "what goes from %s to %s beside what moves meanwhile was not measured: it "
                         "counts as sharing the links, ports and packages on the path",
                         graph_place(work->snap->graph, alone[i].from)->name,
                         graph_place(work->snap->graph, alone[i].to)->name);
        else if (slower > 1.001 && flows[i].is_nominal)
            reasons_note(&work->answer->warnings,
                         "what %s get through %s was not measured: they count as sharing what %s, "
                         "or what is said of it",
                         is_mixed(work, &alone[i]) ? "copy engines and kernels at once"
                                                   : "several transfers",
                         flows[i].shared,
                         is_mixed(work, &alone[i]) ? "either was seen to get"
                                                   : "one of them was seen to get");
    }
    if (most > 1)
        plan_route_price(option, work->ends.bytes);
    if (!option->is_at_least) {
        option->predicted.low_ns *= sooner;
        option->predicted.high_ns *= later;
    }
    return code;
}

/* Each hop takes as much longer as it does when what moves meanwhile begins with the first. Where a
 * split comes back over the same, its ways leave nothing to each other only once they end together:
 * their shares are found again. */
enum berth_code plan_route_price_shared(struct route_work *work, struct route_option *option,
                                        struct berth_err *err)
{
    size_t again =
        option->is_by_links && work->request.both && option->way_count > 1 ? SHARED_ROUNDS : 0;
    struct way alone[ROUTE_WAYS_MAX];
    memcpy(alone, option->way, sizeof alone);
    enum berth_code code = price_once(work, option, err);
    for (; again > 0 && code == BERTH_OK; again--) {
        memcpy(option->way, alone, sizeof alone);
        code = price_once(work, option, err);
    }
    return code;
}
