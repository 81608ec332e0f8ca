#include "cost/lanes.h"

#include <math.h>
#include <stdlib.h>

#include "node/gpu.h"

#define LANES_MAX ((size_t)64 * LANES_WORDS)
#define FAR       UINT32_MAX

/* Lanes are numbered by what they belong to, two of each: out of the place or along the link, and
 * the other way. */
struct map {
    const struct graph *graph;
    /* ports and memories: a switch, a module, a gpu, a package or a NUMA node; by place id */
    size_t *of_place;
    size_t *of_switches;           /* what a gpu has to switches; by place id */
    uint32_t *from_start, *to_end; /* links on the way, by place id */
    double *width;
};

static bool joins_gpus(const struct graph *graph, const struct link *link)
{
    enum place_kind a = graph_place(graph, link->from)->kind,
                    b = graph_place(graph, link->to)->kind;
    bool is_fabric = link->kind == LINK_XGMI || link->kind == LINK_NVLINK;
    return is_fabric && link->state != LINK_DOWN && (a == PLACE_GPU || a == PLACE_SWITCH) &&
           (b == PLACE_GPU || b == PLACE_SWITCH);
}

/* Where nothing says how wide a link is, all are alike. */
static double width_of(const struct link *link)
{
    return link->nominal_bytes_per_s > 0 ? link->nominal_bytes_per_s : 1;
}

/* The narrowest link of the widest way from start, for every place. */
static void find_widths(struct map *map, place_id start)
{
    const struct graph *graph = map->graph;
    for (size_t p = 0; p < graph->place_count; p++)
        map->width[p] = 0;
    map->width[start] = INFINITY;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            if (!joins_gpus(graph, link))
                continue;
            double a = map->width[link->from], b = map->width[link->to], width = width_of(link);
            again = again || fmin(a, width) > b || fmin(b, width) > a;
            map->width[link->to] = fmax(b, fmin(a, width));
            map->width[link->from] = fmax(a, fmin(map->width[link->to], width));
        }
    }
}

/* How many links of that width at least are between start and every place. */
static void find_steps(const struct map *map, place_id start, double width, uint32_t *steps)
{
    const struct graph *graph = map->graph;
    for (size_t p = 0; p < graph->place_count; p++)
        steps[p] = FAR;
    steps[start] = 0;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            if (!joins_gpus(graph, link) || width_of(link) < width)
                continue;
            for (int end = 0; end < 2; end++) {
                uint32_t near = steps[end == 0 ? link->from : link->to],
                         *next = &steps[end == 0 ? link->to : link->from];
                if (near != FAR && near + 1 < *next) {
                    *next = near + 1;
                    again = true;
                }
            }
        }
    }
}

static void set(struct lanes *lanes, size_t number)
{
    lanes->bit[number / 64] |= UINT64_C(1) << number % 64;
}

/* The lane of a link from a to its other end. A gpu's links to switches are one: which of them is
 * used is spread by address. */
static size_t lane_of(const struct map *map, size_t link, place_id a, place_id b)
{
    const struct graph *graph = map->graph;
    if (graph_place(graph, b)->kind == PLACE_SWITCH)
        return map->of_switches[a];
    if (graph_place(graph, a)->kind == PLACE_SWITCH)
        return map->of_switches[b] + 1;
    return 2 * link + (graph->links[link].from == a ? 0 : 1);
}

/* map->width is from there. */
static void between_gpus(struct map *map, place_id from, place_id to, struct lanes *ret)
{
    const struct graph *graph = map->graph;
    double width = map->width[to];
    if (!(width > 0))
        return;
    find_steps(map, from, width, map->from_start);
    find_steps(map, to, width, map->to_end);
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if (!joins_gpus(graph, link) || width_of(link) < width)
            continue;
        for (int end = 0; end < 2; end++) {
            place_id a = end == 0 ? link->from : link->to, b = end == 0 ? link->to : link->from;
            if (map->from_start[a] != FAR && map->to_end[b] != FAR &&
                map->from_start[a] + 1 + map->to_end[b] == map->from_start[to])
                set(ret, lane_of(map, i, a, b));
        }
    }
    ret->is_known = true;
}

