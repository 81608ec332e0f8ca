#include "cost/matrix_inner.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/endpoints.h"
#include "cost/limits.h"
#include "cost/policy.h"
#include "node/gpu.h"

/* The two ends of a transfer, for the highest rates known there. */
enum end { END_OUT, END_IN };

static enum mechanism other_of(enum mechanism by)
{
    return by == MECHANISM_KERNEL ? MECHANISM_COPY_ENGINE : MECHANISM_KERNEL;
}

static bool is_gpu(const struct matrix *matrix, place_id id)
{
    return graph_place(matrix->graph, id)->kind == PLACE_GPU;
}

static size_t index_of(const struct matrix *matrix, size_t from, size_t to, enum mechanism by)
{
    return (from * matrix->memory_count + to) * MECHANISMS + (size_t)by;
}

const struct matrix_item *matrix_find(const struct matrix *matrix, place_id from, place_id to,
                                      enum mechanism by)
{
    int32_t f = matrix->number[from], t = matrix->number[to];
    if (f < 0 || t < 0)
        return NULL;
    size_t i = index_of(matrix, (size_t)f, (size_t)t, by);
    return matrix->is_known[i] ? &matrix->item[i] : NULL;
}

/* The transfer by a number of its own; NULL. */
static const struct transfer *find_own(const struct matrix *matrix, place_id from, place_id to,
                                       enum mechanism by)
{
    const struct matrix_item *item = matrix_find(matrix, from, to, by);
    return item != NULL && item->alone.basis == BASIS_OWN ? &item->alone : NULL;
}

/* ---- a number of its own ---- */

bool matrix_same_model(const struct graph *graph, place_id a, place_id b)
{
    const struct place *x = graph_place(graph, a), *y = graph_place(graph, b);
    return x->kind == y->kind && (x->model == NULL) == (y->model == NULL) &&
           (x->model == NULL || strcmp(x->model, y->model) == 0);
}

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

/* The curve of a similar pair: the same metric, axes, kinds and models, and a rate within most_off;
 * where the start-up is known, that too. One that shares a GPU first, then the nearest in rate.
 * most_off INFINITY: one whose start-up is known. The probe measures many sizes for one of such
 * pairs only. */
static const struct curve *similar_curve(const struct snapshot *snap, const struct value *rate,
                                         double most_off)
{
    const struct value *latency = latency_of(snap->values, rate);
    const struct graph *graph = snap->graph;
    const struct curve *first, *found = NULL;
    double found_off = INFINITY;
    size_t count = curve_range(snap->derived.curves, rate->metric, &first);
    for (const struct curve *curve = first; curve < first + count; curve++) {
        double off = fabs(curve_wmax_bytes_per_s(curve) / rate->value - 1);
        bool shares =
            (curve->from == rate->from && graph_place(graph, rate->from)->kind == PLACE_GPU) ||
            (curve->to == rate->to && graph_place(graph, rate->to)->kind == PLACE_GPU);
        bool starts = isinf(most_off)   ? !isnan(curve->t0_queue_ns)
                      : latency == NULL ? true
                                        : fabs(curve->t0_queue_ns / latency->value - 1) <= most_off;
        if (!(off <= most_off) || !starts ||
            strcmp(curve->axes, values_axes(snap->values, rate)) != 0 ||
            !matrix_same_model(graph, curve->from, rate->from) ||
            !matrix_same_model(graph, curve->to, rate->to))
            continue;
        off += shares ? 0 : POLICY_SIMILAR;
        if (off < found_off) {
            found = curve;
            found_off = off;
        }
    }
    return found;
}

static double measured_ns(const struct value *value)
{
    return value != NULL && value->source == VALUE_MEASURED ? value->value : NAN;
}

