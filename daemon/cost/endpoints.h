/**
 * The two ends of a transfer: whether they can be such, and what is to be said when they cannot.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/err.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/snapshot.h"

/* Whether its driver lost the gpu, or a probe did: it answers nothing until it is reset. */
bool endpoints_is_lost(const struct snapshot *snap, place_id gpu);

/* What a device in MIG mode is (gpu_is_cut), to be put behind its name: "is cut into slices, ..."
 * or that it has none. */
const char *endpoints_cut_text(const struct graph *graph, place_id gpu);

/* The gpu whose memory Linux shows as that NUMA node; PLACE_NONE: it is the host's. */
place_id endpoints_gpu_of(const struct graph *graph, place_id numa);

/* Whether one of them is a gpu, and the other the memory that it has in common with its cores
 * (MI300A). */
bool endpoints_share_memory(const struct graph *graph, place_id a, place_id b);

/* Whether two gpus are known to be of different vendors: no runtime copies from one to the other.
 */
bool endpoints_vendors_differ(const struct graph *graph, place_id a, place_id b);

#define ENDPOINTS_DOWN_SIZE 96

/* Where every link that joins the two places, or one of them to any switch, is down, so that what
 * was measured between them may be from before: how many sentences say so, 0 where no such link is
 * known. ret_text: which, the same either way round: "the link between gpu0 and gpu1 is down", "all
 * 4 links of gpu0 to switches are down". */
size_t endpoints_down_between(const struct graph *graph, place_id a, place_id b,
                              char ret_text[2][ENDPOINTS_DOWN_SIZE]);

/* Whether the gpu has links to switches, and all are down: it reaches no other gpu as fast as those
 * of the node do. */
bool endpoints_is_off_switches(const struct graph *graph, place_id gpu);

/* NOT_ENOUGH when that place's memory is known not to hold so many bytes. */
enum berth_code endpoints_check_room(const struct graph *graph, place_id end, int64_t bytes,
                                     struct berth_err *err);

/* UNAVAILABLE for a gpu that was lost or is cut into slices, with those that are there instead. */
enum berth_code endpoints_check_answers(const struct snapshot *snap, const struct allowed *allowed,
                                        place_id end, struct berth_err *err);

/* NOTHING_ALLOWED for a gpu or a memory that is not allowed, with those that are. */
enum berth_code endpoints_check_allowed(const struct snapshot *snap, const struct allowed *allowed,
                                        place_id end, struct berth_err *err);

/* INVALID_PARAMETER (from, to, bytes: naming it), NOTHING_ALLOWED, UNAVAILABLE for a gpu that was
 * lost or is cut into slices, NOT_ENOUGH when an end cannot hold so many bytes. The detail says
 * what there is instead. */
enum berth_code endpoints_check(const struct snapshot *snap, const struct allowed *allowed,
                                place_id from, place_id to, int64_t bytes, struct berth_err *err);
