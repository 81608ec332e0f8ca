#include "cost/memlink.h"

#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "cost/pairs.h"
#include "node/reasons.h"

/* What the cores of one NUMA node get of the memory; NAN not known. ret_value: of the memory's own
 * cores; ret_move: of others. */
static double part_of(const struct memkind_node *node, const struct snapshot *snap,
                      const struct plan_pairs *pairs, place_id numa, place_id memory,
                      const char *how, const struct value **ret_value, struct move *ret_move)
{
    bool is_read = strcmp(how, "read") == 0;
    place_id there = memkind_one_of(node, memory), here = memkind_one_of(node, numa);
    *ret_value = NULL;
    if (there == PLACE_NONE || here == PLACE_NONE)
        return NAN;
    if (numa != memory)
        return plan_pairs_move(snap, pairs, is_read ? there : here, is_read ? here : there,
                               MOVE_KERNEL, ret_move)
                   ? ret_move->bytes_per_s
                   : NAN;
    *ret_value = values_find(snap->values, METRIC_MEMORY_BANDWIDTH, numa, memory,
                             is_read ? "" : "operation=write");
    return *ret_value != NULL && (*ret_value)->value > 0 ? (*ret_value)->value : NAN;
}

enum berth_code memlink_stream(const struct memkind_node *node, const struct snapshot *snap,
                               const struct accessor *who, place_id memory, const char *how,
                               struct memrate_basis *basis, struct memrate *ret,
                               struct berth_err *err)
{
    const struct graph *graph = snap->graph;
    const struct plan_pairs *pairs = snap->derived.pairs;
    unsigned covered = 0;
    double rate = INFINITY, by_links = INFINITY;
    const struct value *own = NULL;
    struct move slowest = {0}; /* of those over links */
    char said[QUANTITY_SIZE];
    *ret = (struct memrate){NAN, NAN, NAN, 0};
    if (pairs == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for what is known of transfers");
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        struct move move;
        const struct value *v;
        if (who->inside[n] == 0)
            continue;
        double part = part_of(node, snap, pairs, n, memory, how, &v, &move);
        if (isnan(part))
            return BERTH_OK;
        own = v != NULL ? v : own;
        covered += who->inside[n];
        part *= (double)who->in_all / who->inside[n];
        rate = fmin(rate, part);
        if (v != NULL || part >= by_links)
            continue;
        by_links = part;
        slowest = move;
    }
    if (covered != who->in_all || covered == 0)
        return BERTH_OK;
    if (!isinf(by_links)) {
        reasons_note(basis->warnings,
                     "how fast cores use another processor's memory was not measured: what such "
                     "links reach (%s), which are their gpus' as well, stands for it",
                     quantity_rate(slowest.bytes_per_s, said));
        enum berth_code code = plan_move_cite(graph, &slowest, basis->evidence, basis->start, err);
        if (code != BERTH_OK)
            return code;
    }
    /* cores get no more than the links and the memory are said to carry, and fewer of them less */
    basis->at_least = true;
    /* They share the memory with its own cores. */
    *ret = (struct memrate){own != NULL ? fmin(rate, own->value) : rate, NAN, NAN, 0};
    return own != NULL ? memrate_cite(basis, own, err) : BERTH_OK;
}
