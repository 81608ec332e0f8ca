#include "cost/runtime_variables.h"

#include <string.h>

#include "node/gpu.h"

static bool is_between_gpus(const struct graph *graph, const struct transfer *transfer)
{
    return graph_place(graph, transfer->from)->kind == PLACE_GPU &&
           graph_place(graph, transfer->to)->kind == PLACE_GPU;
}

/* Whether the rate was measured under that axis of the runtime's environment. */
static bool was_under(const struct values *values, const struct transfer *transfer, const char *key,
                      const char *value)
{
    char text[48];
    const char *is = transfer->basis == BASIS_OWN
                         ? axes_get(transfer->value->metric, values_axes(values, transfer->value),
                                    key, text, sizeof text)
                         : NULL;
    return is != NULL && strcmp(is, value) == 0;
}

static void set(struct runtime_variables *variables, const char *name, const char *value,
                bool is_default)
{
    variables->needs_restart = variables->needs_restart || !is_default;
    for (size_t i = 0; i < variables->count; i++)
        if (strcmp(variables->variable[i].name, name) == 0)
            return;
    if (variables->count < RUNTIME_VARIABLES)
        variables->variable[variables->count++] = (struct runtime_variable){name, value};
}

void runtime_variables_mix(struct runtime_mix *mix, const struct graph *graph,
                           const struct transfer *transfer)
{
    bool between = is_between_gpus(graph, transfer),
         is_engine = transfer->by == MECHANISM_COPY_ENGINE;
    mix->engines_between = mix->engines_between || (is_engine && between);
    mix->engines_to_host = mix->engines_to_host || (is_engine && !between);
}

bool runtime_variables_add(struct runtime_variables *variables, const struct runtime_mix *mix,
                           const struct graph *graph, const struct values *values,
                           const struct transfer *transfer)
{
    bool between = is_between_gpus(graph, transfer),
         is_copy = transfer->by == MECHANISM_COPY_ENGINE;
    if (gpu_vendor(graph_place(graph, transfer->driver)) != VENDOR_AMD)
        return is_copy;
    if (was_under(values, transfer, "xnack", "on"))
        set(variables, "HSA_XNACK", "1", false);
    if (is_copy) {
        set(variables, between ? "HSA_ENABLE_PEER_SDMA" : "HSA_ENABLE_SDMA", "1", true);
    } else if (was_under(values, transfer, "sdma", "off") && !mix->engines_between &&
               !mix->engines_to_host) {
        set(variables, "HSA_ENABLE_SDMA", "0", false);
        is_copy = true;
    } else if (between && !mix->engines_between && !mix->shares) {
        set(variables, "HSA_ENABLE_PEER_SDMA", "0", false);
        is_copy = true;
    }
    return is_copy;
}

struct runtime_variables runtime_variables_of(const struct graph *graph,
                                              const struct values *values,
                                              const struct transfer *const *transfer, size_t count)
{
    struct runtime_variables variables = {0};
    struct runtime_mix mix = {0};
    for (size_t i = 0; i < count; i++)
        runtime_variables_mix(&mix, graph, transfer[i]);
    for (size_t i = 0; i < count; i++)
        (void)runtime_variables_add(&variables, &mix, graph, values, transfer[i]);
    return variables;
}
