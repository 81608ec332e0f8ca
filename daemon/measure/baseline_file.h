/**
 * Baselines as a file, for nodes that lose their state at a reboot: JSON, one record a line.
 * docs/RECORD.md (Baselines) has the format.
 *
 * A file is imported whole or not at all: its last record counts the others. Its content is
 * untrusted.
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "health/baseline.h"
#include "node/graph.h"

/* Files are named FOLDER/NAME.baseline. NAME is the graph's name with '_' for everything but
 * letters, digits, '-', '_' and '.'. If there is no such file, FOLDER/FINGERPRINT.baseline is read,
 * which equal nodes can share. */

/* Reads the file of this node. Adds its places to set. Adds its series only if the file's
 * fingerprint is this graph's, which ret_same tells, and if metric and places are known. Fails with
 * ABSENT when neither file exists, BAD_DATA with file and line, IO, NO_MEMORY. After a failure,
 * drop the partly filled set. */
enum berth_code baseline_file_read(const char *folder, const struct graph *graph,
                                   struct baseline_set *set, bool *ret_same, struct berth_err *err);

/* Keeps an unreadable FOLDER/NAME.baseline: links it to FOLDER/NAME.baseline.unreadable-<now_s>,
 * before a new one replaces it. Fails with IO, NO_MEMORY. */
enum berth_code baseline_file_keep(const char *folder, const struct graph *graph, int64_t now_s,
                                   struct berth_err *err);

/* Writes FOLDER/NAME.baseline, replacing the old one atomically. ret_path (size bytes) gets its
 * name. Fails with IO and the reason, NO_MEMORY. */
enum berth_code baseline_file_write(const char *folder, const struct graph *graph,
                                    const struct baseline_set *set, int64_t now_s, char *ret_path,
                                    size_t size, struct berth_err *err);
