/* The limits without capacities from runs: the parts, and those on the path between each two
 * places. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits_inner.h"
#include "cost/path_inference.h"
#include "cost/policy.h"
#include "node/gpu.h"

#define PATHS_MAX 16

/* Transfers by their path: between GPUs over their links, over the host, or, without stated rates,
 * over it as far as is known; with the host. */
enum { BY_LINKS = 1, OVER_HOST = 2, UNSTATED = 4, WITH_HOST = 8, THROUGH_PORTS = 14, ANY = 15 };

/* The transfers from and to a place that use its part; links are on paths. */
static const unsigned users[LIMIT_PARTS] = {
    [LIMIT_HOST_LINK] = THROUGH_PORTS,
    [LIMIT_HOST_PORT] = OVER_HOST | WITH_HOST,
    [LIMIT_PCIE_PORT] = THROUGH_PORTS,
    [LIMIT_PCIE_PORT2] = THROUGH_PORTS,
    [LIMIT_PCIE_PORT3] = THROUGH_PORTS,
    [LIMIT_MEMORY] = ANY,
    [LIMIT_GPU] = ANY,
    [LIMIT_GPU_PORT] = THROUGH_PORTS,
    [LIMIT_HIVE] = THROUGH_PORTS,
};

static void use(struct limits_pair *pair, uint16_t item)
{
    if (item != UINT16_MAX && pair->part_count < LIMITS_USES_MAX &&
        !limits_pair_has(pair, pair->part_count, item))
        pair->use[pair->part_count++] = item;
    pair->use_count = pair->part_count;
}

/* One direction, and both of the same part behind it. */
static void use_both(struct limits_pair *pair, const uint16_t *of, int way)
{
    use(pair, of[way]);
    use(pair, of[LIMIT_BOTH]);
}

/* The parts of the ends, unless both ends belong to the same one. */
static void use_ends(const struct limits_builder *b, struct limits_pair *pair, enum limit_part part,
                     place_id from, place_id to)
{
    place_id out = from != PLACE_NONE ? b->member[from][part] : PLACE_NONE,
             in = to != PLACE_NONE ? b->member[to][part] : PLACE_NONE;
    if (out != PLACE_NONE && out != in)
        use_both(pair, b->of_place[out][part], LIMIT_OUT);
    if (in != PLACE_NONE && out != in)
        use_both(pair, b->of_place[in][part], LIMIT_IN);
}

/* True when two GPUs exchange more than the link to the host on their path carries, and copies
 * with the host bear that link's rate out: the bytes go over links that nobody reports, as in a
 * virtual machine. */
static bool is_hidden(const struct limits_builder *b, const struct limits_pair *pair,
                      const struct link_path *path)
{
    for (size_t i = 0; i < path->step_count; i++) {
        const struct link *link = &b->graph->links[path->step[i].link];
        bool is_from = graph_is(b->graph, link->from, PLACE_GPU);
        place_id gpu = is_from ? link->from : link->to, host = is_from ? link->to : link->from;
        double most = link->nominal_bytes_per_s * (1 + POLICY_SIMILAR), with_host = 0;
        if (!graph_is(b->graph, gpu, PLACE_GPU) || !graph_is(b->graph, host, PLACE_NUMA) ||
            !(pair->alone > most) || !(most > 0))
            continue;
        for (place_id numa = graph_next(b->graph, PLACE_NUMA, 0); numa != PLACE_NONE;
             numa = graph_next(b->graph, PLACE_NUMA, numa + 1)) {
            bool is_out = is_from != path->step[i].back;
            with_host = fmax(
                with_host, limits_pair(b->limits, is_out ? gpu : numa, is_out ? numa : gpu)->alone);
        }
        if (with_host > 0 && with_host <= most)
            return true;
    }
    return false;
}

/* Links between packages without a stated rate count with the rate of cores over them. */
static void fill_rate(const struct limits_builder *b, const struct link_path *path,
                      struct limits_pair *pair)
{
    double stated = INFINITY;
    pair->bytes_per_s = path->bytes_per_s;
    for (size_t i = 0; i < path->step_count; i++) {
        uint32_t number = path->step[i].link;
        const struct link *link = &b->graph->links[number];
        if (link->nominal_bytes_per_s > 0 && link->nominal_bytes_per_s < stated) {
            stated = link->nominal_bytes_per_s;
            pair->narrowest = number;
        }
        if (link->kind != LINK_SMP || link->nominal_bytes_per_s > 0)
            continue;
        const struct value *cores = limits_rate_of_cores(b, link, path->step[i].back);
        if (cores == NULL) {
            pair->bytes_per_s = 0;
            pair->cores = NULL;
            pair->unstated = number;
            return;
        }
        if (cores->value < pair->bytes_per_s) {
            pair->bytes_per_s = cores->value;
            pair->cores = cores;
        }
    }
}

