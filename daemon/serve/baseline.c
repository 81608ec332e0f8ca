/* io.berth.Health.GetBaseline and ListFindings: expected values and past findings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "health/assessment.h"
#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/answer.h"
#include "serve/daemon.h"
#include "serve/health.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "store/baseline.h"
#include "store/finding.h"

#define FINDINGS_MAX 1000
#define ROWS_MAX     4096 /* findings of which those of one event are one */

static json_t *done(json_t *json, bool ok)
{
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *baseline_json(const struct baseline *baseline, enum metric metric,
                             const struct health_limits *limits)
{
    json_t *json = json_object();
    bool ok = json != NULL && answer_set(json, "expected", jsonify_number(baseline->median)) &&
              answer_set(json, "deviation", jsonify_number(baseline->deviation)) &&
              answer_set(json, "values", jsonify_count(baseline->count)) &&
              answer_set(json, "begun_at_s", jsonify_count(baseline->begun_s)) &&
              answer_set(json, "accepted", json_boolean(baseline->accepted)) &&
              answer_set(json, "worse_beyond",
                         jsonify_number(baseline_worse_beyond(baseline, metric, limits))) &&
              answer_set(json, "better_beyond",
                         jsonify_number(baseline_better_beyond(baseline, metric, limits))) &&
              answer_set(json, "worse_runs", jsonify_count(baseline->worse_runs)) &&
              answer_set(json, "false_alarm_rate",
                         jsonify_number(baseline_false_alarm_rate(baseline, metric, limits))) &&
              answer_set(json, "low_runs", jsonify_count(baseline->low_runs));
    return done(json, ok);
}

/* Query of GetBaseline for the thread pool. It asks the store, because a baseline loaded from a
 * folder has no measured value. */
struct baseline_query {
    struct store *store; /* borrowed; the scheduler ends after the thread pool */
    const struct snapshot *snap;
    enum metric metric;
    place_id from, to;
    char axes[512];
    struct health_limits limits;
};

static json_t *judgement_json(const struct opened *opened)
{
    json_t *json = json_object();
    bool ok = json != NULL && answer_set(json, "code", jsonify_text(opened->code)) &&
              answer_set(
                  json, "severity",
                  json_string_nocheck(assessment_severity_name((enum severity)opened->severity))) &&
              answer_set(json, "expected", jsonify_number(opened->expected)) &&
              answer_set(json, "since_s", json_integer(opened->since_s)) &&
              answer_set(json, "unconfirmed", json_boolean(opened->is_unconfirmed));
    return done(json, ok);
}

static json_t *answer_baseline(const struct baseline_query *query, const struct baseline *baseline)
{
    const struct opened *opened =
        assessment_of_series(query->snap, query->metric, query->from, query->to, query->axes);
    const struct metric_info *info = metric_info(query->metric);
    json_t *json = json_object();
    bool ok = json != NULL && answer_set(json, "unit", json_string_nocheck(info->unit)) &&
              answer_set(json, "better",
                         json_string_nocheck(info->higher_is_better ? "higher" : "lower")) &&
              answer_set(json, "baseline",
                         baseline != NULL && baseline->count > 0
                             ? baseline_json(baseline, query->metric, &query->limits)
                             : json_null()) &&
              answer_set(json, "judgement", opened != NULL ? judgement_json(opened) : json_null());
    return done(json, ok);
}

static const struct baseline *find_baseline(const struct baseline_set *set,
                                            const struct baseline_query *query)
{
    for (size_t i = 0; i < set->values->count; i++) {
        const struct value *v = &set->values->item[i];
        if (v->metric == query->metric && v->from == query->from && v->to == query->to &&
            strcmp(values_axes(set->values, v), query->axes) == 0)
            return &set->baseline[i];
    }
    return NULL;
}

static enum berth_code query_store(void *state, json_t **ret_result, struct berth_err *err)
{
    const struct baseline_query *query = state;
    struct baseline_set set;
    enum berth_code code = baseline_set_init(&set)
                               ? store_baseline_list(query->store, query->snap->graph, &set, err)
                               : err_set(err, BERTH_NO_MEMORY, "no memory for baselines");
    json_t *json = code == BERTH_OK ? answer_baseline(query, find_baseline(&set, query)) : NULL;
    baseline_set_done(&set);
    if (code == BERTH_OK && json == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    if (code == BERTH_OK)
        *ret_result = json;
    return code;
}

static void query_free(void *state)
{
    struct baseline_query *query = state;
    snapshot_unref(query->snap);
    free(query);
}

enum berth_code query_get_baseline(const struct call *call, struct outcome *ret,
                                   struct berth_err *err)
{
    const struct snapshot *snap = call->snap;
    const char *name = json_string_value(json_object_get(call->params, "metric"));
    struct baseline_query query = {.store = sched_store(call->daemon->sched),
                                   .snap = snap,
                                   .from = PLACE_NONE,
                                   .to = PLACE_NONE,
                                   .limits = health_limits_from(&call->daemon->config)};
    if (!metric_parse(name, &query.metric)) {
        err_set(err, BERTH_NO_SUCH_METRIC, "there is no metric %.60s (berth matrix lists them)",
                name);
        err_text(err, 0, name);
        return err->code;
    }
    enum berth_code code =
        request_place(snap->graph, json_object_get(call->params, "from"), "from", &query.from, err);
    if (code == BERTH_OK)
        code =
            request_place(snap->graph, json_object_get(call->params, "to"), "to", &query.to, err);
    if (code == BERTH_OK)
        code = request_axes(call->params, query.metric, query.axes, sizeof query.axes, err);
    if (code != BERTH_OK)
        return code;
    const struct value *v = snap->baseline != NULL ? values_find(snap->values, query.metric,
                                                                 query.from, query.to, query.axes)
                                                   : NULL;
    if (v == NULL) {
        struct baseline_query *state = malloc(sizeof *state);
        if (state == NULL)
            return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
        *state = query;
        state->snap = snapshot_ref(call->snap);
        *ret = (struct outcome){
            .kind = OUTCOME_WORK, .state = state, .work = query_store, .free_state = query_free};
        return BERTH_OK;
    }
    json_t *json = answer_baseline(&query, &snap->baseline[v - snap->values->item]);
    if (json == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json};
    return BERTH_OK;
}

struct list {
    struct store *store; /* borrowed; the scheduler ends after the thread pool */
    int64_t since_s;
};

/* Lists the series of an event, the worst first, each once; rows of other events follow. */
static json_t *slow_json(const struct finding_kept *kept, size_t count)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < count && kept[i].event == kept->event; i++) {
        const struct finding *finding = &kept[i].finding;
        bool is_new = !isnan(finding->value);
        for (size_t k = 0; k < i && is_new; k++)
            is_new = strcmp(kept[k].finding.subject, finding->subject) != 0;
        ok = !is_new || answer_append(array, health_slow_json(finding));
    }
    return done(array, ok);
}

