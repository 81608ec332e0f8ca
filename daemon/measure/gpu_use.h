/**
 * GPUs in use, from the GPU probe's output with --facts, and the probe's names of places. Pure.
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
/* true when every GPU is in use */
bool gpu_use_has_all(const struct gpu_use *use, const struct graph *graph);

/* True when every GPU among the comma separated names is in use; ignores other places. */
bool gpu_use_has_places(const struct gpu_use *use, const struct graph *graph, const char *places);

/* Returns the GPUs in use by the probe's names, comma separated. These are PCI addresses, or UUIDs
 * if several GPUs (slices, partitions) share one. The caller frees it; NULL when out of memory. */
char *gpu_use_names(const struct gpu_use *use, const struct graph *graph);

/* Translates comma separated places: GPUs and modules get the probe's names. The caller frees it;
 * NULL when out of memory. */
char *gpu_use_translate(const struct graph *graph, const char *places);

#define GPU_USE_SETS_MAX   256   /* the probe takes no more */
#define GPU_USE_SETS_BYTES 65536 /* no set is added behind so many; an argument has 128 KiB */

/* Returns transfers between GPUs to measure concurrently: pairs that reveal the path of one of them
 * (cost/path_inference.h), and the parts of each transfer that Route may split. In the probe's
 * names: "FROM>TO+FROM>TO", "kernel/" before those by kernel, comma separated; only vendor's GPUs,
 * NULL all. "" when nothing is open. The caller frees it; NULL when out of memory. */
char *gpu_use_sets(const struct graph *graph, const char *vendor);
