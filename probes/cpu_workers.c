#include "cpu_workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu_list.h"

struct worker {
    struct cpu_workers *pool;
    pthread_t thread;
    sem_t go;
    unsigned index;
    int pu; /* where it is pinned, -1 nowhere yet */
};

struct cpu_workers {
    struct worker **list;
    unsigned count, capacity;
    void (*work)(void *arg, unsigned index); /* NULL: end */
    void *arg;
    pthread_mutex_t gate; /* for working */
    pthread_cond_t idle;  /* working became 0 */
    unsigned working;
};

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct cpu_workers *pool = worker->pool;
    for (;;) {
        wait_for(&worker->go);
        if (pool->work == NULL)
            return NULL;
        pool->work(pool->arg, worker->index);
        pthread_mutex_lock(&pool->gate);
        if (--pool->working == 0)
            pthread_cond_signal(&pool->idle);
        pthread_mutex_unlock(&pool->gate);
    }
}

struct cpu_workers *cpu_workers_new(void)
{
    struct cpu_workers *workers = calloc(1, sizeof *workers);
    if (workers == NULL)
        return NULL;
    /* The wall clock is often set while a node boots: limits are on the other one. */
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&workers->idle, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&workers->gate, NULL);
    return workers;
}

void cpu_workers_free(struct cpu_workers *workers)
{
    if (workers == NULL)
        return;
    workers->work = NULL;
    for (unsigned i = 0; i < workers->count; i++) {
        sem_post(&workers->list[i]->go);
        pthread_join(workers->list[i]->thread, NULL);
        sem_destroy(&workers->list[i]->go);
        free(workers->list[i]);
    }
    pthread_cond_destroy(&workers->idle);
    pthread_mutex_destroy(&workers->gate);
    free(workers->list);
    free(workers);
}

static bool add_worker(struct cpu_workers *pool, struct probe_why *why)
{
    if (pool->count == pool->capacity) {
        unsigned capacity = pool->capacity == 0 ? 8 : pool->capacity * 2;
        struct worker **list = realloc(pool->list, capacity * sizeof *list);
        if (list == NULL)
            return probe_why_set(why, "out of memory");
        pool->list = list;
        pool->capacity = capacity;
    }
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return probe_why_set(why, "out of memory");
    *worker = (struct worker){.pool = pool, .index = pool->count, .pu = -1};
    sem_init(&worker->go, 0, 0);
    int failure = pthread_create(&worker->thread, NULL, worker_main, worker);
    if (failure != 0) {
        sem_destroy(&worker->go);
        free(worker);
        return probe_why_set(why, "cannot start thread %u: %s", pool->count + 1, strerror(failure));
    }
    pool->list[pool->count++] = worker;
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

bool cpu_workers_run(struct cpu_workers *workers, const int *pus, unsigned count, void (*work)(void *arg, unsigned index),
                     void *arg, int64_t limit_ns, bool *ret_overrun, struct probe_why *why)
{
    *ret_overrun = false;
    while (workers->count < count)
        if (!add_worker(workers, why))
            return false;
    for (unsigned i = 0; i < count; i++)
        if (!pin(workers->list[i], pus[i], why))
            return false;
    workers->work = work;
    workers->arg = arg;
    workers->working = count;
    for (unsigned i = 0; i < count; i++)
        sem_post(&workers->list[i]->go);

    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (until.tv_nsec + limit_ns) / 1000000000;
    until.tv_nsec = (until.tv_nsec + limit_ns) % 1000000000;
    int waited = 0;
    pthread_mutex_lock(&workers->gate);
    while (workers->working > 0 && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&workers->idle, &workers->gate, &until);
    *ret_overrun = workers->working > 0;
    pthread_mutex_unlock(&workers->gate);
    return !*ret_overrun || probe_why_set(why, "not done after %.1f s", (double)limit_ns / 1e9);
}