/* Links of other paths that the driver may choose as well. */
static void use_other_paths(const struct limits_builder *b, place_id from, place_id to,
                            struct limits_pair *pair)
{
    struct link_path path[PATHS_MAX];
    size_t count = link_path_all(b->paths, from, to, path, PATHS_MAX);
    for (size_t p = 0; p < count; p++)
        for (size_t i = 0; i < path[p].step_count; i++) {
            uint16_t item = b->of_link[path[p].step[i].link][path[p].step[i].back];
            if (item != UINT16_MAX && pair->other_count < LIMITS_OTHERS_MAX &&
                !limits_pair_has(pair, pair->part_count, item))
                pair->other[pair->other_count++] = item;
        }
}

/* The links of a path; or, where two GPUs have several switches in common, all of these at once. */
static void use_path(const struct limits_builder *b, const struct link_path *path,
                     struct limits_pair *pair)
{
    size_t switches;
    double rate = limits_rate_over_switches(b, path->from, path->to, &switches);
    bool is_spread = switches > 1 && rate >= path->bytes_per_s;
    for (size_t i = 0; i < path->step_count && !is_spread; i++) {
        const uint16_t *of = b->of_link[path->step[i].link];
        const struct link *link = &b->graph->links[path->step[i].link];
        use(pair, of[path->step[i].back]);
        if (!graph_are_gpus(b->graph, link->from, link->to))
            use(pair, of[LIMIT_BOTH]);
    }
    if (switches > 0) {
        use(pair, b->of_place[path->from][LIMIT_SWITCH_PORT][LIMIT_OUT]);
        use(pair, b->of_place[path->to][LIMIT_SWITCH_PORT][LIMIT_IN]);
    }
    pair->bytes_per_s = is_spread ? rate : pair->bytes_per_s;
    pair->several = path->is_one_of_several && !is_spread;
    if (pair->several)
        use_other_paths(b, path->from, path->to, pair);
}

/* The package next to a GPU; without packages the NUMA node. */
static place_id package_of(const struct graph *graph, place_id gpu)
{
    place_id numa = graph_place(graph, gpu)->numa,
             package = numa != PLACE_NONE ? graph_place(graph, numa)->parent : PLACE_NONE;
    return graph_is(graph, package, PLACE_PACKAGE) ? package : numa;
}

/* True for a GPU and memory of its package: all between are its ports. */
static bool is_in_package(const struct graph *graph, place_id from, place_id to)
{
    place_id gpu = graph_is(graph, from, PLACE_GPU) ? from : to, numa = gpu == from ? to : from;
    return graph_is(graph, gpu, PLACE_GPU) && graph_is(graph, numa, PLACE_NUMA) &&
           graph_place(graph, numa)->parent == package_of(graph, gpu);
}

/* The link between the packages of GPUs that exchange bytes through the host over links without a
 * stated rate. */
static void use_crossing(const struct limits_builder *b, place_id from, place_id to,
                         struct limits_pair *pair)
{
    place_id x = package_of(b->graph, from), y = package_of(b->graph, to);
    for (size_t i = 0; x != y && i < b->graph->link_count; i++) {
        const struct link *link = &b->graph->links[i];
        bool there = link->from == x && link->to == y, back = link->from == y && link->to == x;
        if (link->kind == LINK_SMP && (there || back))
            use_both(pair, b->of_link[i], back);
    }
}

/* Where bytes of a memory leave for a GPU: from the GPU that has it in common with its cores. */
static place_id owner_of(const struct graph *graph, place_id memory, place_id other)
{
    place_id apu = graph_is(graph, memory, PLACE_NUMA) && graph_is(graph, other, PLACE_GPU)
                       ? gpu_apu_at(graph, memory)
                       : PLACE_NONE;
    return apu != PLACE_NONE && apu != other && gpu_is_apu(graph_place(graph, other)) ? apu
                                                                                      : memory;
}

