/**
 * Writes lines of Slurm's gres.conf, one a gpu: File, Cores in Slurm's own numbering (hwloc's
 * logical order of cores), Links by the links' widths.
 *
 * Lines are in the order of the gpus' numbers. A gpu with an unknown device file is a comment that
 * reports it, and then Links are left out: Slurm counts them by line. Source: gres.conf(5).
 */
#pragma once
#include "export/export.h"

void export_gres(const struct export_input *input, struct print *text);
