/**
 * Background measuring: measures old values again, a unit at a time (measure/freshness.h), within
 * the budget of duty_percent (measure/duty.h). It waits while others use the node
 * (measure/node_use.h), and stops when a process opens a GPU. With measure_beside_jobs it measures
 * beside them what touches GPUs that nobody uses only (measure/beside.h). Nothing runs until the
 * next unit is due. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/files.h"
#include "measure/duty.h"
#include "measure/freshness.h"
#include "measure/node_use.h"
#include "measure/sched_probe.h"
#include "node/snapshot.h"

struct sched_background_env {
    uv_loop_t *loop;
    const struct clock *clock;
    const struct files *io;
    const struct config *config; /* may change between calls */
    void (*due)(void *arg);      /* a unit is due: call sched_background_try, or _later */
    void *arg;
};

#define SCHED_BACKGROUND_TEXT 160

/* For GetStatus. */
struct background_view {
    bool is_on;
    char last[SCHED_BACKGROUND_TEXT];   /* "METRICS at PLACE"; "" none yet */
    char next[SCHED_BACKGROUND_TEXT];   /* likewise; "" nothing to measure */
    char waits[SCHED_BACKGROUND_TEXT];  /* reason why a due unit waits; "" none */
    char beside[SCHED_BACKGROUND_TEXT]; /* the use of the node beside which it measures; "" none */
    int64_t last_at_s, next_at_s;       /* end of the last, earliest begin of the next; 0 none */
    uint64_t last_cost_ns;              /* the longer one of its time and its cpu time */
    int64_t oldest_at_s;                /* time of the oldest value that it renews; 0 none */
    double budget, last_hour, last_day; /* shares of the time */
};

/* Private, except probe. */
struct sched_background {
    struct sched_background_env env;
    struct sched_probe probe; /* its runs; the scheduler gets them by probe's env */
    struct freshness freshness;
    struct duty duty;
    uv_timer_t timer, guard;
    struct files io; /* files that tell the node's use */
    char root[4096];
    bool is_begun, is_running, is_stopped, is_held;
    bool is_cut;                   /* the unit's budget ended before its cells */
    struct freshness_unit unit;    /* the running one, or the next one */
    uint64_t found_in;             /* generation of the snapshot in which it was found; 0 none */
    struct gpu_use found_beside;   /* GPUs in use then, of a unit beside jobs */
    int64_t found_with_s;          /* freshness_s then */
    const struct snapshot *before; /* at its begin; NULL none runs */
    uint64_t begun_ns, cpu_ns;     /* of the daemon's children, at its begin */
    int64_t begun_s;
    struct node_use_gpus open;           /* GPUs' files during the run, without others' */
    bool has_open, are_open;             /* are_open: others had GPUs open before it */
    const struct claim_set *claims;      /* borrowed; NULL unknown */
    char hold[SCHED_BACKGROUND_TEXT];    /* claims' reason to measure nothing alone; "" none */
    char put_off[SCHED_BACKGROUND_TEXT]; /* reason why the begun unit is not measured; "" none */
    long openings, idle_openings;      /* of NVIDIA's driver before the run, and with no process */
    uint64_t cost_ns[2][METRIC_COUNT]; /* of the latest unit with that first metric; of GPUs: [1] */
    unsigned most;                     /* metrics of a unit: as many as fit its budget */
    unsigned waits;                    /* in a row */
    uint64_t again_ns;                 /* earliest next look */
    struct background_view view;
};

/* probe_env: of the runs; env->config->node names a folder whose files tell the use of a recorded
 * node. */
void sched_background_init(struct sched_background *background,
                           const struct sched_background_env *env,
                           const struct sched_probe_env *probe_env);
void sched_background_begin(struct sched_background *background); /* before it nothing is due */
void sched_background_done(struct sched_background *background);  /* after stop */

/* Call it for each snapshot and each change of the claims or the configuration. Sets the time of
 * the next unit, claim_resume_s after a hold at the earliest. hold: reason to measure nothing,
 * except beside the claims, which are borrowed until the next call; NULL none. Stops a running unit
 * that is held. claims NULL: unknown. */
void sched_background_follow(struct sched_background *background, const struct snapshot *snapshot,
                             const struct claim_set *claims, const char *hold);

/* Begins the unit that is due, unless others use the node. Nothing else may be measured. Then the
 * caller steps the probe until it ends, has its runs published, and calls sched_background_ended.
 * Returns false when nothing was begun. */
bool sched_background_try(struct sched_background *background, const struct snapshot *snapshot);

/* Lets a unit begin whose drivers have reported these GPUs in use: where there are any, only one
 * beside them, which replaces the request's. See choose in measure/sched_probe.h. */
bool sched_background_choose(struct sched_background *background, struct gpu_use *use,
                             struct probe_request *request);

/* Puts a due unit off for a minute, doubled up to ten. */
void sched_background_later(struct sched_background *background, const char *why);

/* Notes the end of a run of the unit. One beside a job gets the condition beside, and keeps those
 * of its values that renew others (freshness_renewed). */
void sched_background_add(struct sched_background *background, struct run *run);

/* Charges the unit. Call sched_background_follow next. */
void sched_background_ended(struct sched_background *background, const struct snapshot *snapshot);

/* Stops the running unit; it is due again. */
void sched_background_cancel(struct sched_background *background);

/* True from the begin of a unit until sched_background_ended. */
static inline bool sched_background_is_running(const struct sched_background *background)
{
    return background->is_running;
}

void sched_background_read_view(const struct sched_background *background,
                                struct background_view *ret_view);

/* Closes the timers and cancels. */
void sched_background_stop(struct sched_background *background);
