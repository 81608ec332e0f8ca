/* The number behind each rate: one table of rules, from the best on. */
#include <math.h>
#include <string.h>

#include "cost/endpoints.h"
#include "cost/matrix_inner.h"
#include "cost/policy.h"
#include "node/gpu.h"

/* The two ends of a transfer, for the highest rates known there. */
enum end { END_OUT, END_IN };

struct rate {
    double bytes_per_s;        /* 0 unknown */
    const struct value *value; /* NULL: of links or an engine's limit */
    place_id driver;           /* by which engine, of a rate of its own */
};

static const struct rate unknown = {.bytes_per_s = 0};

static struct rate rate_of(const struct value *value)
{
    return value != NULL ? (struct rate){.bytes_per_s = value->value, .value = value} : unknown;
}

static const struct limits_pair *links_of(const struct matrix *matrix,
                                          const struct transfer *transfer)
{
    return limits_pair(matrix->limits, transfer->from, transfer->to);
}

static bool shares_memory(const struct matrix *matrix, const struct transfer *transfer)
{
    return transfer->by == MECHANISM_KERNEL &&
           endpoints_share_memory(matrix->graph, transfer->from, transfer->to);
}

/* ---- its own ---- */

/* The values of each kind of transfers: the first, or one behind it that is better by more than
 * worth. */
static const struct candidate {
    unsigned kind;
    enum metric metric;
    const char *axes;
    double worth;
    bool by_receiver; /* by the receiver's engine; the plain call uses the sender's */
    bool by_setting;  /* of a variable that AMD's runtime reads at its start */
} candidates[] = {
    {TRANSFER_PEER_ENGINE, METRIC_GPU_GPU_COPY_ENGINE, "", 0, false, false},
    {TRANSFER_PEER_ENGINE, METRIC_GPU_GPU_COPY_ENGINE, "direction=read", POLICY_SIMILAR, true,
     false},
    {TRANSFER_PEER_KERNEL, METRIC_GPU_GPU_KERNEL, "", 0, false, false},
    {TRANSFER_PEER_KERNEL, METRIC_GPU_GPU_COPY_ENGINE, "sdma=off", POLICY_SETTING, false, true},
    {TRANSFER_HOST_ENGINE, METRIC_HOST_GPU_COPY_ENGINE, "", 0, false, false},
    {TRANSFER_HOST_KERNEL, METRIC_HOST_GPU_KERNEL, "", 0, false, false},
    {TRANSFER_HOST_KERNEL, METRIC_HOST_GPU_COPY_ENGINE, "sdma=off", POLICY_SETTING, false, true},
    {TRANSFER_HOST_KERNEL, METRIC_HOST_GPU_KERNEL, "xnack=on", POLICY_SETTING, false, true},
};

static bool is_better(const struct candidate *candidate, const struct value *value,
                      const struct value *had)
{
    bool is_measured = value->source == VALUE_MEASURED;
    if (candidate->by_setting && !is_measured)
        return false;
    if (had == NULL || is_measured != (had->source == VALUE_MEASURED))
        return had == NULL || is_measured;
    return value->value > (1 + candidate->worth) * had->value;
}

static struct rate own(const struct matrix *matrix, const struct transfer *transfer)
{
    struct rate found = unknown;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        const struct candidate *its = &candidates[i];
        const struct value *value = NULL, *alone = NULL;
        if (its->kind != transfer->kind)
            continue;
        value =
            values_find(matrix->snap->values, its->metric, transfer->from, transfer->to, its->axes);
        if ((value == NULL || value->source == VALUE_NOMINAL) && *its->axes == '\0')
            alone = limits_alone(matrix->limits, its->metric, transfer->from, transfer->to);
        value = alone != NULL ? alone : value;
        if (value == NULL || !(value->value > 0) || isinf(value->value) ||
            !is_better(its, value, found.value))
            continue;
        found = rate_of(value);
        found.driver = its->by_receiver ? transfer->to : transfer->driver;
    }
    return found;
}

/* ---- what stands for it ---- */

