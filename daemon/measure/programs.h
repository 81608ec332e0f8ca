/**
 * The probe programs there are, what each measures, and where each can run. Constant; any thread.
 *
 * A program that must be started in several environments stands once for each, under a name of its
 * own: that is how its runs are stored, and whose findings the findings of a later run replace.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "node/graph.h"
#include "node/values.h"

struct program {
    const char *name; /* of its runs */
    const char *file;
    const char *metrics; /* what it can measure, comma separated */
    /* of these, what quick measures wherever it runs: a value or a skip of each is in its record,
     * however early it ended */
    const char *quick;
    bool is_gpu;         /* only where there are gpus */
    const char *vendor;  /* ... of this vendor; NULL any */
    const char *beside;  /* ... and only where there are gpus of this one, too; NULL wherever */
    const char *backend; /* its argument --backend; NULL: see programs_backend */
    bool full_only;
    const char *variant;            /* its argument --variant; NULL none */
    const char *const *environment; /* as runner_spec has it */
    uint64_t start_ms;              /* what may pass before it measures */
};

const struct program *programs_all(size_t *ret_count); /* in the order in which they run */

/* Whether the comma separated list of metrics names one that it measures; NULL names all. */
bool programs_measures(const struct program *program, const char *metrics);

/* Those of the list that it measures; NULL when out of memory. */
char *programs_common(const struct program *program, const char *metrics);

/* Whether it is to be started on this node; path gets where it is, or should be. The CPU probe
 * belongs to every berthd, the GPU probe to each where there are gpus: without it a run fails and
 * says so, once and not for each of its variants. The probes of a stand-in node are what the
 * configuration's folder has, be it one or the other. */
bool programs_runs(const struct program *program, const struct config *config,
                   const struct graph *graph, char *ret_path, size_t size);

/* Whose gpus it measures on this node, and by which driver: one process has one driver's, and
 * beside those of the other vendor it is told which. NULL: whatever there is, the first driver that
 * has gpus. */
const char *programs_vendor(const struct program *program, const struct graph *graph);
const char *programs_backend(const struct program *program, const struct graph *graph);

/* Whether everything that the programs that are there measure on this node has been tried since
 * then: the last run may have been asked for one metric only, or have been cut short. */
bool programs_tried_all(const struct config *config, const struct graph *graph,
                        const struct values *values, int64_t since_s);
