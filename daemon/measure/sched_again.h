/**
 * When measuring of the daemon's own begins again: after a claim that cut it short or put it off,
 * and for gpus that were left out because somebody used them. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "base/config.h"
#include "measure/sched_probe.h"
#include "node/snapshot.h"

struct sched_again_env {
    const struct config *config; /* may change between calls */
    void (*resume)(void *arg);   /* what a claim cut short is due */
    void (*look)(void *arg);     /* gpus that were in use may be free */
    void *arg;
};

struct sched_again {
    struct sched_again_env env; /* private, all of it */
    uv_timer_t resume, look;
    unsigned looks; /* in a row */
};

void sched_again_init(struct sched_again *again, uv_loop_t *loop,
                      const struct sched_again_env *env);

/* resume comes claim_resume_s from now on, later the more often in a row it was cut short, up to
 * ten minutes. */
void sched_again_later(struct sched_again *again, unsigned cut);
void sched_again_not_now(struct sched_again *again);

/* While the snapshot says that gpus were left out because they were in use, look comes: after
 * gpu_retry_s, then twice that, ..., ten minutes. Where a claim profiled them that has ended it
 * comes after claim_resume_s. Never where the daemon does not measure by itself. To be called with
 * each snapshot and each change of the claims (NULL: none). */
void sched_again_follow(struct sched_again *again, const struct snapshot *snapshot,
                        const struct claim_set *claims);

/* Builds the request for gpus left out as busy or profiled, and their memory. Returns false when
 * nothing is due or memory runs out. */
bool sched_again_request(const struct snapshot *snapshot, const struct claim_set *claims,
                         struct probe_request *ret_request);

/* Nothing comes any more; the timers close. */
void sched_again_stop(struct sched_again *again);
