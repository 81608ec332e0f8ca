#include "cost/load_known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/alike.h"
#include "cost/limits.h"
#include "node/spread.h"

#define REPRODUCED 0.05 /* relative, as sets are said to be (cost/limits.h) */

static size_t index_of(const struct load_table *table, place_id place)
{
    size_t index = 0;
    while (index < table->place_count && table->place[index] != place)
        index++;
    return index;
}

/* The ride that the flow of a set is; NULL: not in the table. */
static const struct load_ride *ride_of(const struct load_table *table, const struct set *set,
                                       const struct set_flow *flow)
{
    unsigned kind = transfer_kind_of(set->metric);
    enum move_by by = kind == TRANSFER_HOST_KERNEL || kind == TRANSFER_PEER_KERNEL
                          ? MOVE_KERNEL
                          : MOVE_COPY_ENGINE;
    size_t from = index_of(table, flow->from), to = index_of(table, flow->to);
    const struct load_ride *ride = from < table->place_count && to < table->place_count
                                       ? plan_load_table_ride(table, by, from, to)
                                       : NULL;
    return ride != NULL && ride->known == LOAD_MEASURED && ride->kind == kind &&
                   strcmp(values_axes(table->snap->values, ride->move.rate), flow->axes) == 0
               ? ride
               : NULL;
}

/* Whether a NUMA node's memory is read by one of them and written by another. Reads and writes of
 * one memory get uneven shares, and copy engines of real GPUs (H200) that were slower are no faster
 * when the others have ended: what they got together is what they take. Of other uneven shares, as
 * of one port to the host, that is not known. */
static bool reads_and_writes(const struct graph *graph, const struct set *set)
{
    bool both = false, port = false;
    for (size_t i = 0; i < set->flow_count; i++)
        for (size_t k = 0;
             k < set->flow_count && graph_place(graph, set->flow[i].from)->kind == PLACE_NUMA;
             k++) {
            place_id module = graph_place(graph, set->flow[i].to)->parent;
            both = both || set->flow[k].to == set->flow[i].from;
            port = port || (k != i && module != PLACE_NONE &&
                            graph_place(graph, module)->kind == PLACE_MODULE &&
                            graph_place(graph, set->flow[k].to)->parent == module);
        }
    return both && !port;
}

/* Not explained, and such that the flows' rates are to be taken as they are. */
static bool is_taken(const struct load_table *table, const struct limits *limits, size_t s)
{
    const struct set *set = &table->snap->sets->item[s];
    return limits->run[s].contradiction.value == NULL && !limits->run[s].is_reproduced &&
           set->flow_count > 2 && transfer_kind_of(set->metric) == TRANSFER_HOST_ENGINE &&
           reads_and_writes(table->snap->graph, set);
}

/* ---- what cannot be told apart ---- */

static bool is_in(const struct graph *graph, const struct set_flow *flow)
{
    return graph_place(graph, flow->from)->kind == PLACE_NUMA;
}

/* The same transfers of other gpus: as many in and out. */
static bool is_one_sort(const struct graph *graph, const struct set *a, const struct set *b)
{
    size_t in[2] = {0};
    if (a->metric != b->metric || a->flow_count != b->flow_count)
        return false;
    for (size_t i = 0; i < a->flow_count; i++) {
        in[0] += is_in(graph, &a->flow[i]);
        in[1] += is_in(graph, &b->flow[i]);
    }
    return in[0] == in[1];
}

/* How many of its direction are slower; of equals those before it. */
static size_t rank_of(const struct graph *graph, const struct set *set, size_t flow)
{
    size_t rank = 0;
    for (size_t i = 0; i < set->flow_count; i++) {
        double rate = set->flow[i].bytes_per_s, own = set->flow[flow].bytes_per_s;
        rank += i != flow && is_in(graph, &set->flow[i]) == is_in(graph, &set->flow[flow]) &&
                (rate < own || (rate == own && i < flow));
    }
    return rank;
}

/* What those get each in the mean that read the same memory, or write it: reads and writes get
 * uneven shares, but which of the reads comes first another time is chance. */
static double mean_of_way(const struct graph *graph, const struct set *set,
                          const struct set_flow *flow)
{
    bool reads = is_in(graph, flow);
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < set->flow_count; i++)
        if (reads ? set->flow[i].from == flow->from : set->flow[i].to == flow->to) {
            sum += set->flow[i].bytes_per_s;
            count++;
        }
    return sum / (double)count;
}

