#include "measure/sched_jobs.h"

/* Invariants: 1. running is NULL only when the list is empty. 2. request is in use only while
 * running is set. */

static void begin_next(struct sched_jobs *jobs);

static void run_job(uv_work_t *request)
{
    struct sched_jobs *jobs = request->data;
    jobs->running->work(jobs->running, jobs->store);
}

static void ended(uv_work_t *request, int status)
{
    (void)status; /* never cancelled */
    struct sched_jobs *jobs = request->data;
    /* running is still set, so jobs that done adds wait for their turn */
    jobs->running->done(jobs->running);
    jobs->running = NULL;
    begin_next(jobs);
    jobs->moved(jobs);
}

static void begin_next(struct sched_jobs *jobs)
{
    struct sched_job *job = jobs->first;
    if (job == NULL)
        return;
    jobs->first = job->next;
    if (jobs->first == NULL)
        jobs->last = NULL;
    job->next = NULL;
    jobs->running = job;
    uv_queue_work(jobs->loop, &jobs->request, run_job, ended);
}

void sched_jobs_init(struct sched_jobs *jobs, uv_loop_t *loop, struct store *store,
                     void (*moved)(struct sched_jobs *jobs))
{
    *jobs = (struct sched_jobs){.loop = loop, .store = store, .moved = moved};
    jobs->request.data = jobs;
}

void sched_jobs_add(struct sched_jobs *jobs, struct sched_job *job)
{
    job->next = NULL;
    if (jobs->last != NULL)
        jobs->last->next = job;
    else
        jobs->first = job;
    jobs->last = job;
    if (jobs->running == NULL)
        begin_next(jobs);
}
