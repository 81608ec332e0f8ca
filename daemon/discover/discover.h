/**
 * Folder daemon/discover: discovery: hwloc, the AMD driver, facts of the drivers and recorded
 *   nodes become one graph.
 *
 * Main types: struct backend (one source), struct draft (the graph as it grows), struct discovery.
 * Uses: base node
 * Public headers: backend_hwloc_measured.h backend_hwloc_view.h counter_files.h discover.h
 *   event_file.h
 * Shown by: tests/unit/discover, tests/replay
 *
 * Discovery: backends read the world and add to one draft, which becomes a graph.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/files.h"
#include "node/counters.h"
#include "node/graph.h"
#include "node/sets.h"
#include "node/values.h"

struct discovery {
    struct graph *graph; /* finished; the caller's reference */
    /* finished: nominal values of the firmware, and the measurements of a folder */
    struct values *values;
    struct sets *sets;        /* of a folder; NULL none */
    struct counters counters; /* of a folder */
    int64_t measured_at_s;    /* of the measurements of a folder; 0 none */
    char *shapes;             /* of a folder: launch shapes (node/tuning.h); NULL none */
    char left_out[256];       /* number of skipped lines of the measurements, and why; "" none */
};

/* Discovers this machine: hwloc, then kfd, then facts (text of a gpu probe; NULL none). Fails only
 * when not even the CPUs are readable. A backend whose hardware is absent adds nothing. */
enum berth_code discover_live(const struct files *io, const char *facts, struct discovery *ret,
                              struct berth_err *err);

/* Discovers a node folder (node.json, or only one hwloc XML). BAD_DATA names the file and the
 * error: truncated XML, hwloc 3.0, paths that leave the folder, contradictions that cannot be
 * resolved. Contradictions that can be resolved become disagreements. */
enum berth_code discover_folder(const char *folder, struct discovery *ret, struct berth_err *err);

void discovery_done(struct discovery *discovery);

/* Returns the node's hwloc XML in a new string that the caller frees: of this machine when folder
 * is NULL, else of the folder. The XML's name in errors is ret_name, new too. Fails with ABSENT
 * when the folder has none. Slow: call it on a worker thread. */
enum berth_code discover_xml(const struct files *io, const char *folder, char **ret_xml,
                             char **ret_name, struct berth_err *err);

/* Contents of a node folder; borrowed. */
struct folder_contents {
    const struct graph *graph;
    enum origin origin; /* of the snapshot */
    const struct values *values;
    const struct sets *sets;         /* NULL none */
    const struct counters *counters; /* NULL none */
    const char *shapes;              /* launch shapes (node/tuning.h); NULL none */
};

/* discover/folder_writer.c: writes a node folder as files, for Record: node.json, topology.xml,
 * kfd/..., facts.jsonl, counters.jsonl, measurements.jsonl. The function visit receives each once
 * and returns false to stop. folder is the source of the other files; NULL: the live machine. Slow
 * (tens of ms): call it on a worker thread. */
typedef bool (*discover_visit)(void *arg, const char *file, const char *text, size_t length);
enum berth_code discover_write_folder(const struct files *io, const char *folder,
                                      const struct folder_contents *contents, discover_visit visit,
                                      void *arg, struct berth_err *err);

/* discover/nvproc.c: NVIDIA's gpus in the kernel driver's /proc/driver/nvidia/gpus, by PCI address.
 * Loads no runtime and wakes no gpu.
 *
 * Returns device records (node/record.h), one line a gpu, in new text that the caller frees; NULL
 * when the driver shows none. The names gpu0, gpu1, ... are in the order of PCI addresses and mean
 * nothing elsewhere. Fields are left out while missing, malformed or not known to the driver yet
 * (uuids, before a gpu's first use). NO_MEMORY is the only failure. Any thread. */
enum berth_code nvproc_facts(const struct files *io, char **ret_facts, struct berth_err *err);
