/**
 * Topology XML for NCCL_TOPO_FILE: the file format of NCCL (version 1) or RCCL (version 2).
 *
 * What the library looks up by itself where a file leaves it out is left out when it is not known,
 * and so are dev and rank, which it counts among what the process may see. Source of the format:
 * NCCL's and RCCL's parsers, src/graph/xml.cc.
 */
#pragma once
#include <stdbool.h>

#include "export/export.h"

/* With the gpus of NVIDIA, or is_rccl with those of AMD; InvalidParameter when all gpus are of the
 * other. A node without gpus has its cpus and nics. */
enum berth_code export_nccl(const struct export_input *input, bool is_rccl, struct print *text,
                            struct berth_err *err);
