#include "cost/move.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/ends.h"
#include "cost/evidence.h"
#include "cost/like.h"
#include "cost/limits.h"
#include "node/spread.h"

static bool is_memory(const struct graph *graph, place_id id)
{
    enum place_kind kind = graph_place(graph, id)->kind;
    return kind == PLACE_NUMA || kind == PLACE_GPU;
}

/* The rate that a value stands for goes before another: measured first, then the higher. */
static bool goes_before(const struct value *a, const struct value *b)
{
    bool measured = a->source == VALUE_MEASURED;
    if (b == NULL || measured != (b->source == VALUE_MEASURED))
        return b == NULL || measured;
    return a->value > b->value;
}

static double measured_ns(const struct value *v)
{
    return v != NULL && v->source == VALUE_MEASURED ? v->value : NAN;
}

/* Its own, or of the pair whose curve stands for its. */
static void take_overheads(const struct snapshot *snap, struct move *move)
{
    place_id from = move->is_like ? move->curve->from : move->from,
             to = move->is_like ? move->curve->to : move->to;
    struct overhead its = overheads_find(snap->derived.curves->overheads, move->rate->metric, from,
                                         to, values_axes(snap->values, move->rate));
    const struct value *call = its.clock[TRANSFER_CALL], *queue = its.clock[TRANSFER_QUEUE];
    move->call = call;
    move->t0_call_ns = call != NULL ? call->value : NAN;
    move->t0_queue_ns = queue != NULL ? queue->value : NAN;
    move->t0_chain_ns = measured_ns(its.clock[TRANSFER_CHAIN]);
    move->t0_behind_ns = measured_ns(its.clock[TRANSFER_BEHIND]);
    move->t0_launch_ns = measured_ns(its.clock[TRANSFER_LAUNCH]);
    move->t0_end_ns = measured_ns(its.clock[TRANSFER_END]);
}

/* What a few bytes take here; what a call adds to that is its launch and the sight of its end, by
 * the same mechanism the same everywhere. Else of another pair by that mechanism: where nothing
 * says what starting one costs here, that is nearer than nothing. */
static void take_start(const struct snapshot *snap, struct move *move)
{
    const struct curve *other = plan_like_start(snap, move->rate);
    const struct value *latency = plan_like_latency(snap, move->rate);
    if (latency != NULL) {
        move->call = latency;
        move->t0_queue_ns = latency->value;
    }
    if (other == NULL)
        return;
    double more_ns = latency != NULL ? latency->value - other->t0_queue_ns : 0;
    move->is_start_like = latency == NULL;
    move->t0_queue_ns = other->t0_queue_ns + more_ns;
    move->t0_call_ns = other->t0_call_ns + more_ns;
    move->t0_chain_ns = other->t0_chain_ns + more_ns;
    move->t0_behind_ns = other->t0_behind_ns + more_ns;
    move->t0_launch_ns = other->t0_launch_ns;
    move->t0_end_ns = other->t0_end_ns;
}

/* What must be gained by a way of which only the rate is known, beside one whose sizes were
 * measured. */
#define BLIND_WORTH 1.02

/* Looks whether the transfer under these axes is known, and better than what move has. */
static void consider(const struct snapshot *snap, enum metric metric, const char *axes,
                     place_id driver, struct move *move)
{
    const struct value *v = values_find(snap->values, metric, move->from, move->to, axes);
    if ((v == NULL || v->source == VALUE_NOMINAL) && *axes == '\0') {
        const struct value *alone =
            limits_alone(snap->derived.limits, metric, move->from, move->to);
        v = alone != NULL ? alone : v;
    }
    if (v == NULL || !(v->value > 0) || !goes_before(v, move->rate))
        return;
    const struct curve *own = curve_find(snap->derived.curves, metric, move->from, move->to, axes);
    if (own == NULL && move->curve != NULL && v->value < BLIND_WORTH * move->bytes_per_s)
        return;
    const struct agreement *alike =
        agreement_of(snap->derived.limits->agree, transfer_kind_of(metric));
    move->rate = v;
    move->one = alike != NULL ? alike->one : 0;
    move->driver = driver;
    move->bytes_per_s = v->value;
    move->low = v->low;
    move->high = v->high;
    move->curve = own;
    move->is_like = move->is_start_like = false;
    take_overheads(snap, move);
    if (own != NULL || v->source != VALUE_MEASURED || !isnan(move->t0_queue_ns))
        return;
    move->curve = plan_like_curve(snap, v);
    move->is_like = move->curve != NULL;
    if (move->is_like)
        take_overheads(snap, move);
    else
        take_start(snap, move);
}

