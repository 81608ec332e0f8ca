/* io.berth.Placement.Allocate: JSON on both sides of plan_alloc. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "daemon.h"
#include "jsonify.h"
#include "plan_alloc.h"
#include "query.h"
#include "request.h"

#define ACCESSES_MAX 64

static const char *const kinds[] = {"system", "pinned", "managed", "device", NULL};
static const char *const hows[] = {"stream", "random", NULL};
enum { KIND_SYSTEM };

static enum berth_code read_access(const struct graph *graph, const json_t *json, struct alloc_access *ret, struct berth_err *err)
{
    int how = 0;
    if (!json_is_object(json))
        return plan_invalid(err, "accesses", "an access is an object");
    enum berth_code code = request_place(graph, json_object_get(json, "by"), "by", &ret->by, err);
    if (code == BERTH_OK)
        code = request_int(json, "reads_bytes", 0, INT64_MAX, 0, &ret->reads_bytes, err);
    if (code == BERTH_OK)
        code = request_int(json, "writes_bytes", 0, INT64_MAX, 0, &ret->writes_bytes, err);
    if (code == BERTH_OK)
        code = request_int(json, "cores", 1, CPUSET_MAX, 0, &ret->cores, err);
    if (code == BERTH_OK)
        code = request_word(json, "how", hows, 0, &how, err);
    ret->random = how == 1;
    return code;
}

static enum berth_code read_accesses(const struct graph *graph, const json_t *params, struct alloc_request *request,
                                     struct alloc_access *access, struct berth_err *err)
{
    const json_t *array;
    enum berth_code code = request_array(params, "accesses", ACCESSES_MAX, &array, err);
    request->access = access;
    for (size_t i = 0; code == BERTH_OK && i < json_array_size(array); i++, request->access_count++)
        code = read_access(graph, json_array_get(array, i), &access[i], err);
    return code;
}

/* Only ordinary memory can be priced without a gpu's measurements; the other kinds are named, not ignored. */
static enum berth_code check_kinds(const json_t *params, struct plan_warnings *warnings, struct berth_err *err)
{
    const json_t *array, *item;
    size_t i;
    bool has_system = false;
    enum berth_code code = request_array(params, "kinds", 16, &array, err);
    if (code != BERTH_OK || array == NULL)
        return code;
    json_array_foreach(array, i, item)
    {
        const char *text = json_string_value(item);
        int kind = 0;
        while (kinds[kind] != NULL && (text == NULL || strcmp(kinds[kind], text) != 0))
            kind++;
        if (kinds[kind] == NULL)
            return plan_invalid(err, "kinds", "%.40s is no kind of allocation", text != NULL ? text : "what is no string");
        has_system |= kind == KIND_SYSTEM;
        if (kind != KIND_SYSTEM)
            plan_warn(warnings, "%s memory is left out: its price needs measurements of gpus, which this version does not use", kinds[kind]);
    }
    if (!has_system)
        return err_set(err, BERTH_NOTHING_ALLOWED, json_array_size(array) == 0 ? "kinds is empty: no kind of allocation may be used"
                                                                               : "of the kinds, this version can only advise on system");
    return BERTH_OK;
}

static json_t *option_json(const struct snapshot *snap, const struct alloc_request *request, const struct alloc_answer *answer,
                           const struct alloc_option *option)
{
    const struct place *memory = graph_place(snap->graph, option->memory);
    char call[64];
    snprintf(call, sizeof call, "numa_alloc_onnode(%" PRId64 ", %" PRId32 ")", request->bytes, memory->number);
    json_t *json = json_object();
    bool ok = answer_set(json, "memory", json_string_nocheck(memory->name)) &&
              answer_set(json, "kind", json_string_nocheck(kinds[KIND_SYSTEM])) && answer_set(json, "call", json_string_nocheck(call)) &&
              answer_set(json, "predicted", answer_prediction(&option->predicted)) &&
              answer_set(json, "free_bytes", jsonify_count(option->free_bytes)) &&
              answer_set(json, "free_at_s", jsonify_count(option->free_bytes >= 0 ? request->free.at_s : -1)) &&
              answer_set(json, "why", answer_evidence(snap, &answer->evidence, option->why, option->why_count));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *answer_json(const struct snapshot *snap, const struct alloc_request *request, const struct alloc_answer *answer)
{
    json_t *options = json_array();
    bool ok = options != NULL;
    for (size_t i = 0; ok && i < answer->count; i++)
        ok = answer_append(options, option_json(snap, request, answer, &answer->option[i]));
    json_t *json = json_object();
    ok = answer_set(json, "options", options) && ok && answer_set(json, "warnings", answer_warnings(&answer->warnings)) &&
         answer_set(json, "basis", jsonify_basis(snap));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

enum berth_code query_allocate(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    const struct snapshot *snap = call->snap;
    struct alloc_access access[ACCESSES_MAX];
    struct allowed allowed = {0};
    struct alloc_request request = {.allowed = &allowed, .free = memfree_read(call->daemon->memfree)};
    struct alloc_answer answer = {0};
    struct plan_warnings left_out = {0};
    enum berth_code code = request_allowed(snap->graph, call->params, &allowed, err);
    if (code == BERTH_OK)
        code = request_int(call->params, "bytes", 1, INT64_MAX, 0, &request.bytes, err);
    if (code == BERTH_OK)
        code = read_accesses(snap->graph, call->params, &request, access, err);
    if (code == BERTH_OK)
        code = check_kinds(call->params, &left_out, err);
    if (code == BERTH_OK)
        code = plan_alloc(snap, &request, &answer, err);
    if (code == BERTH_OK) {
        for (size_t i = 0; i < left_out.count; i++)
            plan_warn(&answer.warnings, "%s", left_out.line[i]);
        json_t *result = answer_json(snap, &request, &answer);
        if (result != NULL)
            *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
        else
            code = err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    }
    plan_alloc_done(&answer);
    plan_allowed_done(&allowed);
    return code;
}
