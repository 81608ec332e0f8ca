#include "cost/pairs.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/ends.h"
#include "cost/limits.h"
#include "cost/nominal.h"
#include "cost/pairs_alike.h"
#include "cost/published_bound.h"
#include "node/gpu.h"

#define BY_COUNT   2
#define MANY_BYTES 1e12 /* so many that starting them is nothing */

/* One block of memory, so that a snapshot frees it without knowing what is in it. */
struct plan_pairs {
    size_t memory_count, item_count;
    place_id *memory; /* memory_count */
    int32_t *number;  /* by place id: index into memory, or -1 */
    /* (from * memory_count + to) * BY_COUNT + by: index into item plus 1, or 0 */
    uint32_t *at;
    bool *passes;        /* memory_count: whether bytes on their way to elsewhere may stop there */
    struct lanes *lanes; /* from * memory_count + to */
    /* ((memory * 2 + into it) * 2 + the other end is a gpu) * BY_COUNT + by; NULL nothing is
     * known */
    const struct value **most;
    struct pair *item;
    const struct limits *limits; /* of the snapshot */
    struct plan_nominal nominal;
    double lane_bytes_per_s[64 * LANES_WORDS];
};

static const struct lanes unknown_lanes = {.is_known = false};

/* ---- making them ---- */

/* A curve of straight pieces is cheapest for each byte where two of them meet, or for very many. */
static double least_ns_per_byte(const struct move *move)
{
    double least = 1e9 / move->bytes_per_s;
    if (move->curve == NULL)
        return least;
    const struct curve_fit *fit = &move->curve->fit;
    least = fit->piece[fit->piece_count - 1].ns_per_byte;
    for (size_t i = 1; i < fit->piece_count; i++)
        least = fmin(least, curve_time_ns(move->curve, (double)fit->piece[i].from_bytes) /
                                (double)fit->piece[i].from_bytes);
    return least;
}

/* Bytes per second of so many users, all of that kind; INFINITY unlimited. */
static double capacity_of(const struct limit *limit, unsigned users, unsigned kind)
{
    double capacity = INFINITY;
    if (limit->source != LIMIT_RUNS && users <= limit->apart[transfer_kind_index(kind)])
        return capacity;
    for (size_t i = 0; i < limit->step_count && limit->step[i].flows <= users; i++)
        capacity = limit->step[i].bytes_per_s;
    return capacity;
}

double plan_pairs_both(const struct snapshot *snap, const struct move *move)
{
    const struct limits *limits = snap->derived.limits;
    const char *axes = move->rate != NULL ? values_axes(snap->values, move->rate) : "";
    unsigned kind = plan_move_kind(snap->graph, move);
    uint16_t there[LIMITS_USES_MAX], back[LIMITS_USES_MAX];
    size_t uses = limits_of(limits, kind, move->from, move->to, axes, there),
           back_uses = limits_of(limits, kind, move->to, move->from, axes, back);
    double rate = MANY_BYTES * 1e9 /
                  (plan_move_queued_ns(move, MANY_BYTES) - plan_move_start_ns(move)),
           slowdown = 1;
    for (size_t i = 0; i < uses; i++) {
        unsigned users = 1;
        for (size_t k = 0; k < back_uses; k++)
            users += back[k] == there[i];
        slowdown = fmax(slowdown, users * rate / capacity_of(&limits->item[there[i]], users, kind));
    }
    return slowdown;
}

