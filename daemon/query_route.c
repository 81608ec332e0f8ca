/* io.berth.Placement.Route: JSON on both sides of plan_route. */
#include <math.h>
#include <stdio.h>

#include "answer.h"
#include "daemon.h"
#include "jsonify.h"
#include "plan_route.h"
#include "query.h"
#include "request.h"
#include "visible.h"

static bool is_gpu(const struct graph *graph, place_id id) { return graph_place(graph, id)->kind == PLACE_GPU; }

/* What a program calls for one hop. AMD's runtime copies between gpus by kernel itself when it is told to at its start; elsewhere a
 * kernel is the program's own. */
static void describe_call(const struct graph *graph, const struct move *hop, char *text, size_t size)
{
    enum gpu_vendor vendor = visible_vendor(graph_place(graph, hop->driver));
    const char *prefix = vendor == VENDOR_AMD ? "hip" : "cuda", *driver = graph_place(graph, hop->driver)->name;
    bool peers = is_gpu(graph, hop->from) && is_gpu(graph, hop->to);
    if (vendor == VENDOR_UNKNOWN)
        snprintf(text, size, hop->by == MOVE_COPY_ENGINE ? "a copy by the copy engine of %s" : "a copy kernel on %s", driver);
    else if (hop->by == MOVE_COPY_ENGINE || (vendor == VENDOR_AMD && peers))
        snprintf(text, size, "%sMemcpy%sAsync on a stream of %s", prefix, peers ? "Peer" : "", driver);
    else
        snprintf(text, size, "a copy kernel on %s, %s", driver, peers ? "after cudaDeviceEnablePeerAccess" : "on pinned host memory");
}

/* Whether the runtime must be told at its start to copy by kernel. */
static bool needs_kernels(const struct graph *graph, const struct route_option *option)
{
    const struct move *hop = &option->hop[0];
    return hop->by == MOVE_KERNEL && is_gpu(graph, hop->from) && is_gpu(graph, hop->to) && visible_vendor(graph_place(graph, hop->driver)) == VENDOR_AMD;
}

