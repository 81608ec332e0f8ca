/**
 * Folder probes/mpi: the MPI probe: messages between ranks, collectives, network interfaces. Built
 *   only where there is an MPI library; its ranks are started by mpiexec.
 *
 * Main types: struct mpi_ranks.
 * Uses: common cpu
 * Public headers: mpi.h
 * Shown by: tests/system/mpi.sh, `berth-probe-mpi --help`
 */
#pragma once
