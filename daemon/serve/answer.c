#include "serve/answer.h"

#include <math.h>
#include <stdio.h>

#include "cost/evidence.h"
#include "node/jsonify.h"
#include "node/reasons.h"

bool answer_set(json_t *object, const char *key, json_t *take_value)
{
    return json_object_set_new_nocheck(object, key, take_value) == 0;
}

bool answer_append(json_t *array, json_t *take_value)
{
    return json_array_append_new(array, take_value) == 0;
}

static json_t *done(json_t *json, bool ok)
{
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static const char *const source_names[] = {[SOURCE_MEASURED] = "measured",
                                           [SOURCE_SIMILAR_PAIR] = "similar_pair",
                                           [SOURCE_REVERSE_DIRECTION] = "reverse_direction",
                                           [SOURCE_PUBLISHED] = "published",
                                           [SOURCE_NOMINAL] = "nominal",
                                           [SOURCE_LOWER_BOUND] = "lower_bound"};

const char *answer_source_name(enum source source) { return source_names[source]; }

static const char *by_whom(bool is_own) { return is_own ? "own" : "root"; }

static void print_correction(struct print *print, const struct report_named *named)
{
    if (named->correction.reports == 0) {
        print_null(print);
        return;
    }
    print_open(print, '{');
    print_key(print, "factor");
    print_real(print, named->correction.factor);
    print_key(print, "reports");
    print_integer(print, named->correction.reports);
    print_key(print, "by");
    print_name(print, by_whom(named->is_own));
    print_close(print, '}');
}

void answer_print_prediction(struct print *print, const struct report_named *named,
                             const char *bottleneck)
{
    const struct estimate *prediction = &named->predicted;
    if (!isfinite(prediction->time_ns)) {
        print_null(print);
        return;
    }
    print_open(print, '{');
    print_key(print, "time_ns");
    print_real(print, prediction->time_ns);
    print_key(print, "low_ns");
    print_real(print, prediction->low_ns);
    print_key(print, "high_ns");
    print_real(print, prediction->high_ns);
    print_key(print, "bottleneck");
    print_string(print, bottleneck);
    print_key(print, "source");
    print_name(print, source_names[prediction->source]);
    print_key(print, "correction");
    print_correction(print, named);
    print_key(print, "id");
    print_string(print, named->id[0] != '\0' ? named->id : NULL);
    print_close(print, '}');
}

static void print_one(struct print *print, const struct snapshot *snap, const struct value *v)
{
    const struct metric_info *info = metric_info(v->metric);
    print_open(print, '{');
    print_key(print, "metric");
    print_name(print, info->name);
    print_key(print, "from");
    print_name(print, graph_place(snap->graph, v->from)->name);
    print_key(print, "to");
    print_name(print, graph_place(snap->graph, v->to)->name);
    print_key(print, "axes");
    jsonify_print_axes(print, v->metric, values_axes(snap->values, v));
    print_key(print, "value");
    print_real(print, v->value);
    print_key(print, "low");
    print_real(print, v->low);
    print_key(print, "high");
    print_real(print, v->high);
    print_key(print, "unit");
    print_name(print, info->unit);
    print_key(print, "source");
    print_name(print, value_source_name(v->source));
    print_key(print, "measured_at_s");
    print_count(print, v->measured_at_s > 0 ? v->measured_at_s : -1);
    print_close(print, '}');
}

/* Sum over the transfers of one concurrent-transfer run, in bytes/s. */
struct total {
    double value, low, high;
};

static struct total total_of(const struct set *set)
{
    struct total total = {0, 0, 0};
    for (size_t i = 0; i < set->flow_count; i++) {
        total.value += set->flow[i].bytes_per_s;
        total.low += set->flow[i].low;
        total.high += set->flow[i].high;
    }
    return total;
}

static void flow_name(const struct graph *graph, const struct set_flow *flow, char *buffer,
                      size_t size)
{
    snprintf(buffer, size, "%s>%s", graph_place(graph, flow->from)->name,
             graph_place(graph, flow->to)->name);
}

static void print_set(struct print *print, const struct snapshot *snap, const struct set *set)
{
    const struct metric_info *info = metric_info(set->metric);
    struct total total = total_of(set);
    char name[48];
    print_open(print, '{');
    print_key(print, "metric");
    print_name(print, info->name);
    print_key(print, "from");
    print_name(print, graph_place(snap->graph, set->flow[0].from)->name);
    print_key(print, "to");
    print_name(print, graph_place(snap->graph, set->flow[0].to)->name);
    print_key(print, "axes");
    jsonify_print_axes(print, set->metric, set->flow[0].axes);
    print_key(print, "flows");
    print_open(print, '[');
    for (size_t i = 0; i < set->flow_count; i++) {
        flow_name(snap->graph, &set->flow[i], name, sizeof name);
        print_string(print, name);
    }
    print_close(print, ']');
    print_key(print, "value");
    print_real(print, total.value);
    print_key(print, "low");
    print_real(print, total.low);
    print_key(print, "high");
    print_real(print, total.high);
    print_key(print, "unit");
    print_name(print, info->unit);
    print_key(print, "source");
    print_name(print, value_source_name(set->source));
    print_key(print, "measured_at_s");
    print_count(print, set->measured_at_s > 0 ? set->measured_at_s : -1);
    print_close(print, '}');
}

void answer_print_evidence(struct print *print, const struct snapshot *snap,
                           const struct evidence *evidence, size_t first, size_t count)
{
    print_open(print, '[');
    for (size_t i = first; i < first + count; i++)
        if (evidence->item[i] != NULL)
            print_one(print, snap, evidence->item[i]);
        else
            print_set(print, snap, evidence->set[i]);
    print_close(print, ']');
}

static void print_reason(struct print *print, const struct reason *reason)
{
    char name[32];
    print_open(print, '{');
    print_key(print, "code");
    print_name(print, reasons_code_name(reason->code));
    print_key(print, "subjects");
    print_open(print, '[');
    for (size_t i = 0; i < reason->subject_count; i++)
        print_string(print, reason->subject[i]);
    print_close(print, ']');
    print_key(print, "numbers");
    print_open(print, '{');
    for (size_t i = 0; i < reason->number_count; i++)
        if (isfinite(reason->number[i])) {
            print_key(print, reasons_number_name(reason->code, i, name));
            print_real(print, reason->number[i]);
        }
    print_close(print, '}');
    print_key(print, "text");
    print_string(print, reason->text);
    print_close(print, '}');
}

void answer_print_reasons(struct print *print, const struct reasons *reasons)
{
    print_open(print, '[');
    for (size_t i = 0; i < reasons->count; i++)
        print_reason(print, &reasons->item[i]);
    print_close(print, ']');
}

json_t *answer_correction(const struct correction *correction, bool is_own)
{
    if (correction->reports == 0)
        return json_null();
    json_t *json = json_object();
    bool ok = answer_set(json, "factor", json_real(correction->factor)) &&
              answer_set(json, "reports", json_integer(correction->reports)) &&
              answer_set(json, "by", json_string_nocheck(by_whom(is_own)));
    return done(json, ok);
}

json_t *answer_prediction(const struct report_named *named, const char *bottleneck)
{
    const struct estimate *prediction = &named->predicted;
    if (!isfinite(prediction->time_ns))
        return json_null();
    json_t *json = json_object();
    bool ok =
        answer_set(json, "time_ns", json_real(prediction->time_ns)) &&
        answer_set(json, "low_ns", jsonify_number(prediction->low_ns)) &&
        answer_set(json, "high_ns", jsonify_number(prediction->high_ns)) &&
        answer_set(json, "bottleneck",
                   bottleneck != NULL ? json_string_nocheck(bottleneck) : json_null()) &&
        answer_set(json, "source", json_string_nocheck(source_names[prediction->source])) &&
        answer_set(json, "correction", answer_correction(&named->correction, named->is_own)) &&
        answer_set(json, "id", named->id[0] != '\0' ? json_string_nocheck(named->id) : json_null());
    return done(json, ok);
}

static json_t *one(const struct snapshot *snap, const struct value *v)
{
    const struct metric_info *info = metric_info(v->metric);
    json_t *json = json_object();
    bool ok =
        answer_set(json, "metric", json_string_nocheck(info->name)) &&
        answer_set(json, "from", json_string_nocheck(graph_place(snap->graph, v->from)->name)) &&
        answer_set(json, "to", json_string_nocheck(graph_place(snap->graph, v->to)->name)) &&
        answer_set(json, "axes", jsonify_axes(v->metric, values_axes(snap->values, v))) &&
        answer_set(json, "value", json_real(v->value)) &&
        answer_set(json, "low", jsonify_number(v->low)) &&
        answer_set(json, "high", jsonify_number(v->high)) &&
        answer_set(json, "unit", json_string_nocheck(info->unit)) &&
        answer_set(json, "source", json_string_nocheck(value_source_name(v->source))) &&
        answer_set(json, "measured_at_s",
                   jsonify_count(v->measured_at_s > 0 ? v->measured_at_s : -1));
    return done(json, ok);
}

static json_t *one_set(const struct snapshot *snap, const struct set *set)
{
    const struct metric_info *info = metric_info(set->metric);
    struct total total = total_of(set);
    json_t *json = json_object(), *flows = json_array();
    bool ok = flows != NULL;
    for (size_t i = 0; ok && i < set->flow_count; i++) {
        char name[48];
        flow_name(snap->graph, &set->flow[i], name, sizeof name);
        ok = answer_append(flows, json_string_nocheck(name));
    }
    ok = answer_set(json, "flows", flows) && ok &&
         answer_set(json, "metric", json_string_nocheck(info->name)) &&
         answer_set(json, "from",
                    json_string_nocheck(graph_place(snap->graph, set->flow[0].from)->name)) &&
         answer_set(json, "to",
                    json_string_nocheck(graph_place(snap->graph, set->flow[0].to)->name)) &&
         answer_set(json, "axes", jsonify_axes(set->metric, set->flow[0].axes)) &&
         answer_set(json, "value", json_real(total.value)) &&
         answer_set(json, "low", jsonify_number(total.low)) &&
         answer_set(json, "high", jsonify_number(total.high)) &&
         answer_set(json, "unit", json_string_nocheck(info->unit)) &&
         answer_set(json, "source", json_string_nocheck(value_source_name(set->source))) &&
         answer_set(json, "measured_at_s",
                    jsonify_count(set->measured_at_s > 0 ? set->measured_at_s : -1));
    return done(json, ok);
}

json_t *answer_evidence(const struct snapshot *snap, const struct evidence *evidence, size_t first,
                        size_t count)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = first; ok && i < first + count; i++)
        ok = answer_append(array, evidence->item[i] != NULL ? one(snap, evidence->item[i])
                                                            : one_set(snap, evidence->set[i]));
    return done(array, ok);
}

json_t *answer_reason(const struct reason *reason)
{
    char name[32];
    json_t *json = json_object(), *subjects = json_array(), *numbers = json_object();
    bool ok = subjects != NULL && numbers != NULL;
    for (size_t i = 0; ok && i < reason->subject_count; i++)
        ok = answer_append(subjects, json_string(reason->subject[i]));
    for (size_t i = 0; ok && i < reason->number_count; i++)
        if (isfinite(reason->number[i]))
            ok = json_object_set_new_nocheck(numbers, reasons_number_name(reason->code, i, name),
                                             json_real(reason->number[i])) == 0;
    ok = answer_set(json, "subjects", subjects) && ok;
    ok = answer_set(json, "numbers", numbers) && ok;
    ok = answer_set(json, "code", json_string_nocheck(reasons_code_name(reason->code))) && ok &&
         answer_set(json, "text", json_string(reason->text));
    return done(json, ok);
}

json_t *answer_reasons(const struct reasons *reasons)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < reasons->count; i++)
        ok = answer_append(array, answer_reason(&reasons->item[i]));
    return done(array, ok);
}
