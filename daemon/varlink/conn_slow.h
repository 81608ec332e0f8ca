/**
 * A thread that goes behind everybody else for a processor: greedy users' calls run there, not on
 * the thread pool. So the loop, peers that wait for it, and the pool are not held up by them. It
 * begins with the first of them. Loop thread only, but for what is run.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

struct conn_slow;

/* run on the thread, then done on the loop; the caller owns it until done. */
struct conn_slow_job {
    void (*run)(struct conn_slow_job *job);
    void (*done)(struct conn_slow_job *job);
    struct conn_slow_job *next;
};

/* NULL: out of memory, or of threads. */
struct conn_slow *conn_slow_new(uv_loop_t *loop);

/* In the order they came. */
void conn_slow_queue(struct conn_slow *slow, struct conn_slow_job *job);

/* Runs what is queued to its end, calls done of all, and calls closed when its handle is closed and
 * it is freed. */
void conn_slow_close(struct conn_slow *slow, void (*closed)(void *arg), void *arg);
