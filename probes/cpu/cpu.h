/**
 * Folder probes/cpu: the CPU probe: memory bandwidth and latency, copies, cache lines between
 *   cores.
 *
 * Main types: struct cpu_topology, struct cpu_cell.
 * Uses: common
 * Public headers: cpu.h noise.h topology.h workers.h
 * Shown by: tests/unit/cpu, `berth-probe-cpu --help`
 */
#pragma once
