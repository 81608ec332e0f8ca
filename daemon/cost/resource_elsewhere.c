#include "cost/resource_elsewhere.h"

#include <math.h>
#include <stdlib.h>

/* more than a link is said to carry: sets count as reproduced within as much */
#define CLEARLY 1.05

struct looking {
    const struct graph *graph;
    const struct link_paths *paths;
    struct resource_elsewhere *found;
    /* by link and direction: the most that a copy with the host gets over it; 0 none is known */
    double *host;
    double *peer; /* by pair, as found: the most that goes between these gpus; 0 none is known */
};

static bool is_gpu(const struct graph *graph, place_id place)
{
    return graph_place(graph, place)->kind == PLACE_GPU;
}

static bool is_host_link(const struct graph *graph, const struct link *link)
{
    enum place_kind a = graph_place(graph, link->from)->kind,
                    b = graph_place(graph, link->to)->kind;
    return link->nominal_bytes_per_s > 0 &&
           ((a == PLACE_GPU && b == PLACE_NUMA) || (a == PLACE_NUMA && b == PLACE_GPU));
}

static size_t pair_of(const struct resource_elsewhere *found, place_id from, place_id to)
{
    return found->gpu[from] * found->count + found->gpu[to];
}

static void look_at_host(const struct looking *looking, place_id from, place_id to,
                         double bytes_per_s)
{
    struct link_path path;
    if (is_gpu(looking->graph, from) == is_gpu(looking->graph, to) ||
        !link_path_find(looking->paths, from, to, &path))
        return;
    for (size_t i = 0; i < path.step_count; i++) {
        double *most = &looking->host[2 * path.step[i].link + path.step[i].back];
        *most = fmax(*most, bytes_per_s);
    }
}

static void look_at_peers(const struct looking *looking, place_id from, place_id to,
                          double bytes_per_s)
{
    if (from == to || !is_gpu(looking->graph, from) || !is_gpu(looking->graph, to))
        return;
    double *most = &looking->peer[pair_of(looking->found, from, to)];
    *most = fmax(*most, bytes_per_s);
}

/* True when two gpus exchange more than a link to the host on their path carries. */
static bool is_elsewhere(const struct looking *looking, place_id from, place_id to)
{
    struct link_path path;
    double bytes_per_s = looking->peer[pair_of(looking->found, from, to)];
    if (!(bytes_per_s > 0) || !link_path_find(looking->paths, from, to, &path))
        return false;
    for (size_t i = 0; i < path.step_count; i++) {
        const struct link *link = &looking->graph->links[path.step[i].link];
        double most = link->nominal_bytes_per_s * CLEARLY,
               host = looking->host[2 * path.step[i].link + path.step[i].back];
        if (is_host_link(looking->graph, link) && host > 0 && host <= most && bytes_per_s > most)
            return true;
    }
    return false;
}

typedef void (*look)(const struct looking *looking, place_id from, place_id to, double bytes_per_s);

/* Every transfer of which anything is known, alone or in a set. */
static void look_at_all(const struct looking *looking, const struct values *values,
                        const struct sets *sets, look at)
{
    static const enum metric metrics[] = {METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL,
                                          METRIC_GPU_GPU_COPY_ENGINE, METRIC_GPU_GPU_KERNEL};
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        const struct value *v;
        for (size_t left = values_range(values, metrics[m], PLACE_NONE, &v); left > 0;
             left--, v++) {
            if (values_is_one_way(values, v))
                at(looking, v->from, v->to, v->value);
            if (values_stands_for_back(values, v))
                at(looking, v->to, v->from, v->value);
        }
    }
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        for (size_t i = 0; i < sets->item[s].flow_count; i++)
            at(looking, sets->item[s].flow[i].from, sets->item[s].flow[i].to,
               sets->item[s].flow[i].bytes_per_s);
}

bool resource_elsewhere_find(const struct graph *graph, const struct values *values,
                             const struct sets *sets, const struct link_paths *paths,
                             struct resource_elsewhere *ret)
{
    size_t gpus = graph_count(graph, PLACE_GPU);
    struct resource_elsewhere found = {.gpu = calloc(graph->place_count + 1, sizeof *found.gpu),
                                       .pair = calloc(gpus * gpus + 1, sizeof *found.pair)};
    struct looking looking = {.graph = graph,
                              .paths = paths,
                              .found = &found,
                              .host = calloc(2 * graph->link_count + 1, sizeof *looking.host),
                              .peer = calloc(gpus * gpus + 1, sizeof *looking.peer)};
    bool ok =
        found.gpu != NULL && found.pair != NULL && looking.host != NULL && looking.peer != NULL;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); ok && g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        found.gpu[g] = (uint16_t)found.count++;
    if (ok) {
        look_at_all(&looking, values, sets, look_at_host);
        look_at_all(&looking, values, sets, look_at_peers);
        for (place_id a = graph_next(graph, PLACE_GPU, 0); a != PLACE_NONE;
             a = graph_next(graph, PLACE_GPU, a + 1))
            for (place_id b = graph_next(graph, PLACE_GPU, 0); b != PLACE_NONE;
                 b = graph_next(graph, PLACE_GPU, b + 1))
                found.pair[pair_of(&found, a, b)] = is_elsewhere(&looking, a, b);
        *ret = found;
    } else {
        resource_elsewhere_done(&found);
    }
    free(looking.host);
    free(looking.peer);
    return ok;
}

void resource_elsewhere_done(struct resource_elsewhere *elsewhere)
{
    free(elsewhere->gpu);
    free(elsewhere->pair);
    *elsewhere = (struct resource_elsewhere){0};
}

bool resource_elsewhere_has(const struct resource_elsewhere *elsewhere, const struct graph *graph,
                            place_id from, place_id to)
{
    return from != to && is_gpu(graph, from) && is_gpu(graph, to) &&
           elsewhere->pair[pair_of(elsewhere, from, to)];
}
