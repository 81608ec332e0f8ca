/**
 * Adds measured values to the hwloc XML of a node, for hwloc's own tools and for libraries that use
 * hwloc.
 *
 * Memory attributes of each NUMA node, by initiator: ReadBandwidth, WriteBandwidth and Bandwidth in
 * MiB/s; ReadLatency and Latency in ns. Bandwidth is the mean of read and write, or the only one
 * available. Initiators are the cpus of NUMA nodes, llcs and packages, and gpus by their PCI
 * device. An llc needs values to every memory that its NUMA node has values to; a package likewise
 * for its parts, bandwidth only. A NUMA node's latency is the mean of its llcs'.
 *
 * Distances: matrices between NUMA nodes and between gpus, with the names and units of
 * BACKEND_HWLOC_MATRICES. A 0 on the diagonal is not measured. Places with a missing value are left
 * out.
 *
 * Stated (nominal) values stay as they are in the input XML. Infos of objects name the sources of
 * values; the backend reads them back.
 */
#pragma once
#include "base/err.h"
#include "node/metric.h"
#include "node/snapshot.h"

/* X(name, metric, kind of both ends, unit in the metric's): hwloc has bandwidth in MB/s and latency
 * in ns. */
#define BACKEND_HWLOC_MATRICES(X)                                                                  \
    X("BerthNUMAReadBandwidth", METRIC_MEMORY_BANDWIDTH, PLACE_NUMA, 1e6)                          \
    X("BerthGPUEngineBandwidth", METRIC_GPU_GPU_COPY_ENGINE, PLACE_GPU, 1e6)                       \
    X("BerthGPUKernelBandwidth", METRIC_GPU_GPU_KERNEL, PLACE_GPU, 1e6)                            \
    X("BerthGPUCopyLatency", METRIC_COPY_LATENCY, PLACE_GPU, 1)                                    \
    X("BerthGPULoadLatency", METRIC_MEMORY_LATENCY, PLACE_GPU, 1)

/* Info on the root of an XML that berth exported: the snapshot's id; an XML without it has another
 * origin. */
#define BACKEND_HWLOC_SNAPSHOT_INFO "BerthSnapshot"
/* Info with the source of the matrix or memory attribute behind the slash: "measured", "published"
 * or "mixed". It is on the root, or on the NUMA node of an attribute. */
#define BACKEND_HWLOC_SOURCE_INFO "BerthSource/"

/* Returns new text that the caller frees. xml is the node's, name its file's, for errors. Fails
 * with BAD_DATA where hwloc cannot read it, and with NO_MEMORY. Any thread. */
enum berth_code backend_hwloc_measured(const char *xml, const char *name,
                                       const struct snapshot *snap, char **ret_xml,
                                       struct berth_err *err);
