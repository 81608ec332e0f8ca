#include "answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool answer_set(json_t *object, const char *key, json_t *take_value) { return json_object_set_new_nocheck(object, key, take_value) == 0; }

bool answer_append(json_t *array, json_t *take_value) { return json_array_append_new(array, take_value) == 0; }

static json_t *done(json_t *json, bool ok)
{
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

json_t *answer_basis(const struct snapshot *snap)
{
    json_t *basis = json_object();
    bool ok = answer_set(basis, "snapshot", json_string(snap->id)) && answer_set(basis, "claims", json_string("none")) &&
              answer_set(basis, "origin", json_string(origin_name(snap->graph->origin)));
    return done(basis, ok);
}

json_t *answer_number(double number) { return isfinite(number) ? json_real(number) : json_null(); }

json_t *answer_prediction(const struct prediction *prediction)
{
    if (!isfinite(prediction->time_ns))
        return json_null();
    json_t *json = json_object();
    bool ok = answer_set(json, "time_ns", json_real(prediction->time_ns)) && answer_set(json, "low_ns", answer_number(prediction->low_ns)) &&
              answer_set(json, "high_ns", answer_number(prediction->high_ns)) && answer_set(json, "bottleneck", json_null());
    return done(json, ok);
}

json_t *answer_axes(const struct snapshot *snap, const struct value *value)
{
    json_t *axes = json_object();
    bool ok = axes != NULL;
    const char *given = values_axes(snap->values, value);
    for (const char *c = metric_info(value->metric)->axes; ok && *c != '\0';) {
        char key[48], text[48];
        size_t end = strcspn(c, ","), length = strcspn(c, "=");
        snprintf(key, sizeof key, "%.*s", (int)length, c);
        const char *at = axes_get(value->metric, given, key, text, sizeof text);
        ok = at != NULL && answer_set(axes, key, json_string(at));
        c += end + (c[end] == ',');
    }
    return done(axes, ok);
}

static json_t *one(const struct snapshot *snap, const struct value *v)
{
    const struct metric_info *info = metric_info(v->metric);
    json_t *json = json_object();
    bool ok = answer_set(json, "metric", json_string_nocheck(info->name)) &&
              answer_set(json, "from", json_string_nocheck(graph_place(snap->graph, v->from)->name)) &&
              answer_set(json, "to", json_string_nocheck(graph_place(snap->graph, v->to)->name)) &&
              answer_set(json, "axes", answer_axes(snap, v)) && answer_set(json, "value", json_real(v->value)) &&
              answer_set(json, "low", answer_number(v->low)) && answer_set(json, "high", answer_number(v->high)) &&
              answer_set(json, "unit", json_string_nocheck(info->unit)) &&
              answer_set(json, "source", json_string_nocheck(value_source_name(v->source))) &&
              answer_set(json, "measured_at_s", v->measured_at_s > 0 ? json_integer(v->measured_at_s) : json_null());
    return done(json, ok);
}

json_t *answer_evidence(const struct snapshot *snap, const struct plan_evidence *evidence, size_t first, size_t count)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = answer_append(array, one(snap, evidence->item[first + i]));
    return done(array, ok);
}

json_t *answer_warnings(const struct plan_warnings *warnings)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < warnings->count; i++)
        ok = answer_append(array, json_string(warnings->line[i]));
    return done(array, ok);
}