static void take(const struct snapshot *snap, const struct move *move, struct pair *ret)
{
    struct pair pair = {.move = *move,
                        .both = *move,
                        .least_chunk = PAIRS_CHUNKS,
                        .least_ns_per_byte = least_ns_per_byte(move),
                        .start_ns = plan_move_start_ns(move),
                        .least_bytes = plan_move_least(move),
                        .is_peer = graph_place(snap->graph, move->from)->kind == PLACE_GPU &&
                                   graph_place(snap->graph, move->to)->kind == PLACE_GPU};
    place_id numa =
        graph_place(snap->graph, move->from)->kind == PLACE_NUMA ? move->from : move->to;
    pair.is_with_host = !pair.is_peer && gpu_apu_at(snap->graph, numa) == PLACE_NONE;
    pair.knows_both = plan_move_both(snap, &pair.both);
    if (!pair.knows_both)
        pair.both.slowdown = plan_pairs_both(snap, move);
    for (size_t i = PAIRS_CHUNKS; i-- > 0;) {
        double bytes = (double)((uint64_t)PAIRS_CHUNK_LEAST << i);
        pair.queued_ns[i] = plan_move_queued_ns(move, bytes);
        if (plan_move_knows(move, bytes))
            pair.least_chunk = i;
    }
    for (size_t i = 0; i < PAIRS_CHUNKS; i++) {
        double each_ns =
            fmax(pair.queued_ns[i] - pair.start_ns, 0) / (double)((uint64_t)PAIRS_CHUNK_LEAST << i);
        pair.floor_ns_per_byte[i] = i > 0 ? fmin(each_ns, pair.floor_ns_per_byte[i - 1]) : each_ns;
    }
    if (!isnan(move->t0_call_ns))
        pair.more_ns = fmax(move->t0_call_ns - plan_move_start_ns(move), 0);
    bool knows_chain = !isnan(move->t0_chain_ns), knows_launch = !isnan(move->t0_launch_ns);
    pair.chain_ns = knows_chain ? fmax(move->t0_chain_ns - plan_move_start_ns(move), 0) : 0;
    pair.behind_more_ns = fmax(pair.chain_ns, isnan(move->t0_behind_ns)
                                                  ? pair.more_ns
                                                  : move->t0_behind_ns - plan_move_start_ns(move));
    pair.launch_ns = knows_launch               ? move->t0_launch_ns
                     : isnan(move->t0_queue_ns) ? 0
                                                : move->t0_queue_ns;
    pair.behind_launch_ns = knows_launch ? pair.launch_ns : 2 * pair.launch_ns;
    *ret = pair;
}

/* Whether a transfer uses what concurrent runs showed. What kernels and copy engines get together
 * from or to the host was never measured: both count as sharing what either does. */
static bool uses(const struct snapshot *snap, const struct move *move, const struct limit *limit)
{
    unsigned kind = plan_move_kind(snap->graph, move), its = transfer_kind_of(limit->metric),
             host = TRANSFER_HOST_ENGINE | TRANSFER_HOST_KERNEL;
    return (its == kind || ((its & host) != 0 && (kind & host) != 0 && limit->has_role)) &&
           limits_uses(snap->derived.limits, limit, move->from, move->to,
                       values_axes(snap->values, move->rate));
}

/* Host memory of which no sets show what it carries: what the cores get of it, or what is stated.
 * Sets of fewer transfers by engine than would be held up say nothing. */
static void add_stated(const struct limits *limits, struct pair *pair)
{
    uint16_t use[LIMITS_USES_MAX];
    size_t count = limits_of(limits, TRANSFER_HOST_ENGINE, pair->move.from, pair->move.to, "", use);
    for (size_t u = 0; u < count && !pair->is_peer; u++) {
        const struct limit *limit = &limits->item[use[u]];
        bool is_told = limit->apart[transfer_kind_index(TRANSFER_HOST_ENGINE)] == UINT_MAX;
        if (limit->source != LIMIT_RUNS && limit->role.part == LIMIT_MEMORY && !is_told &&
            pair->limit_count < PAIRS_LIMITS_MAX)
            pair->limit[pair->limit_count++] = use[u];
    }
}

static void find_limits(const struct snapshot *snap, const struct limits *limits, struct pair *pair)
{
    for (size_t r = 0; r < limits->count; r++) {
        if (limits->item[r].source != LIMIT_RUNS || !uses(snap, &pair->move, &limits->item[r]))
            continue;
        if (pair->limit_count == PAIRS_LIMITS_MAX) {
            pair->lanes = &unknown_lanes;
            return;
        }
        pair->limit[pair->limit_count++] = (uint16_t)r;
    }
    add_stated(limits, pair);
}

