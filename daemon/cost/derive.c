#include "cost/derive.h"

#include "cost/pairs.h"
#include "cost/resource_model.h"

static void derived_free(struct derived *derived)
{
    plan_pairs_free(derived->pairs);
    resource_model_free(derived->resources);
    curve_free_all(derived->curves);
    *derived = (struct derived){.free = NULL};
}

bool derive_costs(struct snapshot *snapshot)
{
    struct derived *derived = &snapshot->derived;
    derived->free = derived_free;
    derived->curves = curve_make_all(snapshot->values, snapshot->graph);
    derived->resources = derived->curves != NULL
                             ? resource_model_new(snapshot->graph, snapshot->sets, snapshot->values)
                             : NULL;
    derived->pairs = derived->resources != NULL ? plan_pairs_new(snapshot) : NULL;
    if (derived->pairs == NULL)
        derived_free(derived);
    return derived->pairs != NULL;
}
