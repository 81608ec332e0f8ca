/**
 * Records of a probe that somebody else started, such as berth-probe-mpi under a site's launcher.
 * Pure.
 */
#pragma once
#include "measure/run_parser.h"

/* Parses all records of one run; ret_parser has it and the reasons of skips, for run_parser_done.
 * Fails with INVALID_PARAMETER, and takes nothing, for a line that is no record of a run, for
 * findings and launch shapes, and for metrics that the daemon's own probes measure
 * (measure/programs.h); NO_MEMORY. */
enum berth_code given_run_parse(const struct graph *graph, const char *records, int64_t now_s,
                                struct run_parser *ret_parser, struct berth_err *err);