/* A lane carries what was seen to go over it, which may be less than what it is said to. */
static void raise_lanes(struct plan_pairs *pairs, const struct pair *pair)
{
    double bytes_per_s = 1e9 / pair->least_ns_per_byte;
    for (size_t w = 0; w < LANES_WORDS; w++)
        for (uint64_t bits = pair->lanes->bit[w]; bits != 0; bits &= bits - 1) {
            double *lane = &pairs->lane_bytes_per_s[64 * w + (size_t)__builtin_ctzll(bits)];
            *lane = fmax(*lane, bytes_per_s);
        }
}

#define BY_OTHER 1.02 /* so that what was measured goes before what has the same by it */

/* With the host both mechanisms meet in the same ports and packages: what both directions get at
 * once by the other one is the most by this one, too, unless they take turns. */
static void guess_by_other(const struct plan_pairs *pairs, struct pair *pair)
{
    const struct move *move = &pair->move;
    const struct pair *other =
        pair->is_with_host
            ? plan_pairs_find(pairs, move->from, move->to,
                              move->by == MOVE_KERNEL ? MOVE_COPY_ENGINE : MOVE_KERNEL)
            : NULL;
    if (other == NULL || !(other->knows_both || other->both_is_others))
        return;
    double slower =
        fmin(2, BY_OTHER * move->bytes_per_s * other->both.slowdown / other->move.bytes_per_s);
    pair->both.slowdown = fmax(pair->both.slowdown, slower);
    pair->both_is_others = true;
}

/* Where nobody measured what both directions of a pair get at once: what others of that mechanism
 * lose by it at most, with the host or between gpus. */
static void guess_both(struct plan_pairs *pairs)
{
    double most[BY_COUNT][2] = {{0}};
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < pairs->item_count; i++) {
            struct pair *pair = &pairs->item[i];
            double *its = &most[pair->move.by][pair->is_peer];
            /* and not within one memory */
            bool is_like_others = pair->is_peer || pair->is_with_host;
            if (pass == 0 && pair->knows_both && is_like_others)
                *its = fmax(*its, pair->both.slowdown);
            else if (pass == 1 && !pair->knows_both && *its > 0 &&
                     pair->move.rate->source == VALUE_MEASURED) {
                pair->both.slowdown = *its;
                pair->both_is_others = true;
            }
            if (pass == 1 && !pair->knows_both)
                guess_by_other(pairs, pair);
        }
}

static void raise_one(const struct snapshot *snap, struct plan_pairs *pairs, place_id from,
                      place_id to, enum move_by by, const struct value *rate)
{
    bool from_gpu = graph_place(snap->graph, from)->kind == PLACE_GPU,
         to_gpu = graph_place(snap->graph, to)->kind == PLACE_GPU;
    const struct value **most[] = {
        &pairs->most[((size_t)pairs->number[from] * 4 + to_gpu) * BY_COUNT + (size_t)by],
        &pairs->most[((size_t)pairs->number[to] * 4 + 2 + from_gpu) * BY_COUNT + (size_t)by]};
    for (size_t end = 0; end < 2; end++)
        if (rate != NULL && (*most[end] == NULL || rate->value > (*most[end])->value))
            *most[end] = rate;
}

/* What a gpu's kernels only read or write of the host's memory bounds copies, too, where nothing is
 * known of these. */
static void raise_by_access(const struct snapshot *snap, struct plan_pairs *pairs, place_id gpu,
                            place_id numa)
{
    const struct values *values = snap->values;
    const struct value *read =
                           values_find(values, METRIC_HOST_GPU_KERNEL, numa, gpu, "operation=read"),
                       *write = values_find(values, METRIC_HOST_GPU_KERNEL, gpu, numa,
                                            "operation=write");
    raise_one(snap, pairs, numa, gpu, MOVE_KERNEL,
              read != NULL ? read : values_find(values, METRIC_MEMORY_BANDWIDTH, gpu, numa, ""));
    raise_one(snap, pairs, gpu, numa, MOVE_KERNEL,
              write != NULL
                  ? write
                  : values_find(values, METRIC_MEMORY_BANDWIDTH, gpu, numa, "operation=write"));
}

/* The most that goes out of a memory, and into another, with memory of the same kind at the other
 * end. */
