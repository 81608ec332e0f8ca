/**
 * Which gpus somebody uses, from what the GPU probe prints with --facts; and how that probe calls
 * places. Pure.
 *
 * A gpu with a process on it counts as claimed: nothing is measured on it. A device record whose
 * "processes" is missing or 0 says nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"

#define GPU_USE_MAX      256
#define GPU_USE_PROFILED (-1) /* a claim profiles it */

struct gpu_use {
    const char *vendor; /* of whose gpus alone it is, those of others do not count; NULL: of all */
    struct {
        place_id gpu;
        int64_t processes; /* 0: left out for another reason; GPU_USE_PROFILED */
    } item[GPU_USE_MAX];
    size_t count;
};

/* One line of the facts; anything but a device record of a gpu of this graph that counts is passed
 * over. */
void gpu_use_line(struct gpu_use *use, const struct graph *graph, const char *line, size_t length);

/* Adds a gpu that is to be left out; nothing when it is in already. */
void gpu_use_add(struct gpu_use *use, place_id gpu, int64_t processes);

/* Whether it is one of those that are counted: a gpu, of the vendor. */
bool gpu_use_counts(const struct gpu_use *use, const struct graph *graph, place_id gpu);

bool gpu_use_has(const struct gpu_use *use, place_id gpu);
/* there is no gpu that is not in use */
bool gpu_use_has_all(const struct gpu_use *use, const struct graph *graph);

/* Every gpu of the comma separated names is in use; names of other places do not count. */
bool gpu_use_has_places(const struct gpu_use *use, const struct graph *graph, const char *places);

/* The gpus in use as the probe calls them: PCI addresses, or UUIDs where several gpus (slices,
 * partitions) have one address. Comma separated. NULL when out of memory. */
char *gpu_use_names(const struct gpu_use *use, const struct graph *graph);

/* A list of places, comma separated, with gpus and modules in the probe's names. NULL when out of
 * memory. */
char *gpu_use_translate(const struct graph *graph, const char *places);

/* Transfers between gpus that the probe is to measure two at a time, because they tell which of
 * several ways one takes (cost/way_seen.h), in its names: "FROM>TO+FROM>TO", comma separated; of
 * vendor's gpus alone, NULL all. "" where nothing is open. NULL when out of memory. */
char *gpu_use_sets(const struct graph *graph, const char *vendor);
