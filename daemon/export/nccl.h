/**
 * Topology XML for NCCL_TOPO_FILE: the file format of NCCL (version 1) or RCCL (version 2).
 *
 * Unknown values are left out where the library looks them up by itself. The attributes dev and
 * rank are always left out: the library counts them among the devices visible to the process.
 * Source of the format: NCCL's and RCCL's parsers, src/graph/xml.cc.
 */
#pragma once
#include <stdbool.h>

#include "export/export.h"

/* Writes the topology with the gpus of NVIDIA, or is_rccl with those of AMD. Fails with
 * InvalidParameter when all gpus are of the other vendor. A node without gpus has its cpus and
 * nics. */
enum berth_code export_nccl(const struct export_input *input, bool is_rccl, struct print *text,
                            struct berth_err *err);