/* What the flow of the same rank gets in the set that stands for its own. */
static double rate_of(const struct graph *graph, const struct set *set, size_t flow,
                      const struct set *stands)
{
    for (size_t i = 0; i < stands->flow_count; i++)
        if (is_in(graph, &stands->flow[i]) == is_in(graph, &set->flow[flow]) &&
            rank_of(graph, stands, i) == rank_of(graph, set, flow))
            return mean_of_way(graph, stands, &stands->flow[i]);
    return mean_of_way(graph, set, &set->flow[flow]);
}

/* The slowest of a set decides how long equal transfers take: what it gets, and where one more
 * repetition lies; no nearer than a set counts as reproduced. */
static struct alike_number slowest(const struct set *set)
{
    const struct set_flow *flow = &set->flow[0];
    for (size_t i = 1; i < set->flow_count; i++)
        flow = set->flow[i].bytes_per_s < flow->bytes_per_s ? &set->flow[i] : flow;
    double half =
        fmax(spread_cell((flow->high - flow->low) / 2, 0), REPRODUCED * flow->bytes_per_s);
    return (struct alike_number){flow->bytes_per_s, flow->bytes_per_s - half,
                                 flow->bytes_per_s + half};
}

/* ---- finding them ---- */

/* Ascending; false when one is not in the table, or there twice. */
static bool take(const struct load_table *table, const struct set *set, const struct set *stands,
                 uint32_t *who, double *bytes_per_s)
{
    for (size_t i = 0; i < set->flow_count; i++) {
        const struct load_ride *ride = ride_of(table, set, &set->flow[i]);
        size_t at = i;
        if (ride == NULL || !(set->flow[i].bytes_per_s > 0))
            return false;
        for (; at > 0 && who[at - 1] >= plan_load_table_number(table, ride); at--) {
            if (who[at - 1] == plan_load_table_number(table, ride))
                return false;
            who[at] = who[at - 1];
            bytes_per_s[at] = bytes_per_s[at - 1];
        }
        who[at] = plan_load_table_number(table, ride);
        bytes_per_s[at] = rate_of(table->snap->graph, set, i, stands);
    }
    return true;
}

/* Sets that are to be taken as they are, and for each of them the one whose rates stand for it. */
struct taken {
    const struct set **set, **stands;
    size_t count, flows;
};

static bool list(const struct load_table *table, const struct limits *limits, struct taken *taken)
{
    const struct sets *sets = table->snap->sets;
    size_t most = sets != NULL ? limits->run_count : 0;
    taken->set = calloc(most + 1, sizeof *taken->set);
    taken->stands = calloc(most + 1, sizeof *taken->stands);
    struct alike_number *number = calloc(most + 1, sizeof *number);
    uint32_t *member = calloc(most + 1, sizeof *member), *stands = calloc(most + 1, sizeof *stands);
    bool ok = taken->set != NULL && taken->stands != NULL && number != NULL && member != NULL &&
              stands != NULL;
    for (size_t s = 0; ok && s < most; s++)
        if (is_taken(table, limits, s)) {
            taken->flows += sets->item[s].flow_count;
            taken->set[taken->count++] = &sets->item[s];
        }
    for (size_t i = 0; ok && i < taken->count; i++) {
        size_t members = 0;
        for (size_t other = i; other < taken->count && taken->stands[i] == NULL; other++)
            if (is_one_sort(table->snap->graph, taken->set[i], taken->set[other])) {
                number[members] = slowest(taken->set[other]);
                member[members++] = (uint32_t)other;
            }
        ok = plan_alike_numbers(number, members, stands);
        for (size_t m = 0; ok && m < members; m++)
            taken->stands[member[m]] = taken->set[member[stands[m]]];
    }
    free(number);
    free(member);
    free(stands);
    return ok;
}

bool plan_load_known_find(struct load_table *table)
{
    const struct limits *limits = table->snap->derived.limits;
    struct taken taken = {0};
    size_t used = 0;
    bool ok = list(table, limits, &taken);
    table->known = calloc(taken.count + 1, sizeof *table->known);
    table->who = calloc(taken.flows + 1, sizeof *table->who);
    table->who_bytes_per_s = calloc(taken.flows + 1, sizeof *table->who_bytes_per_s);
    ok = ok && table->known != NULL && table->who != NULL && table->who_bytes_per_s != NULL;
    for (size_t i = 0; ok && i < taken.count; i++) {
        const struct set *set = taken.set[i];
        if (!take(table, set, taken.stands[i], table->who + used, table->who_bytes_per_s + used))
            continue;
        table->known[table->known_count++] = (struct load_run){
            table->who + used, table->who_bytes_per_s + used, set->flow_count, taken.stands[i]};
        used += set->flow_count;
    }
    free(taken.set);
    free(taken.stands);
    return ok;
}