/* What a setting of the whole program must be worth before it is taken. */
#define SETTING_WORTH 1.05

/* The same under a variable that AMD's runtime reads at its start. */
static void consider_setting(const struct snapshot *snap, enum metric metric, const char *axes,
                             struct move *move)
{
    struct move other = *move;
    other.rate = NULL;
    consider(snap, metric, axes, move->driver, &other);
    if (other.rate != NULL && other.rate->source == VALUE_MEASURED &&
        (move->rate == NULL || other.rate->value > SETTING_WORTH * move->rate->value))
        *move = other;
}

/* Rates so near to each other do not decide between two engines for the same bytes; more must be
 * gained where those of one were not measured, as starting one may take half as long again. */
#define ENGINE_WORTH 1.02
#define UNSEEN_WORTH 1.05

/* Whether the receiver's engine is to be taken: where the rates of both are alike, what is known of
 * small sizes decides, and else it is the sender's, which the plain call takes. */
static bool is_pull_better(const struct move *push, const struct move *pull)
{
    bool push_own = push->curve != NULL && !push->is_like,
         pull_own = pull->curve != NULL && !pull->is_like;
    if (push->rate == NULL || pull->rate == NULL)
        return pull->rate != NULL;
    if ((push->rate->source == VALUE_MEASURED) != (pull->rate->source == VALUE_MEASURED))
        return pull->rate->source == VALUE_MEASURED;
    double worth = push_own && pull_own ? ENGINE_WORTH : UNSEEN_WORTH;
    if (pull->bytes_per_s > worth * push->bytes_per_s ||
        push->bytes_per_s > worth * pull->bytes_per_s)
        return pull->bytes_per_s > push->bytes_per_s;
    if (push_own != pull_own)
        return pull_own;
    if (pull->is_like || pull->is_start_like)
        return false;
    return pull->t0_call_ns < push->t0_call_ns;
}

/* Whether the places are two different memories of which one is a gpu's; then what is rated between
 * them, rate NULL if nothing is. */
static bool look(const struct snapshot *snap, place_id from, place_id to, enum move_by by,
                 struct move *ret)
{
    const struct graph *graph = snap->graph;
    bool from_gpu = graph_place(graph, from)->kind == PLACE_GPU,
         to_gpu = graph_place(graph, to)->kind == PLACE_GPU;
    if (from == to || !is_memory(graph, from) || !is_memory(graph, to) || (!from_gpu && !to_gpu))
        return false;
    struct move move = {.from = from,
                        .to = to,
                        .by = by,
                        .driver = from_gpu ? from : to,
                        .t0_queue_ns = NAN,
                        .t0_call_ns = NAN,
                        .t0_chain_ns = NAN,
                        .t0_behind_ns = NAN,
                        .t0_launch_ns = NAN,
                        .t0_end_ns = NAN,
                        .low = NAN,
                        .high = NAN,
                        .slowdown = 1};
    if (from_gpu && to_gpu && by == MOVE_COPY_ENGINE) {
        struct move pull = move;
        consider(snap, METRIC_GPU_GPU_COPY_ENGINE, "", from, &move);
        consider(snap, METRIC_GPU_GPU_COPY_ENGINE, "direction=read", to, &pull);
        if (is_pull_better(&move, &pull))
            move = pull;
    } else if (from_gpu && to_gpu) {
        consider(snap, METRIC_GPU_GPU_KERNEL, "", from, &move);
        consider_setting(snap, METRIC_GPU_GPU_COPY_ENGINE, "sdma=off", &move);
    } else if (by == MOVE_COPY_ENGINE) {
        consider(snap, METRIC_HOST_GPU_COPY_ENGINE, "", move.driver, &move);
    } else {
        consider(snap, METRIC_HOST_GPU_KERNEL, "", move.driver, &move);
        consider_setting(snap, METRIC_HOST_GPU_COPY_ENGINE, "sdma=off", &move);
        consider_setting(snap, METRIC_HOST_GPU_KERNEL, "xnack=on", &move);
    }
    move.drift = agreement_of(snap->derived.limits->agree, plan_move_kind(graph, &move));
    *ret = move;
    return true;
}

