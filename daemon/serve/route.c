/* io.berth.Placement.Route: conversion between JSON and plan_route. */
#include <math.h>
#include <stdlib.h>

#include "node/allowed.h"
#include "node/jsonify.h"
#include "plan/route/call.h"
#include "plan/route/route.h"
#include "serve/answer.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/report.h"
#include "serve/request.h"
#include "serve/serve.h"

/* A request with its answer, until that is sent. */
struct reply {
    const struct snapshot *snap;
    uint64_t claims; /* generation at the time of the request */
    struct allowed allowed;
    struct route_transfer concurrent[ROUTE_CONCURRENT_MAX];
    struct route_request request; /* points to both above */
    struct route_answer answer;
    struct report_view reports;
};

static void reply_free(void *state)
{
    struct reply *reply = state;
    allowed_done(&reply->allowed);
    snapshot_unref(reply->snap);
    plan_route_done(&reply->answer);
    report_view_done(&reply->reports);
    free(reply);
}

/* Returns the mechanism. Through host memory the copy engines of two GPUs copy, so it has its own
 * name. */
static const char *mechanism_of(const struct graph *graph, const struct route_part *part)
{
    for (size_t i = 1; i < part->hop_count; i++)
        if (graph_place(graph, part->hop[i].from)->kind == PLACE_NUMA)
            return "host";
    return part->hop[0].by == MECHANISM_COPY_ENGINE ? "copy_engine" : "kernel";
}

static void print_segment(struct print *print, const struct graph *graph,
                          const struct route_option *option, size_t index)
{
    const struct route_part *part = &option->part[index];
    print_open(print, '{');
    print_key(print, "mechanism");
    print_name(print, mechanism_of(graph, part));
    print_key(print, "via");
    print_open(print, '[');
    for (size_t i = 1; i < part->hop_count; i++)
        print_name(print, graph_place(graph, part->hop[i].from)->name);
    print_close(print, ']');
    print_key(print, "chunk_bytes");
    print_count(print, part->chunk_bytes > 0 ? (int64_t)part->chunk_bytes : -1);
    print_key(print, "streams");
    print_integer(print, (int64_t)part->hop_count);
    print_key(print, "fraction");
    print_real(print, part->share);
    print_close(print, '}');
}

static void print_option(struct print *print, const struct reply *reply,
                         const struct route_option *option)
{
    const struct snapshot *snap = reply->snap;
    struct plan_call call;
    plan_call_make(snap->graph, snap->shapes, option, &call);
    print_open(print, '{');
    print_key(print, "segments");
    print_open(print, '[');
    for (size_t i = 0; i < option->part_count; i++)
        print_segment(print, snap->graph, option, i);
    print_close(print, ']');
    print_key(print, "environment");
    print_open(print, '{');
    for (size_t i = 0; i < call.variables.count; i++) {
        print_key(print, call.variables.variable[i].name);
        print_name(print, call.variables.variable[i].value);
    }
    print_close(print, '}');
    print_key(print, "needs_restart");
    print_json(print, call.variables.needs_restart ? json_true() : json_false());
    print_key(print, "may_lead");
    print_json(print, option->may_lead ? json_true() : json_false());
    print_key(print, "worth_measuring");
    if (option->worth_measuring[0] != '\0')
        print_string(print, option->worth_measuring);
    else
        print_json(print, json_null());
    print_key(print, "call");
    print_string(print, call.text);
    print_key(print, "predicted");
    struct report_named predicted =
        report_view_name(&reply->reports, report_kind_route(snap->graph, &reply->request, option),
                         option->predicted);
    answer_print_prediction(print, &predicted,
                            option->shared != NULL ? option->shared->name : NULL);
    print_key(print, "evidence");
    answer_print_evidence(print, snap, &reply->answer.evidence, option->why, option->why_count);
    print_close(print, '}');
}

