/**
 * Reads error counters of GPUs and NICs from world readable files of sysfs and from
 * facts of the drivers.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/files.h"
#include "node/counters.h"
#include "node/graph.h"

/* Enters a reading of all counters of the graph's places. Forgets those of an earlier boot.
 * Missing files are no error; those without a number are noted as
 * garbage. False when out of memory. Any thread; some milliseconds. */
bool counter_files_read(const struct files *io, const struct graph *graph, int64_t now_s,
                        struct counters *counters);