static void find_most(const struct snapshot *snap, struct plan_pairs *pairs)
{
    const struct graph *graph = snap->graph;
    for (size_t i = 0; i < pairs->item_count; i++)
        raise_one(snap, pairs, pairs->item[i].move.from, pairs->item[i].move.to,
                  pairs->item[i].move.by, pairs->item[i].move.rate);
    for (size_t g = 0; g < pairs->memory_count; g++)
        for (size_t n = 0; n < pairs->memory_count; n++) {
            place_id gpu = pairs->memory[g], numa = pairs->memory[n];
            if (graph_place(graph, gpu)->kind == PLACE_GPU &&
                graph_place(graph, numa)->kind == PLACE_NUMA &&
                plan_pairs_find(pairs, numa, gpu, MOVE_KERNEL) == NULL &&
                plan_pairs_find(pairs, gpu, numa, MOVE_KERNEL) == NULL)
                raise_by_access(snap, pairs, gpu, numa);
        }
}

/* Nothing goes there: it was lost, or its slices are gpus of their own. */
static bool is_gone(const struct snapshot *snap, place_id id)
{
    return graph_place(snap->graph, id)->kind == PLACE_GPU &&
           (plan_ends_is_lost(snap, id) || gpu_is_cut(snap->graph, id));
}

/* Neither vendor's runtime opens the other's gpus. */
static bool is_between_vendors(const struct graph *graph, place_id from, place_id to)
{
    return graph_place(graph, from)->kind == PLACE_GPU &&
           graph_place(graph, to)->kind == PLACE_GPU && plan_ends_vendors_differ(graph, from, to);
}

static size_t find_moves(const struct snapshot *snap, const place_id *memory, size_t count,
                         bool *gone, struct move *moves, uint32_t *at)
{
    size_t found = 0;
    for (size_t m = 0; m < count; m++)
        gone[m] = is_gone(snap, memory[m]);
    for (size_t f = 0; f < count; f++)
        for (size_t t = 0; t < count; t++) {
            bool may_move =
                !gone[f] && !gone[t] && !is_between_vendors(snap->graph, memory[f], memory[t]);
            for (int by = 0; by < BY_COUNT && may_move; by++)
                if (plan_move_rated(snap, memory[f], memory[t], (enum move_by)by, &moves[found]))
                    at[(f * count + t) * BY_COUNT + (size_t)by] = (uint32_t)++found;
        }
    return found;
}

static size_t align(size_t size) { return (size + 15) / 16 * 16; }

/* The block with room for so much, and its parts in place. */
static struct plan_pairs *make_room(size_t places, size_t memories, size_t items)
{
    size_t head = align(sizeof(struct plan_pairs)), memory = align(memories * sizeof(place_id)),
           number = align(places * sizeof(int32_t));
    size_t at = align(memories * memories * BY_COUNT * sizeof(uint32_t)),
           passes = align(memories * sizeof(bool)),
           lanes = align(memories * memories * sizeof(struct lanes));
    size_t most = align(memories * 4 * BY_COUNT * sizeof(struct value *));
    char *block = calloc(1, head + memory + number + at + passes + lanes + most +
                                items * sizeof(struct pair));
    struct plan_pairs *pairs = (struct plan_pairs *)(void *)block;
    if (block == NULL)
        return NULL;
    pairs->memory = (place_id *)(void *)(block + head);
    pairs->number = (int32_t *)(void *)(block + head + memory);
    pairs->at = (uint32_t *)(void *)(block + head + memory + number);
    pairs->passes = (bool *)(void *)(block + head + memory + number + at);
    pairs->lanes = (struct lanes *)(void *)(block + head + memory + number + at + passes);
    pairs->most =
        (const struct value **)(void *)(block + head + memory + number + at + passes + lanes);
    pairs->item =
        (struct pair *)(void *)(block + head + memory + number + at + passes + lanes + most);
    pairs->memory_count = memories;
    pairs->item_count = items;
    return pairs;
}

static size_t list_memories(const struct graph *graph, place_id *memory)
{
    size_t count = 0;
    for (size_t p = 0; p < graph->place_count; p++)
        if (graph->places[p].kind == PLACE_GPU || graph->places[p].kind == PLACE_NUMA)
            memory[count++] = (place_id)p;
    return count;
}

