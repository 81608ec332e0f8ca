/**
 * Probe programs: the metrics of each, and the nodes on which it runs. Constant; any thread.
 *
 * A program that needs several environments has one entry for each, with its own name. The store
 * files its runs under that name, and a run's findings replace those of the name's previous run.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "node/graph.h"
#include "node/values.h"

struct program {
    const char *name; /* name of its runs */
    const char *file;
    const char *metrics; /* metrics that it can measure, comma separated */
    /* those that the quick profile measures on every node; each gets a value or a skip even if the
     * run ends early */
    const char *quick;
    const char *key;     /* those on which plans and health rest first; NULL none */
    const char *local;   /* those of GPUs' own memory and links between GPUs; NULL none */
    bool is_gpu;         /* needs a GPU */
    const char *vendor;  /* ... of this vendor; NULL any */
    const char *beside;  /* ... and one of this vendor too; NULL not needed */
    const char *backend; /* argument --backend; NULL: see programs_backend */
    bool full_only;
    bool is_given; /* the daemon never runs it: somebody hands its records in (Health.AddRun) */
    const char *variant;            /* argument --variant; NULL none */
    const char *const *environment; /* as in runner_spec */
    uint64_t start_ms;              /* largest time before it measures */
};

const struct program *programs_all(size_t *ret_count); /* in the order of execution */

/* True when it measures one of the comma separated metrics; NULL stands for all. */
bool programs_measures(const struct program *program, const char *metrics);

/* Returns the program without variants that measures the metric of a GPU, or of other places; NULL
 * none. */
const struct program *programs_find(enum metric metric, bool is_gpu);

/* True when the records of a program that the daemon never runs have values of the metric. */
bool programs_is_given(enum metric metric);

/* True when plans and health rest on the metric first. */
bool programs_is_key(const struct program *program, enum metric metric);

/* True when the metric loads nothing but GPUs' own memory and the links between GPUs. */
bool programs_is_local(const struct program *program, enum metric metric);

/* Returns the metrics of the list that it measures. The caller frees it; NULL when out of
 * memory. */
char *programs_common(const struct program *program, const char *metrics);

/* True when the program runs on this node; ret_path gets its path even if it does not exist. The
 * CPU probe always runs, the GPU probe on nodes with GPUs. A missing one makes its run fail with a
 * note, once for all variants. A stand-in node has the probes that exist in the configured
 * folder. */
bool programs_runs(const struct program *program, const struct config *config,
                   const struct graph *graph, char *ret_path, size_t size);

/* Returns the vendor whose GPUs it measures on this node, and the driver. A process uses one
 * driver, so a node with both vendors needs a choice. NULL: the first driver with GPUs. */
const char *programs_vendor(const struct program *program, const struct graph *graph);
const char *programs_backend(const struct program *program, const struct graph *graph);

/* True when every existing program has tried all its metrics on this node since then. The last run
 * may have been partial or cut short. */
bool programs_tried_all(const struct config *config, const struct graph *graph,
                        const struct values *values, int64_t since_s);
