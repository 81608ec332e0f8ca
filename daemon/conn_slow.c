#include "conn_slow.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICE 19

struct jobs {
    struct conn_slow_job *first, **last;
};

struct conn_slow {
    uv_thread_t thread;
    uv_mutex_t mutex; /* over all below but the handle */
    uv_cond_t cond;
    struct jobs queued, ended;
    bool is_stopping;
    uv_async_t async;
    void (*closed)(void *arg);
    void *closed_arg;
};

static void put(struct jobs *jobs, struct conn_slow_job *job)
{
    job->next = NULL;
    if (jobs->first == NULL)
        jobs->last = &jobs->first;
    *jobs->last = job;
    jobs->last = &job->next;
}

static struct conn_slow_job *take(struct jobs *jobs)
{
    struct conn_slow_job *job = jobs->first;
    if (job != NULL)
        jobs->first = job->next;
    return job;
}

/* Linux has a nice value for each thread. */
static void work(void *arg)
{
    struct conn_slow *slow = arg;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    uv_mutex_lock(&slow->mutex);
    for (;;) {
        struct conn_slow_job *job = take(&slow->queued);
        if (job == NULL && slow->is_stopping)
            break;
        if (job == NULL) {
            uv_cond_wait(&slow->cond, &slow->mutex);
            continue;
        }
        uv_mutex_unlock(&slow->mutex);
        job->run(job);
        uv_mutex_lock(&slow->mutex);
        put(&slow->ended, job);
        uv_async_send(&slow->async);
    }
    uv_mutex_unlock(&slow->mutex);
}

static void on_ended(uv_async_t *async)
{
    struct conn_slow *slow = async->data;
    for (;;) {
        uv_mutex_lock(&slow->mutex);
        struct conn_slow_job *job = take(&slow->ended);
        uv_mutex_unlock(&slow->mutex);
        if (job == NULL)
            return;
        job->done(job);
    }
}

static void on_failed(uv_handle_t *handle) { free(handle->data); }

struct conn_slow *conn_slow_new(uv_loop_t *loop)
{
    struct conn_slow *slow = calloc(1, sizeof *slow);
    if (slow == NULL || uv_async_init(loop, &slow->async, on_ended) != 0) {
        free(slow);
        return NULL;
    }
    slow->async.data = slow;
    uv_unref((uv_handle_t *)&slow->async); /* who waits for a job keeps the loop going */
    if (uv_mutex_init(&slow->mutex) == 0 && uv_cond_init(&slow->cond) == 0 && uv_thread_create(&slow->thread, work, slow) == 0)
        return slow;
    uv_close((uv_handle_t *)&slow->async, on_failed);
    return NULL;
}

void conn_slow_queue(struct conn_slow *slow, struct conn_slow_job *job)
{
    uv_mutex_lock(&slow->mutex);
    put(&slow->queued, job);
    uv_cond_signal(&slow->cond);
    uv_mutex_unlock(&slow->mutex);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn_slow *slow = handle->data;
    void (*closed)(void *) = slow->closed;
    void *arg = slow->closed_arg;
    uv_mutex_destroy(&slow->mutex);
    uv_cond_destroy(&slow->cond);
    free(slow);
    closed(arg);
}

void conn_slow_close(struct conn_slow *slow, void (*closed)(void *arg), void *arg)
{
    uv_mutex_lock(&slow->mutex);
    slow->is_stopping = true;
    uv_cond_signal(&slow->cond);
    uv_mutex_unlock(&slow->mutex);
    uv_thread_join(&slow->thread);
    on_ended(&slow->async);
    slow->closed = closed;
    slow->closed_arg = arg;
    uv_close((uv_handle_t *)&slow->async, on_closed);
}
