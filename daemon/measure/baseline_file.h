/**
 * Baselines as a file, for nodes that keep nothing over a reboot: JSON, one record a line.
 * docs/RECORD.md (Baselines) has the format.
 *
 * A file is imported whole or not at all: it ends with a record that counts the others. What is in
 * it is as little trusted as a message.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "health/baseline_set.h"
#include "node/graph.h"

/* FOLDER/NAME.baseline, NAME being the graph's with all but letters, digits, '-', '_' and '.' as
 * '_'; where nobody has that name, FOLDER/FINGERPRINT.baseline, which equal nodes can share. */

/* Reads the file of this node. The places of the file are added to set in any case, the series
 * (those whose metric this version knows and whose places graph has) when it was written by a node
 * with this graph's fingerprint; ret_same says whether. ABSENT when there is neither file; BAD_DATA
 * with file and line; IO; NO_MEMORY. set keeps what was added before a failure: drop it then. */
enum berth_code baseline_file_read(const char *folder, const struct graph *graph,
                                   struct baseline_set *set, bool *ret_same, struct berth_err *err);

/* Keeps a FOLDER/NAME.baseline that baseline_file_read would refuse as
 * FOLDER/NAME.baseline.unreadable-<now_s>, too, before another is written there. */
enum berth_code baseline_file_keep(const char *folder, const struct graph *graph, int64_t now_s,
                                   struct berth_err *err);

/* Writes FOLDER/NAME.baseline, in place of the old one all at once; ret_path (of size bytes) gets
 * its name. IO says why not. */
enum berth_code baseline_file_write(const char *folder, const struct graph *graph,
                                    const struct baseline_set *set, int64_t now_s, char *ret_path,
                                    size_t size, struct berth_err *err);
