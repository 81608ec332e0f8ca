#include "cost/doubt.h"

#include <stdio.h>

#include "cost/limits.h"

void doubt_warn(const struct snapshot *snap, place_id a, place_id b, unsigned kinds,
                struct reasons *warnings)
{
    const struct limits *limits = snap->derived.limits;
    for (size_t s = 0; s < limits->run_count; s++) {
        const struct value *value = limits->run[s].contradiction.value;
        char pair[REASON_SUBJECT_SIZE];
        if (value == NULL || (transfer_kind_of(value->metric) & kinds) == 0 ||
            !((value->from == a && value->to == b) || (value->from == b && value->to == a)))
            continue;
        snprintf(pair, sizeof pair, "%.30s>%.30s", graph_place(snap->graph, value->from)->name,
                 graph_place(snap->graph, value->to)->name);
        reasons_add_about(warnings, REASON_VALUE_CONTRADICTED, pair, NO_NUMBERS);
    }
}