/* Start-up times of the transfer between two places under the same metric and axes. */
static void take_overheads(const struct snapshot *snap, place_id from, place_id to,
                           struct transfer *transfer)
{
    struct overhead its = overheads_find(snap->derived.curves->overheads, transfer->value->metric,
                                         from, to, values_axes(snap->values, transfer->value));
    const struct value *call = its.clock[TRANSFER_CALL], *queue = its.clock[TRANSFER_QUEUE];
    transfer->call = call;
    transfer->t0_call_ns = call != NULL ? call->value : NAN;
    transfer->t0_queue_ns = queue != NULL ? queue->value : NAN;
    transfer->t0_chain_ns = measured_ns(its.clock[TRANSFER_CHAIN]);
    transfer->t0_behind_ns = measured_ns(its.clock[TRANSFER_BEHIND]);
    transfer->t0_launch_ns = measured_ns(its.clock[TRANSFER_LAUNCH]);
    transfer->t0_end_ns = measured_ns(its.clock[TRANSFER_END]);
}

/* Start-up without sizes: its own latency, and what a call of another pair adds to a queued one. */
static void take_start(const struct snapshot *snap, struct transfer *transfer)
{
    const struct curve *other = similar_curve(snap, transfer->value, INFINITY);
    const struct value *latency = latency_of(snap->values, transfer->value);
    if (latency != NULL) {
        transfer->call = latency;
        transfer->t0_queue_ns = latency->value;
        transfer->sizes = SOURCE_MEASURED;
    }
    if (other == NULL)
        return;
    double more_ns = latency != NULL ? latency->value - other->t0_queue_ns : 0;
    transfer->sizes = latency != NULL ? SOURCE_MEASURED : SOURCE_SIMILAR_PAIR;
    transfer->t0_queue_ns = other->t0_queue_ns + more_ns;
    transfer->t0_call_ns = other->t0_call_ns + more_ns;
    transfer->t0_chain_ns = other->t0_chain_ns + more_ns;
    transfer->t0_behind_ns = other->t0_behind_ns + more_ns;
    transfer->t0_launch_ns = other->t0_launch_ns;
    transfer->t0_end_ns = other->t0_end_ns;
}

/* The sizes and start-up of a transfer: its own, a similar pair's, or a start-up only. */
static void take_sizes(const struct snapshot *snap, struct transfer *transfer)
{
    transfer->curve = curve_find(snap->derived.curves, transfer->value->metric, transfer->from,
                                 transfer->to, values_axes(snap->values, transfer->value));
    take_overheads(snap, transfer->from, transfer->to, transfer);
    transfer->sizes = transfer->curve != NULL || !isnan(transfer->t0_queue_ns) ? SOURCE_MEASURED
                                                                               : SOURCE_LOWER_BOUND;
    if (transfer->sizes == SOURCE_MEASURED || transfer->source != SOURCE_MEASURED)
        return;
    transfer->curve = similar_curve(snap, transfer->value, POLICY_SIMILAR);
    if (transfer->curve != NULL) {
        transfer->sizes = SOURCE_SIMILAR_PAIR;
        take_overheads(snap, transfer->curve->from, transfer->curve->to, transfer);
    } else {
        take_start(snap, transfer);
    }
}

/* Between a measured start-up and the least size nothing surprises. */
static double least_bytes(const struct transfer *transfer)
{
    bool starts = transfer->call != NULL && transfer->call->source == VALUE_MEASURED;
    if (transfer->curve != NULL)
        return starts ? 0 : (double)transfer->curve->least_bytes / 4;
    return isnan(transfer->t0_queue_ns) ? TRANSFER_LARGE_BYTES : 0;
}

static enum source source_of(const struct value *value)
{
    return value->source == VALUE_MEASURED    ? SOURCE_MEASURED
           : value->source == VALUE_PUBLISHED ? SOURCE_PUBLISHED
                                              : SOURCE_NOMINAL;
}

/* Takes the value under these axes where it is better than that of the transfer: measured before
 * others, then the higher rate. by_setting: of a variable that AMD's runtime reads at its start,
 * which must be worth it. */
