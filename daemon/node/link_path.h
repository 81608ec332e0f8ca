/**
 * The ways that bytes go over links: between gpus the widest one, as the drivers choose it, over
 * switches and, by xGMI, other gpus, and of equally wide ones the one with the fewest links; to and
 * from the host by the gpu's own links; between gpus without such a way through the host.
 *
 * Made once for a graph, constant from then on; the graph outlives it. Links that are down carry
 * nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"

#define LINK_PATH_STEPS  8
#define LINK_PATH_STATED UINT32_MAX

struct link_path {
    struct {
        uint32_t link; /* of the graph */
        bool back;     /* from its to to its from */
    } step[LINK_PATH_STEPS];
    size_t step_count;
    double bytes_per_s; /* of its narrowest link of which that is stated */
    /* others are as wide and as short: which one the driver takes is not known */
    bool is_one_of_several;
    /* a link of its between packages that does not say how wide it is: bytes_per_s is what the
     * rest would carry, and no rate of the whole is known; LINK_PATH_STATED none */
    uint32_t unstated;
};

struct link_paths;

struct link_paths *link_paths_new(const struct graph *graph); /* NULL when out of memory */
void link_paths_free(struct link_paths *paths);               /* NULL is fine */

/* From and to gpus, NUMA nodes and nics. False when there is no way with links that say how wide
 * they are, or it has more than LINK_PATH_STEPS links. */
bool link_path_find(const struct link_paths *paths, place_id from, place_id to,
                    struct link_path *ret);

/* All ways over gpus that are as wide and as short as that one, by xGMI, at most most of them; just
 * that one where it is the only one or goes otherwise. Returns how many there are in ret. */
size_t link_path_all(const struct link_paths *paths, place_id from, place_id to,
                     struct link_path *ret, size_t most);
