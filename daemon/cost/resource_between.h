/**
 * What both directions of a link between two packages carry together, where no set has transfers
 * that meet there.
 *
 * Of a gpu and memory of another package it is measured what both directions get at once
 * (direction=both). Where that is clearly less than twice one direction, and than what the gpu gets
 * with its own NUMA node in both directions, neither the gpu's port nor its memory is what holds
 * them up: it is what lies between the packages. All that goes there counts as sharing the most
 * that any one pair got so, whichever directions it has: no measurement says that it is that pair's
 * alone. Where any pair lost nothing, both directions share nothing.
 */
#pragma once
#include "cost/resource_structure.h"

/* Sets the capacity of both directions of each link between packages of which that is known, once
 * the structure has seen the sets. */
void resource_between(struct resource_structure *structure, const struct graph *graph,
                      const struct values *values);
