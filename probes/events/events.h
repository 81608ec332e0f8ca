/**
 * Folder probes/events: errors that the kernel has logged since the boot, as records: Xid, resets
 *   by amdgpu, PCIe. A unit of its own runs it with the right to read them.
 *
 * Main types: struct kernel_line (kernel_lines.h).
 * Uses: common
 * Public headers: events.h
 * Shown by: tests/unit/events, tests/system/kernel_events.sh
 */
#pragma once
