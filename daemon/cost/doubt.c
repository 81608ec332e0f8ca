#include "cost/doubt.h"

#include <stdio.h>

#include "cost/limits.h"
#include "node/reasons.h"

static bool is_among(const place_id *places, size_t count, place_id place)
{
    bool is = false;
    for (size_t i = 0; i < count && !is; i++)
        is = places[i] == place;
    return is;
}

void plan_doubt_warn_between(const struct snapshot *snap, const struct doubt_ends *ends,
                             unsigned kinds, struct reasons *warnings)
{
    const struct limits *limits = snap->derived.limits;
    for (size_t s = 0; s < limits->run_count; s++) {
        const struct value *value = limits->run[s].contradiction.value;
        char pair[REASON_SUBJECT_SIZE];
        if (value == NULL || (transfer_kind_of(value->metric) & kinds) == 0 ||
            !((is_among(ends->one, ends->ones, value->from) &&
               is_among(ends->other, ends->others, value->to)) ||
              (is_among(ends->other, ends->others, value->from) &&
               is_among(ends->one, ends->ones, value->to))))
            continue;
        snprintf(pair, sizeof pair, "%.30s>%.30s", graph_place(snap->graph, value->from)->name,
                 graph_place(snap->graph, value->to)->name);
        reasons_add_about(warnings, REASON_VALUE_CONTRADICTED, pair, NO_NUMBERS);
    }
}

void plan_doubt_warn(const struct snapshot *snap, const place_id *places, size_t count,
                     unsigned kinds, struct reasons *warnings)
{
    plan_doubt_warn_between(
        snap, &(struct doubt_ends){.one = places, .ones = count, .other = places, .others = count},
        kinds, warnings);
}
