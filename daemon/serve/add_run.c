/* io.berth.Health.AddRun: parses records on the thread pool, hands the run to the scheduler, and
 * waits for it. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/given_run.h"
#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/daemon.h"
#include "serve/serve.h"

/* Shared by the caller's stream and the scheduler's job; either may end first. */
struct addition {
    const struct daemon *daemon;
    const struct snapshot *snap;
    char *records;
    int64_t now_s;
    struct run_parser parser;
    size_t measured, left_out;
    bool is_parsed, is_begun, is_done, is_left;
    struct berth_err err;
};

static void addition_free(struct addition *addition)
{
    if (addition->is_parsed)
        run_parser_done(&addition->parser);
    snapshot_unref(addition->snap);
    free(addition->records);
    free(addition);
}

static enum berth_code parse(void *state, json_t **ret_result, struct berth_err *err)
{
    struct addition *addition = state;
    (void)ret_result;
    enum berth_code code = given_run_parse(addition->snap->graph, addition->records,
                                           addition->now_s, &addition->parser, err);
    addition->is_parsed = code == BERTH_OK;
    return code;
}

static void job_done(void *arg, enum berth_code code, const struct accepted *accepted,
                     const struct berth_err *err)
{
    struct addition *addition = arg;
    (void)code;
    (void)accepted;
    addition->is_done = true;
    addition->err = *err;
    if (addition->is_left)
        addition_free(addition);
}

static void caller_left(void *state)
{
    struct addition *addition = state;
    if (addition->is_begun && !addition->is_done)
        addition->is_left = true;
    else
        addition_free(addition);
}

static enum berth_code begin(struct addition *addition, struct berth_err *err)
{
    struct run *run = &addition->parser.run;
    addition->measured = values_numbers(run->values);
    addition->left_out = run->values->count - addition->measured;
    addition->is_begun = true; /* the job may be done before the call returns */
    enum berth_code code =
        sched_add_run(addition->daemon->sched, addition->snap->graph, run, job_done, addition, err);
    addition->is_begun = code == BERTH_OK;
    return code;
}

static json_t *reply(const struct addition *addition)
{
    json_t *skipped = addition->parser.skipped;
    return json_pack("{s:I,s:I,s:o}", "measured", (json_int_t)addition->measured, "left_out",
                     (json_int_t)addition->left_out, "skipped",
                     json_array_size(skipped) > 0 ? json_copy(skipped) : json_null());
}

static enum stream_step next(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct addition *addition = state;
    if (!addition->is_begun && begin(addition, err) != BERTH_OK)
        return STREAM_ERROR;
    if (!addition->is_done)
        return STREAM_WAIT;
    if (addition->err.code != BERTH_OK) {
        *err = addition->err;
        return STREAM_ERROR;
    }
    *ret_reply = reply(addition);
    if (*ret_reply != NULL)
        return STREAM_LAST;
    err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    return STREAM_ERROR;
}

enum berth_code query_add_run(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct addition *addition = calloc(1, sizeof *addition);
    const char *records = json_string_value(json_object_get(call->params, "records"));
    if (addition == NULL || (addition->records = strdup(records)) == NULL) {
        free(addition);
        return err_set(err, BERTH_NO_MEMORY, "no memory for the records");
    }
    addition->daemon = call->daemon;
    addition->snap = snapshot_ref(call->snap);
    addition->now_s = clock_now_s(&call->daemon->clock);
    *ret = (struct outcome){.kind = OUTCOME_STREAM,
                            .state = addition,
                            .work = parse,
                            .next = next,
                            .acts = true,
                            .free_state = caller_left};
    return BERTH_OK;
}