/* Where a gpu meets the host: a module with other gpus, a PCIe switch, or itself. */
static place_id port_of(const struct graph *graph, place_id gpu)
{
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        place_id other = link->from == gpu ? link->to : link->to == gpu ? link->from : PLACE_NONE;
        if (other != PLACE_NONE && link->kind == LINK_PCIE &&
            graph_place(graph, other)->kind == PLACE_SWITCH)
            return other;
    }
    place_id parent = graph_place(graph, gpu)->parent;
    return parent != PLACE_NONE && graph_place(graph, parent)->kind == PLACE_MODULE ? parent : gpu;
}

static place_id package_of(const struct graph *graph, place_id id)
{
    while (id != PLACE_NONE && graph_place(graph, id)->kind != PLACE_PACKAGE)
        id = graph_place(graph, id)->parent;
    return id;
}

static void with_host(struct map *map, place_id gpu, place_id numa, bool out, struct lanes *ret)
{
    const struct graph *graph = map->graph;
    place_id apu = gpu_apu_at(graph, numa);
    /* it is that one's memory */
    if (apu != PLACE_NONE && gpu_is_apu(graph_place(graph, gpu)) &&
        graph_place(graph, gpu)->numa != numa) {
        find_widths(map, out ? gpu : apu);
        between_gpus(map, out ? gpu : apu, out ? apu : gpu, ret);
        return;
    }
    place_id own = graph_place(graph, gpu)->numa,
             near = own != PLACE_NONE ? package_of(graph, own) : PLACE_NONE,
             there = package_of(graph, numa);
    if (own != numa && (near == PLACE_NONE || there == PLACE_NONE))
        return;
    set(ret, map->of_place[port_of(graph, gpu)] + (out ? 0 : 1));
    if (own != numa && near != there) {
        set(ret, map->of_place[near] + (out ? 0 : 1));
        set(ret, map->of_place[there] + (out ? 1 : 0));
    }
    ret->is_known = true;
}

static void find_all(struct map *map, const place_id *memory, size_t count, struct lanes *ret_lanes)
{
    const struct graph *graph = map->graph;
    for (size_t f = 0; f < count; f++) {
        bool from_gpu = graph_place(graph, memory[f])->kind == PLACE_GPU;
        if (from_gpu)
            find_widths(map, memory[f]);
        for (size_t t = 0; t < count; t++) {
            bool to_gpu = graph_place(graph, memory[t])->kind == PLACE_GPU;
            if (f == t || (!from_gpu && !to_gpu))
                continue;
            struct lanes *lanes = &ret_lanes[f * count + t];
            if (from_gpu && to_gpu)
                between_gpus(map, memory[f], memory[t], lanes);
            else
                with_host(map, memory[from_gpu ? f : t], memory[from_gpu ? t : f], from_gpu, lanes);
        }
    }
}

bool plan_lanes_make(const struct graph *graph, const place_id *memory, size_t count,
                     struct lanes *ret_lanes)
{
    size_t places = graph->place_count, next = 2 * graph->link_count;
    struct map map = {.graph = graph,
                      .of_place = calloc(places + 1, sizeof *map.of_place),
                      .of_switches = calloc(places + 1, sizeof *map.of_switches),
                      .from_start = calloc(places + 1, sizeof *map.from_start),
                      .to_end = calloc(places + 1, sizeof *map.to_end),
                      .width = calloc(places + 1, sizeof *map.width)};
    bool ok = map.of_place != NULL && map.of_switches != NULL && map.from_start != NULL &&
              map.to_end != NULL && map.width != NULL;
    for (size_t p = 0; p < places && ok; p++) {
        enum place_kind kind = graph->places[p].kind;
        if (kind != PLACE_GPU && kind != PLACE_MODULE && kind != PLACE_SWITCH &&
            kind != PLACE_NUMA && kind != PLACE_PACKAGE)
            continue;
        map.of_place[p] = next;
        map.of_switches[p] = next + 2;
        next += 4;
    }
    for (size_t i = 0; i < count * count && ok; i++)
        ret_lanes[i] = (struct lanes){.is_known = false};
    if (ok && next <= LANES_MAX)
        find_all(&map, memory, count, ret_lanes);
    free(map.of_place);
    free(map.of_switches);
    free(map.from_start);
    free(map.to_end);
    free(map.width);
    return ok;
}