static void fill_pair(const struct limits_builder *b, place_id from, place_id to)
{
    struct limits_pair *pair = limits_pair_of(b->limits, from, to);
    const struct graph *graph = b->graph;
    struct link_path path;
    pair->unstated = pair->narrowest = LIMITS_NO_LINK;
    if (from == to) { /* cores in their own memory */
        use(pair, b->of_place[from][LIMIT_MEMORY][LIMIT_BOTH]);
        return;
    }
    bool are_peers = graph_are_gpus(graph, from, to),
         found = path_inference_find(b->paths, graph, b->values, b->sets, owner_of(graph, from, to),
                                     owner_of(graph, to, from), &path),
         is_elsewhere = found && are_peers && is_hidden(b, pair, &path);
    place_id module = b->member[from][LIMIT_HOST_PORT];
    bool in_module = module != PLACE_NONE && module == b->member[to][LIMIT_HOST_PORT];
    pair->over_host = are_peers && (!found || path.over_host) && !is_elsewhere && !in_module;
    pair->is_known = found ? !is_elsewhere && !(are_peers && path.over_host)
                           : !are_peers && is_in_package(graph, from, to);
    if (found)
        fill_rate(b, &path, pair);
    if (found && !is_elsewhere)
        use_path(b, &path, pair);
    if (pair->over_host && !found)
        use_crossing(b, from, to, pair);
    unsigned by = !are_peers         ? WITH_HOST
                  : !pair->over_host ? BY_LINKS
                  : found            ? OVER_HOST
                                     : UNSTATED;
    const struct link *links = graph->links;
    bool out = !found || links[path.step[0].link].kind == LINK_PCIE,
         in = !found || links[path.step[path.step_count - 1].link].kind == LINK_PCIE;
    for (int part = 0; part < LIMIT_PARTS; part++)
        if ((users[part] & by) != 0) {
            bool is_pcie = limits_is_pcie_port((enum limit_part)part);
            if (!is_pcie || b->member[from][part] != b->member[to][part])
                use_ends(b, pair, (enum limit_part)part, !is_pcie || out ? from : PLACE_NONE,
                         !is_pcie || in ? to : PLACE_NONE);
        }
}

/* A slot for each GPU, NUMA node and NIC, as far as there is room; and one for all other places, as
 * cores, which belong to no part. */
static void find_slots(struct limits_builder *b)
{
    struct limits *limits = b->limits;
    for (place_id p = 0; p < (place_id)b->graph->place_count; p++) {
        bool is_end = graph_is(b->graph, p, PLACE_GPU) || graph_is(b->graph, p, PLACE_NUMA) ||
                      graph_is(b->graph, p, PLACE_NIC);
        limits->slot[p] = UINT16_MAX;
        if (!is_end || limits->slot_count == LIMITS_PLACES_MAX)
            continue;
        limits->slot[p] = (uint16_t)limits->slot_count;
        b->end[limits->slot_count++] = p;
    }
    for (size_t p = 0; p < b->graph->place_count; p++)
        if (limits->slot[p] == UINT16_MAX)
            limits->slot[p] = (uint16_t)limits->slot_count;
    b->end[limits->slot_count++] = 0; /* the machine */
}

static bool build(struct limits_builder *b)
{
    struct limits *limits = b->limits;
    size_t places = b->graph->place_count;
    limits->graph = b->graph;
    limits->slot = calloc(places + 1, sizeof *limits->slot);
    b->switch_count = graph_count(b->graph, PLACE_SWITCH);
    b->paths = link_paths_new(b->graph);
    b->member = calloc(places + 1, sizeof *b->member);
    b->switched = calloc(places * b->switch_count + 1, sizeof *b->switched);
    b->of_link = calloc(b->graph->link_count + 1, sizeof *b->of_link);
    b->of_place = calloc(places + 1, sizeof *b->of_place);
    if (limits->slot == NULL || b->paths == NULL || b->member == NULL || b->switched == NULL ||
        b->of_link == NULL || b->of_place == NULL)
        return false;
    memset(b->of_link, 0xff, b->graph->link_count * sizeof *b->of_link);
    memset(b->of_place, 0xff, places * sizeof *b->of_place);
    find_slots(b);
    limits->pair = calloc(limits->slot_count * limits->slot_count + 1, sizeof *limits->pair);
    if (limits->pair == NULL)
        return false;
    limits_note_alone(limits, b->values, b->sets);
    limits_add_parts(b);
    for (size_t from = 0; from < limits->slot_count; from++)
        for (size_t to = 0; to < limits->slot_count; to++)
            fill_pair(b, b->end[from], b->end[to]);
    for (size_t i = 0; i < b->graph->link_count; i++) {
        const struct link *link = &b->graph->links[i];
        if (!graph_are_gpus(b->graph, link->from, link->to))
            continue;
        use(limits_pair_of(limits, link->from, link->to), b->of_link[i][LIMIT_BOTH]);
        use(limits_pair_of(limits, link->to, link->from), b->of_link[i][LIMIT_BOTH]);
    }
    return !b->failed;
}

struct limits *limits_pairs(const struct graph *graph, const struct values *values,
                            const struct sets *sets)
{
    struct limits_builder b = {
        .limits = calloc(1, sizeof *b.limits), .graph = graph, .values = values, .sets = sets};
    bool ok = b.limits != NULL && build(&b);
    link_paths_free(b.paths);
    free(b.member);
    free(b.switched);
    free(b.of_link);
    free(b.of_place);
    if (ok)
        return b.limits;
    limits_free(b.limits);
    return NULL;
}
