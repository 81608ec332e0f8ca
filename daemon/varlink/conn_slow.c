/* The thread is nice: on a busy node it may stand still for seconds at any point. So it holds
 * nothing that the loop waits for: no mutex, no lock of the allocator for long, and no handle of
 * libuv. uv_async_send, for example, makes the loop spin until it returns. */
#include "varlink/conn_slow.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICE 19

/* The last job added; each job links to the job added before it. */
struct jobs {
    _Atomic(struct conn_slow_job *) last;
};

struct conn_slow {
    uv_thread_t thread;
    sem_t waiting; /* one for each queued job, and one for the end */
    struct jobs queued, ended;
    atomic_bool is_stopping;
    uv_poll_t poll;
    int event; /* has a count while jobs have ended */
    void (*closed)(void *arg);
    void *closed_arg;
};

static void put(struct jobs *jobs, struct conn_slow_job *job)
{
    job->next = atomic_load(&jobs->last);
    while (!atomic_compare_exchange_weak(&jobs->last, &job->next, job)) {
    }
}

/* Removes all jobs; returns them in the order of adding. */
static struct conn_slow_job *remove_all(struct jobs *jobs)
{
    struct conn_slow_job *first = NULL;
    for (struct conn_slow_job *job = atomic_exchange(&jobs->last, NULL), *before; job != NULL;
         job = before) {
        before = job->next;
        job->next = first;
        first = job;
    }
    return first;
}

static void notify_loop(const struct conn_slow *slow)
{
    while (write(slow->event, &(uint64_t){1}, sizeof(uint64_t)) < 0 && errno == EINTR) {
    }
}

/* Linux has a nice value for each thread. */
static void run_jobs(void *arg)
{
    struct conn_slow *slow = arg;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    for (bool is_last = false; !is_last;) {
        while (sem_wait(&slow->waiting) != 0) {
        }
        is_last = atomic_load(&slow->is_stopping);
        for (struct conn_slow_job *job = remove_all(&slow->queued), *next; job != NULL;
             job = next) {
            next = job->next;
            job->run(job);
            put(&slow->ended, job);
            notify_loop(slow);
        }
    }
}

static void end_jobs(struct conn_slow *slow)
{
    for (struct conn_slow_job *job = remove_all(&slow->ended), *next; job != NULL; job = next) {
        next = job->next;
        job->done(job);
    }
}

static void on_ended(uv_poll_t *poll, int status, int events)
{
    struct conn_slow *slow = poll->data;
    uint64_t count;
    (void)status;
    (void)events;
    while (read(slow->event, &count, sizeof count) < 0 && errno == EINTR) {
    }
    end_jobs(slow);
}

static void free_slow(struct conn_slow *slow)
{
    sem_destroy(&slow->waiting);
    close(slow->event);
    free(slow);
}

static void on_failed(uv_handle_t *handle) { free_slow(handle->data); }

struct conn_slow *conn_slow_new(uv_loop_t *loop)
{
    struct conn_slow *slow = calloc(1, sizeof *slow);
    int event = slow != NULL ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (event < 0 || sem_init(&slow->waiting, 0, 0) != 0) {
        if (event >= 0)
            close(event);
        free(slow);
        return NULL;
    }
    slow->event = event;
    if (uv_poll_init(loop, &slow->poll, event) != 0) {
        free_slow(slow);
        return NULL;
    }
    slow->poll.data = slow;
    if (uv_poll_start(&slow->poll, UV_READABLE, on_ended) == 0 &&
        uv_thread_create(&slow->thread, run_jobs, slow) == 0) {
        uv_unref((uv_handle_t *)&slow->poll); /* the owner of a job keeps the loop alive */
        return slow;
    }
    uv_close((uv_handle_t *)&slow->poll, on_failed);
    return NULL;
}

void conn_slow_queue(struct conn_slow *slow, struct conn_slow_job *job)
{
    put(&slow->queued, job);
    sem_post(&slow->waiting);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn_slow *slow = handle->data;
    void (*closed)(void *) = slow->closed;
    void *arg = slow->closed_arg;
    free_slow(slow);
    closed(arg);
}

void conn_slow_close(struct conn_slow *slow, void (*closed)(void *arg), void *arg)
{
    atomic_store(&slow->is_stopping, true);
    sem_post(&slow->waiting);
    uv_thread_join(&slow->thread);
    end_jobs(slow);
    slow->closed = closed;
    slow->closed_arg = arg;
    uv_close((uv_handle_t *)&slow->poll, on_closed);
}