static enum berth_code print_answer(void *state, struct print *print, struct berth_err *err)
{
    struct reply *reply = state;
    const struct route_answer *answer = &reply->answer;
    enum berth_code code = plan_route(reply->snap, &reply->request, &reply->answer, err);
    if (code != BERTH_OK)
        return code;
    print_open(print, '{');
    print_key(print, "options");
    print_open(print, '[');
    for (size_t i = 0; i < answer->count; i++)
        print_option(print, reply, &answer->option[i]);
    print_close(print, ']');
    print_key(print, "crossovers");
    print_open(print, '[');
    for (size_t i = 0; i < answer->crossover_count; i++) {
        print_open(print, '{');
        print_key(print, "bytes");
        print_integer(print, answer->crossover[i].bytes);
        print_key(print, "below");
        print_integer(print, (int64_t)answer->crossover[i].below);
        print_key(print, "above");
        print_integer(print, (int64_t)answer->crossover[i].above);
        print_close(print, '}');
    }
    print_close(print, ']');
    print_key(print, "b80_bytes");
    print_real(print, round(answer->b80_bytes));
    print_key(print, "reasons");
    answer_print_reasons(print, &answer->reasons);
    print_key(print, "warnings");
    answer_print_reasons(print, &answer->warnings);
    print_key(print, "basis");
    jsonify_print_basis(print, reply->snap, reply->claims);
    print_close(print, '}');
    return BERTH_OK;
}

static enum berth_code read_request(const struct graph *graph, const json_t *params,
                                    struct allowed *allowed, struct route_request *request,
                                    struct berth_err *err)
{
    enum berth_code code =
        request_place(graph, json_object_get(params, "from"), "from", &request->from, err);
    if (code == BERTH_OK)
        code = request_place(graph, json_object_get(params, "to"), "to", &request->to, err);
    if (code == BERTH_OK)
        code = request_int(params, "bytes", 1, INT64_MAX, 0, &request->bytes, err);
    if (code == BERTH_OK)
        code = request_allowed(graph, params, allowed, err);
    request->overlap = json_is_true(json_object_get(params, "overlap"));
    request->both = json_is_true(json_object_get(params, "both_directions"));
    request->allow_unmeasured = json_is_true(json_object_get(params, "allow_unmeasured"));
    request->allowed = allowed;
    return code;
}

static enum berth_code read_concurrent(const struct graph *graph, const json_t *params,
                                       struct route_transfer *transfers,
                                       struct route_request *request, struct berth_err *err)
{
    const json_t *array = NULL, *item;
    size_t i;
    enum berth_code code = request_array(params, "concurrent", ROUTE_CONCURRENT_MAX, &array, err);
    if (code != BERTH_OK)
        return code;
    json_array_foreach(array, i, item)
    {
        code = request_place(graph, json_object_get(item, "from"), "from", &transfers[i].from, err);
        if (code == BERTH_OK)
            code = request_place(graph, json_object_get(item, "to"), "to", &transfers[i].to, err);
        if (code == BERTH_OK)
            code = request_int(item, "bytes", 1, INT64_MAX, 0, &transfers[i].bytes, err);
        if (code != BERTH_OK) {
            err_in_item(err, "concurrent", i);
            return code;
        }
    }
    request->concurrent = transfers;
    request->concurrent_count = json_array_size(array);
    return code;
}

enum berth_code query_route(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct reply *reply = calloc(1, sizeof *reply);
    if (reply == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    const struct graph *graph = call->snap->graph;
    struct route_request *request = &reply->request;
    reply->snap = snapshot_ref(call->snap);
    reply->claims = claim_keep_generation(call->daemon->claims);
    enum berth_code code = read_request(graph, call->params, &reply->allowed, request, err);
    if (code == BERTH_OK)
        code = read_concurrent(graph, call->params, reply->concurrent, request, err);
    if (code == BERTH_OK)
        code = query_report_view(call, &reply->reports, err);
    if (code == BERTH_OK)
        /* it takes 0.1 to 1 ms */
        *ret = (struct outcome){
            .kind = OUTCOME_WORK, .state = reply, .write = print_answer, .free_state = reply_free};
    else
        reply_free(reply);
    return code;
}