static json_t *prediction_json(const struct prediction *prediction, const struct resource_found *shared)
{
    json_t *json = json_object();
    bool ok = answer_set(json, "time_ns", json_real(round(prediction->time_ns))) &&
              answer_set(json, "low_ns", isfinite(prediction->low_ns) ? json_real(round(prediction->low_ns)) : json_null()) &&
              answer_set(json, "high_ns", isfinite(prediction->high_ns) ? json_real(round(prediction->high_ns)) : json_null()) &&
              answer_set(json, "bottleneck", shared != NULL ? json_string(shared->name) : json_null());
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *segment_json(const struct graph *graph, const struct route_option *option)
{
    json_t *json = json_object(), *via = json_array();
    bool ok = answer_set(json, "via", via) && answer_set(json, "mechanism", json_string(option->hop[0].by == MOVE_COPY_ENGINE ? "copy_engine" : "kernel"));
    for (size_t i = 1; i < option->hop_count && ok; i++)
        ok = answer_append(via, json_string(graph_place(graph, option->hop[i].from)->name));
    ok = ok && answer_set(json, "chunk_bytes", option->chunk_bytes > 0 ? json_integer((json_int_t)option->chunk_bytes) : json_null()) &&
         answer_set(json, "streams", json_integer((json_int_t)option->hop_count)) && answer_set(json, "share", json_real(1));
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *option_json(const struct snapshot *snap, const struct route_answer *answer, const struct route_option *option)
{
    const struct graph *graph = snap->graph;
    char call[300] = "";
    size_t used = 0;
    for (size_t i = 0; i < option->hop_count && used < sizeof call; i++) {
        char one[128];
        describe_call(graph, &option->hop[i], one, sizeof one);
        used += (size_t)snprintf(call + used, sizeof call - used, "%s%s", i > 0 ? ", then " : "", one);
    }
    bool forced = needs_kernels(graph, option);
    json_t *json = json_object(), *segments = json_array(), *environment = json_object();
    bool ok = answer_set(json, "segments", segments);
    ok = answer_set(json, "environment", environment) && ok && answer_append(segments, segment_json(graph, option)) &&
         (!forced || answer_set(environment, "HSA_ENABLE_PEER_SDMA", json_string("0"))) && answer_set(json, "needs_restart", json_boolean(forced)) &&
         answer_set(json, "call", json_string(call)) && answer_set(json, "predicted", prediction_json(&option->predicted, option->shared)) &&
         answer_set(json, "why", answer_evidence(snap, &answer->evidence, option->why, option->why_count));
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static bool put_answer(const struct snapshot *snap, const struct route_answer *answer, json_t *json)
{
    json_t *options = json_array(), *crossovers = json_array();
    bool ok = answer_set(json, "options", options);
    ok = answer_set(json, "crossovers", crossovers) && ok;
    for (size_t i = 0; i < answer->count && ok; i++)
        ok = answer_append(options, option_json(snap, answer, &answer->option[i]));
    for (size_t i = 0; i < answer->crossover_count && ok; i++) {
        const struct route_crossover *at = &answer->crossover[i];
        ok = answer_append(crossovers, json_pack("{s:I,s:i,s:i}", "bytes", (json_int_t)at->bytes, "below", (int)at->below, "above", (int)at->above));
    }
    return ok && answer_set(json, "b80_bytes", isnan(answer->b80_bytes) ? json_null() : json_real(round(answer->b80_bytes))) && answer_set(json, "warnings", answer_warnings(&answer->warnings)) &&
           answer_set(json, "basis", jsonify_basis(snap));
}

static enum berth_code read_request(const struct graph *graph, const json_t *params, struct allowed *allowed, struct route_request *request, struct berth_err *err)
{
    enum berth_code code = request_place(graph, json_object_get(params, "from"), "from", &request->from, err);
    if (code == BERTH_OK)
        code = request_place(graph, json_object_get(params, "to"), "to", &request->to, err);
    if (code == BERTH_OK)
        code = request_int(params, "bytes", 1, INT64_MAX, 0, &request->bytes, err);
    if (code == BERTH_OK)
        code = request_allowed(graph, params, allowed, err);
    request->overlap = json_is_true(json_object_get(params, "overlap"));
    request->both = json_is_true(json_object_get(params, "both_directions"));
    request->allowed = allowed;
    return code;
}

static enum berth_code read_meanwhile(const struct graph *graph, const json_t *params, struct route_transfer *transfers, struct route_request *request,
                                      struct berth_err *err)
{
    const json_t *array, *item;
    size_t i;
    enum berth_code code = request_array(params, "meanwhile", ROUTE_MEANWHILE_MAX, &array, err);
    json_array_foreach(array, i, item)
    {
        if (code == BERTH_OK)
            code = request_place(graph, json_object_get(item, "from"), "meanwhile", &transfers[i].from, err);
        if (code == BERTH_OK)
            code = request_place(graph, json_object_get(item, "to"), "meanwhile", &transfers[i].to, err);
        if (code == BERTH_OK)
            code = request_int(item, "bytes", 0, INT64_MAX, 0, &transfers[i].bytes, err);
    }
    request->meanwhile = transfers;
    request->meanwhile_count = json_array_size(array);
    return code;
}

enum berth_code query_route(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct allowed allowed = {0};
    struct route_request request = {0};
    struct route_answer answer = {0};
    struct route_transfer meanwhile[ROUTE_MEANWHILE_MAX];
    enum berth_code code = read_request(call->snap->graph, call->params, &allowed, &request, err);
    if (code == BERTH_OK)
        code = read_meanwhile(call->snap->graph, call->params, meanwhile, &request, err);
    if (code == BERTH_OK)
        code = plan_route(call->snap, &request, &answer, err);
    if (code == BERTH_OK) {
        json_t *json = json_object();
        if (json != NULL && put_answer(call->snap, &answer, json)) {
            *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json};
        } else {
            json_decref(json);
            code = err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
        }
        plan_route_done(&answer);
    }
    plan_allowed_done(&allowed);
    return code;
}
