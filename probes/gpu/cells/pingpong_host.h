/* The host's side of a ping-pong with a kernel: a thread on a NUMA node that writes one flag and
 * polls the other, without a pause, from the first of the CPUs of gpu/timing/caller_cpus.h. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/why.h"

struct gpu_player {
    int numa;                        /* the operating system's number */
    _Atomic uint32_t *theirs, *mine; /* written, polled; both 0 before */
    uint32_t rounds, skip;
    int64_t limit_ns; /* for all rounds */
};

/* Plays all rounds, the first move is its own. *ret_ns: what those after skip took. False when the
 * node has no CPU that may be used, or the other side does not answer in time. */
bool gpu_player_run(const struct gpu_player *player, double *ret_ns, struct probe_why *why);
