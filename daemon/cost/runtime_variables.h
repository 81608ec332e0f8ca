/**
 * The environment variables with which a GPU's runtime moves bytes by the mechanism that a transfer
 * is priced with.
 *
 * AMD's runtime reads HSA_ENABLE_SDMA, HSA_ENABLE_PEER_SDMA and HSA_XNACK when it starts.
 * HSA_ENABLE_SDMA=0 makes every copy a kernel, HSA_ENABLE_PEER_SDMA=0 those between gpus; 1, the
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

/* The mechanisms that one process uses together: one variable holds for all its transfers. */
struct runtime_mix {
    bool engines_between; /* an AMD copy engine moves bytes between gpus */
    bool engines_to_host; /* the same to or from the host */
    bool shares;          /* a gpu runs several kernels at once: the runtime's own would fill it */
};

/* Adds the mechanism of a transfer. */
void runtime_variables_mix(struct runtime_mix *mix, const struct graph *graph,
                           const struct transfer *transfer);

/* Adds the variables that a transfer needs. True: the copy is then one call of the runtime's. */
bool runtime_variables_add(struct runtime_variables *variables, const struct runtime_mix *mix,
                           const struct graph *graph, const struct values *values,
                           const struct transfer *transfer);

/* Of all transfers of one process. Where some between gpus go by copy engine and some by kernel,
 * no variable says so: those kernels are the program's own. */
struct runtime_variables runtime_variables_of(const struct graph *graph,
                                              const struct values *values,
                                              const struct transfer *const *transfer, size_t count);
