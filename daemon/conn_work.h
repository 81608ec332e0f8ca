/**
 * A call that is answered on the thread pool: its outcome's work runs there, and its reply, which may be large, is made there too.
 * Loop thread, but for what the pool runs.
 */
#pragma once
#include <uv.h>

#include "dispatch.h"
#include "err.h"
#include "method.h"
#include "print.h"

struct conn_work {
    uv_work_t request;
    const struct dispatch *call;    /* borrowed until done, as is outcome */
    const struct outcome *outcome;
    bool check_replies;
    struct print reply; /* of OUTCOME_WORK, when code is OK */
    enum berth_code code;
    struct berth_err err;
    void (*done)(struct conn_work *work);
};

/* done is called on the loop in any case, unless this fails with UNAVAILABLE. */
enum berth_code conn_work_start(struct conn_work *work, uv_loop_t *loop, struct berth_err *err);

/* If it has not begun it will not: done is called with UNAVAILABLE. */
void conn_work_cancel(struct conn_work *work);
