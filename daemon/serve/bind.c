/* io.berth.Placement.Bind: conversion between JSON and plan_bind. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "claim/around.h"
#include "cost/endpoints.h"
#include "cost/evidence.h"
#include "node/allowed.h"
#include "node/jsonify.h"
#include "node/reasons.h"
#include "plan/bind/launcher_options.h"
#include "plan/bind/nics.h"
#include "plan/bind/visible.h"
#include "serve/answer.h"
#include "serve/bind_request.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/plan_key.h"
#include "serve/report.h"
#include "serve/serve.h"

struct reply {
    const struct snapshot *snap;
    const struct bind_asked *asked;
    struct bind_answer answer;
    uint64_t claims;    /* generation of the claims that the plan considers */
    bool is_kept;       /* under the key of a claim */
    bool is_within_key; /* planned within a claim that the key names */
    const struct report_view *reports;
};

/* A request in progress. The plan uses this alone, on the loop or on the thread pool. Claims are
 * read and changed on the loop, before and after. */
struct binding {
    const struct snapshot *snap;
    struct bind_asked asked;
    char *key;               /* the request's; owned */
    uint64_t claims;         /* generation of the claims at the time of the request */
    struct reasons left_out; /* resources claimed by others */
    bool any_left_out;
    char within[96];       /* claim within which it is planned; "" none */
    bool is_within_key;    /* that claim is named by the request's key */
    struct plan_key stand; /* storage of the plan under its key */
    json_t *json;          /* the answer until it is sent */
    bool stands;           /* the answer is a stored plan */
    struct report_view reports;
};

/* Lists the task's own GPUs, followed by the other allowed ones if the request shows all. The
 * caller frees *ret. */