static void consider(const struct snapshot *snap, enum metric metric, const char *axes,
                     bool by_setting, struct transfer *transfer)
{
    const struct value *value =
        values_find(snap->values, metric, transfer->from, transfer->to, axes);
    if ((value == NULL || value->source == VALUE_NOMINAL) && *axes == '\0') {
        const struct value *alone =
            limits_alone(snap->derived.limits, metric, transfer->from, transfer->to);
        value = alone != NULL ? alone : value;
    }
    const struct value *had = transfer->value;
    if (value == NULL || !(value->value > 0) ||
        (by_setting && (value->source != VALUE_MEASURED ||
                        (had != NULL && value->value <= (1 + POLICY_SETTING) * had->value))))
        return;
    bool is_measured = value->source == VALUE_MEASURED;
    if (!by_setting && had != NULL &&
        (is_measured != (had->source == VALUE_MEASURED) ? !is_measured
                                                        : value->value <= had->value))
        return;
    const struct agreement *agreement =
        agreement_of(snap->derived.limits->agree, transfer_kind_of(metric));
    transfer->basis = BASIS_OWN;
    transfer->source = source_of(value);
    transfer->value = value;
    transfer->one = agreement != NULL ? agreement->one : 0;
    transfer->bytes_per_s = value->value;
    transfer->low = value->low;
    transfer->high = value->high;
    take_sizes(snap, transfer);
    transfer->least_bytes = least_bytes(transfer);
}

bool matrix_has_own_sizes(const struct transfer *transfer)
{
    return transfer->curve != NULL && transfer->sizes == SOURCE_MEASURED;
}

/* True when the receiver's engine is better than the sender's, which the plain call uses. */
static bool is_pull_better(const struct transfer *push, const struct transfer *pull)
{
    if (push->value == NULL || pull->value == NULL)
        return pull->value != NULL;
    if ((push->source == SOURCE_MEASURED) != (pull->source == SOURCE_MEASURED))
        return pull->source == SOURCE_MEASURED;
    /* without sizes the start-up may be half as long again */
    double worth =
        matrix_has_own_sizes(push) && matrix_has_own_sizes(pull) ? POLICY_SAME : POLICY_SIMILAR;
    if (fabs(pull->bytes_per_s / push->bytes_per_s - 1) > worth)
        return pull->bytes_per_s > push->bytes_per_s;
    if (matrix_has_own_sizes(push) != matrix_has_own_sizes(pull))
        return matrix_has_own_sizes(pull);
    return pull->sizes == SOURCE_MEASURED && pull->t0_call_ns < push->t0_call_ns;
}

/* Its number of its own. False where it has none. */
static bool take_own(const struct matrix *matrix, struct transfer *transfer)
{
    const struct snapshot *snap = matrix->snap;
    bool peer = transfer_is_peer(transfer);
    if (peer && transfer->by == MECHANISM_COPY_ENGINE) {
        struct transfer pull = *transfer;
        pull.driver = transfer->to;
        consider(snap, METRIC_GPU_GPU_COPY_ENGINE, "", false, transfer);
        consider(snap, METRIC_GPU_GPU_COPY_ENGINE, "direction=read", false, &pull);
        if (is_pull_better(transfer, &pull))
            *transfer = pull;
    } else if (peer) {
        consider(snap, METRIC_GPU_GPU_KERNEL, "", false, transfer);
        consider(snap, METRIC_GPU_GPU_COPY_ENGINE, "sdma=off", true, transfer);
    } else if (transfer->by == MECHANISM_COPY_ENGINE) {
        consider(snap, METRIC_HOST_GPU_COPY_ENGINE, "", false, transfer);
    } else {
        consider(snap, METRIC_HOST_GPU_KERNEL, "", false, transfer);
        consider(snap, METRIC_HOST_GPU_COPY_ENGINE, "sdma=off", true, transfer);
        consider(snap, METRIC_HOST_GPU_KERNEL, "xnack=on", true, transfer);
    }
    return transfer->value != NULL && !isinf(transfer->bytes_per_s);
}

/* ---- a number that stands for it ---- */

struct reach {
    double part; /* 0 unknown */
    const char *source;
};

static const struct reach reaches[LINK_KIND_COUNT] = {
    [LINK_XGMI] = {0.75, "copies over one xGMI link of an MI250X (Schieffer et al., V-A)"},
    [LINK_NVLINK] = {0.83, "copies between H200 (tests/nodes/h200x4)"},
    [LINK_C2C] = {0.83, "copies over NVLink between H200 (tests/nodes/h200x4)"},
    [LINK_PCIE] = {0.88, "copies between an H200 and the host (tests/nodes/h200x4)"},
};

