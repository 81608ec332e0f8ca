/* io.berth.Placement.Bind: JSON on both sides of plan_bind. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "claim_around.h"
#include "claim_keep.h"
#include "claim_plan.h"
#include "claim_within.h"
#include "daemon.h"
#include "jsonify.h"
#include "launcher.h"
#include "query.h"
#include "query_bind_request.h"
#include "visible.h"

struct reply {
    const struct snapshot *snap;
    const struct bind_asked *asked;
    struct bind_answer answer;
    const struct claim *claim; /* the caller's under the key, to keep the plan; NULL none */
};

/* Its own gpus first, then the other allowed ones when all are to be seen. The caller frees ret. */
static enum berth_code shown_gpus(const struct reply *reply, const struct bind_task *task, place_id **ret, size_t *ret_count,
                                  struct berth_err *err)
{
    const struct graph *graph = reply->snap->graph;
    size_t own = (size_t)reply->answer.gpus_per_task, count = own;
    place_id *gpus = calloc(graph_count(graph, PLACE_GPU) + 1, sizeof *gpus);
    if (gpus == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for gpus");
    for (size_t i = 0; i < own; i++)
        gpus[i] = task->gpus[i];
    for (place_id g = graph_next(graph, PLACE_GPU, 0); own > 0 && reply->asked->shows_all && g != PLACE_NONE; g = graph_next(graph, PLACE_GPU, g + 1)) {
        bool is_own = false;
        for (size_t i = 0; i < own; i++)
            is_own |= task->gpus[i] == g;
        if (!is_own && plan_allows_gpu(&reply->asked->allowed, g))
            gpus[count++] = g;
    }
    *ret = gpus;
    *ret_count = count;
    return BERTH_OK;
}

/* id NULL: there are none. */
static json_t *names(const struct graph *graph, const place_id *id, size_t count)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && id != NULL && i < count; i++)
        ok = answer_append(array, json_string_nocheck(graph_place(graph, id[i])->name));
    if (!ok) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static bool set_text(json_t *object, const char *key, const char *text) { return text == NULL || answer_set(object, key, json_string_nocheck(text)); }

static bool put_environment(json_t *json, const struct visible *visible)
{
    json_t *environment = json_object(), *unset = json_array();
    bool ok = set_text(environment, "ROCR_VISIBLE_DEVICES", visible->rocr) && set_text(environment, "CUDA_VISIBLE_DEVICES", visible->cuda);
    for (size_t i = 0; ok && visible->unset[i] != NULL; i++)
        ok = answer_append(unset, json_string_nocheck(visible->unset[i]));
    ok = answer_set(json, "environment", environment) && ok;
    return answer_set(json, "unset", unset) && ok;
}

