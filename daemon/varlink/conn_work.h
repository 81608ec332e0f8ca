/**
 * A call that is answered on the thread pool, or on the slow thread. The outcome's work runs there,
 * and its reply, which may be large, is made there too. Loop thread, except for the functions that
 * the pool runs.
 */
#pragma once
#include <uv.h>

#include "base/err.h"
#include "base/print.h"
#include "varlink/conn_slow.h"
#include "varlink/dispatch.h"
#include "varlink/method.h"

struct conn_work {
    uv_work_t request;
    const struct dispatch *call; /* borrowed until done, as is outcome */
    const struct outcome *outcome;
    bool check_replies;
    struct conn_slow *slow; /* runs the call instead of the thread pool; NULL: the pool runs it */
    struct conn_slow_job job;
    uint64_t elapsed_ns; /* time on its thread */
    const char *text;    /* message to parse; borrowed until done, like service */
    size_t length;
    const struct service *service;
    struct dispatch opened;
    struct print reply; /* for OUTCOME_WORK, when code is OK */
    enum berth_code code;
    struct berth_err err;
    void (*done)(struct conn_work *work);
};

/* Like conn_work_start, but parses the message in work->text to a call, work->opened. */
enum berth_code conn_work_open(struct conn_work *work, uv_loop_t *loop,
                               const struct service *service, struct berth_err *err);

/* Frees a parsed message on the thread pool, or, where it is given, the slow thread; at once when
 * out of memory. */
void conn_work_drop(uv_loop_t *loop, struct conn_slow *slow, json_t *take_message);

/* Starts the work. done is called on the loop in any case, unless this fails with UNAVAILABLE. */
enum berth_code conn_work_start(struct conn_work *work, uv_loop_t *loop, struct berth_err *err);

/* Cancels work that has not begun on the pool: done is called with UNAVAILABLE. */
void conn_work_cancel(struct conn_work *work);
