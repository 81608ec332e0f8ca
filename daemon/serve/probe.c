/* io.berth.Health.Probe and CancelProbe: start, follow and cancel a measurement. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/request.h"
#include "serve/serve.h"

/* longest argument of a program in bytes, with NUL: MAX_ARG_STRLEN in linux/binfmts.h */
#define LIST_MAX 131072

/* A caller that follows one probe request, by its number. */
struct probe_stream {
    const struct daemon *daemon;
    uint64_t number;
    struct run_progress sent;
    bool begun;
};

static json_t *place_name(const struct graph *graph, place_id place)
{
    return place == PLACE_NONE ? json_null() : json_string(graph->places[place].name);
}

static json_t *progress_json(const struct daemon *daemon, const struct probe_view *view, bool last)
{
    const struct run_progress *progress = &view->progress;
    const struct graph *graph = sched_snapshot(daemon->sched)->graph;
    bool shown = progress->has_value;
    json_t *skipped = json_null();
    if (last && view->skipped != NULL && json_array_size(view->skipped) > 0)
        skipped = json_copy(view->skipped);
    return json_pack("{s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "done",
                     (json_int_t)progress->done, "total", (json_int_t)progress->total, "metric",
                     shown ? json_string(metric_info(progress->metric)->name) : json_null(), "from",
                     shown ? place_name(graph, progress->from) : json_null(), "to",
                     shown ? place_name(graph, progress->to) : json_null(), "value",
                     shown ? jsonify_number(progress->value) : json_null(), "remaining_ns",
                     isfinite(view->remaining_ns) ? json_integer((json_int_t)view->remaining_ns)
                                                  : json_null(),
                     "skipped", skipped, "measured",
                     last ? json_integer((json_int_t)view->measured) : json_null(), "left_out",
                     last ? json_integer((json_int_t)view->left_out) : json_null());
}

static enum stream_step next_progress(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct probe_stream *stream = state;
    struct probe_view view;
    sched_probe_view(stream->daemon->sched, &view);
    bool is_current = view.number == stream->number;
    bool over = !is_current || (!view.running && sched_state(stream->daemon->sched) == SCHED_READY);
    bool changed =
        view.progress.done != stream->sent.done || view.progress.total != stream->sent.total;
    if (!over && stream->begun && !changed)
        return STREAM_WAIT;
    stream->begun = true;
    stream->sent = view.progress;
    if (over && is_current && view.yielded_to != NULL) {
        err_text(err, 0, view.yielded_to);
        err_set(err, BERTH_BUSY, "stopped for claim %s; what was measured until then is kept",
                view.yielded_to);
        return STREAM_ERROR;
    }
    *ret_reply = progress_json(stream->daemon, &view, over);
    if (*ret_reply == NULL) {
        err_set(err, BERTH_NO_MEMORY, "out of memory");
        return STREAM_ERROR;
    }
    return over ? STREAM_LAST : STREAM_REPLY;
}

/* Joins ["a","b"] to "a,b", an argument of the probe. NULL for null or an empty array; the caller
 * frees it. */
static enum berth_code join(json_t *names, const char *parameter, char **ret_text,
                            struct berth_err *err)
{
    size_t size = 1, i;
    json_t *name;
    json_array_foreach(names, i, name) size += json_string_length(name) + 1;
    if (size == 1)
        return BERTH_OK;
    if (size > LIST_MAX)
        return err_invalid(err, parameter, "%zu names are too many for a probe",
                           json_array_size(names));
    char *text = malloc(size), *end = text;
    if (text == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    json_array_foreach(names, i, name) end +=
        sprintf(end, "%s%s", i > 0 ? "," : "", json_string_value(name));
    *ret_text = text;
    return BERTH_OK;
}

static enum berth_code check_names(const struct graph *graph, json_t *metrics, json_t *places,
                                   struct berth_err *err)
{
    size_t i;
    json_t *name;
    enum metric metric;
    json_array_foreach(metrics, i, name) if (!metric_parse(json_string_value(name), &metric))
    {
        err_set(err, BERTH_NO_SUCH_METRIC, "there is no metric %.60s (berth matrix lists them)",
                json_string_value(name));
        err_text(err, 0, json_string_value(name));
        return err->code;
    }
    json_array_foreach(
        places, i, name) if (graph_find(graph, json_string_value(name)) ==
                             PLACE_NONE) return request_no_such_place(graph,
                                                                      json_string_value(name), err);
    return BERTH_OK;
}

/* Refuses a GPU that another process profiles, even if it is named in the request. */
static enum berth_code check_profiled(const struct call *call, json_t *places, bool is_forced,
                                      struct berth_err *err)
{
    size_t i;
    json_t *name;
    if (call->daemon->claims == NULL)
        return BERTH_OK;
    json_array_foreach(places, i, name)
    {
        char by[96];
        const struct graph *graph = call->snap->graph;
        place_id place = graph_find(graph, json_string_value(name));
        const struct claim *claim =
            claim_set_profiling(claim_keep_claims(call->daemon->claims), graph, place, is_forced);
        if (claim == NULL)
            continue;
        claim_describe(claim, by, sizeof by);
        err_text(err, 0, by);
        return err_set(err, BERTH_BUSY, "%s has gpus that claim %s profiles",
                       graph_place(graph, place)->name, by);
    }
    return BERTH_OK;
}

enum berth_code query_probe(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct probe_request request = {0};
    json_t *metrics = json_object_get(call->params, "metrics"),
           *places = json_object_get(call->params, "places");
    int64_t budget_ns = 0;
    const char *profile = json_string_value(json_object_get(call->params, "profile"));
    request.full = profile != NULL && strcmp(profile, "full") == 0;
    request.force = json_is_true(json_object_get(call->params, "force"));
    enum berth_code code = request_int(call->params, "budget_ns", PROBE_BUDGET_NS_MIN,
                                       PROBE_BUDGET_NS_MAX, 0, &budget_ns, err);
    request.budget_ns = (uint64_t)budget_ns;
    if (code == BERTH_OK)
        code = check_names(call->snap->graph, metrics, places, err);
    if (code == BERTH_OK)
        code = check_profiled(call, places, request.force, err);
    if (code != BERTH_OK)
        return code;
    struct probe_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    code = join(metrics, "metrics", &request.metrics, err);
    if (code == BERTH_OK)
        code = join(places, "places", &request.places, err);
    if (code != BERTH_OK) {
        free(request.metrics);
        free(stream);
        return code;
    }
    stream->daemon = call->daemon;
    code = sched_probe(call->daemon->sched, &request, &stream->number, err);
    if (code != BERTH_OK) {
        free(stream);
        return code;
    }
    *ret = (struct outcome){
        .kind = OUTCOME_STREAM, .state = stream, .next = next_progress, .free_state = free};
    return BERTH_OK;
}

enum berth_code query_cancel_probe(const struct call *call, struct outcome *ret,
                                   struct berth_err *err)
{
    if (!sched_cancel(call->daemon->sched))
        return err_set(err, BERTH_UNAVAILABLE, "no probe is running");
    json_t *result = json_object();
    if (result == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
    return BERTH_OK;
}
