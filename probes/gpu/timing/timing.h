/**
 * Folder probes/gpu/timing: timing of GPU operations: repeats until the interval is narrow, sizes,
 *   both directions, launch shapes.
 *
 * Main types: struct gpu_trial, struct gpu_timing.
 * Uses: common gpu/driver
 * Public headers: bidirectional.h caller_cpus.h curve.h launch_shapes.h path.h rate.h repeat.h
 *   timing.h trial.h work.h
 * Shown by: tests/unit/gpu/timing
 */
#pragma once
