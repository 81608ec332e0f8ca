/**
 * One request to measure: selects the probe programs, runs each and parses its lines. Loop thread
 * only.
 *
 * A GPU probe first reports GPUs in use (--facts), which are then left out. If it hangs or crashes,
 * its values are kept as a run, whose finding names the cell. It is started again without that cell
 * or lost GPU, up to three times in all. While a process cannot be killed because a driver blocks
 * it, nothing else is started.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/err.h"
#include "measure/gpu_use.h"
#include "measure/programs.h"
#include "measure/run_parser.h"
#include "measure/runner.h"
#include "measure/sched_facts.h"
#include "measure/sched_left_out.h"
#include "node/values.h"

struct probe_request {
    bool full;
    uint64_t budget_ns; /* 0: the profile's */
    /* comma separated names, owned by the scheduler after sched_probe; NULL all */
    char *metrics;
    char *places; /* likewise */
    bool force;   /* measures beside claims of ordinary users */
    /* for GPUs that were in use: does nothing, silently, while all of places still are */
    bool when_free;
    /* the daemon's own for values that got old: measures the place at; logs failures only, and not
     * the GPUs that it leaves out */
    bool is_background;
    bool is_beside; /* beside a job: tunes no kernels anew */
    place_id at;
};

void sched_probe_request_done(struct probe_request *request);

/* The running probe, or the last one. */
struct probe_view {
    uint64_t number; /* of the request: 1, 2, 3, ...; 0 none yet */
    bool running;
    bool cancelled;
    const char *yielded_to;       /* claim for which it was stopped; NULL none */
    struct run_progress progress; /* of the running program */
    double share;                 /* finished fraction of the request, 0 to 1; NAN unknown */
    double remaining_ns;          /* of the running program; NAN unknown */
    /* values of ended programs; for a repeated one, of the start that measured most */
    size_t measured, left_out;
    json_t *skipped; /* borrowed array, valid until the next request; NULL none */
};

struct sched_probe_env {
    uv_loop_t *loop;
    const struct clock *clock;
    const struct config *config; /* may change between calls */
    void (*moved)(void *arg);    /* a line was read */
    /* facts from the drivers before GPUs are measured; NULL none */
    void (*facts)(void *arg, char *take_facts);
    /* a program ended; call sched_probe_step next. NULL: it did not start */
    void (*ran)(void *arg, struct run *take_run);
    /* The GPUs in use are known, which the program would leave out; may add others and change the
     * request's metrics, places, at and is_beside. False: nothing is measured. NULL: nothing is
     * changed */
    bool (*choose)(void *arg, struct gpu_use *use, struct probe_request *request);
    void *arg;
};

#define SCHED_PROBE_ATTEMPTS 3

/* Private, all of it. */
struct sched_probe {
    struct sched_probe_env env;
    struct probe_request request;
    uint64_t number;
    bool active, cancelled;
    char yielded_to[96];
    size_t next;                         /* index of the running program, or of the next one */
    size_t begun, steps;                 /* number of programs of this request */
    unsigned attempts;                   /* ended starts of this program; 0 during the first */
    size_t best_measured, best_left_out; /* values of the start that measured most */
    size_t measured, left_out;           /* values of the request's earlier programs */
    bool is_querying;                    /* the running process only reports GPUs in use */
    struct sched_facts_text facts;       /* records of the process that reports GPUs in use */
    struct sched_left_out claims;        /* claims to avoid; the scheduler owns the set */
    struct gpu_use out;                  /* GPUs that this program leaves out */
    char *hung;                          /* cells that it leaves out; NULL none */
    struct note kept[2 * SCHED_PROBE_ATTEMPTS]; /* notes of its earlier attempts */
    size_t kept_count;
    char *shapes;    /* launch shapes of kernels from an earlier run; NULL none */
    bool tunes_anew; /* some of them no longer hold */
    int stuck;       /* a process that cannot be killed; 0 none */
    struct runner *runner;
    struct runner_spec spec;
    char program[4096];
    char budget_text[24];
    char *metrics, *places, *without, *sets; /* arguments of the running program */
    const char *args[28];
    uint64_t started_ns;
    const struct graph *graph; /* a reference, while runner runs */
    struct run_parser parser;
    json_t *skipped;
};

void sched_probe_init(struct sched_probe *probe, const struct sched_probe_env *env);
void sched_probe_done(struct sched_probe *probe); /* nothing may run */

/* Makes take_request current for sched_probe_step. Consumes its strings even on failure. Fails with
 * UNAVAILABLE when no program here measures the requested metrics, BUSY while an earlier process
 * cannot be killed, NO_MEMORY. No request may be active. */
enum berth_code sched_probe_begin(struct sched_probe *probe, struct probe_request *take_request,
                                  const struct graph *graph, struct berth_err *err);

/* Starts the next program, for graph's places; copies shapes (NULL none). Returns false
 * when none is left or the request was cancelled, which ends it. No program may be running. */
bool sched_probe_step(struct sched_probe *probe, const struct graph *graph, const char *shapes);

/* Stops the running program and starts no other; env.ran is still called. */
void sched_probe_cancel(struct sched_probe *probe);

/* Returns the claim that profiles a GPU which the running program uses; NULL none. */
const struct claim *sched_probe_obstacle(const struct sched_probe *probe);

/* Cancels, because the claim described by @by excludes measuring. */
void sched_probe_yield(struct sched_probe *probe, const char *by);

static inline bool sched_probe_is_active(const struct sched_probe *probe) { return probe->active; }
static inline bool sched_probe_is_running(const struct sched_probe *probe)
{
    return probe->runner != NULL;
}
void sched_probe_read_view(const struct sched_probe *probe, struct probe_view *ret_view);