static struct plan_pairs *fill(const struct snapshot *snap, const place_id *memory, size_t count,
                               const struct move *moves, const uint32_t *at, size_t found)
{
    const struct graph *graph = snap->graph;
    struct plan_pairs *pairs = make_room(graph->place_count, count, found);
    if (pairs == NULL || !plan_lanes_make(graph, memory, count, pairs->lanes)) {
        free(pairs);
        return NULL;
    }
    memcpy(pairs->memory, memory, count * sizeof *memory);
    memcpy(pairs->at, at, count * count * BY_COUNT * sizeof *at);
    for (size_t p = 0; p < graph->place_count; p++)
        pairs->number[p] = -1;
    for (size_t m = 0; m < count; m++) {
        pairs->number[memory[m]] = (int32_t)m;
        pairs->passes[m] = graph_place(graph, memory[m])->kind == PLACE_GPU ||
                           plan_ends_gpu_of(graph, memory[m]) == PLACE_NONE;
    }
    const struct limits *limits = snap->derived.limits;
    pairs->limits = limits;
    for (size_t i = 0; i < found; i++) {
        struct pair *pair = &pairs->item[i];
        take(snap, &moves[i], pair);
        pair->lanes = &pairs->lanes[(size_t)pairs->number[moves[i].from] * count +
                                    (size_t)pairs->number[moves[i].to]];
        raise_lanes(pairs, pair);
        plan_nominal_note(&pairs->nominal, graph, limits, &pair->move);
        find_limits(snap, limits, pair);
    }
    guess_both(pairs);
    if (!plan_pairs_alike(snap, pairs->item, found)) {
        free(pairs);
        return NULL;
    }
    find_most(snap, pairs);
    return pairs;
}

struct plan_pairs *plan_pairs_new(const struct snapshot *snap)
{
    const struct graph *graph = snap->graph;
    size_t most = graph_count(graph, PLACE_GPU) + graph_count(graph, PLACE_NUMA);
    place_id *memory = calloc(most + 1, sizeof *memory);
    size_t count = memory != NULL ? list_memories(graph, memory) : 0;
    struct move *moves = calloc(count * count * BY_COUNT + 1, sizeof *moves);
    uint32_t *at = calloc(count * count * BY_COUNT + 1, sizeof *at);
    bool *gone = calloc(count + 1, sizeof *gone);
    struct plan_pairs *pairs = NULL;
    if (memory != NULL && gone != NULL && moves != NULL && at != NULL)
        pairs =
            fill(snap, memory, count, moves, at, find_moves(snap, memory, count, gone, moves, at));
    free(gone);
    free(memory);
    free(moves);
    free(at);
    return pairs;
}

void plan_pairs_free(struct plan_pairs *pairs) { free(pairs); }

/* ---- asking them ---- */

const struct pair *plan_pairs_find(const struct plan_pairs *pairs, place_id from, place_id to,
                                   enum move_by by)
{
    int32_t f = pairs->number[from], t = pairs->number[to];
    uint32_t at =
        f >= 0 && t >= 0
            ? pairs->at[((size_t)f * pairs->memory_count + (size_t)t) * BY_COUNT + (size_t)by]
            : 0;
    return at > 0 ? &pairs->item[at - 1] : NULL;
}

size_t plan_pairs_memories(const struct plan_pairs *pairs, const place_id **ret_memory)
{
    *ret_memory = pairs->memory;
    return pairs->memory_count;
}

bool plan_pairs_passes(const struct plan_pairs *pairs, place_id id)
{
    return pairs->number[id] >= 0 && pairs->passes[pairs->number[id]];
}

const struct lanes *plan_pairs_lanes(const struct plan_pairs *pairs, place_id from, place_id to)
{
    int32_t f = pairs->number[from], t = pairs->number[to];
    return f >= 0 && t >= 0 ? &pairs->lanes[(size_t)f * pairs->memory_count + (size_t)t]
                            : &unknown_lanes;
}

double plan_pairs_lane(const struct plan_pairs *pairs, size_t lane)
{
    return pairs->lane_bytes_per_s[lane];
}

