/**
 * hwloc XML of a node with what was measured there, for hwloc's own tools and for libraries that
 * ask hwloc.
 *
 * Memory attributes of each NUMA node, by initiator: ReadBandwidth, WriteBandwidth and Bandwidth,
 * the mean of both or the one that is known, in MiB/s; ReadLatency and Latency in ns. Initiators
 * are the cpus of NUMA nodes, llcs and packages, and gpus by their PCI device. An llc needs values
 * to every memory its NUMA node has; a package likewise for its parts, bandwidth alone. A NUMA
 * node's latency is the mean of its llcs'. Distances: matrices between NUMA nodes and between gpus,
 * named and in units as in BACKEND_HWLOC_MATRICES; 0 on the diagonal is not measured, and places of
 * which a value is missing are left out.
 *
 * What was stated only (nominal) is left to the XML that comes in. Infos of objects say where
 * values are from; the backend reads them back.
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

/* On the root of what berth exported: the snapshot's id; an XML without it is somebody else's. */
#define BACKEND_HWLOC_SNAPSHOT_INFO "BerthSnapshot"
/* Of the matrix or memory attribute behind the slash: "measured", "published" or "mixed"; on the
 * root, or on the NUMA node that an attribute is of. */
#define BACKEND_HWLOC_SOURCE_INFO "BerthSource/"

/* xml is the node's, name its file's, for errors; new text that the caller frees. BAD_DATA where
 * hwloc cannot read it, NO_MEMORY. Any thread. */
enum berth_code backend_hwloc_measured(const char *xml, const char *name,
                                       const struct snapshot *snap, char **ret_xml,
                                       struct berth_err *err);
