/* io.berth.Fabric.PredictKernel: conversion between JSON and the streaming model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost/kernel_time.h"
#include "node/jsonify.h"
#include "serve/answer.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/request.h"
#include "serve/serve.h"

static const char *const tests[] = {"bs1", "bs2", "bs3", "bs4", "bs5", "bs6", "bs7", NULL};

/* A request, with the test that answers it. */
struct asked {
    const struct snapshot *snap;
    uint64_t claims;
    place_id gpu;
    int test;       /* from 1 on; 0 none yet */
    int64_t degree; /* of the elements of bs6 and bs7; 0 not given */
    int64_t dofs, reads, writes, flops;
    double bytes;
    bool is_like; /* the test stands for the kernel */
    struct kernel_time kernel;
};

static void asked_free(void *state)
{
    struct asked *asked = state;
    snapshot_unref(asked->snap);
    free(asked);
}

static void print_maybe(struct print *reply, const char *key, double value)
{
    print_key(reply, key);
    if (isnan(value))
        print_null(reply);
    else
        print_real(reply, value);
}

static void print_time(struct print *reply, const struct asked *asked, struct estimate time,
                       double t0_ns)
{
    print_open(reply, '{');
    print_maybe(reply, "time_ns", time.time_ns);
    print_maybe(reply, "low_ns", time.low_ns);
    print_maybe(reply, "high_ns", time.high_ns);
    print_maybe(reply, "t0_ns", t0_ns);
    print_maybe(reply, "b80_bytes", round(kernel_time_b80_bytes(&asked->kernel, t0_ns)));
    print_close(reply, '}');
}

/* A test that stands for another kernel says nothing of its deviation. */
static struct estimate of_kernel(const struct asked *asked, struct estimate time)
{
    if (asked->is_like && time.source < SOURCE_NOMINAL) {
        time.source = estimate_worse(time.source, SOURCE_SIMILAR_PAIR);
        time.low_ns = time.high_ns = NAN;
    }
    return time;
}

static enum berth_code print_answer(void *state, struct print *reply, struct berth_err *err)
{
    (void)err;
    const struct asked *asked = state;
    const struct kernel_time *kernel = &asked->kernel;
    struct estimate queued = of_kernel(asked, kernel_time_queued(kernel, asked->bytes)),
                    called = of_kernel(asked, kernel_time_called(kernel, asked->bytes));
    print_open(reply, '{');
    print_key(reply, "place");
    print_name(reply, graph_place(asked->snap->graph, asked->gpu)->name);
    print_key(reply, "test");
    print_name(reply, tests[asked->test - 1]);
    print_key(reply, "bytes");
    print_integer(reply, (int64_t)round(asked->bytes));
    print_key(reply, "wmax_bytes_per_s");
    print_real(reply, kernel_time_wmax_bytes_per_s(kernel));
    print_key(reply, "queued");
    print_time(reply, asked, queued, kernel->t0_queue_ns);
    print_key(reply, "called");
    if (isnan(called.time_ns))
        print_null(reply);
    else
        print_time(reply, asked, called, kernel->t0_call_ns);
    print_maybe(reply, "flops_per_s",
                asked->flops > 0 ? (double)asked->flops * 1e9 / queued.time_ns : NAN);
    print_key(reply, "source");
    print_name(reply, answer_source_name(queued.source));
    print_key(reply, "measured_at_s");
    print_count(reply, kernel->value->measured_at_s > 0 ? kernel->value->measured_at_s : -1);
    print_key(reply, "basis");
    jsonify_print_basis(reply, asked->snap, asked->claims);
    print_close(reply, '}');
    return BERTH_OK;
}

