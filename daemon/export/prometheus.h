/**
 * The node as metrics in Prometheus' text format, for the textfile collector of node_exporter.
 *
 * Series are bounded: rates and latencies between memories, caches and gpus at the metric's default
 * axes, at most EXPORT_PROMETHEUS_PAIRS of each metric; how many were left out beyond that is a
 * metric of its own. Labels are stable from run to run. What is only stated (nominal) is no sample.
 */
#pragma once
#include "export/export.h"

#define EXPORT_PROMETHEUS_PAIRS 256

void export_prometheus(const struct export_input *input, struct print *text);
