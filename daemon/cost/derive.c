#include "cost/derive.h"

#include "cost/limits.h"
#include "cost/pairs.h"

static void derived_free(struct derived *derived)
{
    plan_pairs_free(derived->pairs);
    limits_free(derived->limits);
    curve_free_all(derived->curves);
    *derived = (struct derived){.free = NULL};
}

bool derive_costs(struct snapshot *snapshot)
{
    struct derived *derived = &snapshot->derived;
    derived->free = derived_free;
    derived->curves = curve_make_all(snapshot->values, snapshot->graph);
    derived->limits = derived->curves != NULL
                          ? limits_new(snapshot->graph, snapshot->sets, snapshot->values)
                          : NULL;
    derived->pairs = derived->limits != NULL ? plan_pairs_new(snapshot) : NULL;
    if (derived->pairs == NULL)
        derived_free(derived);
    return derived->pairs != NULL;
}