/* Notes the share of the links' stated rate that a transfer reaches. */
static void note_reach(struct matrix *matrix, const struct transfer *transfer)
{
    const struct limits_pair *pair = limits_pair(matrix->limits, transfer->from, transfer->to);
    enum link_kind kind;
    if (transfer->source == SOURCE_NOMINAL || !(pair->bytes_per_s > 0) ||
        !limits_link_kind(matrix->limits, pair, &kind))
        return;
    double *its = &matrix->reached[transfer->by][transfer_is_peer(transfer)][kind],
           part = fmin(transfer->bytes_per_s / pair->bytes_per_s, 1);
    if (transfer->source == SOURCE_MEASURED)
        *its = fmax(*its, part);
    else if (*its <= 0)
        *its = fmin(*its, -part);
}

/* Scales the stated rate of links. With the host both mechanisms pass the same port. */
static void scale(const struct matrix *matrix, struct transfer *transfer)
{
    const struct limits_pair *pair = limits_pair(matrix->limits, transfer->from, transfer->to);
    bool peer = transfer_is_peer(transfer);
    enum link_kind kind;
    if (!limits_link_kind(matrix->limits, pair, &kind))
        return;
    double its = fabs(matrix->reached[transfer->by][peer][kind]);
    if (!(its > 0) && !peer)
        its = fabs(matrix->reached[other_of(transfer->by)][0][kind]);
    double part = its > 0 ? its : reaches[kind].part;
    transfer->stated = pair->bytes_per_s;
    transfer->reach = its > 0 ? "such transfers here" : part > 0 ? reaches[kind].source : NULL;
    if (part > 0 && part * pair->bytes_per_s < transfer->bytes_per_s)
        transfer->bytes_per_s = part * pair->bytes_per_s;
}

static const struct value **most_at(const struct matrix *matrix, place_id memory, enum end end,
                                    bool other_is_gpu, enum mechanism by)
{
    size_t at = ((size_t)matrix->number[memory] * 2 + (size_t)end) * 2 + other_is_gpu;
    return &matrix->most[at * MECHANISMS + (size_t)by];
}

static void raise_most(const struct matrix *matrix, place_id from, place_id to, enum mechanism by,
                       const struct value *value)
{
    const struct value **at[] = {most_at(matrix, from, END_OUT, is_gpu(matrix, to), by),
                                 most_at(matrix, to, END_IN, is_gpu(matrix, from), by)};
    for (size_t end = 0; end < 2 && value != NULL; end++)
        if (*at[end] == NULL || value->value > (*at[end])->value)
            *at[end] = value;
}

/* Reads and writes by a GPU's kernels bound copies with that host memory. */
static void raise_by_access(const struct matrix *matrix, place_id gpu, place_id numa)
{
    const struct values *values = matrix->snap->values;
    const struct value *read =
                           values_find(values, METRIC_HOST_GPU_KERNEL, numa, gpu, "operation=read"),
                       *write = values_find(values, METRIC_HOST_GPU_KERNEL, gpu, numa,
                                            "operation=write");
    if (read == NULL)
        read = values_find(values, METRIC_MEMORY_BANDWIDTH, gpu, numa, "");
    if (write == NULL)
        write = values_find(values, METRIC_MEMORY_BANDWIDTH, gpu, numa, "operation=write");
    raise_most(matrix, numa, gpu, MECHANISM_KERNEL, read);
    raise_most(matrix, gpu, numa, MECHANISM_KERNEL, write);
}

/* Bounds a transfer by the highest rates known at its ends: by its mechanism in its direction, in
 * the other one; with the host by the other mechanism, too. The first that is known counts. */
