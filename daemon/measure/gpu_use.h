/**
 * GPUs in use, from the GPU probe's output with --facts. Pure.
 *
 * A GPU with a process counts as claimed: nothing is measured on it. A device record with
 * "processes" missing or 0 has no effect.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"

#define GPU_USE_MAX      256
#define GPU_USE_PROFILED (-1) /* a claim profiles the GPU */

struct gpu_use {
    const char *vendor; /* counts this vendor's GPUs only; NULL all */
    struct {
        place_id gpu;
        int64_t processes; /* 0 left out for another reason; or GPU_USE_PROFILED */
    } item[GPU_USE_MAX];
    size_t count;
};

/* Reads one line of the facts. Ignores everything but device records of this graph's counted
 * GPUs. */
void gpu_use_line(struct gpu_use *use, const struct graph *graph, const char *line, size_t length);

/* Adds a GPU to leave out, unless it is in already. */
void gpu_use_add(struct gpu_use *use, place_id gpu, int64_t processes);

/* True for a GPU of the vendor. */
bool gpu_use_counts(const struct gpu_use *use, const struct graph *graph, place_id gpu);

bool gpu_use_has(const struct gpu_use *use, place_id gpu);
bool gpu_use_has_each(const struct gpu_use *use, const struct gpu_use *gpus);
/* true when every GPU is in use */
bool gpu_use_has_all(const struct gpu_use *use, const struct graph *graph);

/* True when every GPU among the comma separated names is in use; ignores other places. */
bool gpu_use_has_places(const struct gpu_use *use, const struct graph *graph, const char *places);

/* Returns the GPUs in use by the probe's names, comma separated. The caller frees it; NULL when out
 * of memory. */
char *gpu_use_names(const struct gpu_use *use, const struct graph *graph);
