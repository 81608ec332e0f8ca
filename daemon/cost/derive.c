#include "cost/derive.h"

#include "cost/limits.h"
#include "cost/matrix.h"
#include "cost/usage.h"

static void derived_free(struct derived *derived)
{
    usage_free(derived->usage);
    matrix_free(derived->matrix);
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
    derived->matrix = derived->limits != NULL ? matrix_new(snapshot) : NULL;
    derived->usage = derived->matrix != NULL ? usage_new(snapshot) : NULL;
    if (derived->usage == NULL)
        derived_free(derived);
    return derived->usage != NULL;
}