bool plan_move_rated(const struct snapshot *snap, place_id from, place_id to, enum move_by by,
                     struct move *ret)
{
    struct move move;
    if (!look(snap, from, to, by, &move) || move.rate == NULL || isinf(move.bytes_per_s))
        return false;
    *ret = move;
    return true;
}

/* Between gpus an engine gets no more than is published of such, whatever the links are said to
 * carry. */
static void bound_engine(const struct graph *graph, struct move *move)
{
    if (plan_move_kind(graph, move) != TRANSFER_PEER_ENGINE)
        return;
    move->engine = engine_limit_of(graph, move->driver);
    if (move->engine != NULL)
        move->bytes_per_s = fmin(move->bytes_per_s, move->engine->bytes_per_s);
}

bool plan_move_find(const struct snapshot *snap, place_id from, place_id to, enum move_by by,
                    struct move *ret)
{
    struct move move;
    if (!look(snap, from, to, by, &move))
        return false;
    if (move.rate == NULL) {
        const struct limits_pair *pair = limits_pair(snap->derived.limits, from, to);
        move.bytes_per_s = pair->bytes_per_s;
        move.most = pair->cores;
        bound_engine(snap->graph, &move);
    }
    if (!(move.bytes_per_s > 0) || isinf(move.bytes_per_s))
        return false;
    *ret = move;
    return true;
}

bool plan_move_is_own(const struct move *move)
{
    return move->rate == NULL && move->most != NULL && move->most->from == move->most->to;
}

bool plan_move_is_engines(const struct move *move)
{
    return move->most == NULL && move->engine != NULL &&
           move->bytes_per_s == move->engine->bytes_per_s;
}

bool plan_move_is_back(const struct move *move)
{
    return move->rate == NULL && move->most != NULL &&
           move->most->metric != METRIC_MEMORY_BANDWIDTH && !plan_move_is_bounded(move) &&
           move->most->from == move->to && move->most->to == move->from;
}

bool plan_move_is_bounded(const struct move *move)
{
    return move->rate == NULL && move->most != NULL &&
           move->most->metric == METRIC_MEMORY_BANDWIDTH_BOUND;
}

bool plan_move_is_ceiling(const struct move *move)
{
    return move->rate != NULL ? move->rate->source == VALUE_NOMINAL
                              : !plan_move_is_back(move) && !plan_move_is_engines(move);
}

void plan_move_why_not(const struct snapshot *snap, place_id from, place_id to,
                       char text[MOVE_WHY_SIZE])
{
    const struct graph *graph = snap->graph;
    uint32_t link = limits_pair(snap->derived.limits, from, to)->unstated;
    *text = '\0';
    if (graph_place(graph, from)->kind == PLACE_GPU && graph_place(graph, to)->kind == PLACE_GPU &&
        plan_ends_vendors_differ(graph, from, to))
        snprintf(text, MOVE_WHY_SIZE,
                 ": no runtime copies between gpus of two vendors, only through memory of the host "
                 "(Route)");
    else if (link != LIMITS_NO_LINK)
        snprintf(text, MOVE_WHY_SIZE, ": nothing says what goes between %s and %s",
                 graph_place(graph, graph->links[link].from)->name,
                 graph_place(graph, graph->links[link].to)->name);
}

/* The set of a transfer and the same the other way round. */
static bool take_both_set(const struct snapshot *snap, struct move *move)
{
    const char *axes = values_axes(snap->values, move->rate);
    for (size_t s = 0; snap->sets != NULL && s < snap->sets->count; s++) {
        const struct set *set = &snap->sets->item[s];
        const struct set_flow *flow = set->flow;
        if (set->flow_count != 2 || set->source != VALUE_MEASURED ||
            transfer_kind_of(set->metric) != plan_move_kind(snap->graph, move) ||
            strcmp(flow[0].axes, axes) != 0 || strcmp(flow[1].axes, axes) != 0)
            continue;
        bool is_there = flow[0].from == move->from && flow[0].to == move->to,
             is_back = flow[0].from == move->to && flow[0].to == move->from;
        double together = flow[0].bytes_per_s + flow[1].bytes_per_s;
        if (flow[1].from != flow[0].to || flow[1].to != flow[0].from || !(is_there || is_back) ||
            !(together > 0))
            continue;
        move->both_set = set;
        move->slowdown = fmax(1, 2 * move->bytes_per_s / together);
        return true;
    }
    return false;
}

