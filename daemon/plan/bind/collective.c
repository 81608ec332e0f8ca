#include "plan/bind/collective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_axis(const struct snapshot *snap, const struct value *value, const char *key,
                    const char *wanted)
{
    char text[48];
    const char *found =
        axes_get(value->metric, values_axes(snap->values, value), key, text, sizeof text);
    return found != NULL && strcmp(found, wanted) == 0;
}

/* The bytes that a value is of; INFINITY: large. */
static double bytes_of(const struct snapshot *snap, const struct value *value)
{
    char text[48];
    const char *found =
        axes_get(value->metric, values_axes(snap->values, value), "bytes", text, sizeof text);
    double bytes = found != NULL ? strtod(found, NULL) : 0;
    return bytes > 0 ? bytes : (double)INFINITY;
}

/* The lowest and the highest, if there are no others between them. */
static bool find_ends(const struct graph *graph, const place_id *gpu, size_t count,
                      place_id *ret_from, place_id *ret_to)
{
    *ret_from = *ret_to = gpu[0];
    for (size_t i = 1; i < count; i++) {
        int32_t number = graph_place(graph, gpu[i])->number;
        if (number < graph_place(graph, *ret_from)->number)
            *ret_from = gpu[i];
        if (number > graph_place(graph, *ret_to)->number)
            *ret_to = gpu[i];
        for (size_t other = 0; other < i; other++)
            if (gpu[other] == gpu[i])
                return false;
    }
    return (size_t)(graph_place(graph, *ret_to)->number - graph_place(graph, *ret_from)->number) +
               1 ==
           count;
}

struct bind_collective plan_bind_collective(const struct snapshot *snap, const place_id *gpu,
                                            size_t count, double bytes)
{
    struct bind_collective none = {.time = estimate_of(NAN, NAN, NAN)};
    const struct value *item = NULL, *below = NULL, *above = NULL, *large = NULL;
    place_id from, to;
    char members[24];
    snprintf(members, sizeof members, "%zu", count);
    if (count < 2 || !find_ends(snap->graph, gpu, count, &from, &to))
        return none;
    size_t values = values_range_to(snap->values, METRIC_COLLECTIVE_BANDWIDTH, from, to, &item);
    for (size_t i = 0; i < values; i++) {
        double its = bytes_of(snap, &item[i]);
        if (!(item[i].value > 0) || item[i].source != VALUE_MEASURED ||
            !is_axis(snap, &item[i], "members", members) ||
            !is_axis(snap, &item[i], "operation", "allreduce") ||
            !is_axis(snap, &item[i], "memory", "own"))
            continue;
        if (isinf(its))
            large = &item[i];
        else if (its <= bytes && (below == NULL || its > bytes_of(snap, below)))
            below = &item[i];
        else if (its > bytes && (above == NULL || its < bytes_of(snap, above)))
            above = &item[i];
    }
    if (below == NULL)
        return none;
    double least = bytes_of(snap, below), time_ns = least / below->value * 1e9;
    if (above != NULL)
        time_ns += (bytes - least) / (bytes_of(snap, above) - least) *
                   (bytes_of(snap, above) / above->value * 1e9 - time_ns);
    else
        time_ns += (bytes - least) / (large != NULL ? large->value : below->value) * 1e9;
    struct estimate time = estimate_of(time_ns, time_ns * below->value / below->high,
                                       time_ns * below->value / below->low);
    return (struct bind_collective){.time = time, .value = below};
}
