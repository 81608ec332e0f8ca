#include "conn_work.h"

#include <malloc.h>

#include "reply.h"

#define LARGE_REPLY (1 << 20)

static enum berth_code no_memory(struct berth_err *err) { return err_set(err, BERTH_NO_MEMORY, "no memory for the reply"); }

static enum berth_code make_tree(struct conn_work *work, struct berth_err *err)
{
    const struct outcome *outcome = work->outcome;
    json_t *result = NULL;
    enum berth_code code = outcome->work(outcome->state, &result, err);
    if (code == BERTH_OK && outcome->kind == OUTCOME_WORK && reply_init(&work->reply)) {
        code = dispatch_print(work->call, work->check_replies, result, false, &work->reply, err);
        if (work->reply.length > LARGE_REPLY)
            malloc_trim(0); /* the tree behind it was several times as large */
        return code;
    }
    json_decref(result);
    return code == BERTH_OK && outcome->kind == OUTCOME_WORK ? no_memory(err) : code;
}

static void run(uv_work_t *request)
{
    struct conn_work *work = request->data;
    if (work->outcome->write == NULL)
        work->code = make_tree(work, &work->err);
    else if (reply_init(&work->reply))
        work->code = dispatch_write(work->call, work->check_replies, work->outcome, &work->reply, &work->err);
    else
        work->code = no_memory(&work->err);
}

static void over(uv_work_t *request, int status)
{
    struct conn_work *work = request->data;
    if (status != 0)
        work->code = err_set(&work->err, BERTH_UNAVAILABLE, "the call was cancelled");
    work->done(work);
}

enum berth_code conn_work_start(struct conn_work *work, uv_loop_t *loop, struct berth_err *err)
{
    work->request.data = work;
    work->reply = (struct print){0};
    work->err = (struct berth_err){0};
    work->code = BERTH_OK;
    int failed = uv_queue_work(loop, &work->request, run, over);
    return failed == 0 ? BERTH_OK : err_set(err, BERTH_UNAVAILABLE, "no thread for this call: %s", uv_strerror(failed));
}

void conn_work_cancel(struct conn_work *work) { uv_cancel((uv_req_t *)&work->request); }
