/**
 * The paths of bytes over links. Between gpus: the widest one, as the drivers choose it, over
 * switches and, by xGMI, other gpus. Equally wide ones: the one with the fewest links. Gpus without
 * such a path: through the host. To and from the host: by the gpu's own links.
 *
 * Made once for a graph, constant from then on; the graph outlives it. Links that are down carry
 * nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"

#define LINK_PATH_STEPS 8

struct link_path {
    place_id from, to;
    struct {
        uint32_t link; /* index in the graph */
        bool back;     /* against the link's direction, from its to to its from */
    } step[LINK_PATH_STEPS];
    size_t step_count;
    double bytes_per_s; /* of its narrowest link with a stated rate */
    /* others are as wide and as short: the driver's choice is unknown */
    bool is_one_of_several;
    bool over_host; /* between GPUs that no path over links of GPUs joins */
};

struct link_paths;

struct link_paths *link_paths_new(const struct graph *graph); /* NULL when out of memory */
void link_paths_free(struct link_paths *paths);               /* NULL is fine */

/* Returns the path between gpus, NUMA nodes and nics. False when there is no path over links with
 * stated rates, or it has more than LINK_PATH_STEPS links. */
bool link_path_find(const struct link_paths *paths, place_id from, place_id to,
                    struct link_path *ret);

/* Writes all paths over gpus that are as wide and as short as that one, by xGMI, to ret, at most
 * most. Only that one where it is unique or another kind of path. Returns their number. */
size_t link_path_all(const struct link_paths *paths, place_id from, place_id to,
                     struct link_path *ret, size_t most);