struct pair_limit plan_pairs_limit(const struct plan_pairs *pairs, uint16_t limit)
{
    const struct limit *its = &pairs->limits->item[limit];
    if (its->source == LIMIT_RUNS)
        return (struct pair_limit){
            .name = its->name, .step = its->step, .step_count = its->step_count};
    unsigned together = its->apart[transfer_kind_index(TRANSFER_HOST_ENGINE)];
    return (struct pair_limit){.name = its->name,
                               .stated = its->step[0].bytes_per_s,
                               .stated_from = together > 1 ? together + 1 : 2,
                               .is_both = its->role.direction == LIMIT_BOTH};
}

/* One end of a transfer. */
static const struct value *most_at(const struct plan_pairs *pairs, place_id end, bool into,
                                   bool other_is_gpu, enum move_by by)
{
    return pairs->most[(((size_t)pairs->number[end] * 2 + into) * 2 + other_is_gpu) * BY_COUNT +
                       (size_t)by];
}

static void limit(struct move *move, const struct value *most)
{
    if (most != NULL && most->value < move->bytes_per_s) {
        move->bytes_per_s = most->value;
        move->most = most;
    }
}

/* What a gpu is known to stream in its own memory: copies, or reading where only that was measured;
 * NULL nothing is known. */
static const struct value *streamed_by(const struct snapshot *snap, place_id gpu)
{
    const struct value *read = values_find(snap->values, METRIC_MEMORY_BANDWIDTH, gpu, gpu, ""),
                       *copy = values_find(snap->values, METRIC_GPU_STREAM, gpu, gpu, "");
    const struct value *rate =
        copy != NULL && copy->value > 0 &&
                (read == NULL || copy->source == VALUE_MEASURED || read->source != VALUE_MEASURED)
            ? copy
            : read;
    return rate != NULL && rate->value > 0 ? rate : NULL;
}

/* That of another gpu of the model, where nobody measured this one's: what was measured goes before
 * what is only published. */
static const struct value *streamed_by_like(const struct snapshot *snap, place_id gpu)
{
    const struct graph *graph = snap->graph;
    const struct value *found = streamed_by(snap, gpu);
    const char *model = graph_place(graph, gpu)->model;
    for (place_id g = graph_next(graph, PLACE_GPU, 0);
         g != PLACE_NONE && model != NULL && (found == NULL || found->source != VALUE_MEASURED);
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const char *its = graph_place(graph, g)->model;
        const struct value *rate =
            its != NULL && strcmp(its, model) == 0 ? streamed_by(snap, g) : NULL;
        found = rate != NULL && (found == NULL || rate->source == VALUE_MEASURED) ? rate : found;
    }
    return found;
}

/* Kernels of a gpu that has one memory with its cores read and write that, whatever the link to the
 * cores is said to carry: a copy gets half of what they stream, or one of the same model does, or,
 * as in Allocate, where nothing is known of that, of what firmware says of that memory. What its
 * cores were seen to get of it says nothing of the gpu. */
static void take_own(const struct snapshot *snap, struct move *move)
{
    const struct value *rate = streamed_by_like(snap, move->driver);
    place_id numa =
        graph_place(snap->graph, move->from)->kind == PLACE_NUMA ? move->from : move->to;
    const struct value *stated = values_find(snap->values, METRIC_MEMORY_BANDWIDTH, numa, numa, "");
    if (rate == NULL && stated != NULL && stated->source == VALUE_NOMINAL && stated->value > 0)
        rate = stated;
    if (rate == NULL)
        return;
    move->bytes_per_s = rate->value / 2;
    move->most = rate;
}

/* The same pair's other direction, of which something is known; not under a setting that the
 * program would have to be started with. NULL: nothing is. */
static const struct move *back_of(const struct snapshot *snap, const struct plan_pairs *pairs,
                                  place_id from, place_id to, enum move_by by)
{
    const struct pair *back = plan_pairs_find(pairs, to, from, by);
    const char *axes = back != NULL ? values_axes(snap->values, back->move.rate) : "";
    return back != NULL && (*axes == '\0' || strcmp(axes, "direction=read") == 0) ? &back->move
                                                                                  : NULL;
}

/* What was measured one way stands for the other way: it says more of the two than links do, which
 * may not be all that join them. */
