/**
 * Folder daemon/discover: discovery: hwloc, the AMD driver, facts of the drivers and recorded
 *   nodes become one graph.
 *
 * Main types: struct backend (one source), struct draft (the graph as it grows), struct discovery.
 * Uses: base node
 * Public headers: backend_hwloc_measured.h backend_hwloc_view.h discover.h nvproc.h
 * Shown by: tests/unit/discover, tests/replay
 *
 * Discovery: backends read the world and add to one draft, which becomes a graph.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/files.h"
#include "node/graph.h"
#include "node/sets.h"
#include "node/values.h"

struct discovery {
    struct graph *graph; /* finished; the caller's reference */
    /* finished: nominal values of the firmware, and a folder's measurements */
    struct values *values;
    struct sets *sets;     /* a folder's; NULL none */
    int64_t measured_at_s; /* of a folder's measurements; 0 none */
    char left_out[256];    /* how many lines of a folder's measurements, and why; "" none */
};

/* This machine: hwloc, then kfd, then facts (the text a gpu probe printed; NULL none). Fails only
 * when not even the CPUs can be seen. A backend whose hardware is not there adds nothing. */
enum berth_code discover_live(const struct files *io, const char *facts, struct discovery *ret,
                              struct berth_err *err);

/* A node folder (node.json, or one hwloc XML alone). BAD_DATA says which file and why: truncated
 * XML, hwloc 3.0, paths that leave the folder, a lie that cannot be resolved. Lies that can be
 * resolved are disagreements. */
enum berth_code discover_folder(const char *folder, struct discovery *ret, struct berth_err *err);

void discovery_done(struct discovery *discovery);

/* The node's hwloc XML in a new string that the caller frees: of this machine when folder is NULL,
 * else the folder's; ret_name, new too, is what errors call it. ABSENT when the folder has none.
 * Slow: call it on a worker thread. */
enum berth_code discover_xml(const struct files *io, const char *folder, char **ret_xml,
                             char **ret_name, struct berth_err *err);

/* A node folder as files, for Record: node.json, topology.xml, kfd/..., facts.jsonl,
 * measurements.jsonl. visit gets each once; it returns false to stop. sets NULL: none. folder is
 * NULL for the live machine. origin is that of the snapshot. Slow (tens of ms): call it on a worker
 * thread. */
typedef bool (*record_visit)(void *arg, const char *file, const char *text, size_t length);
enum berth_code discover_record(const struct files *io, const char *folder,
                                const struct graph *graph, enum origin origin,
                                const struct values *values, const struct sets *sets,
                                record_visit visit, void *arg, struct berth_err *err);
