/**
 * Folder daemon/measure: measuring: the schedule, the probes that it starts, the guardian
 *   that ends them, the parser of their records, the builder of snapshots, and history.
 *
 * Main types: struct sched (the schedule), struct runner (one probe at work), struct
 *   run_parser (the records of a run).
 * Uses: base node varlink discover health cost claim store
 * Public headers: given_run.h guardian.h measure.h offspring.h sched.h
 * Shown by: tests/unit/measure, tests/survival
 */
#pragma once
