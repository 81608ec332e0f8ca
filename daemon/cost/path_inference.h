/**
 * Which of several ways, equally wide and equally short, a transfer between gpus takes: two
 * transfers that were measured together tell, where one of them is known to go over a link of one
 * way. They slow each other when both go over it, and it carries less than they get alone; else
 * not. So it is told of the hardware, which has one way for a pair, whatever drives the copy.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/link_path.h"
#include "node/sets.h"
#include "node/values.h"

#define PATH_INFERENCE_MOST 40 /* sets that are asked for: as many as quick draws of pairs */

/* The way as link_path_find has it, or that one of several which alone agrees with all sets (NULL
 * none): it is no longer one of several then. */
bool path_inference_find(const struct link_paths *paths, const struct graph *graph,
                         const struct values *values, const struct sets *sets, place_id from,
                         place_id to, struct link_path *ret);

/* Two transfers, which together tell which way the first takes. */
struct path_question {
    place_id from, to, beside_from, beside_to;
};

/* What is to be measured together so that all ways are known, if each transfer has one of two; of
 * more the first ones are told. Returns how many there are, at most most. */
size_t path_inference_ask(const struct link_paths *paths, const struct graph *graph,
                          struct path_question *ret, size_t most);
