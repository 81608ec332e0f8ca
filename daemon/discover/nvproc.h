/**
 * NVIDIA's gpus as its kernel driver shows them in /proc/driver/nvidia/gpus: model, uuid and device
 * minor by PCI address. No runtime is loaded for that and no gpu wakes up.
 */
#pragma once
#include "base/err.h"
#include "base/files.h"

/* Device records (node/record.h), one line a gpu, in new text that the caller frees; NULL when the
 * driver shows none. The names gpu0, gpu1, ... are in the order of PCI addresses and mean nothing
 * elsewhere. A field that is missing, malformed or not known to the driver yet (uuids, before a gpu
 * was first used) is left out. NO_MEMORY is the only failure. Any thread. */
enum berth_code nvproc_facts(const struct files *io, char **ret_facts, struct berth_err *err);
