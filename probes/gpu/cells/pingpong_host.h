/* The host's side of a ping-pong with a kernel. A thread on a NUMA node writes one flag and polls
 * the other, without a pause. It runs on the first of the CPUs of gpu/timing/caller_cpus.h. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/why.h"

struct gpu_pingpong_host {
    int numa;                        /* the operating system's number */
    _Atomic uint32_t *theirs, *mine; /* written, polled; both 0 before */
    uint32_t rounds, skip;
    int64_t limit_ns; /* limit for all rounds */
};

/* Plays all rounds and makes the first move. *ret_ns: time of the rounds after skip. False when the
 * node has no CPU that may be used, or the other side does not answer in time. */
bool gpu_pingpong_host_run(const struct gpu_pingpong_host *host, double *ret_ns,
                           struct probe_why *why);
