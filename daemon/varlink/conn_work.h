/**
 * A call that is answered on the thread pool, or the slow thread: its outcome's work runs there,
 * and its reply, which may be large, is made there too. Loop thread, but for what the pool runs.
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
    struct conn_slow *slow; /* runs it in the place of the thread pool; NULL does not */
    struct conn_slow_job job;
    uint64_t took_ns; /* on its thread */
    const char *text; /* of a message to open; borrowed until done, as is service */
    size_t length;
    const struct service *service;
    struct dispatch opened;
    struct print reply; /* of OUTCOME_WORK, when code is OK */
    enum berth_code code;
    struct berth_err err;
    void (*done)(struct conn_work *work);
};

/* Like conn_work_start, but makes a call, work->opened, of the message that work->text says. */
enum berth_code conn_work_open(struct conn_work *work, uv_loop_t *loop,
                               const struct service *service, struct berth_err *err);

/* Frees a parsed message on the thread pool, or, where it is given, the slow thread; at once where
 * there is no memory to ask for that. */
void conn_work_drop(uv_loop_t *loop, struct conn_slow *slow, json_t *take_message);

/* done is called on the loop in any case, unless this fails with UNAVAILABLE. */
enum berth_code conn_work_start(struct conn_work *work, uv_loop_t *loop, struct berth_err *err);

/* If it has not begun on the pool it will not: done is called with UNAVAILABLE. */
void conn_work_cancel(struct conn_work *work);