static void bound_by_ends(const struct matrix *matrix, struct transfer *transfer)
{
    bool from_gpu = is_gpu(matrix, transfer->from), to_gpu = is_gpu(matrix, transfer->to);
    for (unsigned step = 0; step < (from_gpu && to_gpu ? 2U : 4U); step++) {
        enum mechanism by = step < 2 ? transfer->by : other_of(transfer->by);
        const struct value *at[] = {
            *most_at(matrix, transfer->from, step % 2 == 0 ? END_OUT : END_IN, to_gpu, by),
            *most_at(matrix, transfer->to, step % 2 == 0 ? END_IN : END_OUT, from_gpu, by)};
        for (size_t end = 0; end < 2; end++)
            if (at[end] != NULL && at[end]->value < transfer->bytes_per_s) {
                bool is_reverse = at[end]->from == transfer->to && at[end]->to == transfer->from;
                transfer->bytes_per_s = at[end]->value;
                transfer->value = at[end];
                transfer->basis = is_reverse ? BASIS_REVERSE : BASIS_END;
                transfer->source =
                    is_reverse ? estimate_worse(SOURCE_REVERSE_DIRECTION, estimate_source(at[end]))
                               : SOURCE_NOMINAL;
            }
        if (at[0] != NULL || at[1] != NULL)
            return;
    }
}

/* The rate of a GPU's kernels in its own memory: copies, or reads where only these are known. */
static const struct value *own_stream(const struct snapshot *snap, place_id gpu)
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

/* That of the GPU, or of one of its model: measured first. */
static const struct value *model_stream(const struct snapshot *snap, place_id gpu)
{
    const struct graph *graph = snap->graph;
    const struct value *found = own_stream(snap, gpu);
    for (place_id g = graph_next(graph, PLACE_GPU, 0);
         g != PLACE_NONE && (found == NULL || found->source != VALUE_MEASURED);
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const struct value *rate =
            graph_place(graph, gpu)->model != NULL && matrix_same_model(graph, g, gpu)
                ? own_stream(snap, g)
                : NULL;
        found = rate != NULL && (found == NULL || rate->source == VALUE_MEASURED) ? rate : found;
    }
    return found;
}

/* Kernels of a GPU that shares its cores' memory read and write that memory, whatever the link
 * carries. */
static void take_memory(const struct snapshot *snap, struct transfer *transfer)
{
    place_id numa = graph_place(snap->graph, transfer->from)->kind == PLACE_NUMA ? transfer->from
                                                                                 : transfer->to;
    const struct value *rate = model_stream(snap, transfer->driver),
                       *stated = values_find(snap->values, METRIC_MEMORY_BANDWIDTH, numa, numa, "");
    if (rate == NULL && stated != NULL && stated->source == VALUE_NOMINAL && stated->value > 0)
        rate = stated;
    if (rate == NULL)
        return;
    transfer->basis = BASIS_MEMORY;
    transfer->bytes_per_s = rate->value / 2;
    transfer->value = rate;
}

const struct value *matrix_access_bound(const struct snapshot *snap, place_id by, place_id memory,
                                        bool is_read)
{
    return values_find(snap->values, METRIC_MEMORY_BANDWIDTH_BOUND, by, memory,
                       is_read ? "" : "operation=write");
}

static void bound_by_access(const struct snapshot *snap, struct transfer *transfer)
{
    bool is_read = transfer->driver == transfer->to;
    const struct value *bound =
        transfer->by == MECHANISM_KERNEL
            ? matrix_access_bound(snap, transfer->driver, is_read ? transfer->from : transfer->to,
                                  is_read)
            : NULL;
    if (bound == NULL || !(bound->value < transfer->bytes_per_s))
        return;
    transfer->bytes_per_s = bound->value;
    transfer->value = bound;
    transfer->basis = BASIS_BOUND;
    transfer->stated = 0;
    transfer->reach = NULL;
}

/* The measured number of the opposite direction, without a setting of the program; a published one
 * only where links say nothing. */
static bool take_reverse(const struct matrix *matrix, bool is_linked, struct transfer *transfer)
{
    const struct transfer *back = find_own(matrix, transfer->to, transfer->from, transfer->by);
    const char *axes = back != NULL ? values_axes(matrix->snap->values, back->value) : "";
    if (back == NULL || (*axes != '\0' && strcmp(axes, "direction=read") != 0) ||
        (back->source != SOURCE_MEASURED && is_linked))
        return false;
    transfer->basis = BASIS_REVERSE;
    transfer->source = SOURCE_REVERSE_DIRECTION;
    transfer->value = back->value;
    transfer->bytes_per_s = back->bytes_per_s;
    transfer->drift = back->drift;
    return true;
}

