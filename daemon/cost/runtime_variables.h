/**
 * The environment variables with which a GPU's runtime moves bytes by the mechanism that transfers
 * are priced with.
 *
 * AMD's runtime reads HSA_ENABLE_SDMA, HSA_ENABLE_PEER_SDMA and HSA_XNACK when it starts.
 * HSA_ENABLE_SDMA=0 makes every copy a kernel, HSA_ENABLE_PEER_SDMA=0 those between GPUs; 1, the
 * default, gives them to copy engines. With HSA_XNACK=1 kernels may touch memory that is not
 * pinned. NVIDIA's runtime copies by copy engine, and a kernel is the program's own: it needs no
 * variable.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/transfer.h"

#define RUNTIME_VARIABLES 3

struct runtime_variable {
    const char *name, *value; /* static */
};

struct runtime_variables {
    struct runtime_variable variable[RUNTIME_VARIABLES];
    size_t count;
    bool needs_restart; /* one differs from the runtime's default, and is read at its start */
};

/* Returns those of all transfers of one process. Where some between GPUs go by copy engine and some
 * by kernel, no variable says so: those kernels are the program's own. So are they where a GPU runs
 * several at once (shares): the runtime's would fill it. */
struct runtime_variables runtime_variables_of(const struct graph *graph,
                                              const struct transfer *const *transfer, size_t count,
                                              bool shares);

/* True when a call of the runtime makes the transfer under these variables; else the program's own
 * kernel does. */
bool runtime_variables_copy(const struct graph *graph, const struct runtime_variables *variables,
                            const struct transfer *transfer);
