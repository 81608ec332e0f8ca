/* io.berth.Fabric.GetStatus and Watch: state and activity of the daemon, and changes of the
 * snapshot. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/serve.h"
#include "varlink/server.h"

static const char *state_name(enum sched_state state)
{
    switch (state) {
    case SCHED_PROBING:
        return "probing";
    case SCHED_READY:
        return "ready";
    }
    return "ready";
}

/* Returns the finished fraction of a probe request; NAN when no probe runs or it is unknown. */
static double progress_of(const struct daemon *daemon)
{
    struct probe_view view;
    sched_probe_view(daemon->sched, &view);
    return view.running ? view.share : NAN;
}

/* Lists notes that need attention as "code at place: text"; NULL when out of memory. */
static json_t *problems_json(const struct snapshot *snap)
{
    json_t *problems = json_array();
    for (size_t i = 0; i < snap->note_count && problems != NULL; i++) {
        const struct note *note = &snap->notes[i];
        if (note->severity < NOTE_WARNING)
            continue;
        if (json_array_append_new(
                problems, json_sprintf("%s at %s: %s", note->code, note->place, note->text)) != 0) {
            json_decref(problems);
            problems = NULL;
        }
    }
    return problems;
}

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *time_or_null(int64_t at_s)
{
    return at_s > 0 ? json_integer((json_int_t)at_s) : json_null();
}

/* Describes background measuring; null when it is off. */
static json_t *measuring_json(const struct daemon *daemon)
{
    struct background_view view;
    sched_background_view(daemon->sched, &view);
    if (!view.is_on)
        return json_null();
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:f,s:f}", "last",
                     text_or_null(view.last), "last_at_s", time_or_null(view.last_at_s),
                     "last_cost_ns", time_or_null((int64_t)view.last_cost_ns), "next",
                     text_or_null(view.next), "next_at_s", time_or_null(view.next_at_s), "waits",
                     text_or_null(view.waits), "beside", text_or_null(view.beside), "oldest_at_s",
                     time_or_null(view.oldest_at_s), "budget", view.budget, "last_hour",
                     view.last_hour, "last_day", view.last_day);
}

