#include "resource_elsewhere.h"

#include <math.h>
#include <stdlib.h>

#define CLEARLY 1.05 /* more than a link is said to carry: sets count as reproduced within as much */

struct looking {
    const struct graph *graph;
    struct resource_structure *structure;
    double *host; /* by item: the most that a copy with the host gets over it; 0 none is known */
};

static enum place_kind kind_of(const struct looking *looking, place_id place) { return graph_place(looking->graph, place)->kind; }

static bool is_host_link(const struct looking *looking, const struct resource_role *role)
{
    if (role->part != RESOURCE_LINK)
        return false;
    enum place_kind a = kind_of(looking, role->place), b = kind_of(looking, role->other);
    return (a == PLACE_GPU && b == PLACE_NUMA) || (a == PLACE_NUMA && b == PLACE_GPU);
}

static void look_at_host(const struct looking *looking, place_id from, place_id to, double bytes_per_s)
{
    uint16_t use[RESOURCE_STRUCTURE_USES];
    bool are_gpus = kind_of(looking, from) == PLACE_GPU && kind_of(looking, to) == PLACE_GPU;
    size_t count = are_gpus ? 0 : resource_structure_uses(looking->structure, from, to, use);
    for (size_t i = 0; i < count; i++)
        looking->host[use[i]] = fmax(looking->host[use[i]], bytes_per_s);
}

static void look_at_peers(const struct looking *looking, place_id from, place_id to, double bytes_per_s)
{
    uint16_t use[RESOURCE_STRUCTURE_USES];
    bool are_gpus = kind_of(looking, from) == PLACE_GPU && kind_of(looking, to) == PLACE_GPU, is_elsewhere = false;
    size_t count = are_gpus ? resource_structure_uses(looking->structure, from, to, use) : 0;
    for (size_t i = 0; i < count && !is_elsewhere; i++) {
        const struct resource_nominal *item = &looking->structure->item[use[i]];
        double most = item->bytes_per_s * CLEARLY, host = looking->host[use[i]];
        is_elsewhere = is_host_link(looking, &item->role) && host > 0 && host <= most && bytes_per_s > most;
    }
    if (is_elsewhere)
        resource_structure_leave(looking->structure, from, to);
}

typedef void (*look)(const struct looking *looking, place_id from, place_id to, double bytes_per_s);

/* Every transfer of which anything is known, alone or in a set. */
static void look_at_all(const struct looking *looking, const struct values *values, const struct sets *sets, look at)
{
    static const enum metric metrics[] = {METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL, METRIC_GPU_GPU_COPY_ENGINE, METRIC_GPU_GPU_KERNEL};
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        const struct value *v;
        for (size_t left = values_range(values, metrics[m], PLACE_NONE, &v); left > 0; left--, v++) {
            if (values_is_one_way(values, v))
                at(looking, v->from, v->to, v->value);
            if (values_stands_for_back(values, v))
                at(looking, v->to, v->from, v->value);
        }
    }
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        for (size_t i = 0; i < sets->item[s].flow_count; i++)
            at(looking, sets->item[s].flow[i].from, sets->item[s].flow[i].to, sets->item[s].flow[i].bytes_per_s);
}

bool resource_elsewhere(const struct graph *graph, const struct values *values, const struct sets *sets, struct resource_structure *structure)
{
    struct looking looking = {.graph = graph, .structure = structure, .host = calloc(structure->count + 1, sizeof *looking.host)};
    if (looking.host == NULL)
        return false;
    look_at_all(&looking, values, sets, look_at_host);
    look_at_all(&looking, values, sets, look_at_peers);
    free(looking.host);
    return true;
}
