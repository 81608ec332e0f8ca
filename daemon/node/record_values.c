#include "node/record_values.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "node/spread.h"
#include "node/transfer.h"

static enum berth_code check_ends(const struct graph *graph, enum metric metric, place_id from,
                                  place_id to, struct berth_err *err)
{
    const char *why = values_why_no_self(graph, metric, from, to);
    return why == NULL ? BERTH_OK
                       : err_set(err, BERTH_BAD_DATA, "%s from %s to itself: %s",
                                 metric_info(metric)->name, graph_place(graph, from)->name, why);
}

static enum berth_code add(struct values *values, const struct value *v, const char *axes,
                           const char *why, struct berth_err *err)
{
    if (!values_add(values, v, axes, why))
        return err_set(err, BERTH_NO_MEMORY, "out of memory for %zu values", values->count);
    return BERTH_OK;
}

static enum berth_code add_samples(const struct record *record, struct value *v,
                                   struct values *values, struct berth_err *err)
{
    bool is_rate = strcmp(metric_info(record->value.metric)->unit, "bytes_per_s") == 0;
    for (size_t i = 0; i < record->value.sample_count; i++) {
        const struct record_sample *sample = &record->value.samples[i];
        double scale = (double)sample->bytes * 1e9;
        v->value = is_rate ? scale / sample->median_ns : sample->median_ns;
        v->low = is_rate ? scale / sample->high_ns : sample->low_ns;
        v->high = is_rate ? scale / sample->low_ns : sample->high_ns;
        if (isinf(v->high)) /* a time of zero bounds no rate */
            v->low = v->high = NAN;
        v->n = sample->n;
        char axes[sizeof record->value.axes];
        enum berth_code code =
            record_axes(record, record->value.metric, sample->bytes, axes, sizeof axes, err);
        if (code == BERTH_OK)
            code = add(values, v, axes, NULL, err);
        if (code != BERTH_OK)
            return code;
    }
    return BERTH_OK;
}

/* Converts the interval of single calls in the record to that of their median in the value:
 * node/spread.h derives the former from the latter. */
static void set_calls(const struct record *record, struct value *v)
{
    double scale = spread_interval(1, record->value.t0_call_n);
    v->low = v->value - (v->value - record->value.t0_call_low_ns) * scale;
    v->high = v->value + (record->value.t0_call_high_ns - v->value) * scale;
    v->n = record->value.t0_call_n;
}

/* Adds the start-up times of the transfer; only calls have an interval. */
static enum berth_code add_overheads(const struct record *record, const struct value *transfer,
                                     struct values *values, struct berth_err *err)
{
    const double *t0_ns = record->value.t0_ns;
    enum berth_code code = BERTH_OK;
    for (int clock = 0; clock < TRANSFER_CLOCKS && code == BERTH_OK; clock++) {
        struct value v = *transfer;
        char axes[TRANSFER_AXES_MAX];
        if (isnan(t0_ns[clock]))
            continue;
        transfer_overhead_axes(record->value.metric, record->value.axes, clock, axes, sizeof axes);
        v.metric = METRIC_TRANSFER_OVERHEAD;
        v.value = t0_ns[clock];
        v.low = v.high = NAN;
        if (clock == TRANSFER_CALL)
            set_calls(record, &v);
        code = add(values, &v, axes, NULL, err);
    }
    return code;
}

enum berth_code record_add_values(const struct record *record, const struct graph *graph,
                                  enum value_source source, int64_t measured_at_s,
                                  struct values *values, struct berth_err *err)
{
    assert(record->kind == RECORD_VALUE || record->kind == RECORD_SKIP);
    bool is_skip = record->kind == RECORD_SKIP;
    const char *from = is_skip ? record->skip.from : record->value.from,
               *to = is_skip ? record->skip.to : record->value.to;
    struct value v = {.source = source,
                      .measured_at_s = measured_at_s,
                      .from = graph_find(graph, from),
                      .to = graph_find(graph, to)};
    if (v.from == PLACE_NONE || v.to == PLACE_NONE)
        return err_no_such_place(err, v.from == PLACE_NONE ? from : to);
    if (is_skip) {
        v.metric = record->skip.metric;
        v.value = v.low = v.high = NAN;
        return add(values, &v, record->skip.axes, record->skip.why, err);
    }
    v.metric = record->value.metric;
    enum berth_code code = check_ends(graph, v.metric, v.from, v.to, err);
    if (code == BERTH_OK)
        code = add_overheads(record, &v, values, err);
    if (code != BERTH_OK)
        return code;
    if (record->value.sample_count > 0)
        return add_samples(record, &v, values, err);
    v.value = record->value.value;
    v.low = record->value.low;
    v.high = record->value.high;
    v.n = record->value.n;
    return add(values, &v, record->value.axes, NULL, err);
}

enum berth_code record_add_plain(const struct record_plain *plain, const struct graph *graph,
                                 enum value_source source, int64_t measured_at_s,
                                 struct values *values, struct berth_err *err)
{
    struct value v = {.metric = plain->metric,
                      .source = source,
                      .measured_at_s = measured_at_s,
                      .value = plain->value,
                      .low = plain->low,
                      .high = plain->high,
                      .n = plain->n,
                      .from = graph_find(graph, plain->from),
                      .to = graph_find(graph, plain->to)};
    if (v.from == PLACE_NONE || v.to == PLACE_NONE)
        return err_no_such_place(err, v.from == PLACE_NONE ? plain->from : plain->to);
    enum berth_code code = check_ends(graph, v.metric, v.from, v.to, err);
    return code == BERTH_OK ? add(values, &v, plain->axes, NULL, err) : code;
}

bool record_add_broken(const char *line, size_t length, const struct graph *graph,
                       enum value_source source, int64_t measured_at_s, const char *why,
                       struct values *values)
{
    struct record_plain plain;
    if (!record_plain_cell(line, length, &plain))
        return false;
    const struct value none = {.metric = plain.metric,
                               .source = source,
                               .measured_at_s = measured_at_s,
                               .value = (double)NAN,
                               .low = (double)NAN,
                               .high = (double)NAN,
                               .from = graph_find(graph, plain.from),
                               .to = graph_find(graph, plain.to)};
    return none.from != PLACE_NONE && none.to != PLACE_NONE &&
           values_why_no_self(graph, none.metric, none.from, none.to) == NULL &&
           values_add(values, &none, plain.axes, why);
}

enum berth_code record_add_set(const struct record *record, const struct graph *graph,
                               enum value_source source, int64_t measured_at_s, struct sets *sets,
                               struct berth_err *err)
{
    assert(record->kind == RECORD_SET);
    struct set_flow flows[SETS_FLOWS_MAX];
    struct set set = {record->set.metric, source, measured_at_s, flows, record->set.flow_count};
    for (size_t i = 0; i < set.flow_count; i++) {
        struct record_flow *flow = &record->set.flows[i];
        flows[i] = (struct set_flow){graph_find(graph, flow->from),
                                     graph_find(graph, flow->to),
                                     flow->axes,
                                     flow->bytes_per_s,
                                     flow->low,
                                     flow->high};
        if (flows[i].from == PLACE_NONE || flows[i].to == PLACE_NONE)
            return err_no_such_place(err, flows[i].from == PLACE_NONE ? flow->from : flow->to);
        enum berth_code code = check_ends(graph, set.metric, flows[i].from, flows[i].to, err);
        if (code != BERTH_OK)
            return code;
    }
    return sets_add(sets, &set)
               ? BERTH_OK
               : err_set(err, BERTH_NO_MEMORY, "out of memory for %zu sets", sets->count);
}
