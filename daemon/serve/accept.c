/* io.berth.Health.AcceptBaseline: the scheduler accepts, the caller waits for it. */
#include <stdlib.h>

#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/answer.h"
#include "serve/daemon.h"
#include "serve/request.h"
#include "serve/serve.h"

/* Shared by the caller's stream and the scheduler's job; either may end first. Loop thread only. */
struct acceptance {
    bool is_done, is_left;
    struct accepted accepted;
    struct berth_err err;
};

static void job_done(void *arg, enum berth_code code, const struct accepted *accepted,
                     const struct berth_err *err)
{
    struct acceptance *acceptance = arg;
    if (acceptance->is_left) {
        free(acceptance);
        return;
    }
    acceptance->is_done = true;
    if (code == BERTH_OK)
        acceptance->accepted = *accepted;
    acceptance->err = *err;
}

static void caller_left(void *state)
{
    struct acceptance *acceptance = state;
    if (acceptance->is_done)
        free(acceptance);
    else
        acceptance->is_left = true;
}

/* Returns the reasons for omitted values; null when there are none. */
static json_t *why_left_out(const struct accepted *accepted)
{
    if (accepted->vague > 0 && accepted->overloaded > 0)
        return json_sprintf(
            "%zu with intervals of half their value, %zu measured while the node was overloaded",
            accepted->vague, accepted->overloaded);
    if (accepted->vague > 0)
        return json_string("with intervals of half their value");
    return accepted->overloaded > 0 ? json_string("measured while the node was overloaded")
                                    : json_null();
}

static json_t *reply(const struct accepted *accepted)
{
    json_t *json = json_object();
    bool ok =
        json != NULL && answer_set(json, "accepted", jsonify_count((int64_t)accepted->count)) &&
        answer_set(json, "in_line", jsonify_count((int64_t)accepted->in_line)) &&
        answer_set(json, "file", jsonify_text(accepted->file[0] != '\0' ? accepted->file : NULL)) &&
        answer_set(json, "not_written",
                   jsonify_text(accepted->why_not[0] != '\0' ? accepted->why_not : NULL)) &&
        answer_set(json, "left_out",
                   jsonify_count((int64_t)(accepted->vague + accepted->overloaded))) &&
        answer_set(json, "why_left_out", why_left_out(accepted));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static enum stream_step next(void *state, json_t **ret_reply, struct berth_err *err)
{
    const struct acceptance *acceptance = state;
    if (!acceptance->is_done)
        return STREAM_WAIT;
    if (acceptance->err.code != BERTH_OK) {
        *err = acceptance->err;
        return STREAM_ERROR;
    }
    *ret_reply = reply(&acceptance->accepted);
    if (*ret_reply != NULL)
        return STREAM_LAST;
    err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    return STREAM_ERROR;
}

enum berth_code query_accept(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    bool *selected = NULL;
    enum berth_code code = request_places(call->snap->graph, call->params, &selected, err);
    if (code != BERTH_OK)
        return code;
    struct acceptance *acceptance = calloc(1, sizeof *acceptance);
    if (acceptance == NULL) {
        free(selected);
        return err_set(err, BERTH_NO_MEMORY, "no memory to accept a baseline");
    }
    code = sched_accept(call->daemon->sched, selected, job_done, acceptance, err);
    if (code != BERTH_OK) {
        free(acceptance);
        return code;
    }
    *ret = (struct outcome){
        .kind = OUTCOME_STREAM, .state = acceptance, .next = next, .free_state = caller_left};
    return BERTH_OK;
}
