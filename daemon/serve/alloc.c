/* io.berth.Placement.Allocate: conversion between JSON and plan_alloc. */
#include <stdlib.h>
#include <string.h>

#include "node/allowed.h"
#include "node/jsonify.h"
#include "plan/alloc/alloc.h"
#include "serve/answer.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/report.h"
#include "serve/request.h"
#include "serve/serve.h"

static const char *const patterns[] = {"stream", "random", NULL};

static enum berth_code read_access(const struct graph *graph, const json_t *json,
                                   struct alloc_access *ret, struct berth_err *err)
{
    int how = 0;
    if (!json_is_object(json))
        return err_invalid(err, "accesses", "an access is an object");
    enum berth_code code = request_place(graph, json_object_get(json, "by"), "by", &ret->by, err);
    if (code == BERTH_OK)
        code = request_int(json, "reads_bytes", 0, INT64_MAX, 0, &ret->reads_bytes, err);
    if (code == BERTH_OK)
        code = request_int(json, "writes_bytes", 0, INT64_MAX, 0, &ret->writes_bytes, err);
    if (code == BERTH_OK)
        code = request_int(json, "cores", ALLOC_CORES_MIN, ALLOC_CORES_MAX, 0, &ret->cores, err);
    if (code == BERTH_OK)
        code = request_word(json, "pattern", patterns, 0, &how, err);
    ret->random = how == 1;
    return code;
}

static enum berth_code read_accesses(const struct graph *graph, const json_t *params,
                                     struct alloc_request *request, struct alloc_access *access,
                                     struct berth_err *err)
{
    const json_t *array = NULL;
    enum berth_code code = request_array(params, "accesses", ALLOC_ACCESSES_MAX, &array, err);
    request->access = access;
    for (size_t i = 0; code == BERTH_OK && i < json_array_size(array); i++, request->access_count++)
        if ((code = read_access(graph, json_array_get(array, i), &access[i], err)) != BERTH_OK)
            err_in_item(err, "accesses", i);
    return code;
}

static enum berth_code read_kinds(const json_t *params, unsigned *ret, struct berth_err *err)
{
    const json_t *array = NULL, *item;
    size_t i;
    unsigned kinds = 0;
    enum berth_code code = request_array(params, "kinds", ALLOC_KINDS_MAX, &array, err);
    if (code != BERTH_OK || array == NULL)
        return code;
    json_array_foreach(array, i, item)
    {
        const char *text = json_string_value(item);
        int kind = 0;
        while (memkind_names[kind] != NULL &&
               (text == NULL || strcmp(memkind_names[kind], text) != 0))
            kind++;
        if (memkind_names[kind] == NULL)
            return err_invalid(
                err, "kinds",
                "%.40s is no kind of allocation: system, pinned, managed and device are",
                text != NULL ? text : "what is no string");
        kinds |= 1u << kind;
    }
    if (kinds == 0) {
        err_text(err, 0, "kinds");
        return err_set(
            err, BERTH_NOTHING_ALLOWED,
            "kinds is empty: system, pinned, managed and device are kinds of allocation");
    }
    *ret = kinds;
    return BERTH_OK;
}

/* most accesses that are planned on the loop; 16 take up to 0.4 ms on 16 gpus */
#define ACCESSES_AT_ONCE 2

/* A request with its answer, until that is sent. */
struct reply {
    const struct snapshot *snap;
    uint64_t claims; /* generation at the time of the request */
    struct allowed allowed;
    struct alloc_access access[ALLOC_ACCESSES_MAX];
    struct free_memory_node *free; /* owned */
    struct alloc_request request;  /* points to the three above */
    struct alloc_answer answer;
    struct report_view reports;
};

static void reply_free(void *state)
{
    struct reply *reply = state;
    allowed_done(&reply->allowed);
    free(reply->free);
    snapshot_unref(reply->snap);
    plan_alloc_done(&reply->answer);
    report_view_done(&reply->reports);
    free(reply);
}

