#include "varlink/conn_work.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

#include "varlink/reply.h"

#define LARGE_REPLY (1 << 20)

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for the reply");
}

static enum berth_code make_tree(struct conn_work *work, struct berth_err *err)
{
    const struct outcome *outcome = work->outcome;
    json_t *result = NULL;
    enum berth_code code = outcome->work(outcome->state, &result, err);
    if (code == BERTH_OK && outcome->kind == OUTCOME_WORK && reply_init(&work->reply)) {
        code = dispatch_print(work->call, work->check_replies, result, false, &work->reply, err);
        if (work->reply.length > LARGE_REPLY && work->slow == NULL)
            /* the tree was several times as large; trimming in a nice thread would block others */
            malloc_trim(0);
        return code;
    }
    json_decref(result);
    return code == BERTH_OK && outcome->kind == OUTCOME_WORK ? no_memory(err) : code;
}

static void answer(struct conn_work *work)
{
    if (work->outcome->write == NULL)
        work->code = make_tree(work, &work->err);
    else if (reply_init(&work->reply))
        work->code = dispatch_write(work->call, work->check_replies, work->outcome, &work->reply,
                                    &work->err);
    else
        work->code = no_memory(&work->err);
}

static void open_call(struct conn_work *work)
{
    work->code = dispatch_open(&work->opened, work->text, work->length, &work->err);
    if (work->code == BERTH_OK)
        dispatch_check(&work->opened, work->service);
}

static void run_it(struct conn_work *work)
{
    uint64_t begin = uv_hrtime();
    work->service != NULL ? open_call(work) : answer(work);
    work->elapsed_ns = uv_hrtime() - begin;
}

static struct conn_work *work_of(struct conn_slow_job *job)
{
    return (struct conn_work *)((char *)job - offsetof(struct conn_work, job));
}

static void run_on_slow(struct conn_slow_job *job) { run_it(work_of(job)); }
static void done_on_slow(struct conn_slow_job *job) { work_of(job)->done(work_of(job)); }
static void run(uv_work_t *request) { run_it(request->data); }

static void over(uv_work_t *request, int status)
{
    struct conn_work *work = request->data;
    if (status != 0)
        work->code = err_set(&work->err, BERTH_UNAVAILABLE, "the call was cancelled");
    work->done(work);
}

static enum berth_code begin(struct conn_work *work, uv_loop_t *loop, const struct service *service,
                             struct berth_err *err)
{
    work->request.data = work;
    work->service = service;
    work->opened = (struct dispatch){0};
    work->reply = (struct print){0};
    work->err = (struct berth_err){0};
    work->code = BERTH_OK;
    work->elapsed_ns = 0;
    if (work->slow != NULL) {
        work->job = (struct conn_slow_job){.run = run_on_slow, .done = done_on_slow};
        conn_slow_queue(work->slow, &work->job);
        return BERTH_OK;
    }
    int failed = uv_queue_work(loop, &work->request, run, over);
    return failed == 0 ? BERTH_OK
                       : err_set(err, BERTH_UNAVAILABLE, "no thread for this call: %s",
                                 uv_strerror(failed));
}

enum berth_code conn_work_start(struct conn_work *work, uv_loop_t *loop, struct berth_err *err)
{
    return begin(work, loop, NULL, err);
}

enum berth_code conn_work_open(struct conn_work *work, uv_loop_t *loop,
                               const struct service *service, struct berth_err *err)
{
    return begin(work, loop, service, err);
}

struct drop {
    uv_loop_t *loop;
    uv_work_t request;
    struct conn_slow_job job;
    json_t *message;
};

static void drop_message(struct drop *drop)
{
    json_decref(drop->message);
    drop->message = NULL;
}

static void drop_on_pool(uv_work_t *request)
{
    drop_message(request->data);
    malloc_trim(0); /* the message was many small pieces of memory */
}

static void dropped(uv_work_t *request, int status)
{
    struct drop *drop = request->data;
    (void)status;
    json_decref(drop->message);
    free(drop);
}

static struct drop *drop_of(struct conn_slow_job *job)
{
    return (struct drop *)((char *)job - offsetof(struct drop, job));
}

static void drop_on_slow(struct conn_slow_job *job) { drop_message(drop_of(job)); }

/* Trims on the pool: a nice thread that trims would block every thread that allocates. */
static void trim_on_pool(struct conn_slow_job *job)
{
    struct drop *drop = drop_of(job);
    if (uv_queue_work(drop->loop, &drop->request, drop_on_pool, dropped) != 0)
        dropped(&drop->request, 0);
}

void conn_work_drop(uv_loop_t *loop, struct conn_slow *slow, json_t *take_message)
{
    struct drop *drop = malloc(sizeof *drop);
    if (drop == NULL) {
        json_decref(take_message);
        return;
    }
    *drop = (struct drop){.loop = loop,
                          .request.data = drop,
                          .job = {.run = drop_on_slow, .done = trim_on_pool},
                          .message = take_message};
    if (slow != NULL)
        conn_slow_queue(slow, &drop->job);
    else if (uv_queue_work(loop, &drop->request, drop_on_pool, dropped) != 0)
        dropped(&drop->request, 0);
}

void conn_work_cancel(struct conn_work *work)
{
    if (work->slow == NULL)
        uv_cancel((uv_req_t *)&work->request);
}
