/* io.berth.Health.GetBaseline and ListFindings: what was expected and what was found, until now. */
#include <math.h>
#include <stdlib.h>

#include "answer.h"
#include "daemon.h"
#include "jsonify.h"
#include "query.h"
#include "request.h"
#include "sched.h"
#include "store_finding.h"

#define FINDINGS_MAX 1000

static json_t *done(json_t *json, bool ok)
{
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *baseline_json(const struct baseline *baseline, enum metric metric, const struct judge_limits *limits)
{
    json_t *json = json_object();
    bool ok = json != NULL && answer_set(json, "expected", jsonify_number(baseline->median)) &&
              answer_set(json, "deviation", jsonify_number(baseline->deviation)) && answer_set(json, "values", jsonify_count(baseline->count)) &&
              answer_set(json, "begun_at_s", jsonify_count(baseline->begun_s)) && answer_set(json, "accepted", json_boolean(baseline->accepted)) &&
              answer_set(json, "worse_beyond", jsonify_number(baseline_worse_beyond(baseline, metric, limits))) &&
              answer_set(json, "better_beyond", jsonify_number(baseline_better_beyond(baseline, metric, limits))) &&
              answer_set(json, "worse", json_boolean(baseline->is_worse)) && answer_set(json, "low_runs", jsonify_count(baseline->low_runs));
    return done(json, ok);
}

enum berth_code query_get_baseline(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    const struct snapshot *snap = call->snap;
    const char *name = json_string_value(json_object_get(call->params, "metric"));
    struct judge_limits limits = judge_limits_of(&call->daemon->config);
    enum metric metric;
    place_id from = PLACE_NONE, to = PLACE_NONE;
    char axes[512];
    if (!metric_parse(name, &metric)) {
        err_set(err, BERTH_NO_SUCH_METRIC, "there is no metric %.60s (berth matrix lists them)", name);
        err_text(err, 0, name);
        return err->code;
    }
    enum berth_code code = request_place(snap->graph, json_object_get(call->params, "from"), "from", &from, err);
    if (code == BERTH_OK)
        code = request_place(snap->graph, json_object_get(call->params, "to"), "to", &to, err);
    if (code == BERTH_OK)
        code = request_axes(call->params, metric, axes, sizeof axes, err);
    if (code != BERTH_OK)
        return code;
    const struct value *v = snap->baseline != NULL ? values_find(snap->values, metric, from, to, axes) : NULL;
    const struct baseline *baseline = v != NULL ? &snap->baseline[v - snap->values->item] : NULL;
    json_t *json = json_object();
    bool ok = json != NULL && answer_set(json, "unit", json_string_nocheck(metric_info(metric)->unit)) &&
              answer_set(json, "better", json_string_nocheck(metric_info(metric)->higher_is_better ? "higher" : "lower")) &&
              answer_set(json, "baseline", baseline != NULL && baseline->count > 0 ? baseline_json(baseline, metric, &limits) : json_null());
    json = done(json, ok);
    if (json == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json};
    return BERTH_OK;
}

struct list {
    struct store *store; /* lives longer: the scheduler waits for the thread pool */
    int64_t since_s;
};

static json_t *finding_json(const struct finding_kept *kept)
{
    const struct finding *finding = &kept->finding;
    json_t *json = json_object();
    bool ok = json != NULL && answer_set(json, "severity", json_string_nocheck(judge_severity_name(finding->severity))) &&
              answer_set(json, "place", jsonify_text(finding->place)) && answer_set(json, "code", jsonify_text(finding->code)) &&
              answer_set(json, "text", jsonify_text(finding->text)) && answer_set(json, "value", jsonify_number(finding->value)) &&
              answer_set(json, "expected", jsonify_number(finding->expected)) && answer_set(json, "unit", jsonify_text(finding->unit)) &&
              answer_set(json, "since_s", json_integer(finding->since_s)) && answer_set(json, "cleared_s", jsonify_count(kept->cleared_s > 0 ? kept->cleared_s : -1)) &&
              answer_set(json, "critical_since_s", jsonify_count(kept->critical_s > 0 ? kept->critical_s : -1)) &&
              answer_set(json, "accepted", kept->cleared_s > 0 ? json_boolean(kept->was_accepted) : json_null());
    return done(json, ok);
}

static enum berth_code list_work(void *state, json_t **ret_result, struct berth_err *err)
{
    const struct list *list = state;
    struct finding_kept *finding = NULL;
    size_t count = 0;
    enum berth_code code = store_finding_list(list->store, list->since_s, FINDINGS_MAX, &finding, &count, err);
    if (code != BERTH_OK)
        return code;
    json_t *json = json_object(), *array = json_array();
    bool ok = json != NULL && array != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = answer_append(array, finding_json(&finding[i]));
    free(finding);
    ok = answer_set(json, "findings", array) && ok;
    json = done(json, ok);
    if (json == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    *ret_result = json;
    return BERTH_OK;
}

enum berth_code query_list_findings(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    int64_t since_s = 0;
    enum berth_code code = request_int(call->params, "since_s", 0, INT64_MAX, 0, &since_s, err);
    if (code != BERTH_OK)
        return code;
    struct list *list = malloc(sizeof *list);
    if (list == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for a list");
    *list = (struct list){sched_store(call->daemon->sched), since_s};
    *ret = (struct outcome){.kind = OUTCOME_WORK, .state = list, .work = list_work, .free_state = free};
    return BERTH_OK;
}
