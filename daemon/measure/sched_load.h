/**
 * One run under load: starts the CPU probe and the GPU probes side by side, each with --load-ns,
 * and collects their records. Nothing of it becomes a value. Loop thread only.
 *
 * The drivers are asked first which GPUs are in use; these are left out.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/err.h"
#include "claim/set.h"
#include "health/load.h"
#include "measure/gpu_use.h"
#include "measure/programs.h"
#include "measure/runner.h"
#include "node/graph.h"

struct sched_load_env {
    uv_loop_t *loop;
    const struct clock *clock;
    const struct config *config; /* may change between calls */
    void (*moved)(void *arg);    /* a line was read */
    void (*ended)(void *arg);    /* all programs have ended */
    void *arg;
};

/* The running load, or the last one. */
struct load_view {
    uint64_t number; /* 1, 2, 3, ...; 0 none yet */
    bool running, cancelled;
    const char *yielded_to; /* claim for which it was stopped; NULL none */
    int64_t duration_s, elapsed_s;
    const struct load *load;   /* borrowed, valid until the next one begins */
    const struct graph *graph; /* likewise */
    const struct note *notes;
    size_t note_count;
    json_t *left_out; /* array of objects with what and why */
    bool is_standin;  /* a stand-in for a driver gave it */
};

#define SCHED_LOAD_PROGRAMS 3
#define SCHED_LOAD_NOTES    16

struct sched_load;

/* Private, all of it: one program. */
struct sched_load_part {
    struct sched_load *owner;
    const struct program *program;
    struct runner *runner;
    struct runner_spec spec;
    char path[4096];
    char *without; /* names of GPUs */
    const char *args[12];
    bool is_querying, has_failed;
};

/* Private, all of it. */
struct sched_load {
    struct sched_load_env env;
    uint64_t number;
    bool active, is_due, cancelled;
    char yielded_to[96];
    int64_t duration_s;
    char duration_text[24];
    uint64_t began_ns, ended_ns;
    const struct graph *graph; /* a reference */
    char *shapes;
    struct gpu_use use;
    struct sched_load_part part[SCHED_LOAD_PROGRAMS];
    size_t count;
    struct load load;
    struct note notes[SCHED_LOAD_NOTES];
    size_t note_count;
    json_t *left_out;
    bool is_standin;
    int stuck; /* a process that cannot be killed; 0 none */
};

void sched_load_init(struct sched_load *load, const struct sched_load_env *env);
void sched_load_done(struct sched_load *load); /* nothing may run */

/* Prepares it for all places of graph; sched_load_start is due. shapes: launch shapes of kernels,
 * NULL none. ret_number identifies it in the view. Fails with UNAVAILABLE when no program can run
 * here, BUSY while an earlier process cannot be killed, NO_MEMORY. None may be running. */
enum berth_code sched_load_begin(struct sched_load *load, const struct graph *graph,
                                 const char *shapes, int64_t duration_s, uint64_t *ret_number,
                                 struct berth_err *err);

/* Starts the programs, once nothing else is measured. Calls env.ended when none can be started. */
void sched_load_start(struct sched_load *load);

/* Stops it; env.ended is still called. by: the claim for which it stops, NULL none. */
void sched_load_cancel(struct sched_load *load, const char *by);

/* Returns a claim beside which nothing may be under load; NULL none. */
const struct claim *sched_load_obstacle(const struct claim_set *claims, const struct graph *graph);

static inline bool sched_load_is_running(const struct sched_load *load) { return load->active; }
static inline bool sched_load_is_due(const struct sched_load *load) { return load->is_due; }
void sched_load_read_view(const struct sched_load *load, struct load_view *ret_view);
