/**
 * Folder daemon/cost: the time of a transfer, alone and among others; the limits that transfers
 *   share, found from structure and concurrent runs; the cost of memory accesses.
 *
 * Main types: struct transfer (a transfer alone), struct flow (one among others), struct
 *   limits (shared limits), struct evidence.
 * Uses: base node sim
 * Public headers: agreement.h correction.h cost.h derive.h doubt.h endpoints.h estimate.h
 *   evidence.h iteration.h iteration_why.h kernel_time.h limits.h matrix.h memkind.h memrate.h
 *   memtime.h memuser.h path_inference.h policy.h runtime_variables.h transfer.h usage.h
 * Shown by: tests/unit/cost, docs/ADVICE.md
 */
#pragma once
