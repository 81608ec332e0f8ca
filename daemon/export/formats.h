/**
 * The formats, each in a file of its own.
 */
#pragma once
#include <stdbool.h>

#include "export/export.h"

/* Writes the node as a graph for Graphviz: memory and devices in their packages, an edge for each
 * link with its width and rate. Source: the DOT language. */
void export_dot(const struct export_input *input, struct print *text);

/* Writes lines of Slurm's gres.conf, one a gpu: File, Cores in Slurm's own numbering (hwloc's
 * logical order of cores), Links by the links' widths. Lines are in the order of the gpus' numbers.
 * A gpu with an unknown device file is a comment that reports it, and then Links are left out:
 * Slurm counts them by line. Source: gres.conf(5). */
void export_gres(const struct export_input *input, struct print *text);

/* Topology XML for NCCL_TOPO_FILE: the file format of NCCL (version 1) or RCCL (version 2). Unknown
 * values are left out where the library looks them up by itself. The attributes dev and rank are
 * always left out: the library counts them among the devices visible to the process. Source of the
 * format: NCCL's and RCCL's parsers, src/graph/xml.cc.
 *
 * Writes the topology with the gpus of NVIDIA, or is_rccl with those of AMD. Fails with
 * InvalidParameter when all gpus are of the other vendor. A node without gpus has its cpus and
 * nics. */
enum berth_code export_nccl(const struct export_input *input, bool is_rccl, struct print *text,
                            struct berth_err *err);

/* Writes the node as metrics in Prometheus' text format, for the textfile collector of
 * node_exporter. Series are bounded: rates and latencies between memories, caches and gpus at the
 * metric's default axes, at most EXPORT_PROMETHEUS_PAIRS of each metric. The number of samples left
 * out is a metric of its own. Labels are stable from run to run. Stated (nominal) values are no
 * samples. */
#define EXPORT_PROMETHEUS_PAIRS 256

void export_prometheus(const struct export_input *input, struct print *text);

/* Writes labels of the node for Kubernetes' Node Feature Discovery: hardware, verdict, gpus, and
 * the slowest pair of gpus, with the time after which they are void. Returns false when out of
 * memory. Source: the feature files of its local source. */
bool export_nfd(const struct export_input *input, struct print *text);

/* Writes a ResourceSlice with a device for each gpu that programs can use. Attributes say its NUMA
 * node, its rates, and its groups: gpus with a rate of the same class between any two. Fails with
 * InvalidParameter over 128 gpus. Source: the API resource.k8s.io/v1 of Kubernetes. */
enum berth_code export_dra(const struct export_input *input, struct print *text,
                           struct berth_err *err);

/* Writes variables of UCX's for bandwidths, NAME=value for a shell's export, with comments that
 * name the values behind them. Measured values alone: a variable replaces UCX's own estimate.
 * ABSENT without any. Source: ucx_info -c. */
enum berth_code export_ucx(const struct export_input *input, struct print *text,
                           struct berth_err *err);
