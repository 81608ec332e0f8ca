/**
 * Transfers between GPUs that the GPU probe is asked to measure concurrently: pairs that reveal the
 * path of one of them (cost/path_inference.h), and the parts of each transfer that Route may split.
 * Pure.
 */
#pragma once
#include "node/graph.h"

#define PROBE_SETS_MAX   256   /* the probe takes no more */
#define PROBE_SETS_BYTES 65536 /* no set is added behind so many; an argument has 128 KiB */

/* Returns the sets in the probe's names: "FROM>TO+FROM>TO", "kernel/" before those by kernel, comma
 * separated; only vendor's GPUs, NULL all. "" when nothing is open. The caller frees it; NULL when
 * out of memory. */
char *probe_sets(const struct graph *graph, const char *vendor);