/* The rate of the opposite direction, without a setting of the program. */
static struct rate reverse(const struct matrix *matrix, const struct transfer *transfer)
{
    const struct transfer *back = matrix_own(matrix, transfer->to, transfer->from, transfer->by);
    return back != NULL && back->source < SOURCE_NOMINAL && !matrix_is_set(back->axes)
               ? rate_of(back->value)
               : unknown;
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
static struct rate common_memory(const struct matrix *matrix, const struct transfer *transfer)
{
    const struct snapshot *snap = matrix->snap;
    place_id numa = matrix_is_gpu(matrix, transfer->from) ? transfer->to : transfer->from;
    if (!shares_memory(matrix, transfer))
        return unknown;
    const struct value *stated = values_find(snap->values, METRIC_MEMORY_BANDWIDTH, numa, numa, "");
    struct rate rate = rate_of(model_stream(snap, transfer->driver));
    if (rate.value == NULL && stated != NULL && stated->source == VALUE_NOMINAL)
        rate = rate_of(stated);
    rate.bytes_per_s /= 2;
    return rate;
}

/* Stated by the links; with cores known over one of them, their rate. */
static struct rate links(const struct matrix *matrix, const struct transfer *transfer)
{
    const struct limits_pair *pair = links_of(matrix, transfer);
    return (struct rate){.bytes_per_s = pair->bytes_per_s, .value = pair->cores};
}

static struct rate engine(const struct matrix *matrix, const struct transfer *transfer)
{
    struct rate rate = unknown;
    (void)matrix;
    if (transfer->engine != NULL && !isinf(transfer->engine->bytes_per_s))
        rate.bytes_per_s = transfer->engine->bytes_per_s;
    return rate;
}

static const struct value **most_at(const struct matrix *matrix, place_id memory, enum end end,
                                    bool other_is_gpu, enum mechanism by)
{
    size_t at = ((size_t)matrix->number[memory] * 2 + (size_t)end) * 2 + other_is_gpu;
    return &matrix->most[at * MECHANISMS + (size_t)by];
}

/* The highest rates at the two ends: by its mechanism in its direction, in the other one; with the
 * host by the other mechanism, too. The first that is known counts. */
static struct rate ends(const struct matrix *matrix, const struct transfer *transfer)
{
    bool from_gpu = matrix_is_gpu(matrix, transfer->from),
         to_gpu = matrix_is_gpu(matrix, transfer->to);
    const struct value *least = NULL;
    for (unsigned i = 0; i < (from_gpu && to_gpu ? 2U : 4U) && least == NULL; i++) {
        enum mechanism by = i < 2 ? transfer->by : (enum mechanism) !transfer->by;
        bool back = i % 2 != 0;
        const struct value *out = *most_at(matrix, transfer->from, (enum end)back, to_gpu, by),
                           *in = *most_at(matrix, transfer->to, (enum end) !back, from_gpu, by);
        least = out == NULL || (in != NULL && in->value < out->value) ? in : out;
    }
    return shares_memory(matrix, transfer) ? unknown : rate_of(least);
}

/* Shares of the stated rate that transfers reach where no transfer here shows it. */
static const double reaches[LINK_KIND_COUNT] = {
    [LINK_XGMI] = 0.75,   /* copies over one xGMI link of an MI250X (Schieffer et al., V-A) */
    [LINK_NVLINK] = 0.83, /* copies between H200 (tests/nodes/h200x4) */
    [LINK_C2C] = 0.83,    /* the same */
    [LINK_PCIE] = 0.88,   /* copies between an H200 and the host (tests/nodes/h200x4) */
};

/* The stated rate times what such transfers reach, where no lower rate is known at an end. With the
 * host both mechanisms pass one port. */
static struct rate efficiency(const struct matrix *matrix, const struct transfer *transfer)
{
    const struct limits_pair *pair = links_of(matrix, transfer);
    bool peer = transfer_is_peer(transfer);
    enum link_kind kind;
    struct rate at_end = ends(matrix, transfer);
    if (pair->cores != NULL || shares_memory(matrix, transfer) ||
        (at_end.value != NULL && at_end.bytes_per_s < pair->bytes_per_s) ||
        !limits_link_kind(matrix->limits, pair, &kind))
        return unknown;
    double its = fabs(matrix->reached[transfer->by][peer][kind]);
    if (!(its > 0) && !peer)
        its = fabs(matrix->reached[!transfer->by][0][kind]);
    return (struct rate){.bytes_per_s = pair->bytes_per_s * (its > 0 ? its : reaches[kind])};
}

const struct value *matrix_access_bound(const struct snapshot *snap, place_id by, place_id memory,
                                        bool is_read)
{
    return values_find(snap->values, METRIC_MEMORY_BANDWIDTH_BOUND, by, memory,
                       is_read ? "" : "operation=write");
}

static struct rate access_bound(const struct matrix *matrix, const struct transfer *transfer)
{
    bool is_read = transfer->driver == transfer->to;
    return transfer->by == MECHANISM_KERNEL
               ? rate_of(matrix_access_bound(matrix->snap, transfer->driver,
                                             is_read ? transfer->from : transfer->to, is_read))
               : unknown;
}

/* ---- the table ---- */

/* The first known rule counts; of the bounds, which need links, the lowest. */
static const struct rule {
    enum basis basis;
    enum source source; /* of a rate of its own that of its value */
    bool is_bound;
    struct rate (*find)(const struct matrix *matrix, const struct transfer *transfer);
    const char *why;
} rules[] = {
    {BASIS_OWN, SOURCE_MEASURED, false, own, NULL},
    {BASIS_REVERSE, SOURCE_REVERSE_DIRECTION, false, reverse, "the rate of the other direction"},
    {BASIS_MEMORY, SOURCE_NOMINAL, false, common_memory, "half of the rate of that memory"},
    {BASIS_LINKS, SOURCE_NOMINAL, true, links, "the stated rate of the links"},
    {BASIS_ENGINE, SOURCE_PUBLISHED, true, engine, "the published limit of such copy engines"},
    {BASIS_END, SOURCE_NOMINAL, true, ends, "the highest rate at either end"},
    {BASIS_LINKS, SOURCE_NOMINAL, true, efficiency,
     "the stated rate of the links and the efficiency of such"},
    {BASIS_BOUND, SOURCE_NOMINAL, true, access_bound, "a published bound of such accesses"},
};

static void take(const struct matrix *matrix, const struct rule *rule, const struct rate *rate,
                 struct transfer *transfer, struct value *ret_stated)
{
    transfer->basis = rule->basis;
    transfer->source = rule->basis == BASIS_REVERSE
                           ? estimate_worse(rule->source, estimate_source(rate->value))
                           : rule->source;
    transfer->why = rule->why;
    transfer->bytes_per_s = rate->bytes_per_s;
    transfer->value = rate->value != NULL ? rate->value : ret_stated;
    if (rule->basis == BASIS_LINKS && transfer->value == ret_stated)
        transfer->stated = links_of(matrix, transfer)->bytes_per_s;
    *ret_stated =
        (struct value){.metric = transfer_metric(transfer),
                       .source = rule->basis == BASIS_LINKS ? VALUE_NOMINAL : VALUE_PUBLISHED,
                       .from = transfer->from,
                       .to = transfer->to,
                       .value = rule->basis == BASIS_LINKS ? transfer->stated : rate->bytes_per_s,
                       .low = NAN,
                       .high = NAN};
    if (rule->basis != BASIS_OWN)
        return;
    const struct value *own_value = transfer->value;
    const struct agreement *agreement =
        agreement_of(matrix->limits->agree, transfer_kind_of(own_value->metric));
    transfer->source = estimate_source(own_value);
    transfer->why = value_source_name(own_value->source);
    transfer->axes = values_axes(matrix->snap->values, own_value);
    transfer->driver = rate->driver;
    transfer->low = own_value->low;
    transfer->high = own_value->high;
    transfer->one = agreement != NULL ? agreement->one : 0;
    matrix_start_of(matrix->snap, transfer);
}

bool matrix_rate_of(const struct matrix *matrix, bool own_only, struct transfer *transfer,
                    struct value *ret_stated)
{
    const struct rule *found = NULL;
    struct rate rate = unknown;
    double stated = links_of(matrix, transfer)->bytes_per_s;
    bool is_linked = stated > 0 && !isinf(stated);
    transfer->engine = transfer->kind == TRANSFER_PEER_ENGINE
                           ? engine_limit_of(matrix->graph, transfer->driver)
                           : NULL;
    for (size_t i = 0; i < (own_only ? 1 : sizeof rules / sizeof *rules); i++) {
        const struct rule *rule = &rules[i];
        if (found != NULL && !found->is_bound)
            break;
        if (rule->basis > BASIS_REVERSE && !is_linked)
            break;
        struct rate its = rule->find(matrix, transfer);
        if (its.bytes_per_s > 0 && (found == NULL || its.bytes_per_s < rate.bytes_per_s)) {
            found = rule;
            rate = its;
        }
    }
    if (found != NULL)
        take(matrix, found, &rate, transfer, ret_stated);
    return found != NULL;
}

/* ---- what measured transfers show of others ---- */

static void note_end(const struct matrix *matrix, place_id from, place_id to, enum mechanism by,
                     const struct value *value)
{
    const struct value **at[] = {most_at(matrix, from, END_OUT, matrix_is_gpu(matrix, to), by),
                                 most_at(matrix, to, END_IN, matrix_is_gpu(matrix, from), by)};
    for (size_t end = 0; end < 2 && value != NULL; end++)
        if (*at[end] == NULL || value->value > (*at[end])->value)
            *at[end] = value;
}

void matrix_rate_note(struct matrix *matrix, const struct transfer *transfer)
{
    const struct limits_pair *pair = links_of(matrix, transfer);
    enum link_kind kind;
    note_end(matrix, transfer->from, transfer->to, transfer->by, transfer->value);
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

/* Reads and writes by a GPU's kernels bound copies with that host memory. */
static void note_access(const struct matrix *matrix, place_id gpu, place_id numa)
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
    note_end(matrix, numa, gpu, MECHANISM_KERNEL, read);
    note_end(matrix, gpu, numa, MECHANISM_KERNEL, write);
}

void matrix_rate_note_accesses(struct matrix *matrix)
{
    for (size_t g = 0; g < matrix->memory_count; g++)
        for (size_t n = 0; n < matrix->memory_count; n++) {
            place_id gpu = matrix->memory[g], numa = matrix->memory[n];
            if (matrix_is_gpu(matrix, gpu) && !matrix_is_gpu(matrix, numa) &&
                matrix_own(matrix, numa, gpu, MECHANISM_KERNEL) == NULL &&
                matrix_own(matrix, gpu, numa, MECHANISM_KERNEL) == NULL)
                note_access(matrix, gpu, numa);
        }
}
