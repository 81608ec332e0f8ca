/**
 * Folder probes/common: the ground of both probes: records, statistics of repeats, options, the
 *   stop signal.
 *
 * Main types: struct probe_out, struct probe_line.
 * Uses: nobody
 * Public headers: clock.h common.h conditions.h cpu_list.h emit.h file.h free_memory.h load.h
 *   metric.h options.h random.h record.h stats.h stop.h table.h why.h
 * Shown by: tests/unit/common
 */
#pragma once