/* Returns the finding that stands for the event of the first row. */
static json_t *finding_json(const struct finding_kept *kept, size_t count)
{
    const struct finding *finding = &kept->finding;
    json_t *json = json_object();
    bool ok =
        json != NULL &&
        answer_set(json, "severity",
                   json_string_nocheck(assessment_severity_name(finding->severity))) &&
        answer_set(json, "place", jsonify_text(finding->place)) &&
        answer_set(json, "code", jsonify_text(finding->code)) &&
        answer_set(json, "text", jsonify_text(finding->text)) &&
        answer_set(json, "value", jsonify_number(finding->value)) &&
        answer_set(json, "expected", jsonify_number(finding->expected)) &&
        answer_set(json, "unit", jsonify_text(finding->unit)) &&
        answer_set(json, "since_s", json_integer(finding->since_s)) &&
        answer_set(json, "cleared_s", jsonify_count(kept->cleared_s > 0 ? kept->cleared_s : -1)) &&
        answer_set(json, "critical_since_s",
                   jsonify_count(kept->critical_s > 0 ? kept->critical_s : -1)) &&
        answer_set(json, "accepted",
                   kept->cleared_s > 0 ? json_boolean(kept->was_accepted) : json_null()) &&
        answer_set(json, "series",
                   jsonify_count(isnan(finding->value) ? 0 : (int64_t)kept->series)) &&
        answer_set(json, "slow", slow_json(kept, count));
    return done(json, ok);
}

static enum berth_code list_work(void *state, json_t **ret_result, struct berth_err *err)
{
    const struct list *list = state;
    struct finding_kept *finding = NULL;
    size_t count = 0;
    enum berth_code code =
        store_finding_list(list->store, list->since_s, ROWS_MAX, &finding, &count, err);
    if (code != BERTH_OK)
        return code;
    json_t *json = json_object(), *array = json_array();
    bool ok = json != NULL && array != NULL;
    for (size_t i = 0; ok && i < count && json_array_size(array) < FINDINGS_MAX; i++)
        if (i == 0 || finding[i].event != finding[i - 1].event)
            ok = answer_append(array, finding_json(&finding[i], count - i));
    free(finding);
    ok = answer_set(json, "findings", array) && ok;
    json = done(json, ok);
    if (json == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    *ret_result = json;
    return BERTH_OK;
}

enum berth_code query_list_findings(const struct call *call, struct outcome *ret,
                                    struct berth_err *err)
{
    int64_t since_s = 0;
    enum berth_code code = request_int(call->params, "since_s", 0, INT64_MAX, 0, &since_s, err);
    if (code != BERTH_OK)
        return code;
    struct list *list = malloc(sizeof *list);
    if (list == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for a list");
    *list = (struct list){sched_store(call->daemon->sched), since_s};
    *ret = (struct outcome){
        .kind = OUTCOME_WORK, .state = list, .work = list_work, .free_state = free};
    return BERTH_OK;
}