/* The sum of both is measured one way round. */
bool plan_move_both(const struct snapshot *snap, struct move *move)
{
    if (move->rate == NULL || move->rate->source != VALUE_MEASURED)
        return false;
    const char *axes = values_axes(snap->values, move->rate), *both = "direction=both";
    both = strcmp(axes, "sdma=off") == 0   ? "direction=both;sdma=off"
           : strcmp(axes, "xnack=on") == 0 ? "direction=both;xnack=on"
                                           : both;
    const struct value *v =
        values_find(snap->values, move->rate->metric, move->from, move->to, both);
    if (v == NULL)
        v = values_find(snap->values, move->rate->metric, move->to, move->from, both);
    if (v == NULL || !(v->value > 0) || v->source != VALUE_MEASURED)
        return take_both_set(snap, move);
    move->both = v;
    move->slowdown = fmax(1, 2 * move->bytes_per_s / v->value);
    return true;
}

#define MANY 32 /* intervals: so many that Student's distribution is the normal one */

/* How much of a queued transfer's time its bytes move. */
static double moving_share(const struct move *move, double bytes)
{
    double time_ns = plan_move_queued_ns(move, bytes);
    return time_ns > 0 ? fmax(time_ns - plan_move_start_ns(move) * move->slowdown, 0) / time_ns : 0;
}

/* Half the 95 % interval of one more transfer, relative to its bytes' time; NAN unknown. */
static double spread_of(const struct move *move, double bytes)
{
    double fitted = move->curve != NULL ? curve_fit_spread(&move->curve->fit, bytes) : NAN, off = 0;
    if (move->is_slowed_by_guess)
        return NAN;
    if (move->is_like) /* its own rate is one size more that the other pair's curve passes by */
        off = (curve_wmax_bytes_per_s(move->curve) / move->rate->value - 1) *
              moving_share(move, bytes);
    if (move->curve != NULL)
        /* the smaller a piece, the more of them were timed at once: each deviates as large ones
         * do */
        return isnan(fitted) ? fitted : hypot(off, fmax(fitted, spread_one(move->one, 0, 0, MANY)));
    return move->rate != NULL && move->rate->source == VALUE_MEASURED && move->high >= move->low
               ? /* a published range is no interval */ spread_cell_among(
                     (move->high - move->low) / 2 / move->bytes_per_s, move->rate->n, move->one)
               : NAN;
}

double plan_move_queued_ns(const struct move *move, double bytes)
{
    double t0_ns = isnan(move->t0_queue_ns) ? 0 : move->t0_queue_ns;
    double alone_ns = move->curve != NULL ? curve_time_ns(move->curve, bytes)
                                          : t0_ns + bytes * 1e9 / move->bytes_per_s;
    return move->slowdown > 1
               ? alone_ns + fmax(alone_ns - plan_move_start_ns(move), 0) * (move->slowdown - 1)
               : alone_ns;
}

struct prediction plan_move_queued(const struct move *move, double bytes)
{
    double time_ns = plan_move_queued_ns(move, bytes), spread = spread_of(move, bytes);
    return (struct prediction){time_ns, isnan(spread) ? spread : time_ns * (1 - fmin(spread, 1)),
                               time_ns * (1 + spread)};
}

double plan_move_start_ns(const struct move *move)
{
    return !isnan(move->t0_queue_ns) ? move->t0_queue_ns
           : move->curve != NULL     ? move->curve->fit.piece[0].t0_ns
                                     : 0;
}

static double called_ns(const struct move *move, double bytes)
{
    double queued_ns = plan_move_queued_ns(move, bytes);
    return isnan(move->t0_call_ns)
               ? queued_ns
               : curve_fit_called_ns(queued_ns, move->t0_call_ns, plan_move_start_ns(move));
}

bool plan_move_is_by_another(const struct move *move, double bytes, double piece)
{
    double queued_ns = plan_move_queued_ns(move, piece),
           first_ns = called_ns(move, piece) - queued_ns, pieces = bytes / piece;
    double off_ns =
        fabs(queued_ns - piece * 1e9 / move->bytes_per_s * move->slowdown) * pieces + first_ns;
    return (move->is_like || move->is_start_like) &&
           off_ns > MOVE_MATTERS * (queued_ns * pieces + first_ns);
}

