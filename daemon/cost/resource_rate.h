/**
 * What is known of how much parts of a node carry, by firmware or by what was measured of one that
 * used them: a memory, a module's port, what joins two packages. Bytes per second.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/graph.h"
#include "node/values.h"

/* The highest known rate at which anybody reads, writes or copies in a memory ("" any of them),
 * however many do; 0 none. */
double resource_rate_memory(const struct values *values, place_id memory, const char *how);

/* What a memory carries of both directions together: what was seen of either, or of copies, which
 * read and write. Of a memory that a gpu has in common with a processor what a copy within it gets
 * at most, as that uses it twice. 0 not known. */
double resource_rate_both(const struct graph *graph, const struct values *values, place_id memory);

/* A copy within the memory that a gpu has in common with its cores goes over no link, however
 * narrow the one that joins them is said to be; 0: it joins others. */
double resource_rate_one_memory(const struct graph *graph, const struct values *values,
                                const struct link *link);

/* What one gpu of the module has to the host, and how many gpus it has. */
double resource_rate_module(const struct graph *graph, place_id module, size_t *ret_gpus);

/* What a PCIe port of that level with several gpus behind it carries, gpu the lowest of these: what
 * its link states, at least what the widest of theirs does; 0 neither is stated. ret_is_wider: than
 * all of theirs. */
double resource_rate_pcie_port(const struct graph *graph, place_id gpu, size_t level,
                               bool *ret_is_wider);

/* The most that cores of one package are known to get of the other's memory in that direction; NULL
 * nothing is known. */
const struct value *resource_rate_cores(const struct graph *graph, const struct values *values,
                                        place_id from, place_id to);
