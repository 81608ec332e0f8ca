/**
 * Gpus that a probe leaves out: those that a claim profiles, and those with processes on them; and
 * how that is reported. The GPU probe leaves out the gpus, the CPU probe the NUMA nodes that are
 * the memory of gpus that are profiled. Loop thread only.
 */
#pragma once
#include <jansson.h>

#include "claim/set.h"
#include "measure/gpu_use.h"
#include "measure/run_parser.h"

#define SCHED_LEFT_OUT_IN_USE   "gpu-in-use" /* codes of the findings */
#define SCHED_LEFT_OUT_PROFILED "gpu-profiled"

struct sched_left_out {
    const struct claim_set *set; /* borrowed; NULL: none */
    bool is_gpu_probe;
    bool is_forced; /* beside claims of ordinary users */
};

/* The gpu that the place is, or whose own memory the NUMA node is; PLACE_NONE for any other place.
 */
place_id sched_left_out_gpu(const struct graph *graph, place_id place);

/* Adds the gpus that claims profile and the probe would touch. Whether any was not among them. */
bool sched_left_out_add(struct gpu_use *use, const struct graph *graph,
                        const struct sched_left_out *what);

/* The first claim for which sched_left_out_add would give true; NULL none. */
const struct claim *sched_left_out_missing(const struct gpu_use *use, const struct graph *graph,
                                           const struct sched_left_out *what);

/* BUSY while a claim for computing keeps everything from being measured, of an administrator's
 * where the request is forced. */
enum berth_code sched_left_out_check(const struct claim_set *claims, bool is_forced,
                                     struct berth_err *err);

/* Whether the comma separated places name one that the probe measures alone: gpus, or for the CPU
 * probe other places. */
bool sched_left_out_names(const struct graph *graph, const char *places, bool is_gpu_probe);

/* The CPU probe's names of the memory that it leaves out, comma separated, "" none. NULL when out
 * of memory. */
char *sched_left_out_memory(const struct gpu_use *use, const struct graph *graph);

/* Reports each place that is left out as a finding of the run, and in skipped, the reply to the
 * caller; NULL: it has been told. */
void sched_left_out_report(const struct gpu_use *use, const struct graph *graph,
                           const struct sched_left_out *what, struct run_parser *collect,
                           json_t *skipped);