/* What the links between carry, and all that bounds it. */
static void take_links(const struct matrix *matrix, const struct limits_pair *pair,
                       struct transfer *transfer)
{
    bool shares = transfer->by == MECHANISM_KERNEL &&
                  endpoints_share_memory(matrix->graph, transfer->from, transfer->to);
    transfer->basis = BASIS_LINKS;
    transfer->source = SOURCE_NOMINAL;
    transfer->bytes_per_s = pair->bytes_per_s;
    transfer->value = pair->cores;
    if (transfer->kind == TRANSFER_PEER_ENGINE) {
        transfer->engine = engine_limit_of(matrix->graph, transfer->driver);
        if (transfer->engine != NULL && transfer->engine->bytes_per_s < transfer->bytes_per_s) {
            transfer->bytes_per_s = transfer->engine->bytes_per_s;
            transfer->basis = BASIS_ENGINE;
            transfer->source = SOURCE_PUBLISHED;
        }
    }
    if (shares)
        take_memory(matrix->snap, transfer);
    else
        bound_by_ends(matrix, transfer);
    if (transfer->value == NULL && !shares)
        scale(matrix, transfer);
    bound_by_access(matrix->snap, transfer);
    if (transfer->basis >= BASIS_END)
        transfer->source = SOURCE_NOMINAL;
}

/* Neither vendor's runtime opens the other's GPUs. */
static bool is_between_vendors(const struct matrix *matrix, place_id from, place_id to)
{
    return is_gpu(matrix, from) && is_gpu(matrix, to) &&
           endpoints_vendors_differ(matrix->graph, from, to);
}

/* The GPU whose memory a NUMA node is together with its cores; the memory itself. */
static place_id owner_of(const struct matrix *matrix, place_id memory)
{
    place_id apu = is_gpu(matrix, memory) ? PLACE_NONE : gpu_apu_at(matrix->graph, memory);
    return apu != PLACE_NONE ? apu : memory;
}

/* True for two memories of which one is a GPU's, alone or with its cores, and between which bytes
 * may move. */
static bool may_move(const struct matrix *matrix, size_t from, size_t to)
{
    place_id f = matrix->memory[from], t = matrix->memory[to];
    return from != to &&
           (is_gpu(matrix, owner_of(matrix, f)) || is_gpu(matrix, owner_of(matrix, t))) &&
           !matrix->is_gone[from] && !matrix->is_gone[to] && !is_between_vendors(matrix, f, t);
}

static void set(struct matrix *matrix, size_t from, size_t to, const struct transfer *transfer)
{
    size_t i = index_of(matrix, from, to, transfer->by);
    assert(matrix->item != NULL); /* allocate() */
    matrix->item[i].alone = *transfer;
    matrix->is_known[i] = true;
}

/* The second pass, once all numbers of their own are known. Memory that cores share with another
 * GPU is reached as that GPU's. */
static void stand_in(struct matrix *matrix, size_t from, size_t to, enum mechanism by)
{
    place_id f = matrix->memory[from], t = matrix->memory[to];
    place_id f_owner = owner_of(matrix, f), t_owner = owner_of(matrix, t);
    if (matrix_find(matrix, f, t, by) != NULL)
        return;
    if (f_owner != f && f_owner != t)
        f = f_owner;
    if (t_owner != t && t_owner != f)
        t = t_owner;
    if (is_between_vendors(matrix, f, t))
        return;
    const struct transfer *owners = find_own(matrix, f, t, by);
    struct transfer transfer = transfer_none(matrix->graph, f, t, by);
    const struct limits_pair *pair = limits_pair(matrix->limits, f, t);
    bool is_linked = pair->bytes_per_s > 0 && !isinf(pair->bytes_per_s);
    transfer.drift = agreement_of(matrix->limits->agree, transfer.kind);
    if (owners != NULL)
        transfer = *owners;
    else if (!take_reverse(matrix, is_linked, &transfer) && is_linked)
        take_links(matrix, pair, &transfer);
    if (transfer.bytes_per_s > 0)
        set(matrix, from, to, &transfer);
}