static void take_back(const struct snapshot *snap, const struct move *back, struct move *ret)
{
    place_id from = back->to, to = back->from;
    *ret = (struct move){.from = from,
                         .to = to,
                         .by = back->by,
                         .driver = graph_place(snap->graph, from)->kind == PLACE_GPU ? from : to,
                         .most = back->rate,
                         .bytes_per_s = back->bytes_per_s,
                         .low = NAN,
                         .high = NAN,
                         .t0_queue_ns = NAN,
                         .t0_call_ns = NAN,
                         .t0_chain_ns = NAN,
                         .t0_behind_ns = NAN,
                         .t0_launch_ns = NAN,
                         .t0_end_ns = NAN,
                         .drift = back->drift,
                         .slowdown = 1};
}

bool plan_pairs_move(const struct snapshot *snap, const struct plan_pairs *pairs, place_id from,
                     place_id to, enum move_by by, struct move *ret)
{
    const struct pair *pair = plan_pairs_find(pairs, from, to, by);
    struct move move;
    if (pair != NULL) {
        *ret = pair->move;
        return true;
    }
    if (is_between_vendors(snap->graph, from, to))
        return false;
    place_id from_apu = graph_place(snap->graph, from)->kind == PLACE_NUMA
                            ? gpu_apu_at(snap->graph, from)
                            : PLACE_NONE,
             to_apu = graph_place(snap->graph, to)->kind == PLACE_NUMA ? gpu_apu_at(snap->graph, to)
                                                                       : PLACE_NONE;
    if (from_apu != PLACE_NONE && from_apu != to)
        return plan_pairs_move(snap, pairs, from_apu, to, by, ret);
    if (to_apu != PLACE_NONE && to_apu != from)
        return plan_pairs_move(snap, pairs, from, to_apu, by, ret);
    const struct move *back = back_of(snap, pairs, from, to, by);
    bool is_linked = plan_move_find(snap, from, to, by, &move),
         is_back = back != NULL && (back->rate->source == VALUE_MEASURED || !is_linked);
    if (is_back)
        take_back(snap, back, ret);
    if (is_back || !is_linked)
        return is_back;
    bool from_gpu = graph_place(snap->graph, from)->kind == PLACE_GPU,
         to_gpu = graph_place(snap->graph, to)->kind == PLACE_GPU;
    /* that direction, the other one, and both again by the other mechanism */
    unsigned steps = from_gpu && to_gpu ? 2 : 4;
    bool is_own =
             move.rate == NULL && by == MOVE_KERNEL && plan_ends_are_one(snap->graph, from, to),
         is_known = move.rate != NULL || is_own;
    if (is_own)
        take_own(snap, &move);
    for (unsigned i = 0; i < steps && !is_known; i++) {
        enum move_by its = i < 2 ? by : by == MOVE_KERNEL ? MOVE_COPY_ENGINE : MOVE_KERNEL;
        const struct value *at_from = most_at(pairs, from, i % 2 == 1, to_gpu, its),
                           *at_to = most_at(pairs, to, i % 2 == 0, from_gpu, its);
        limit(&move, at_from);
        limit(&move, at_to);
        is_known = at_from != NULL || at_to != NULL;
    }
    if (!is_own)
        plan_nominal_scale(&pairs->nominal, snap->graph, pairs->limits, &move);
    published_bound_apply(snap, &move);
    *ret = move;
    return true;
}

/* What stands for a pair: its own, else what was measured of the other direction. */
static const struct pair *find_either(const struct plan_pairs *pairs, place_id from, place_id to,
                                      enum move_by by)
{
    const struct pair *pair = plan_pairs_find(pairs, from, to, by),
                      *back = pair == NULL ? plan_pairs_find(pairs, to, from, by) : NULL;
    return back != NULL && back->move.rate->source == VALUE_MEASURED ? back : pair;
}

bool plan_pairs_is_guess(const struct plan_pairs *pairs, place_id from, place_id to,
                         enum move_by by)
{
    return find_either(pairs, from, to, by) == NULL &&
           find_either(pairs, from, to, by == MOVE_KERNEL ? MOVE_COPY_ENGINE : MOVE_KERNEL) != NULL;
}