static enum berth_code shown_gpus(const struct reply *reply, const struct bind_task *task,
                                  place_id **ret, size_t *ret_count, struct berth_err *err)
{
    const struct graph *graph = reply->snap->graph;
    size_t own = (size_t)reply->answer.gpus_per_task, count = own;
    place_id *gpus = calloc(graph_count(graph, PLACE_GPU) + 1, sizeof *gpus);
    if (gpus == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for gpus");
    for (size_t i = 0; i < own; i++)
        gpus[i] = task->gpus[i];
    for (place_id g = graph_next(graph, PLACE_GPU, 0);
         own > 0 && reply->asked->shows_all && g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        bool is_own = false;
        for (size_t i = 0; i < own; i++)
            is_own |= task->gpus[i] == g;
        if (!is_own && allowed_has_gpu(&reply->asked->allowed, g) &&
            !endpoints_is_lost(reply->snap, g))
            gpus[count++] = g;
    }
    *ret = gpus;
    *ret_count = count;
    return BERTH_OK;
}

/* Returns the places' names. id NULL: none. */
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

static bool set_text(json_t *object, const char *key, const char *text)
{
    return text == NULL || answer_set(object, key, json_string_nocheck(text));
}

/* A task's environment, besides the variables for copies. */
struct environment {
    struct visible visible;
    char *ucx;        /* owned */
    const char *nccl; /* the same for all tasks */
};

static bool put_environment(json_t *json, const struct bind_task *task,
                            const struct environment *its)
{
    const struct visible *visible = &its->visible;
    json_t *environment = json_object(), *unset = json_array();
    bool ok = set_text(environment, "ROCR_VISIBLE_DEVICES", visible->rocr) &&
              set_text(environment, "CUDA_VISIBLE_DEVICES", visible->cuda) &&
              set_text(environment, "CUDA_DEVICE_ORDER", visible->cuda_order) &&
              set_text(environment, "UCX_NET_DEVICES", its->ucx) &&
              set_text(environment, "NCCL_IB_HCA", its->nccl);
    for (size_t i = 0; ok && i < task->variables.count; i++)
        ok = set_text(environment, task->variables.variable[i].name,
                      task->variables.variable[i].value);
    for (size_t i = 0; ok && visible->unset[i] != NULL; i++)
        ok = answer_append(unset, json_string_nocheck(visible->unset[i]));
    ok = answer_set(json, "environment", environment) && ok;
    return answer_set(json, "unset", unset) && ok;
}

static json_t *task_json(const struct reply *reply, size_t t, const struct environment *environment)
{
    const struct graph *graph = reply->snap->graph;
    const struct bind_answer *answer = &reply->answer;
    const struct bind_task *task = &answer->task[t];
    char *cpus = cpuset_list_new(&task->cpus), *mask = cpuset_mask_new(&task->cpus);
    json_t *json = json_object();
    bool ok = cpus != NULL && mask != NULL &&
              answer_set(json, "task", json_integer((json_int_t)t)) &&
              answer_set(json, "gpus", names(graph, task->gpus, (size_t)answer->gpus_per_task)) &&
              answer_set(json, "cpus", json_string_nocheck(cpus)) &&
              answer_set(json, "cpu_mask", json_string_nocheck(mask)) &&
              answer_set(json, "memory", names(graph, &task->memory, task->memory != PLACE_NONE)) &&
              answer_set(json, "memory_policy", json_string_nocheck("preferred")) &&
              answer_set(json, "nics",
                         names(graph, answer->nic != NULL ? answer->nic + task->nics : NULL,
                               task->nic_count)) &&
              put_environment(json, task, environment);
    free(cpus);
    free(mask);
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
}

static enum berth_code put_task(struct reply *reply, json_t *tasks, size_t t, const char *nccl,
                                struct berth_err *err)
{
    const struct graph *graph = reply->snap->graph;
    const struct bind_task *task = &reply->answer.task[t];
    struct reasons *warnings = &reply->answer.warnings;
    struct environment environment = {.nccl = reply->answer.gpus_per_task > 0 ? nccl : NULL};
    place_id *gpus = NULL;
    size_t count = 0;
    enum berth_code code = shown_gpus(reply, task, &gpus, &count, err);
    if (code == BERTH_OK)
        code = visible_make(graph, &reply->asked->allowed, gpus, count, warnings,
                            &environment.visible, err);
    free(gpus);
    if (code == BERTH_OK && task->nic_count > 0)
        code = nics_ucx(graph, reply->answer.nic + task->nics, task->nic_count, warnings,
                        &environment.ucx, err);
    if (code == BERTH_OK && !answer_append(tasks, task_json(reply, t, &environment)))
        code = no_memory(err);
    visible_done(&environment.visible);
    free(environment.ucx);
    return code;
}

static enum berth_code put_tasks(struct reply *reply, json_t *json, struct berth_err *err)
{
    json_t *tasks = json_array();
    char *nccl = NULL;
    if (!answer_set(json, "tasks", tasks))
        return no_memory(err);
    enum berth_code code = nics_nccl(reply->snap, &nccl, err);
    for (size_t t = 0; code == BERTH_OK && t < reply->answer.task_count; t++)
        code = put_task(reply, tasks, t, nccl, err);
    free(nccl);
    return code;
}

static enum berth_code put_launcher(struct reply *reply, json_t *json, struct berth_err *err)
{
    struct bind_answer *answer = &reply->answer;
    json_t *launcher = json_object();
    enum berth_code code = answer_set(json, "launcher", launcher) ? BERTH_OK : no_memory(err);
    for (int i = 0; code == BERTH_OK && i < LAUNCHERS; i++) {
        char *text = NULL;
        code = launcher_options((enum launcher)i, reply->snap, &reply->asked->allowed, answer,
                                reply->asked->ranks, &answer->warnings, &text, err);
        if (code == BERTH_OK && !set_text(launcher, launcher_name((enum launcher)i), text))
            code = no_memory(err);
        free(text);
    }
    return code;
}

static json_t *prediction_json(const struct reply *reply, const struct estimate *prediction,
                               const char *bottleneck)
{
    const struct bind_asked *asked = reply->asked;
    struct report_kind kind =
        report_kind_bind(&asked->request, asked->pattern, reply->answer.gpus_per_task);
    struct report_named named = report_view_name(reply->reports, kind, *prediction);
    return answer_prediction(&named, *bottleneck != '\0' ? bottleneck : NULL);
}

/* Warns of HSA_ENABLE_PEER_SDMA without effect: AMD's runtime copies only between GPUs that it
 * sees. */
static void warn_of_hidden_gpus(struct reply *reply)
{
    struct bind_answer *answer = &reply->answer;
    for (size_t t = 0; !reply->asked->shows_all && answer->task_count > 1 && t < answer->task_count;
         t++)
        for (size_t i = 0; i < answer->task[t].variables.count; i++)
            if (strcmp(answer->task[t].variables.variable[i].name, "HSA_ENABLE_PEER_SDMA") == 0) {
                reasons_add(&answer->warnings, REASON_PEERS_HIDDEN, NO_SUBJECTS, NO_NUMBERS);
                return;
            }
}

static enum berth_code put_answer(struct reply *reply, json_t *json, struct berth_err *err)
{
    struct bind_answer *answer = &reply->answer;
    warn_of_hidden_gpus(reply);
    if (reply->asked->bytes_assumed > 0)
        reasons_add(&answer->warnings, REASON_BYTES_ASSUMED, NO_SUBJECTS,
                    NUMBERS((double)reply->asked->bytes_assumed));
    if (reply->asked->traffic.count == 0)
        reasons_add(&answer->warnings, REASON_NO_TRAFFIC, NO_SUBJECTS, NO_NUMBERS);
    if (reply->asked->key != NULL && !reply->is_kept && !reply->is_within_key)
        reasons_add(&answer->warnings, REASON_KEY_UNCLAIMED, NO_SUBJECTS,
                    NUMBERS(PLAN_CACHE_S / 60.0));
    enum berth_code code = put_tasks(reply, json, err);
    if (code == BERTH_OK)
        code = put_launcher(reply, json, err);
    if (code != BERTH_OK)
        return code;
    bool ok =
        answer_set(json, "predicted",
                   prediction_json(reply, &answer->predicted, answer->bottleneck)) &&
        answer_set(json, "baseline",
                   prediction_json(reply, &answer->baseline, answer->baseline_bottleneck)) &&
        answer_set(json, "proven_optimal", json_boolean(answer->is_proven)) &&
        answer_set(json, "gap", jsonify_number(answer->gap)) &&
        answer_set(json, "evidence",
                   answer_evidence(reply->snap, &answer->evidence, 0, answer->evidence.count)) &&
        answer_set(json, "reasons", answer_reasons(&answer->reasons)) &&
        answer_set(json, "warnings", answer_reasons(&answer->warnings)) &&
        answer_set(json, "basis", jsonify_basis(reply->snap, reply->claims));
    return ok ? BERTH_OK : no_memory(err);
}

static void binding_free(void *state)
{
    struct binding *binding = state;
    plan_key_done(&binding->stand);
    json_decref(binding->json);
    query_bind_request_done(&binding->asked);
    snapshot_unref(binding->snap);
    report_view_done(&binding->reports);
    free(binding->key);
    free(binding);
}

/* ---- the plan: any thread ---- */

static void add_why(struct berth_err *err, const char *why)
{
    strncat(err->detail, why, sizeof err->detail - strlen(err->detail) - 1);
    text_clean(err->detail);
}

static enum berth_code plan(struct binding *binding, struct bind_answer *ret, struct berth_err *err)
{
    enum berth_code code = query_bind_traffic(binding->snap->graph, &binding->asked, err);
    if (code != BERTH_OK)
        return code;
    code = plan_bind(binding->snap, &binding->asked.request, ret, err);
    if (code == BERTH_OK)
        reasons_append(&ret->warnings, &binding->left_out);
    if (code == BERTH_OK && *binding->within != '\0')
        reasons_add(&ret->reasons, REASON_WITHIN_CLAIM, SUBJECTS(binding->within), NO_NUMBERS);
    bool says_claimed = code == BERTH_NOTHING_ALLOWED && binding->asked.allowed.gpus_claimed;
    if ((code == BERTH_NOT_ENOUGH || code == BERTH_NOTHING_ALLOWED) && binding->any_left_out &&
        !says_claimed)
        add_why(err, "; what others have claimed is left out (berth claims lists it)");
    if ((code == BERTH_NOT_ENOUGH || code == BERTH_NOTHING_ALLOWED) && *binding->within != '\0') {
        char why[128];
        snprintf(why, sizeof why, "; the plan stays within claim %s", binding->within);
        add_why(err, why);
    }
    return code;
}

static enum berth_code make_json(void *state, json_t **ret, struct berth_err *err)
{
    struct binding *binding = state;
    struct reply reply = {.snap = binding->snap,
                          .asked = &binding->asked,
                          .claims = binding->claims,
                          .is_kept = binding->stand.is_claimed,
                          .is_within_key = binding->is_within_key,
                          .reports = &binding->reports};
    json_t *json = NULL;
    enum berth_code code = plan(binding, &reply.answer, err);
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

static enum berth_code make_kept_json(void *state, json_t **ret, struct berth_err *err)
{
    struct binding *binding = state;
    (void)ret;
    return make_json(state, &binding->json, err);
}

/* ---- a key keeps its first plan ---- */

static enum stream_step next(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct binding *binding = state;
    if (!binding->stands && plan_key_stand(&binding->stand, &binding->json, err) != BERTH_OK)
        return STREAM_ERROR;
    binding->stands = true;
    return plan_key_answer(&binding->stand, &binding->json, ret_reply, err);
}

/* ---- the request ---- */

/* Removes others' claimed resources from the allowed ones, then restricts them to the caller's own
 * claim. */
static enum berth_code apply_claims(const struct call *call, struct binding *binding,
                                    struct berth_err *err)
{
    const struct claim *within = NULL;
    if (call->daemon->claims == NULL)
        return BERTH_OK;
    const struct claim_set *claims = claim_keep_claims(call->daemon->claims);
    struct claim_lineage process = {.pid = call->peer->pid};
    struct claim_caller caller = {call->peer->uid, &process, binding->asked.key};
    enum berth_code code =
        claim_around(claims, &call->daemon->io, call->snap->graph, &caller, &binding->asked.allowed,
                     &binding->left_out, &binding->any_left_out, err);
    if (code == BERTH_OK)
        code = claim_within(claims, &call->daemon->io, call->snap->graph, &caller,
                            &binding->asked.allowed, &within, err);
    if (within != NULL)
        claim_describe(within, binding->within, sizeof binding->within);
    binding->is_within_key = within != NULL && claim_is_under(within, &caller);
    return code;
}

static enum berth_code parse_request(const struct call *call, struct binding *binding,
                                     struct berth_err *err)
{
    struct bind_asked *asked = &binding->asked;
    enum berth_code code = query_bind_request(call->snap->graph, call->params, asked, err);
    if (code == BERTH_OK && asked->key != NULL) {
        binding->key = strdup(asked->key);
        asked->key = binding->key; /* the parameters end with the handler */
        code = binding->key != NULL ? BERTH_OK : no_memory(err);
    }
    if (code == BERTH_OK && asked->key != NULL)
        code = plan_key_find(call, asked->key, &binding->stand, &binding->json, err);
    binding->stands = binding->json != NULL;
    return code;
}

/* Answers with the stored plan. */
static void answer_kept(struct binding *binding, struct outcome *ret)
{
    *ret = (struct outcome){
        .kind = OUTCOME_STREAM, .state = binding, .next = next, .free_state = binding_free};
}

static void answer_later(struct binding *binding, struct outcome *ret)
{
    *ret = (struct outcome){
        .kind = OUTCOME_WORK, .state = binding, .work = make_json, .free_state = binding_free};
    if (binding->asked.key != NULL)
        *ret = (struct outcome){.kind = OUTCOME_STREAM,
                                .state = binding,
                                .work = make_kept_json,
                                .next = next,
                                .free_state = binding_free};
}

enum berth_code query_bind(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct binding *binding = calloc(1, sizeof *binding);
    if (binding == NULL)
        return no_memory(err);
    binding->snap = snapshot_ref(call->snap);
    binding->claims = claim_keep_generation(call->daemon->claims);
    enum berth_code code = parse_request(call, binding, err);
    if (code == BERTH_OK && !binding->stands)
        code = apply_claims(call, binding, err);
    if (code == BERTH_OK && !binding->stands)
        code = query_report_view(call, &binding->reports, err);
    if (code == BERTH_OK && binding->stands)
        answer_kept(binding, ret);
    else if (code == BERTH_OK)
        answer_later(binding, ret);
    if (code != BERTH_OK)
        binding_free(binding);
    return code;
}
