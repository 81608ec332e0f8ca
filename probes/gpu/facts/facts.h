/**
 * Folder probes/gpu/facts: facts of the drivers: devices, links, clocks, partitions; without a
 *   context on any GPU.
 *
 * Main types: struct probe_out (common/emit.h).
 * Uses: common gpu/driver
 * Public headers: conditions.h facts.h
 * Shown by: tests/unit/gpu/facts, `berth-probe-gpu --facts`
 *
 * `berth-probe-gpu --facts`: what the drivers say of the GPUs and their links, as device and link
 * records (docs/RECORD.md), without a context on any.
 */
#pragma once
#include "common/emit.h"
#include "common/why.h"

/* Prints a run record, the records, and an end record: NVIDIA's GPUs from the management library,
 * then AMD's from sysfs. The run's conditions name the files closed to this process and the missing
 * permission. A node without a GPU has no device record; why then gives the reason ("" otherwise).
 * root: "" this machine, else a folder with /sys, /proc, /dev and /usr/lib/libnvidia-ml.so.1 in it.
 * Returns an exit status: 0, or 70 when nobody reads. */
int gpu_facts_print(const char *root, struct probe_out *out, struct probe_why *why);