static void print_option(struct print *print, const struct reply *reply,
                         const struct alloc_option *option)
{
    char call[256];
    memkind_call(reply->snap->graph, &option->place, reply->request.bytes, option->xnack, call,
                 sizeof call);
    print_open(print, '{');
    print_key(print, "memory");
    print_name(print, graph_place(reply->snap->graph, option->place.memory)->name);
    print_key(print, "kind");
    print_name(print, memkind_names[option->place.kind]);
    print_key(print, "call");
    print_name(print, call);
    print_key(print, "predicted");
    struct report_named predicted = report_view_name(
        &reply->reports, report_kind_alloc(&reply->request, option->place.kind, reply->snap->graph),
        option->predicted);
    answer_print_prediction(print, &predicted, NULL);
    print_key(print, "setup_ns");
    print_real(print, option->setup_ns);
    print_key(print, "free_bytes");
    print_count(print, option->free_bytes);
    print_key(print, "free_at_s");
    print_count(print, option->free_at_s);
    print_key(print, "evidence");
    answer_print_evidence(print, reply->snap, &reply->answer.evidence, option->why,
                          option->why_count);
    print_close(print, '}');
}

static enum berth_code print_answer(void *state, struct print *print, struct berth_err *err)
{
    struct reply *reply = state;
    enum berth_code code = plan_alloc(reply->snap, &reply->request, &reply->answer, err);
    if (code != BERTH_OK)
        return code;
    print_open(print, '{');
    print_key(print, "options");
    print_open(print, '[');
    for (size_t i = 0; i < reply->answer.count; i++)
        print_option(print, reply, &reply->answer.option[i]);
    print_close(print, ']');
    print_key(print, "reasons");
    answer_print_reasons(print, &reply->answer.reasons);
    print_key(print, "warnings");
    answer_print_reasons(print, &reply->answer.warnings);
    print_key(print, "basis");
    jsonify_print_basis(print, reply->snap, reply->claims);
    print_close(print, '}');
    return BERTH_OK;
}

static enum berth_code parse_request(const struct call *call, struct reply *reply,
                                     struct berth_err *err)
{
    const struct graph *graph = call->snap->graph;
    struct alloc_request *request = &reply->request;
    request->allowed = &reply->allowed;
    enum berth_code code = request_allowed(graph, call->params, &reply->allowed, err);
    if (code == BERTH_OK)
        code = request_int(call->params, "bytes", 1, INT64_MAX, 0, &request->bytes, err);
    if (code == BERTH_OK)
        code = read_accesses(graph, call->params, request, reply->access, err);
    if (code == BERTH_OK)
        code = read_kinds(call->params, &request->kinds, err);
    return code;
}

/* Copies the free memory: the loop refreshes it while a plan is made on the thread pool. */
static enum berth_code copy_free_memory(const struct call *call, struct reply *reply,
                                        struct berth_err *err)
{
    struct free_memory_view free = free_memory_read(call->daemon->free_memory);
    reply->request.free = free;
    if (free.count == 0)
        return BERTH_OK;
    reply->free = malloc(free.count * sizeof *reply->free);
    if (reply->free == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    memcpy(reply->free, free.node, free.count * sizeof *reply->free);
    reply->request.free.node = reply->free;
    return BERTH_OK;
}

enum berth_code query_allocate(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct reply *reply = calloc(1, sizeof *reply);
    if (reply == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    reply->snap = snapshot_ref(call->snap);
    reply->claims = claim_keep_generation(call->daemon->claims);
    enum berth_code code = parse_request(call, reply, err);
    if (code == BERTH_OK)
        code = copy_free_memory(call, reply, err);
    if (code == BERTH_OK)
        code = query_report_view(call, &reply->reports, err);
    if (code == BERTH_OK)
        *ret = (struct outcome){
            .kind = reply->request.access_count > ACCESSES_AT_ONCE ? OUTCOME_WORK : OUTCOME_RESULT,
            .state = reply,
            .write = print_answer,
            .free_state = reply_free};
    else
        reply_free(reply);
    return code;
}
