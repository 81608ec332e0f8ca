#include "node/link_path.h"

#include <math.h>
#include <stdlib.h>

#define UNSTATED 1.0 /* bytes per second of a link without a stated rate: the last choice */

/* One end of a link. */
struct edge {
    uint32_t link;
    bool back;
    place_id to;
    double bytes_per_s;
};

struct link_paths {
    const struct graph *graph;
    struct edge *edge; /* by the place that they begin at */
    size_t *first;     /* by place: its first edge; one more at the end */
    size_t place_count;
};

/* Returns the rate of a link. Links between parts of the host without a stated rate do not narrow a
 * path. */
static double width_of(const struct link *link)
{
    if (link->nominal_bytes_per_s > 0)
        return link->nominal_bytes_per_s;
    return link->kind == LINK_SMP || link->kind == LINK_MEMBUS ? INFINITY : UNSTATED;
}

static bool is_usable(const struct link *link)
{
    return link->state != LINK_DOWN && link->kind != LINK_NETWORK && link->from != link->to;
}

static void add_edge(struct link_paths *paths, size_t *next, uint32_t link, bool back)
{
    const struct link *its = &paths->graph->links[link];
    place_id at = back ? its->to : its->from;
    paths->edge[next[at]++] = (struct edge){
        .link = link, .back = back, .to = back ? its->from : its->to, .bytes_per_s = width_of(its)};
}

struct link_paths *link_paths_new(const struct graph *graph)
{
    struct link_paths *paths = calloc(1, sizeof *paths);
    size_t *next = calloc(graph->place_count + 1, sizeof *next);
    if (paths != NULL) {
        paths->graph = graph;
        paths->place_count = graph->place_count;
        paths->edge = calloc(2 * graph->link_count + 1, sizeof *paths->edge);
        paths->first = calloc(graph->place_count + 1, sizeof *paths->first);
    }
    if (paths == NULL || next == NULL || paths->edge == NULL || paths->first == NULL) {
        free(next);
        link_paths_free(paths);
        return NULL;
    }
    for (size_t i = 0; i < graph->link_count; i++)
        if (is_usable(&graph->links[i])) {
            paths->first[graph->links[i].from + 1]++;
            paths->first[graph->links[i].to + 1]++;
        }
    for (size_t i = 0; i < graph->place_count; i++)
        next[i + 1] = paths->first[i + 1] += paths->first[i];
    for (size_t i = 0; i < graph->link_count; i++)
        if (is_usable(&graph->links[i])) {
            add_edge(paths, next, (uint32_t)i, false);
            add_edge(paths, next, (uint32_t)i, true);
        }
    free(next);
    return paths;
}

void link_paths_free(struct link_paths *paths)
{
    if (paths == NULL)
        return;
    free(paths->edge);
    free(paths->first);
    free(paths);
}

/* ---- one path ---- */

/* Few places have links, so that lists are short. */
#define REACHED_MAX 1024

/* A place that a search reached, by its shortest path. */
struct reached {
    place_id place;
    size_t before; /* index of the place before */
    const struct edge *by;
    size_t links;
    bool several;
};

struct search {
    const struct link_paths *paths;
    bool over_gpus; /* else over the host */
    place_id to;
    struct reached reached[REACHED_MAX];
    size_t count;
};

/* True when a path may continue through a place: gpus forward bytes by xGMI, but not by NVLink. */
static bool may_pass(const struct search *search, place_id place, const struct edge *by)
{
    switch (graph_place(search->paths->graph, place)->kind) {
    case PLACE_SWITCH:
        return true;
    case PLACE_GPU:
        return search->over_gpus && search->paths->graph->links[by->link].kind == LINK_XGMI;
    case PLACE_NUMA:
    case PLACE_PACKAGE:
        return !search->over_gpus;
    default:
        return false;
    }
}

static struct reached *find_reached(struct search *search, place_id place)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->reached[i].place == place)
            return &search->reached[i];
    return NULL;
}

