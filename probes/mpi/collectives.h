/**
 * Collectives of 2, 4, 8, ... and all ranks of the machine: mpi_collective_latency,
 * mpi_collective_bandwidth.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/why.h"
#include "mpi/report.h"

/* Number of cells of the metrics that are asked for. */
size_t mpi_collectives_count(const struct mpi_ranks *ranks, const bool *metrics);

/* Measures each operation. Collective. */
bool mpi_collectives_run(const struct mpi_ranks *ranks, const bool *metrics,
                         struct mpi_report *report, struct probe_why *why);
