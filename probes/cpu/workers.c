#include "cpu/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cpu_list.h"

struct worker {
    struct crew *crew;
    pthread_t thread;
    sem_t go;
    unsigned index;
    int pu; /* CPU where the worker is pinned; -1 none yet */
};

/* The threads that work together; after an overrun they keep all of this to themselves. */
struct crew {
    struct worker **list;
    unsigned count, capacity;
    void (*work)(void *arg, unsigned index); /* NULL: end */
    void *arg;
    pthread_mutex_t gate; /* for working */
    pthread_cond_t idle;  /* working became 0 */
    unsigned working;
};

struct cpu_workers {
    struct crew *crew; /* NULL: none yet */
};

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct crew *crew = worker->crew;
    for (;;) {
        wait_for(&worker->go);
        if (crew->work == NULL)
            return NULL;
        crew->work(crew->arg, worker->index);
        pthread_mutex_lock(&crew->gate);
        if (--crew->working == 0)
            pthread_cond_signal(&crew->idle);
        pthread_mutex_unlock(&crew->gate);
    }
}

static struct crew *crew_new(void)
{
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL)
        return NULL;
    /* The wall clock is often set while a node boots: limits use the monotonic one. */
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->idle, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&crew->gate, NULL);
    return crew;
}

static void crew_free(struct crew *crew)
{
    if (crew == NULL)
        return;
    crew->work = NULL;
    for (unsigned i = 0; i < crew->count; i++) {
        sem_post(&crew->list[i]->go);
        pthread_join(crew->list[i]->thread, NULL);
        sem_destroy(&crew->list[i]->go);
        free(crew->list[i]);
    }
    pthread_cond_destroy(&crew->idle);
    pthread_mutex_destroy(&crew->gate);
    free(crew->list);
    free(crew);
}

struct cpu_workers *cpu_workers_new(void) { return calloc(1, sizeof(struct cpu_workers)); }

void cpu_workers_free(struct cpu_workers *workers)
{
    if (workers != NULL)
        crew_free(workers->crew);
    free(workers);
}

static bool add_worker(struct crew *crew, struct probe_why *why)
{
    if (crew->count == crew->capacity) {
        unsigned capacity = crew->capacity == 0 ? 8 : crew->capacity * 2;
        struct worker **list = realloc(crew->list, capacity * sizeof *list);
        if (list == NULL)
            return probe_why_set(why, "out of memory");
        crew->list = list;
        crew->capacity = capacity;
    }
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return probe_why_set(why, "out of memory");
    *worker = (struct worker){.crew = crew, .index = crew->count, .pu = -1};
    sem_init(&worker->go, 0, 0);
    int failure = pthread_create(&worker->thread, NULL, worker_main, worker);
    if (failure != 0) {
        sem_destroy(&worker->go);
        free(worker);
        return probe_why_set(why, "cannot start thread %u: %s", crew->count + 1, strerror(failure));
    }
    crew->list[crew->count++] = worker;
    return true;
}

/* Pins a sleeping worker; it wakes up on its new CPU. */
static bool pin(struct worker *worker, int pu, struct probe_why *why)
{
    if (worker->pu == pu)
        return true;
    cpu_set_t *set = CPU_ALLOC(CPU_LIST_MAX);
    if (set == NULL)
        return probe_why_set(why, "out of memory");
    size_t size = CPU_ALLOC_SIZE(CPU_LIST_MAX);
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)pu, size, set);
    int failure = pthread_setaffinity_np(worker->thread, size, set);
    CPU_FREE(set);
    worker->pu = failure == 0 ? pu : -1;
    return failure == 0 || probe_why_set(why, "cannot run on CPU %d: %s", pu, strerror(failure));
}

/* Wakes count workers and waits until they are done; false when they are not in time. */
static bool work_in_time(struct crew *crew, unsigned count, int64_t limit_ns)
{
    crew->working = count;
    for (unsigned i = 0; i < count; i++)
        sem_post(&crew->list[i]->go);

    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (until.tv_nsec + limit_ns) / 1000000000;
    until.tv_nsec = (until.tv_nsec + limit_ns) % 1000000000;
    int waited = 0;
    pthread_mutex_lock(&crew->gate);
    while (crew->working > 0 && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&crew->idle, &crew->gate, &until);
    bool done = crew->working == 0;
    pthread_mutex_unlock(&crew->gate);
    return done;
}

bool cpu_workers_run(struct cpu_workers *workers, const struct cpu_work *work, bool *ret_overrun,
                     struct probe_why *why)
{
    *ret_overrun = false;
    if (workers->crew == NULL && (workers->crew = crew_new()) == NULL)
        return probe_why_set(why, "out of memory");
    struct crew *crew = workers->crew;
    while (crew->count < work->count)
        if (!add_worker(crew, why))
            return false;
    for (unsigned i = 0; i < work->count; i++)
        if (!pin(crew->list[i], work->pus[i], why))
            return false;
    crew->work = work->run;
    crew->arg = work->arg;
    if (work_in_time(crew, work->count, work->limit_ns))
        return true;
    *ret_overrun = true;
    workers->crew = NULL;
    return probe_why_set(why, "not done after %.1f s", (double)work->limit_ns / 1e9);
}

static void run_side(void *arg, unsigned index)
{
    const struct cpu_pair_run *pair_run = (const struct cpu_pair_run *)arg + index / 2;
    pair_run->run_side(pair_run->state, index % 2);
}

bool cpu_pair_runs(struct cpu_workers *workers, const struct cpu_pair_run *pair_runs,
                   unsigned count, int64_t limit_ns, bool *ret_overrun, struct probe_why *why)
{
    int *pus = malloc(2 * count * sizeof *pus);
    *ret_overrun = false;
    if (pus == NULL)
        return probe_why_set(why, "out of memory");
    for (unsigned i = 0; i < 2 * count; i++)
        pus[i] = pair_runs[i / 2].pus[i % 2];
    const struct cpu_work work = {pus, 2 * count, run_side, (void *)(uintptr_t)pair_runs, limit_ns};
    bool ok = cpu_workers_run(workers, &work, ret_overrun, why);
    free(pus);
    return ok;
}
