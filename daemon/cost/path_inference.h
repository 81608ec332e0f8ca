/**
 * Path inference: which of several equally wide and equally short paths a transfer between GPUs
 * takes. Two transfers measured together tell, where the other one's path is known: they slow each
 * other when both use a link that carries less than they get alone, else not. The hardware has one
 * path for a pair, whatever drives the copy.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/link_path.h"
#include "node/sets.h"
#include "node/values.h"

#define PATH_INFERENCE_MOST 40 /* questions: as many as the quick profile draws pairs */

/* Returns the path as link_path_find does, or the only one of several that agrees with all sets
 * (NULL none), which is no longer one of several. */
bool path_inference_find(const struct link_paths *paths, const struct graph *graph,
                         const struct values *values, const struct sets *sets, place_id from,
                         place_id to, struct link_path *ret);

/* Two transfers that together tell which path the first takes. */
struct path_question {
    place_id from, to, beside_from, beside_to;
};

/* Writes what to measure together so that all paths of pairs with two are known, at most most.
 * Returns how many. */
size_t path_inference_ask(const struct link_paths *paths, const struct graph *graph,
                          struct path_question *ret, size_t most);