static json_t *task_json(const struct reply *reply, size_t t, const struct visible *visible)
{
    const struct graph *graph = reply->snap->graph;
    const struct bind_answer *answer = &reply->answer;
    const struct bind_task *task = &answer->task[t];
    char *cpus = cpuset_list_new(&task->cpus), *mask = cpuset_mask_new(&task->cpus);
    json_t *json = json_object();
    bool ok = cpus != NULL && mask != NULL && answer_set(json, "task", json_integer((json_int_t)t)) &&
              answer_set(json, "gpus", names(graph, task->gpus, (size_t)answer->gpus_per_task)) &&
              answer_set(json, "cpus", json_string_nocheck(cpus)) && answer_set(json, "cpu_mask", json_string_nocheck(mask)) &&
              answer_set(json, "memory", names(graph, &task->memory, task->memory != PLACE_NONE)) &&
              answer_set(json, "memory_policy", json_string_nocheck("preferred")) &&
              answer_set(json, "nics", names(graph, answer->nic != NULL ? answer->nic + task->nics : NULL, task->nic_count)) &&
              put_environment(json, visible);
    free(cpus);
    free(mask);
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static enum berth_code no_memory(struct berth_err *err) { return err_set(err, BERTH_NO_MEMORY, "no memory for the answer"); }

static enum berth_code put_tasks(struct reply *reply, json_t *json, struct berth_err *err)
{
    json_t *tasks = json_array();
    if (!answer_set(json, "tasks", tasks))
        return no_memory(err);
    for (size_t t = 0; t < reply->answer.task_count; t++) {
        place_id *gpus = NULL;
        size_t count = 0;
        struct visible visible = {0};
        enum berth_code code = shown_gpus(reply, &reply->answer.task[t], &gpus, &count, err);
        if (code == BERTH_OK)
            code = visible_make(reply->snap->graph, gpus, count, &reply->answer.warnings, &visible, err);
        free(gpus);
        if (code == BERTH_OK && !answer_append(tasks, task_json(reply, t, &visible)))
            code = no_memory(err);
        visible_done(&visible);
        if (code != BERTH_OK)
            return code;
    }
    return BERTH_OK;
}

/* take_text NULL: it would not be right, and is left out. */
static enum berth_code put_line(json_t *launcher, const char *key, enum berth_code code, char *take_text, struct berth_err *err)
{
    if (code == BERTH_OK && !set_text(launcher, key, take_text))
        code = no_memory(err);
    free(take_text);
    return code;
}

static enum berth_code put_launcher(struct reply *reply, json_t *json, struct berth_err *err)
{
    const struct snapshot *snap = reply->snap;
    struct bind_answer *answer = &reply->answer;
    json_t *launcher = json_object();
    char *text = NULL;
    if (!answer_set(json, "launcher", launcher))
        return no_memory(err);
    enum berth_code code = launcher_slurm(snap, &reply->asked->allowed, answer, &answer->warnings, &text, err);
    code = put_line(launcher, "slurm", code, text, err);
    if (code == BERTH_OK) {
        text = NULL;
        code = launcher_rankfile(snap, answer, reply->asked->ranks, &text, err);
        code = put_line(launcher, "rankfile", code, text, err);
    }
    if (code == BERTH_OK) {
        text = NULL;
        code = launcher_omp_places(snap, answer, &text, err);
        code = put_line(launcher, "omp_places", code, text, err);
    }
    if (code == BERTH_OK) {
        text = NULL;
        code = launcher_numactl(snap, answer, &text, err);
        code = put_line(launcher, "numactl", code, text, err);
    }
    return code;
}

static json_t *number_json(double number) { return isnan(number) ? json_null() : json_real(number); }

static json_t *prediction_json(const struct prediction *prediction, const char *bottleneck)
{
    if (isnan(prediction->time_ns))
        return json_null();
    json_t *json = json_object();
    bool ok = answer_set(json, "time_ns", json_real(prediction->time_ns)) && answer_set(json, "low_ns", number_json(prediction->low_ns)) &&
              answer_set(json, "high_ns", number_json(prediction->high_ns)) &&
              answer_set(json, "bottleneck", *bottleneck != '\0' ? json_string_nocheck(bottleneck) : json_null());
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static enum berth_code put_answer(struct reply *reply, json_t *json, struct berth_err *err)
{
    struct bind_answer *answer = &reply->answer;
    if (reply->asked->traffic.count == 0)
        plan_warn(&answer->warnings, "no time is predicted: the request names no traffic; locality alone decided");
    if (reply->asked->key != NULL && reply->claim == NULL)
        plan_warn(&answer->warnings, "the plan is not kept under its key: you have no claim under that key (berth claim --key)");
    enum berth_code code = put_tasks(reply, json, err);
    if (code == BERTH_OK)
        code = put_launcher(reply, json, err);
    if (code != BERTH_OK)
        return code;
    bool ok = answer_set(json, "predicted", prediction_json(&answer->predicted, answer->bottleneck)) &&
              answer_set(json, "baseline", prediction_json(&answer->baseline, answer->baseline_bottleneck)) &&
              answer_set(json, "proven_optimal", json_boolean(answer->is_proven)) && answer_set(json, "gap", number_json(answer->gap)) &&
              answer_set(json, "why", answer_evidence(reply->snap, &answer->evidence, 0, answer->evidence.count)) &&
              answer_set(json, "reasons", answer_warnings(&answer->reasons)) && answer_set(json, "warnings", answer_warnings(&answer->warnings)) &&
              answer_set(json, "basis", jsonify_basis(reply->snap));
    return ok ? BERTH_OK : no_memory(err);
}

static void add_why(struct berth_err *err, const char *why) { strncat(err->detail, why, sizeof err->detail - strlen(err->detail) - 1); }

/* What others have claimed is not for this request, whatever it says is allowed; what its own claim covers is all that is. */
static enum berth_code plan_around(const struct call *call, struct bind_asked *asked, struct bind_answer *ret, struct berth_err *err)
{
    struct plan_warnings left_out = {0};
    bool any = false;
    const struct claim *within = NULL;
    enum berth_code code = BERTH_OK;
    if (call->daemon->claims != NULL) {
        const struct claim_set *claims = claim_keep_claims(call->daemon->claims);
        struct claim_caller caller = {call->peer->uid, call->peer->pid, asked->key};
        code = claim_around(claims, &call->daemon->io, call->snap->graph, &caller, &asked->allowed, &left_out, &any, err);
        if (code == BERTH_OK)
            code = claim_within(claims, &call->daemon->io, call->snap->graph, &caller, &asked->allowed, &within, err);
        if (code != BERTH_OK)
            return code;
    }
    code = plan_bind(call->snap, &asked->request, ret, err);
    for (size_t i = 0; code == BERTH_OK && i < left_out.count; i++)
        plan_warn(&ret->warnings, "%s", left_out.line[i]);
    if (code == BERTH_NOT_ENOUGH && any)
        add_why(err, "; what others have claimed is left out");
    if ((code == BERTH_NOT_ENOUGH || code == BERTH_NOTHING_ALLOWED) && within != NULL) {
        char by[96], why[128];
        claim_describe(within, by, sizeof by);
        snprintf(why, sizeof why, "; the plan stays within claim %s", by);
        add_why(err, why);
    }
    return code;
}

static enum berth_code answer_json(const struct call *call, struct bind_asked *asked, const struct claim *claim, json_t **ret, struct berth_err *err)
{
    struct reply reply = {.snap = call->snap, .asked = asked, .claim = claim};
    json_t *json = NULL;
    enum berth_code code = plan_around(call, asked, &reply.answer, err);
    if (code == BERTH_OK) {
        json = json_object();
        code = json != NULL ? put_answer(&reply, json, err) : no_memory(err);
    }
    plan_bind_done(&reply.answer);
    if (code == BERTH_OK)
        *ret = json;
    else
        json_decref(json);
    return code;
}

/* Keeps the plan and answers once it is stored; one that is too large is answered with a warning. */
static enum berth_code keep_and_answer(const struct call *call, const struct claim *claim, const char *text, json_t *take_json, struct outcome *ret,
                                       struct berth_err *err)
{
    char *answered = print_tree(take_json, JSON_COMPACT);
    enum berth_code code = BERTH_OK;
    if (answered == NULL) {
        code = no_memory(err);
    } else if (strlen(text) + strlen(answered) > CLAIM_PLAN_MAX) {
        json_t *warnings = json_object_get(take_json, "warnings");
        if (!answer_append(warnings, json_string("the plan is not kept under its key: it is too large for that")))
            code = no_memory(err);
    } else if (!claim_keep_plan(call->daemon->claims, claim, text, answered)) {
        code = no_memory(err);
    }
    free(answered);
    if (code == BERTH_OK)
        return claim_keep_answer(call->daemon->claims, take_json, false, NULL, ret, err);
    json_decref(take_json);
    return code;
}

/* Under the key of a claim the first plan stands. */
static enum berth_code answer_under_key(const struct call *call, struct bind_asked *asked, const struct claim *claim, struct outcome *ret,
                                        struct berth_err *err)
{
    json_t *json = NULL;
    char *text = claim_plan_text(call->params);
    if (text == NULL)
        return no_memory(err);
    enum berth_code code = claim_plan_recall(claim, text, &json, err);
    bool stands = json != NULL;
    if (code == BERTH_OK && !stands)
        code = answer_json(call, asked, claim, &json, err);
    if (code == BERTH_OK && stands)
        code = claim_keep_answer(call->daemon->claims, json, false, NULL, ret, err);
    else if (code == BERTH_OK)
        code = keep_and_answer(call, claim, text, json, ret, err);
    free(text);
    return code;
}

enum berth_code query_bind(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct bind_asked asked = {0};
    json_t *json = NULL;
    const struct claim *claim = NULL;
    enum berth_code code = query_bind_request(call->snap->graph, call->params, &asked, err);
    if (code == BERTH_OK && asked.key != NULL && call->daemon->claims != NULL)
        claim = claim_set_find_key(claim_keep_claims(call->daemon->claims), call->peer->uid, asked.key);
    if (code == BERTH_OK && claim != NULL)
        code = answer_under_key(call, &asked, claim, ret, err);
    else if (code == BERTH_OK && (code = answer_json(call, &asked, NULL, &json, err)) == BERTH_OK)
        *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json};
    query_bind_request_done(&asked);
    return code;
}