/* Finds the path with the fewest links that are all so wide: breadth first, lower numbers first. */
static const struct reached *shortest(struct search *search, place_id from, double width)
{
    const struct link_paths *paths = search->paths;
    const struct reached *end = NULL;
    search->reached[0] = (struct reached){.place = from};
    search->count = 1;
    for (size_t i = 0; i < search->count && (end == NULL || search->reached[i].links < end->links);
         i++) {
        const struct reached at = search->reached[i];
        for (size_t e = paths->first[at.place]; e < paths->first[at.place + 1]; e++) {
            const struct edge *edge = &paths->edge[e];
            if (edge->bytes_per_s < width || (i > 0 && !may_pass(search, at.place, edge)))
                continue;
            struct reached *next = find_reached(search, edge->to);
            if (next != NULL)
                next->several |= next->links == at.links + 1;
            if (next != NULL || search->count == REACHED_MAX)
                continue;
            next = &search->reached[search->count++];
            *next = (struct reached){edge->to, i, edge, at.links + 1, at.several};
            end = edge->to == search->to ? next : end;
        }
    }
    return end;
}

/* Returns the next lower stated rate of any link; 0 none. */
static double narrower(const struct link_paths *paths, double width)
{
    double most = 0;
    for (size_t e = 0; e < paths->first[paths->place_count]; e++)
        if (paths->edge[e].bytes_per_s < width && paths->edge[e].bytes_per_s > UNSTATED)
            most = fmax(most, paths->edge[e].bytes_per_s);
    return most;
}

static bool find_path(struct search *search, place_id from, struct link_path *ret)
{
    const struct reached *at = NULL;
    double width = INFINITY;
    while (at == NULL && (width = narrower(search->paths, width)) > 0)
        at = shortest(search, from, width);
    if (at == NULL || at->links > LINK_PATH_STEPS)
        return false;
    *ret = (struct link_path){.from = from,
                              .to = search->to,
                              .step_count = at->links,
                              .bytes_per_s = INFINITY,
                              .is_one_of_several = at->several};
    for (size_t i = at->links; i > 0; i--) {
        ret->bytes_per_s = fmin(ret->bytes_per_s, at->by->bytes_per_s);
        ret->step[i - 1].link = at->by->link;
        ret->step[i - 1].back = at->by->back;
        at = &search->reached[at->before];
    }
    return !isinf(ret->bytes_per_s);
}

bool link_path_find(const struct link_paths *paths, place_id from, place_id to,
                    struct link_path *ret)
{
    const struct graph *graph = paths->graph;
    struct search search;
    search.paths = paths;
    search.over_gpus =
        graph_place(graph, from)->kind == PLACE_GPU && graph_place(graph, to)->kind == PLACE_GPU;
    search.to = to;
    if (from == to)
        return false;
    if (find_path(&search, from, ret))
        return true;
    bool over_host = search.over_gpus;
    search.over_gpus = false;
    if (!over_host || !find_path(&search, from, ret))
        return false;
    ret->over_host = true;
    return true;
}

/* ---- all paths that are as wide and as short ---- */

struct walk {
    const struct search *search;
    double width;
    size_t links; /* of each path */
    place_id at[LINK_PATH_STEPS + 1];
    struct link_path path;
    struct link_path *found;
    size_t count, most;
};

static bool was_at(const struct walk *walk, place_id place, size_t links)
{
    bool was = false;
    for (size_t i = 0; i <= links; i++)
        was |= walk->at[i] == place;
    return was;
}

static void walk_on(struct walk *walk, size_t links)
{
    const struct link_paths *paths = walk->search->paths;
    place_id place = walk->at[links];
    if (place == walk->search->to && walk->count < walk->most)
        walk->found[walk->count++] = walk->path;
    for (size_t e = paths->first[place];
         links < walk->links && place != walk->search->to && e < paths->first[place + 1]; e++) {
        const struct edge *edge = &paths->edge[e];
        if (edge->bytes_per_s < walk->width ||
            (links > 0 && !may_pass(walk->search, place, edge)) || was_at(walk, edge->to, links))
            continue;
        walk->path.step[links].link = edge->link;
        walk->path.step[links].back = edge->back;
        walk->at[links + 1] = edge->to;
        walk_on(walk, links + 1);
    }
}

size_t link_path_all(const struct link_paths *paths, place_id from, place_id to,
                     struct link_path *ret, size_t most)
{
    struct link_path first;
    if (most == 0 || !link_path_find(paths, from, to, &first))
        return 0;
    *ret = first;
    if (!first.is_one_of_several || paths->graph->links[first.step[0].link].kind != LINK_XGMI)
        return 1;
    struct search search = {.paths = paths, .over_gpus = true, .to = to};
    struct walk walk = {.search = &search,
                        .width = first.bytes_per_s,
                        .links = first.step_count,
                        .at = {from},
                        .path = first,
                        .found = ret,
                        .most = most};
    walk_on(&walk, 0);
    return walk.count;
}