/* ---- making it ---- */

static bool allocate(struct matrix *matrix, size_t places, size_t memories)
{
    size_t items = memories * memories * MECHANISMS + 1;
    matrix->memory = calloc(memories + 1, sizeof *matrix->memory);
    matrix->number = calloc(places + 1, sizeof *matrix->number);
    matrix->is_gone = calloc(memories + 1, sizeof *matrix->is_gone);
    matrix->item = calloc(items, sizeof *matrix->item);
    matrix->is_known = calloc(items, sizeof *matrix->is_known);
    matrix->most = calloc(memories * 4 * MECHANISMS + 1, sizeof *matrix->most);
    return matrix->memory != NULL && matrix->number != NULL && matrix->is_gone != NULL &&
           matrix->item != NULL && matrix->is_known != NULL && matrix->most != NULL;
}

static void list_memories(struct matrix *matrix)
{
    const struct graph *graph = matrix->graph;
    for (size_t p = 0; p < graph->place_count; p++) {
        bool gpu = graph->places[p].kind == PLACE_GPU;
        matrix->number[p] = -1;
        if (!gpu && graph->places[p].kind != PLACE_NUMA)
            continue;
        matrix->number[p] = (int32_t)matrix->memory_count;
        /* it was lost, or its slices are GPUs of their own */
        matrix->is_gone[matrix->memory_count] =
            gpu && (endpoints_is_lost(matrix->snap, (place_id)p) || gpu_is_cut(graph, (place_id)p));
        matrix->memory[matrix->memory_count++] = (place_id)p;
    }
}

static void find_own_numbers(struct matrix *matrix)
{
    for (size_t f = 0; f < matrix->memory_count; f++)
        for (size_t t = 0; t < matrix->memory_count; t++)
            for (int by = 0; by < MECHANISMS && may_move(matrix, f, t); by++) {
                struct transfer transfer = transfer_none(matrix->graph, matrix->memory[f],
                                                         matrix->memory[t], (enum mechanism)by);
                transfer.drift = agreement_of(matrix->limits->agree, transfer.kind);
                if ((!is_gpu(matrix, transfer.from) && !is_gpu(matrix, transfer.to)) ||
                    !take_own(matrix, &transfer))
                    continue;
                set(matrix, f, t, &transfer);
                note_reach(matrix, &transfer);
                raise_most(matrix, transfer.from, transfer.to, transfer.by, transfer.value);
            }
}

static void find_others(struct matrix *matrix)
{
    const place_id *memory = matrix->memory;
    for (size_t g = 0; g < matrix->memory_count; g++)
        for (size_t n = 0; n < matrix->memory_count; n++)
            if (is_gpu(matrix, memory[g]) && !is_gpu(matrix, memory[n]) &&
                matrix_find(matrix, memory[n], memory[g], MECHANISM_KERNEL) == NULL &&
                matrix_find(matrix, memory[g], memory[n], MECHANISM_KERNEL) == NULL)
                raise_by_access(matrix, memory[g], memory[n]);
    /* find_own() keeps these apart from what they are found by */
    for (size_t f = 0; f < matrix->memory_count; f++)
        for (size_t t = 0; t < matrix->memory_count; t++)
            for (int by = 0; by < MECHANISMS && may_move(matrix, f, t); by++)
                stand_in(matrix, f, t, (enum mechanism)by);
}

struct matrix *matrix_new(const struct snapshot *snap)
{
    const struct graph *graph = snap->graph;
    struct matrix *matrix = calloc(1, sizeof *matrix);
    if (matrix == NULL)
        return NULL;
    matrix->snap = snap;
    matrix->graph = graph;
    matrix->limits = snap->derived.limits;
    if (!allocate(matrix, graph->place_count,
                  graph_count(graph, PLACE_GPU) + graph_count(graph, PLACE_NUMA))) {
        matrix_free(matrix);
        return NULL;
    }
    list_memories(matrix);
    find_own_numbers(matrix);
    find_others(matrix);
    return matrix;
}

