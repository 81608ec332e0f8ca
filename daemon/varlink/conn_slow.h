/**
 * A thread with the lowest priority (nice 19), for the calls of greedy users. They hold up neither
 * the loop, nor its peers, nor the thread pool. The first such call starts it. Loop thread only,
 * except for run.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

struct conn_slow;

/* run executes on the thread, then done on the loop; the caller owns the job until done. */
struct conn_slow_job {
    void (*run)(struct conn_slow_job *job);
    void (*done)(struct conn_slow_job *job);
    struct conn_slow_job *next;
};

/* NULL: out of memory, or of threads. */
struct conn_slow *conn_slow_new(uv_loop_t *loop);

/* Adds a job; jobs run in the order of adding. */
void conn_slow_queue(struct conn_slow *slow, struct conn_slow_job *job);

/* Runs the queued jobs to their end and calls done of each. Then closes the handle, frees the
 * thread's state and calls closed. */
void conn_slow_close(struct conn_slow *slow, void (*closed)(void *arg), void *arg);
