#include "cost/runtime_variables.h"

#include <string.h>

#include "node/gpu.h"

static void set(struct runtime_variables *variables, const char *name, const char *value)
{
    for (size_t i = 0; i < variables->count; i++)
        if (strcmp(variables->variable[i].name, name) == 0)
            return;
    if (variables->count < RUNTIME_VARIABLES)
        variables->variable[variables->count++] = (struct runtime_variable){name, value};
}

static bool is_set(const struct runtime_variables *variables, const char *name, const char *value)
{
    bool is = false;
    for (size_t i = 0; i < variables->count; i++)
        is = is || (strcmp(variables->variable[i].name, name) == 0 &&
                    strcmp(variables->variable[i].value, value) == 0);
    return is;
}

struct runtime_variables runtime_variables_of(const struct graph *graph,
                                              const struct transfer *const *transfer, size_t count,
                                              bool shares)
{
    struct runtime_variables variables = {0};
    bool by_engine[2] = {false}; /* with the host, between GPUs */
    for (size_t i = 0; i < count; i++)
        by_engine[transfer_is_peer(transfer[i])] |= transfer[i]->by == MECHANISM_COPY_ENGINE;
    for (size_t i = 0; i < count; i++) {
        bool peer = transfer_is_peer(transfer[i]),
             is_off = strcmp(transfer[i]->axes, "sdma=off") == 0;
        if (gpu_vendor(graph_place(graph, transfer[i]->driver)) != VENDOR_AMD)
            continue;
        if (strcmp(transfer[i]->axes, "xnack=on") == 0)
            set(&variables, "HSA_XNACK", "1");
        if (transfer[i]->by == MECHANISM_COPY_ENGINE)
            set(&variables, peer ? "HSA_ENABLE_PEER_SDMA" : "HSA_ENABLE_SDMA", "1");
        else if (is_off && !by_engine[0] && !by_engine[1])
            set(&variables, "HSA_ENABLE_SDMA", "0");
        else if (peer && !by_engine[1] && !shares)
            set(&variables, "HSA_ENABLE_PEER_SDMA", "0");
    }
    variables.needs_restart = is_set(&variables, "HSA_XNACK", "1") ||
                              is_set(&variables, "HSA_ENABLE_SDMA", "0") ||
                              is_set(&variables, "HSA_ENABLE_PEER_SDMA", "0");
    return variables;
}

bool runtime_variables_copy(const struct graph *graph, const struct runtime_variables *variables,
                            const struct transfer *transfer)
{
    if (gpu_vendor(graph_place(graph, transfer->driver)) != VENDOR_AMD)
        return transfer->by == MECHANISM_COPY_ENGINE;
    return transfer->by == MECHANISM_COPY_ENGINE ||
           (strcmp(transfer->axes, "sdma=off") == 0 && is_set(variables, "HSA_ENABLE_SDMA", "0")) ||
           (transfer_is_peer(transfer) && is_set(variables, "HSA_ENABLE_PEER_SDMA", "0"));
}
