/**
 * Folder probes/gpu/cells: the cells of the GPU probe: a file for each kind of measurement.
 *
 * Main types: struct gpu_run, struct gpu_cell.
 * Uses: common cpu gpu/driver gpu/timing
 * Public headers: allocation.h blocks.h cell.h cells.h chase.h collective.h concurrent.h host.h
 *   matrix_product.h memory_kinds.h names.h noise.h peer.h pingpong.h run.h stream.h touch.h
 *   tune.h verify.h
 * Shown by: tests/unit/gpu/cells, tests/system/standin.sh
 */
#pragma once
