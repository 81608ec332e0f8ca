#include "cost/doubt.h"

#include <stdio.h>

#include "cost/limits.h"
#include "node/reasons.h"

static bool is_among(const place_id *places, size_t count, place_id place)
{
    for (size_t i = 0; i < count; i++)
        if (places[i] == place)
            return true;
    return false;
}

/* Whether one end is among the ones and the other among the others, either way round. */
static bool is_between(const struct value *value, const struct doubt_ends *ends)
{
    return (is_among(ends->one, ends->ones, value->from) &&
            is_among(ends->other, ends->others, value->to)) ||
           (is_among(ends->other, ends->others, value->from) &&
            is_among(ends->one, ends->ones, value->to));
}

/* Whether an earlier set contradicts the same: a value is told of once. */
static bool is_told(const struct limits *limits, size_t s)
{
    for (size_t before = 0; before < s; before++)
        if (limits->run[before].contradiction.value == limits->run[s].contradiction.value)
            return true;
    return false;
}

/* One line, which names the first of them: the smallest set comes first. */
void plan_doubt_warn_between(const struct snapshot *snap, const struct doubt_ends *ends,
                             unsigned kinds, struct reasons *warnings)
{
    const struct limits *limits = snap->derived.limits;
    const struct contradiction *first = NULL;
    size_t first_set = 0, more = 0;
    for (size_t s = 0; s < limits->run_count; s++) {
        const struct contradiction *it = &limits->run[s].contradiction;
        if (it->value == NULL || (transfer_kind_of(it->value->metric) & kinds) == 0 ||
            !is_between(it->value, ends) || is_told(limits, s))
            continue;
        if (first != NULL) {
            more++;
            continue;
        }
        first = it;
        first_set = s;
    }
    if (first == NULL)
        return;
    char pair[REASON_SUBJECT_SIZE];
    snprintf(pair, sizeof pair, "%.28s to %.28s",
             graph_place(snap->graph, first->value->from)->name,
             graph_place(snap->graph, first->value->to)->name);
    reasons_add(warnings, REASON_VALUE_CONTRADICTED, SUBJECTS(pair),
                NUMBERS(first->value->value,
                        snap->sets->item[first_set].flow[first->flow].bytes_per_s,
                        1 + (double)more));
}

void plan_doubt_warn(const struct snapshot *snap, const place_id *places, size_t count,
                     unsigned kinds, struct reasons *warnings)
{
    plan_doubt_warn_between(
        snap, &(struct doubt_ends){.one = places, .ones = count, .other = places, .others = count},
        kinds, warnings);
}
