/* io.berth.Health.Check: runs on a worker thread, as comparing large matrices takes
 * milliseconds. */
#include <stdlib.h>
#include <string.h>

#include "health/action.h"
#include "health/assessment.h"
#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/answer.h"
#include "serve/daemon.h"
#include "serve/health.h"
#include "serve/request.h"
#include "serve/serve.h"

struct check {
    const struct snapshot *snap; /* referenced */
    bool *selected;              /* owned; NULL the whole node */
    struct health_limits limits;
};

static void check_free(void *state)
{
    struct check *check = state;
    snapshot_unref(check->snap);
    free(check->selected);
    free(check);
}

#define SLOW_LISTED 16

json_t *health_slow_json(const struct finding *finding)
{
    json_t *json = json_object();
    bool ok = answer_set(json, "series", jsonify_text(finding->subject)) &&
              answer_set(json, "value", jsonify_number(finding->value)) &&
              answer_set(json, "expected", jsonify_number(finding->expected)) &&
              answer_set(json, "unit", jsonify_text(finding->unit));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* Lists the slow values that a fact explains, in the findings' order: the worst first. Lists a
 * value once even if several rules report it. */
static json_t *explained_json(const struct assessment *assessment, size_t number)
{
    json_t *array = json_array();
    const struct value *listed[SLOW_LISTED];
    size_t count = 0;
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < assessment->count && count < SLOW_LISTED; i++) {
        const struct finding *slow = &assessment->finding[i];
        bool is_new = slow->explained_by == number;
        for (size_t k = 0; is_new && k < count; k++)
            is_new = listed[k] != slow->of;
        if (!is_new)
            continue;
        listed[count++] = slow->of;
        ok = answer_append(array, health_slow_json(slow));
    }
    if (!ok) {
        json_decref(array);
        return NULL;
    }
    return array;
}

/* Returns the axes that have no default: axes is their canonical text. */
static json_t *where_json(const char *axes)
{
    json_t *json = json_object();
    bool ok = json != NULL;
    while (ok && *axes != '\0') {
        size_t key = strcspn(axes, "="), length = strcspn(axes, ";");
        json_t *value = key < length ? json_stringn(axes + key + 1, length - key - 1) : NULL;
        ok = json_object_setn_new(json, axes, key, value) == 0;
        axes += length + (axes[length] == ';');
    }
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *cell_json(const struct graph *graph, const struct values *values,
                         const struct value *v)
{
    if (v == NULL || values == NULL)
        return json_null();
    json_t *json = json_object();
    bool ok = answer_set(json, "metric", json_string_nocheck(metric_info(v->metric)->name)) &&
              answer_set(json, "from", jsonify_text(graph_place(graph, v->from)->name)) &&
              answer_set(json, "to", jsonify_text(graph_place(graph, v->to)->name)) &&
              answer_set(json, "where", where_json(values_axes(values, v))) &&
              answer_set(json, "low", jsonify_number(v->low)) &&
              answer_set(json, "high", jsonify_number(v->high)) &&
              answer_set(json, "measured_at_s",
                         jsonify_count(v->measured_at_s > 0 ? v->measured_at_s : -1));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* Returns the lines of a text. */
static json_t *lines_json(const char *text)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t length; ok && (length = strcspn(text, "\n")) > 0;
         text += length + (text[length] != '\0'))
        ok = answer_append(array, json_stringn(text, length));
    if (!ok) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *finding_json(const struct graph *graph, const struct values *values,
                            const struct assessment *assessment, const struct finding *finding)
{
    json_t *json = json_object();
    char text[sizeof finding->text + 64];
    int length = snprintf(text, sizeof text, "%s", finding->text);
    if (finding->represents > 0)
        snprintf(text + length, sizeof text - (size_t)length, "; with it %u more value%s of %s",
                 finding->represents, finding->represents == 1 ? "" : "s",
                 graph_place(graph, finding->cause)->name);
    struct action action;
    action_write(graph, values, finding, &action);
    bool ok =
        answer_set(json, "severity",
                   json_string_nocheck(assessment_severity_name(finding->severity))) &&
        answer_set(json, "place", jsonify_text(finding->place)) &&
        answer_set(json, "code", jsonify_text(finding->code)) &&
        answer_set(json, "text", jsonify_text(text)) &&
        answer_set(json, "value", jsonify_number(finding->value)) &&
        answer_set(json, "expected", jsonify_number(finding->expected)) &&
        answer_set(json, "unit", jsonify_text(finding->unit)) &&
        answer_set(json, "since_s", jsonify_count(finding->since_s > 0 ? finding->since_s : -1)) &&
        answer_set(json, "explains", json_integer((json_int_t)finding->explains)) &&
        answer_set(json, "slow", explained_json(assessment, finding->number)) &&
        answer_set(json, "action", jsonify_text(*action.text != '\0' ? action.text : NULL)) &&
        answer_set(json, "commands", lines_json(action.commands)) &&
        answer_set(json, "cell", cell_json(graph, values, finding->of));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

json_t *health_findings_json(const struct graph *graph, const struct values *values,
                             const struct assessment *assessment, bool are_unconfirmed)
{
    json_t *findings = json_array();
    bool ok = findings != NULL;
    for (size_t i = 0; ok && i < assessment->count; i++)
        ok = assessment->finding[i].is_unlisted ||
             assessment->finding[i].is_unconfirmed != are_unconfirmed ||
             answer_append(findings,
                           finding_json(graph, values, assessment, &assessment->finding[i]));
    if (!ok) {
        json_decref(findings);
        return NULL;
    }
    return findings;
}

static json_t *assessment_json(const struct snapshot *snap, const struct assessment *assessment)
{
    json_t *json = json_object();
    bool ok = answer_set(json, "findings",
                         health_findings_json(snap->graph, snap->values, assessment, false)) &&
              answer_set(json, "unconfirmed",
                         health_findings_json(snap->graph, snap->values, assessment, true)) &&
              answer_set(json, "verdict",
                         json_string_nocheck(assessment_verdict_name(assessment->verdict))) &&
              answer_set(json, "drain", json_boolean(assessment->drain)) &&
              answer_set(json, "reason", jsonify_text(assessment->reason)) &&
              answer_set(json, "last_probe_at_s",
                         jsonify_count(snap->last_probe_at_s > 0 ? snap->last_probe_at_s : -1)) &&
              answer_set(json, "snapshot", json_string_nocheck(snap->id)) &&
              answer_set(json, "origin", json_string_nocheck(origin_name(snapshot_origin(snap))));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static enum berth_code check_work(void *state, json_t **ret_result, struct berth_err *err)
{
    const struct check *check = state;
    struct assessment assessment = {0};
    enum berth_code code =
        health_assess(check->snap, check->selected, &check->limits, &assessment, err);
    if (code != BERTH_OK)
        return code;
    json_t *json = assessment_json(check->snap, &assessment);
    assessment_done(&assessment);
    if (json == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    *ret_result = json;
    return BERTH_OK;
}

enum berth_code query_check(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    bool *selected = NULL;
    enum berth_code code = request_places(call->snap->graph, call->params, &selected, err);
    if (code != BERTH_OK)
        return code;
    sched_check_store(call->daemon->sched);
    struct check *check = malloc(sizeof *check);
    if (check == NULL) {
        free(selected);
        return err_set(err, BERTH_NO_MEMORY, "no memory for a check");
    }
    *check = (struct check){snapshot_ref(call->snap), selected,
                            health_limits_from(&call->daemon->config)};
    *ret = (struct outcome){
        .kind = OUTCOME_WORK, .state = check, .work = check_work, .free_state = check_free};
    return BERTH_OK;
}
