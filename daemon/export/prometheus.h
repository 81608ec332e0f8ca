/**
 * Writes the node as metrics in Prometheus' text format, for the textfile collector of
 * node_exporter.
 *
 * Series are bounded: rates and latencies between memories, caches and gpus at the metric's default
 * axes, at most EXPORT_PROMETHEUS_PAIRS of each metric. The number of samples left out is a metric
 * of its own. Labels are stable from run to run. Stated (nominal) values are no samples.
 */
#pragma once
#include "export/export.h"

#define EXPORT_PROMETHEUS_PAIRS 256

void export_prometheus(const struct export_input *input, struct print *text);
