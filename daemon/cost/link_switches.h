/**
 * What gpus have to switches of their own fabric (NVLink). What goes between two of them uses all
 * switches that both have links to at once, spread by address, so that these ways add up; no one of
 * them is chosen, as of the ways of node/link_path.h one is.
 *
 * Made once for a graph, constant from then on. Links that are down, or do not say how wide they
 * are, carry nothing. Bytes per second, each way.
 */
#pragma once
#include <stddef.h>

#include "node/graph.h"

struct link_switches;

struct link_switches *link_switches_new(const struct graph *graph); /* NULL when out of memory */
void link_switches_free(struct link_switches *switches);            /* NULL is fine */

/* What all links of the gpu to switches carry together; 0 where it has links to fewer than two. */
double link_switches_port(const struct link_switches *switches, place_id gpu);

/* What goes between two gpus over switches that both have links to; ret_ways: how many these are.
 */
double link_switches_between(const struct link_switches *switches, place_id from, place_id to,
                             size_t *ret_ways);
