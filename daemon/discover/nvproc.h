/**
 * NVIDIA's gpus in the kernel driver's /proc/driver/nvidia/gpus: model, uuid and device minor by
 * PCI address. This loads no runtime and wakes no gpu.
 */
#pragma once
#include "base/err.h"
#include "base/files.h"

/* Returns device records (node/record.h), one line a gpu, in new text that the caller frees; NULL
 * when the driver shows none. The names gpu0, gpu1, ... are in the order of PCI addresses and mean
 * nothing elsewhere. Fields are left out while missing, malformed or not known to the driver yet
 * (uuids, before a gpu's first use). NO_MEMORY is the only failure. Any thread. */
enum berth_code nvproc_facts(const struct files *io, char **ret_facts, struct berth_err *err);
