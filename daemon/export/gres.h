/**
 * Lines of Slurm's gres.conf, one a gpu: File, Cores in Slurm's own numbering (the order in which
 * hwloc counts cores), Links by the links' widths.
 *
 * Lines are in the order of the gpus' numbers; a gpu whose device file is not known is a comment
 * that says so, and then Links are left out: Slurm counts them by line. Source: gres.conf(5).
 */
#pragma once
#include "export/export.h"

void export_gres(const struct export_input *input, struct print *text);