double plan_move_call_half_ns(const struct move *move, double bytes)
{
    const struct agreement *drift = move->drift;
    bool knows_drift = drift != NULL && drift->calls > 0;
    double own_ns = 0, drift_ns = 0;
    if (plan_move_is_by_another(move, bytes, bytes) && (move->is_start_like || !knows_drift))
        return NAN;
    if (move->call != NULL && move->call->high >= move->call->low)
        own_ns = spread_cell((move->call->high - move->call->low) / 2, move->call->n);
    if (knows_drift && !isnan(move->t0_call_ns))
        drift_ns = spread_one(0, drift->call, drift->calls, 1) * move->t0_call_ns;
    return hypot(own_ns, drift_ns);
}

struct prediction plan_move_called(const struct move *move, double bytes)
{
    struct prediction time = plan_move_queued(move, bytes);
    const struct agreement *drift = move->drift;
    double half_ns = hypot(time.high_ns - time.time_ns, plan_move_call_half_ns(move, bytes));
    if (drift != NULL && drift->rates > 0)
        half_ns = hypot(half_ns, spread_one(0, drift->rate, drift->rates, 1) * time.time_ns);
    time.time_ns = called_ns(move, bytes);
    return (struct prediction){time.time_ns,
                               isnan(half_ns) ? half_ns : fmax(time.time_ns - half_ns, 0),
                               time.time_ns + half_ns};
}

double plan_move_launch_ns(const struct move *move)
{
    double queue_ns = isnan(move->t0_queue_ns) ? 0 : move->t0_queue_ns;
    return isnan(move->t0_call_ns)
               ? queue_ns
               : fmin(queue_ns, fmax(move->t0_call_ns - plan_move_start_ns(move), 0) / 2);
}

unsigned plan_move_kind(const struct graph *graph, const struct move *move)
{
    bool peers = graph_place(graph, move->from)->kind == PLACE_GPU &&
                 graph_place(graph, move->to)->kind == PLACE_GPU;
    if (move->by == MOVE_COPY_ENGINE)
        return peers ? TRANSFER_PEER_ENGINE : TRANSFER_HOST_ENGINE;
    return peers ? TRANSFER_PEER_KERNEL : TRANSFER_HOST_KERNEL;
}

double plan_move_least(const struct move *move)
{
    /* between what starting it takes and its least size there is nothing that could surprise */
    if (move->curve != NULL)
        return move->call != NULL && move->call->source == VALUE_MEASURED
                   ? 0
                   : (double)move->curve->least_bytes / 4;
    return move->rate == NULL ? INFINITY : isnan(move->t0_queue_ns) ? MOVE_LARGE_BYTES : 0;
}

bool plan_move_knows(const struct move *move, double bytes)
{
    return bytes >= plan_move_least(move);
}

bool plan_move_lacks_start(const struct move *move, double bytes)
{
    return move->curve == NULL && isnan(move->t0_queue_ns) && isnan(move->t0_call_ns) &&
           bytes > 0 && bytes < MOVE_LARGE_BYTES;
}

enum metric plan_move_metric(const struct graph *graph, const struct move *move)
{
    bool peers = graph_place(graph, move->from)->kind == PLACE_GPU &&
                 graph_place(graph, move->to)->kind == PLACE_GPU;
    if (move->by == MOVE_COPY_ENGINE)
        return peers ? METRIC_GPU_GPU_COPY_ENGINE : METRIC_HOST_GPU_COPY_ENGINE;
    return peers ? METRIC_GPU_GPU_KERNEL : METRIC_HOST_GPU_KERNEL;
}

enum berth_code plan_move_cite(const struct graph *graph, const struct move *move,
                               struct evidence *evidence, size_t start, struct berth_err *err)
{
    const struct value *first = move->rate != NULL ? move->rate : move->most;
    if (first == NULL && (!is_memory(graph, move->from) || !is_memory(graph, move->to)))
        return BERTH_OK;
    enum value_source source = plan_move_is_engines(move) ? VALUE_PUBLISHED : VALUE_NOMINAL;
    if (first == NULL)
        return evidence_add_stated(evidence, start, plan_move_metric(graph, move), source,
                                   move->from, move->to,
                                   move->stated > move->bytes_per_s && !plan_move_is_engines(move)
                                       ? move->stated
                                       : move->bytes_per_s)
                   ? BERTH_OK
                   : err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    if (!evidence_add(evidence, start, first) ||
        (move->call != NULL && !evidence_add(evidence, start, move->call)) ||
        (move->both != NULL && !evidence_add(evidence, start, move->both)) ||
        (move->both_set != NULL && !evidence_add_set(evidence, start, move->both_set)))
        return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    return BERTH_OK;
}
