/**
 * Timers that repeat the daemon's own measuring: after a claim that interrupted or delayed it, and
 * for GPUs that were in use. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "base/config.h"
#include "measure/sched_probe.h"
#include "node/snapshot.h"

struct sched_again_env {
    const struct config *config;   /* may change between calls */
    void (*resume)(void *arg);     /* interrupted measuring is due */
    void (*retry_gpus)(void *arg); /* GPUs that were in use may be free */
    void *arg;
};

struct sched_again {
    struct sched_again_env env; /* private, all of it */
    uv_timer_t resume, retry;
    unsigned retries; /* in a row */
};

void sched_again_init(struct sched_again *again, uv_loop_t *loop,
                      const struct sched_again_env *env);

/* Calls resume after claim_resume_s. The delay doubles with each interruption in a row, up to ten
 * minutes. */
void sched_again_later(struct sched_again *again, unsigned cut);
void sched_again_cancel(struct sched_again *again);

/* Calls retry_gpus while the snapshot has notes on GPUs left out as in use: after gpu_retry_s, then
 * twice that, up to ten minutes. For GPUs profiled by an ended claim, calls it after
 * claim_resume_s. Never calls it if the daemon does not measure by itself. Call this for each
 * snapshot and each change of the claims (NULL none). */
void sched_again_follow(struct sched_again *again, const struct snapshot *snapshot,
                        const struct claim_set *claims);

/* Builds the request for GPUs left out as busy or profiled, and their memory. Returns false when
 * nothing is due or memory runs out. */
bool sched_again_request(const struct snapshot *snapshot, const struct claim_set *claims,
                         struct probe_request *ret_request);

/* Closes the timers; nothing is called afterwards. */
void sched_again_stop(struct sched_again *again);
