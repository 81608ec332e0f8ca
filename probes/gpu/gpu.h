/**
 * Folder probes/gpu: the GPU probe: its command line, the order of its cells, and its time limits.
 *
 * Main types: struct gpu_run (cells/run.h).
 * Uses: all of its program
 * Public headers: gpu.h
 * Shown by: tests/unit/gpu, `berth-probe-gpu --help`
 */
#pragma once
