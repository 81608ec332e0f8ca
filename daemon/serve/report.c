/* io.berth.Placement.Report and ListReports: times that programs observed. */
#include "serve/report.h"

#include <math.h>

#include "measure/sched.h"
#include "node/jsonify.h"
#include "node/snapshot.h"
#include "serve/answer.h"
#include "serve/daemon.h"
#include "serve/request.h"
#include "serve/serve.h"

static struct report_asker asker_of(const struct call *call)
{
    return (struct report_asker){
        .uid = call->peer->uid,
        .version = call->daemon->sched != NULL ? sched_values_version(call->daemon->sched) : 0,
        .node = call->snap->graph->fingerprint};
}

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
}

enum berth_code query_report_view(const struct call *call, struct report_view *ret,
                                  struct berth_err *err)
{
    const struct report_asker asker = asker_of(call);
    return report_keep_view(&call->daemon->reports, &asker, ret, err);
}

/* A factor between two times as a fraction: 0.25 is a quarter more or less. */
static json_t *error_json(double log_ratio) { return jsonify_number(expm1(log_ratio)); }

static json_t *entry_json(const struct report_entry *entry)
{
    char text[REPORT_KIND_SIZE];
    const struct report_kind *kind = &entry->kind;
    json_t *json = json_object();
    bool ok = answer_set(json, "method", json_string_nocheck(report_kind_method(kind))) &&
              answer_set(json, "form", json_string_nocheck(report_kind_text(kind, text))) &&
              answer_set(json, "users", json_integer((json_int_t)1 << kind->users)) &&
              answer_set(json, "bytes", json_integer((json_int_t)1 << 2 * kind->size)) &&
              answer_set(json, "source", json_string_nocheck(answer_source_name(kind->source))) &&
              answer_set(json, "by", json_string_nocheck(entry->is_own ? "own" : "root")) &&
              answer_set(json, "reports", json_integer(entry->reports)) &&
              answer_set(json, "error_before", error_json(entry->before)) &&
              answer_set(json, "error_after", error_json(entry->after)) &&
              answer_set(json, "correction", answer_correction(&entry->correction, entry->is_own));
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

enum berth_code query_report(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    const struct report_asker asker = asker_of(call);
    struct daemon *daemon = call->daemon;
    struct report_entry entry;
    const char *id = NULL;
    int64_t observed_ns, bytes;
    enum berth_code code = request_text(call->params, "answer", REPORT_ANSWER_MAX, &id, err);
    if (code == BERTH_OK && id == NULL)
        code = err_invalid(err, "answer", "it is missing");
    if (code == BERTH_OK)
        code = request_int(call->params, "observed_ns", REPORT_TIME_NS_MIN, REPORT_TIME_NS_MAX, 0,
                           &observed_ns, err);
    if (code == BERTH_OK && observed_ns == 0)
        code = err_invalid(err, "observed_ns", "it is missing");
    if (code == BERTH_OK)
        code = request_int(call->params, "bytes", 1, INT64_MAX, 0, &bytes, err);
    if (code == BERTH_OK)
        code = report_keep_add(&daemon->reports, &asker, id, observed_ns, bytes,
                               clock_mono_ns(&daemon->clock), &entry, err);
    if (code != BERTH_OK)
        return code;
    json_t *json = json_object();
    if (!answer_set(json, "kind", entry_json(&entry))) {
        json_decref(json);
        return no_memory(err);
    }
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json};
    return BERTH_OK;
}

struct list {
    json_t *array;
    bool ok;
};

static void add_entry(void *arg, const struct report_entry *entry)
{
    struct list *list = arg;
    list->ok = list->ok && answer_append(list->array, entry_json(entry));
}

enum berth_code query_list_reports(const struct call *call, struct outcome *ret,
                                   struct berth_err *err)
{
    const struct report_asker asker = asker_of(call);
    struct list list = {.array = json_array(), .ok = true};
    json_t *json = json_object();
    report_keep_each(&call->daemon->reports, &asker, add_entry, &list);
    list.ok = answer_set(json, "kinds", list.array) && list.ok;
    if (!list.ok) {
        json_decref(json);
        return no_memory(err);
    }
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json};
    return BERTH_OK;
}
