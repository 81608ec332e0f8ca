/**
 * GPUs that a probe leaves out, because a claim profiles them or processes use them, and the report
 * on them. The GPU probe leaves out the GPUs. The CPU probe leaves out NUMA nodes that are the
 * memory of profiled GPUs. Loop thread only.
 */
#pragma once
#include <jansson.h>

#include "claim/set.h"
#include "measure/gpu_use.h"
#include "measure/run_parser.h"

#define SCHED_LEFT_OUT_IN_USE   "gpu-in-use" /* codes of the findings */
#define SCHED_LEFT_OUT_PROFILED "gpu-profiled"

struct sched_left_out {
    const struct claim_set *set; /* borrowed; NULL none */
    bool is_gpu_probe;
    bool is_forced; /* beside claims of ordinary users */
};

/* Returns the place if it is a GPU, or the GPU whose own memory the NUMA node is; PLACE_NONE for
 * other places. */
place_id sched_left_out_gpu(const struct graph *graph, place_id place);

/* Adds the GPUs that claims profile and the probe would use. Returns true when one was new. */
bool sched_left_out_add(struct gpu_use *use, const struct graph *graph,
                        const struct sched_left_out *what);

/* Returns the first claim for which sched_left_out_add would return true; NULL none. */
const struct claim *sched_left_out_missing(const struct gpu_use *use, const struct graph *graph,
                                           const struct sched_left_out *what);

/* Fails with BUSY while a claim for computing prevents all measuring; for forced requests only an
 * administrator's does. */
enum berth_code sched_left_out_check(const struct claim_set *claims, bool is_forced,
                                     struct berth_err *err);

/* True when the comma separated places include one for this probe only: GPUs, or other places for
 * the CPU probe. */
bool sched_left_out_names(const struct graph *graph, const char *places, bool is_gpu_probe);

/* Returns the CPU probe's names of the memory to leave out, comma separated, "" none. The caller
 * frees it; NULL when out of memory. */
char *sched_left_out_memory(const struct gpu_use *use, const struct graph *graph);

/* Reports each place left out as a finding of the run, and in skipped, the reply to the caller.
 * skipped NULL: it has been reported. */
void sched_left_out_report(const struct gpu_use *use, const struct graph *graph,
                           const struct sched_left_out *what, struct run_parser *parser,
                           json_t *skipped);