void matrix_free(struct matrix *matrix)
{
    if (matrix == NULL)
        return;
    free(matrix->memory);
    free(matrix->number);
    free(matrix->is_gone);
    free(matrix->item);
    free(matrix->is_known);
    free(matrix->most);
    free(matrix);
}

/* ---- asking it ---- */

struct transfer matrix_of_class(const struct matrix_item *item)
{
    struct transfer transfer = item->alone;
    const struct transfer *peer = item->peer;
    bool is_similar = peer->sizes == SOURCE_SIMILAR_PAIR ||
                      (peer->curve != NULL ? !matrix_has_own_sizes(&transfer)
                                           : transfer.sizes == SOURCE_SIMILAR_PAIR);
    transfer.curve = peer->curve;
    transfer.sizes = is_similar ? SOURCE_SIMILAR_PAIR : peer->sizes;
    transfer.bytes_per_s = peer->bytes_per_s;
    transfer.low = peer->low;
    transfer.high = peer->high;
    transfer.t0_queue_ns = peer->t0_queue_ns;
    transfer.t0_call_ns = peer->t0_call_ns;
    transfer.call = peer->call;
    transfer.least_bytes = peer->least_bytes;
    return transfer;
}

size_t matrix_memories(const struct matrix *matrix, const place_id **ret_memory)
{
    *ret_memory = matrix->memory;
    return matrix->memory_count;
}

const struct value *matrix_published_both(const struct snapshot *snap,
                                          const struct transfer *transfer)
{
    const struct limits *limits = snap->derived.limits;
    const struct value *first, *like = NULL;
    if (transfer->by != MECHANISM_KERNEL || !transfer_is_peer(transfer))
        return NULL;
    const struct limits_pair *pair = limits_pair(limits, transfer->from, transfer->to);
    size_t count = values_range(snap->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &first);
    for (const struct value *v = first; v < first + count; v++) {
        enum link_kind kind, its;
        if (v->source != VALUE_PUBLISHED || !(v->value > 0) || v->from == v->to ||
            graph_place(snap->graph, v->from)->kind != PLACE_GPU ||
            graph_place(snap->graph, v->to)->kind != PLACE_GPU ||
            strcmp(values_axes(snap->values, v), "operation=copy") != 0)
            continue;
        if ((v->from == transfer->from && v->to == transfer->to) ||
            (v->from == transfer->to && v->to == transfer->from))
            return v;
        const struct limits_pair *other = limits_pair(limits, v->from, v->to);
        if (limits_link_kind(limits, pair, &kind) && limits_link_kind(limits, other, &its) &&
            kind == its && pair->bytes_per_s == other->bytes_per_s)
            like = v;
    }
    return like;
}

bool matrix_is_relay(const struct matrix *matrix, place_id memory)
{
    return matrix->number[memory] >= 0 &&
           (is_gpu(matrix, memory) || endpoints_gpu_of(matrix->graph, memory) == PLACE_NONE);
}

bool matrix_is_guess(const struct matrix *matrix, place_id from, place_id to, enum mechanism by)
{
    const struct matrix_item *its = matrix_find(matrix, from, to, by),
                             *other = matrix_find(matrix, from, to, other_of(by));
    return (its == NULL || its->alone.basis > BASIS_REVERSE) && other != NULL &&
           other->alone.basis <= BASIS_REVERSE;
}

void matrix_why_not(const struct snapshot *snap, place_id from, place_id to,
                    char text[MATRIX_WHY_SIZE])
{
    const struct graph *graph = snap->graph;
    uint32_t link = limits_pair(snap->derived.limits, from, to)->unstated;
    *text = '\0';
    if (graph_place(graph, from)->kind == PLACE_GPU && graph_place(graph, to)->kind == PLACE_GPU &&
        endpoints_vendors_differ(graph, from, to))
        snprintf(text, MATRIX_WHY_SIZE,
                 ": no runtime copies between gpus of two vendors, only through memory of the host "
                 "(Route)");
    else if (link != LIMITS_NO_LINK)
        snprintf(text, MATRIX_WHY_SIZE, ": nothing says what goes between %s and %s",
                 graph_place(graph, graph->links[link].from)->name,
                 graph_place(graph, graph->links[link].to)->name);
}
