#include "cost/link_switches.h"

#include <math.h>
#include <stdlib.h>

struct link_switches {
    size_t count;  /* of switches */
    double *width; /* by place and switch: what a gpu has to it */
};

/* The gpu that a link joins to that switch; PLACE_NONE it joins something else, or carries nothing
 * known. */
static place_id joined_gpu(const struct graph *graph, const struct link *link, place_id at)
{
    place_id other = link->from == at ? link->to : link->to == at ? link->from : PLACE_NONE;
    bool counts =
        link->kind == LINK_NVLINK && link->state != LINK_DOWN && link->nominal_bytes_per_s > 0;
    return counts && other != PLACE_NONE && graph_place(graph, other)->kind == PLACE_GPU
               ? other
               : PLACE_NONE;
}

struct link_switches *link_switches_new(const struct graph *graph)
{
    struct link_switches *switches = calloc(1, sizeof *switches);
    size_t count = graph_count(graph, PLACE_SWITCH), number = 0;
    double *width = calloc(graph->place_count * count + 1, sizeof *width);
    if (switches == NULL || width == NULL) {
        free(switches);
        free(width);
        return NULL;
    }
    *switches = (struct link_switches){.count = count, .width = width};
    for (place_id s = graph_next(graph, PLACE_SWITCH, 0); s != PLACE_NONE;
         s = graph_next(graph, PLACE_SWITCH, s + 1), number++)
        for (size_t i = 0; i < graph->link_count; i++) {
            place_id gpu = joined_gpu(graph, &graph->links[i], s);
            if (gpu != PLACE_NONE)
                width[(size_t)gpu * count + number] += graph->links[i].nominal_bytes_per_s;
        }
    return switches;
}

void link_switches_free(struct link_switches *switches)
{
    if (switches == NULL)
        return;
    free(switches->width);
    free(switches);
}

double link_switches_between(const struct link_switches *switches, place_id from, place_id to,
                             size_t *ret_ways)
{
    const double *a = switches->width + (size_t)from * switches->count,
                 *b = switches->width + (size_t)to * switches->count;
    double sum = 0;
    *ret_ways = 0;
    for (size_t s = 0; s < switches->count; s++) {
        sum += fmin(a[s], b[s]);
        *ret_ways += fmin(a[s], b[s]) > 0;
    }
    return sum;
}

double link_switches_port(const struct link_switches *switches, place_id gpu)
{
    size_t ways;
    double sum = link_switches_between(switches, gpu, gpu, &ways);
    return ways > 1 ? sum : 0;
}