static enum berth_code status_json(const struct daemon *daemon, json_t **ret_result,
                                   struct berth_err *err)
{
    const struct snapshot *snap = sched_snapshot(daemon->sched);
    json_t *result = json_pack(
        "{s:s,s:o,s:s,s:I,s:s,s:I,s:o,s:o,s:o,s:o}", "state",
        state_name(sched_state(daemon->sched)), "progress", jsonify_number(progress_of(daemon)),
        "version", BERTH_VERSION, "started_at_s", (json_int_t)daemon->started_at_s, "store",
        store_state_name(sched_store_state(daemon->sched)), "clients",
        (json_int_t)server_clients(daemon->server), "last_probe_at_s",
        snap->last_probe_at_s > 0 ? json_integer((json_int_t)snap->last_probe_at_s) : json_null(),
        "problems", problems_json(snap), "measuring", measuring_json(daemon), "basis",
        jsonify_basis(sched_snapshot(daemon->sched), claim_keep_generation(daemon->claims)));
    if (result == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *ret_result = result;
    return BERTH_OK;
}

/* State in the latest reply of a GetStatus stream. */
struct status_stream {
    const struct daemon *daemon;
    bool sent;
    enum sched_state state;
    double progress;
    enum store_state store;
    uint64_t generation;
};

static enum stream_step next_status(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct status_stream *stream = state;
    const struct daemon *daemon = stream->daemon;
    struct status_stream now = {
        .daemon = daemon,
        .sent = true,
        .state = sched_state(daemon->sched),
        .progress = progress_of(daemon),
        .store = sched_store_state(daemon->sched),
        .generation = sched_snapshot(daemon->sched)->generation,
    };
    bool same_progress =
        now.progress == stream->progress || (isnan(now.progress) && isnan(stream->progress));
    if (stream->sent && now.state == stream->state && same_progress && now.store == stream->store &&
        now.generation == stream->generation)
        return STREAM_WAIT;
    *stream = now;
    return status_json(daemon, ret_reply, err) == BERTH_OK ? STREAM_REPLY : STREAM_ERROR;
}

enum berth_code query_get_status(const struct call *call, struct outcome *ret,
                                 struct berth_err *err)
{
    sched_check_store(call->daemon->sched);
    if (call->more) {
        struct status_stream *stream = calloc(1, sizeof *stream);
        if (stream == NULL)
            return err_set(err, BERTH_NO_MEMORY, "out of memory");
        stream->daemon = call->daemon;
        *ret = (struct outcome){
            .kind = OUTCOME_STREAM, .state = stream, .next = next_status, .free_state = free};
        return BERTH_OK;
    }
    json_t *result = NULL;
    enum berth_code code = status_json(call->daemon, &result, err);
    if (code == BERTH_OK)
        *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
    return code;
}

/* A Watch stream: the snapshot of the latest reply (NULL before the first), and the claims'
 * generation then. */
struct watch_stream {
    const struct daemon *daemon;
    const struct snapshot *sent;
    uint64_t claims;
};

static void watch_free(void *state)
{
    struct watch_stream *stream = state;
    snapshot_unref(stream->sent);
    free(stream);
}

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Lists the metrics whose values differ, and "node" when the graph does. */
static json_t *changes(const struct snapshot *before, const struct snapshot *after)
{
    json_t *changed = json_array();
    bool node = before == NULL || before->graph != after->graph;
    if (node)
        json_array_append_new(changed, json_string("node"));
    for (int m = 0; m < METRIC_COUNT; m++) {
        const struct value *a = NULL, *b;
        size_t before_count =
            before != NULL ? values_range(before->values, (enum metric)m, PLACE_NONE, &a) : 0;
        size_t count = values_range(after->values, (enum metric)m, PLACE_NONE, &b);
        bool differs = count != before_count || (node && count > 0);
        for (size_t i = 0; i < count && !differs; i++)
            differs = !same_number(a[i].value, b[i].value) ||
                      a[i].measured_at_s != b[i].measured_at_s || a[i].from != b[i].from ||
                      a[i].to != b[i].to;
        if (differs)
            json_array_append_new(changed, json_string(metric_info((enum metric)m)->name));
    }
    return changed;
}

static enum berth_code watch_json(const struct snapshot *before, const struct snapshot *after,
                                  bool has_claims, json_t **ret_result, struct berth_err *err)
{
    json_t *changed = before == after ? json_array() : changes(before, after);
    if (has_claims)
        json_array_append_new(changed, json_string("claims"));
    json_t *result = json_pack("{s:s,s:o}", "snapshot", after->id, "changed", changed);
    if (result == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *ret_result = result;
    return BERTH_OK;
}

static enum stream_step next_watch(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct watch_stream *stream = state;
    const struct snapshot *now = sched_snapshot(stream->daemon->sched);
    bool has_claims =
        stream->sent != NULL && stream->claims != claim_keep_generation(stream->daemon->claims);
    if (now == stream->sent && !has_claims)
        return STREAM_WAIT;
    enum berth_code code = watch_json(stream->sent, now, has_claims, ret_reply, err);
    stream->claims = claim_keep_generation(stream->daemon->claims);
    snapshot_unref(stream->sent);
    stream->sent = snapshot_ref(now);
    return code == BERTH_OK ? STREAM_REPLY : STREAM_ERROR;
}

enum berth_code query_watch(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    if (!call->more) {
        json_t *result = NULL;
        enum berth_code code = watch_json(NULL, call->snap, false, &result, err);
        if (code == BERTH_OK)
            *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
        return code;
    }
    struct watch_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    stream->daemon = call->daemon;
    *ret = (struct outcome){
        .kind = OUTCOME_STREAM, .state = stream, .next = next_watch, .free_state = watch_free};
    return BERTH_OK;
}
