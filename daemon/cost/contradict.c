/*
 * Where the same was measured twice, alone and in a set of one, most pairs say how far two
 * measurements of this node are apart; who is much farther apart than that is not as it was. Of a
 * set of several, in which no flow can get more than it does alone, only what one got too much is
 * told, and less readily unless its set of one says so too.
 */
#include "cost/contradict.h"

#include <math.h>
#include <stdlib.h>

#include "node/transfer.h"

#define LEAST     0.05   /* logarithms of factors: what is less is drift of clocks and the like */
#define CERTAIN   0.2    /* nothing that is as it was is so far off */
#define PAIRS     4      /* with fewer nothing says what is usual */
#define DEVIATION 1.4826 /* of a normal distribution, in medians of the absolute */
#define BEYOND    4      /* deviations */

/* The flow's own value; NULL: none was measured, or nothing can be said. */
static const struct value *own_of(const struct values *values, const struct set *set,
                                  const struct set_flow *flow)
{
    enum metric metric;
    if (set->source != VALUE_MEASURED || !(flow->bytes_per_s > 0) ||
        !transfer_alone_metric(set->metric, &metric))
        return NULL;
    const struct value *value = values_find(values, metric, flow->from, flow->to, flow->axes);
    return value != NULL && value->source == VALUE_MEASURED && value->value > 0 ? value : NULL;
}

/* Whether the intervals of both have something in common; without any they have not. */
static bool meet(const struct set_flow *flow, const struct value *value)
{
    return flow->low <= value->high && value->low <= flow->high;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How far what was measured twice may be apart, of the sets of one metric from first to end. off:
 * room for as many. */
static double usual_of(const struct values *values, const struct sets *sets, size_t first,
                       size_t end, double *off)
{
    size_t count = 0;
    for (size_t s = first; s < end; s++) {
        const struct set *set = &sets->item[s];
        const struct value *value = set->flow_count == 1 ? own_of(values, set, set->flow) : NULL;
        if (value != NULL)
            off[count++] = fabs(log(set->flow->bytes_per_s / value->value));
    }
    if (count < PAIRS)
        return CERTAIN;
    qsort(off, count, sizeof *off, compare);
    return fmin(fmax(BEYOND * DEVIATION * off[(count - 1) / 2], LEAST), CERTAIN);
}

/* Whether a set of one contradicts this value; those come first. */
static bool is_contradicted(const struct contradiction *found, size_t count,
                            const struct value *value)
{
    for (size_t i = 0; i < count; i++)
        if (found[i].value == value)
            return true;
    return false;
}

static struct contradiction look(const struct values *values, const struct set *set, double usual,
                                 const struct contradiction *ones, size_t one_count)
{
    for (size_t i = 0; i < set->flow_count; i++) {
        const struct set_flow *flow = &set->flow[i];
        const struct value *value = own_of(values, set, flow);
        double off = value != NULL ? log(flow->bytes_per_s / value->value) : 0;
        if (value == NULL || (set->flow_count == 1 ? fabs(off) : off) <= usual || meet(flow, value))
            continue;
        if (set->flow_count == 1 || off > CERTAIN || is_contradicted(ones, one_count, value))
            return (struct contradiction){value, i};
    }
    return (struct contradiction){NULL, 0};
}

bool contradict_find(const struct values *values, const struct sets *sets,
                     struct contradiction *ret)
{
    double *off = calloc(sets->count + 1, sizeof *off);
    size_t end;
    for (size_t first = 0; off != NULL && first < sets->count; first = end) {
        size_t ones = 0;
        for (end = first; end < sets->count && sets->item[end].metric == sets->item[first].metric;
             end++)
            ones += sets->item[end].flow_count == 1;
        double usual = usual_of(values, sets, first, first + ones, off);
        for (size_t s = first; s < end; s++)
            ret[s] = look(values, &sets->item[s], usual, ret + first,
                          s - first < ones ? s - first : ones);
    }
    free(off);
    return off != NULL;
}
