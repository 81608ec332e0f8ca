/**
 * One request to measure: which probe programs it takes, each run through the runner, each run's
 * lines collected. Loop thread only.
 *
 * A GPU probe is asked first who uses the gpus (--facts), and those with processes on them are left
 * out. When it hangs or crashes, what it has measured is kept as a run, whose finding names the
 * cell that it was at, and it is started again without that cell, or without a gpu that was lost:
 * three times in all. A process that cannot be killed, because a driver does not let go of it, has
 * nothing started beside it for as long as it is there.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/err.h"
#include "measure/facts_text.h"
#include "measure/gpu_use.h"
#include "measure/programs.h"
#include "measure/run_parser.h"
#include "measure/runner.h"
#include "measure/sched_left_out.h"
#include "node/values.h"

struct probe_request {
    bool full;
    uint64_t budget_ns; /* 0: the profile's */
    /* comma separated names, owned by the scheduler after sched_probe; NULL all */
    char *metrics;
    char *places; /* likewise */
    bool force;   /* measures beside claims of ordinary users */
    /* of gpus that were in use: nothing is measured, nor said, while all of places still are */
    bool when_free;
};

void sched_probe_request_done(struct probe_request *request);

/* The running probe, or the last one. */
struct probe_view {
    uint64_t number; /* of the request: 1, 2, 3, ...; 0 when there was none */
    bool running;
    bool cancelled;
    const char *yielded_to; /* what it was stopped for, when not by a person's wish; NULL */
    struct collect_progress progress; /* of the program that runs */
    double share;                     /* of all that the request takes, 0 to 1; NAN unknown */
    double remaining_ns;              /* of the program that runs; NAN unknown */
    /* values of the programs that ended, of one that was started again those of the start that
     * measured most */
    size_t measured, left_out;
    json_t *skipped; /* borrowed array, valid until the next request; NULL none */
};

struct sched_probe_env {
    uv_loop_t *loop;
    const struct clock *clock;
    const struct config *config; /* may change between calls */
    void (*moved)(void *arg);    /* a line was read */
    /* what the drivers said before gpus were measured; NULL nothing */
    void (*looked)(void *arg, char *take_facts);
    /* a program ended; sched_probe_step goes on. NULL: it never began */
    void (*ran)(void *arg, struct run *take_run);
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
    size_t next;         /* index of the program that runs, or is to run next */
    size_t begun, steps; /* programs of this request */
    unsigned attempts;   /* starts of this program that have ended; 0 for the first */
    size_t best_measured, best_left_out; /* values of the one of them that measured most */
    size_t measured, left_out;           /* values of the programs before it */
    bool looking;                        /* what runs only says who uses the gpus */
    struct facts_text said;              /* by the look */
    struct sched_left_out claims; /* which it goes around; the set is the scheduler's to change */
    struct gpu_use out;           /* gpus that this program leaves alone */
    char *hung;                   /* cells that it leaves out; NULL none */
    struct note kept[2 * SCHED_PROBE_ATTEMPTS]; /* what its earlier attempts found */
    size_t kept_count;
    char *shapes; /* what an earlier run found out about launching kernels; NULL nothing */
    int stuck;    /* a process that cannot be killed; 0 none */
    struct runner *runner;
    struct runner_spec spec;
    char program[4096];
    char budget_text[24];
    char *metrics, *places, *without, *sets; /* arguments of the running program */
    const char *args[24];
    uint64_t started_ns;
    const struct graph *graph; /* a reference, while runner runs */
    struct run_parser collect;
    json_t *skipped;
};

void sched_probe_init(struct sched_probe *probe, const struct sched_probe_env *env);
void sched_probe_done(struct sched_probe *probe); /* nothing may run */

/* Makes take_request, whose strings are taken in every case, the one that sched_probe_step works
 * on. UNAVAILABLE when no program measures what is asked here, BUSY while a process of an earlier
 * one cannot be killed, NO_MEMORY. None may be active. */
enum berth_code sched_probe_begin(struct sched_probe *probe, struct probe_request *take_request,
                                  const struct graph *graph, struct berth_err *err);

/* Starts the next program, whose places are those of graph; shapes (NULL none) are copied. False
 * when none is left or the request was cancelled: it is over then. None may be running. */
bool sched_probe_step(struct sched_probe *probe, const struct graph *graph, const char *shapes);

/* No further program is started, and the running one is stopped; env.ran comes all the same. */
void sched_probe_cancel(struct sched_probe *probe);

/* The claim that profiles a gpu which the running program touches; NULL none. */
const struct claim *sched_probe_in_way(const struct sched_probe *probe);

/* The same, because something else excludes measuring: by says what. */
void sched_probe_yield(struct sched_probe *probe, const char *by);

static inline bool sched_probe_is_active(const struct sched_probe *probe) { return probe->active; }
static inline bool sched_probe_is_running(const struct sched_probe *probe)
{
    return probe->runner != NULL;
}
void sched_probe_look(const struct sched_probe *probe, struct probe_view *ret_view);