static enum berth_code read_numbers(const json_t *params, struct asked *asked,
                                    struct berth_err *err)
{
    enum berth_code code = request_word(params, "test", tests, -1, &asked->test, err);
    asked->test++;
    if (code == BERTH_OK)
        code = request_int(params, "degree", KERNEL_DEGREE_MIN, KERNEL_DEGREE_MAX, 0,
                           &asked->degree, err);
    if (code == BERTH_OK)
        code = request_int(params, "dofs", KERNEL_DOFS_MIN, KERNEL_DOFS_MAX, 0, &asked->dofs, err);
    if (code == BERTH_OK)
        code = request_int(params, "reads_bytes", KERNEL_BYTES_MIN, KERNEL_BYTES_MAX, 0,
                           &asked->reads, err);
    if (code == BERTH_OK)
        code = request_int(params, "writes_bytes", KERNEL_BYTES_MIN, KERNEL_BYTES_MAX, 0,
                           &asked->writes, err);
    if (code == BERTH_OK)
        code =
            request_int(params, "flops", KERNEL_FLOPS_MIN, KERNEL_FLOPS_MAX, 0, &asked->flops, err);
    return code;
}

/* Sets the bytes, and the test where the request has none. */
static enum berth_code choose(struct asked *asked, struct berth_err *err)
{
    bool has_bytes = asked->reads + asked->writes > 0;
    if (asked->dofs > 0 && has_bytes)
        return err_invalid(err, "dofs", "dofs give the bytes of a test: leave out the bytes");
    if (asked->dofs > 0 && asked->test == 0)
        return err_invalid(err, "dofs", "dofs need the test that they are of, bs1 to bs7");
    if (asked->dofs == 0 && !has_bytes)
        return err_invalid(err, asked->test > 0 ? "dofs" : "test",
                           "needed: a test with dofs, or reads_bytes and writes_bytes");
    if (asked->degree > 0 && asked->test < KERNEL_TIME_MESH)
        return err_invalid(err, "degree", "only the elements of bs6 and bs7 have a degree");
    int degree = asked->degree > 0 ? (int)asked->degree : KERNEL_TIME_DEGREE;
    if (asked->dofs > 0 && asked->test >= KERNEL_TIME_MESH &&
        (double)asked->dofs < kernel_time_element_dofs(degree))
        return err_invalid(err, "dofs", "an element of %s has %.0f", tests[asked->test - 1],
                           kernel_time_element_dofs(degree));
    asked->bytes = has_bytes ? (double)asked->reads + (double)asked->writes
                             : kernel_time_bytes(asked->test, degree, (double)asked->dofs);
    asked->is_like = asked->test == 0;
    if (asked->is_like)
        asked->test =
            kernel_time_like(asked->snap, asked->gpu, (double)asked->reads, (double)asked->writes);
    if (asked->test > 0)
        asked->kernel = kernel_time_find(asked->snap, asked->gpu, asked->test, degree);
    if (asked->kernel.value != NULL)
        return BERTH_OK;
    char of[24] = "";
    if (degree != KERNEL_TIME_DEGREE)
        snprintf(of, sizeof of, " of degree %d", degree);
    const char *name = graph_place(asked->snap->graph, asked->gpu)->name;
    err_text(err, 0, metric_info(METRIC_GPU_STREAM)->name);
    err_text(err, 1, name);
    err_text(err, 2, name);
    return err_set(err, BERTH_NOT_MEASURED, "%s%s was not measured on %s: berth probe%s gpu_stream",
                   asked->test > 0 ? tests[asked->test - 1] : "no streaming kernel", of, name,
                   asked->test > 1 ? " --full" : "");
}

enum berth_code query_predict_kernel(const struct call *call, struct outcome *ret,
                                     struct berth_err *err)
{
    const struct graph *graph = call->snap->graph;
    struct asked read = {.snap = call->snap};
    enum berth_code code = read_numbers(call->params, &read, err);
    if (code == BERTH_OK)
        code =
            request_place(graph, json_object_get(call->params, "place"), "place", &read.gpu, err);
    if (code == BERTH_OK && !graph_is(graph, read.gpu, PLACE_GPU))
        code = err_invalid(err, "place", "%s is no gpu: the kernels are of gpus",
                           graph_place(graph, read.gpu)->name);
    if (code == BERTH_OK)
        code = choose(&read, err);
    if (code != BERTH_OK)
        return code;
    struct asked *asked = malloc(sizeof *asked);
    if (asked == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the answer");
    *asked = read;
    asked->snap = snapshot_ref(call->snap);
    asked->claims = claim_keep_generation(call->daemon->claims);
    *ret = (struct outcome){
        .kind = OUTCOME_RESULT, .state = asked, .write = print_answer, .free_state = asked_free};
    return BERTH_OK;
}
