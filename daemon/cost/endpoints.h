/**
 * The two ends of a transfer: what they are, and the errors of ends that cannot be used.
 *
 * Pure; any thread.
 */
#pragma once
#include "base/err.h"
#include "node/allowed.h"
#include "node/graph.h"
#include "node/reasons.h"
#include "node/snapshot.h"

/* True when its driver or a probe lost the GPU: it answers nothing until it is reset. */
bool endpoints_is_lost(const struct snapshot *snap, place_id gpu);

/* Returns the state of a device in MIG mode (gpu_is_cut), for behind its name. */
const char *endpoints_cut_text(const struct graph *graph, place_id gpu);

/* Returns the GPU whose memory Linux shows as that NUMA node; PLACE_NONE: it is the host's. */
place_id endpoints_gpu_of(const struct graph *graph, place_id numa);

/* True for a GPU and the memory that it has in common with its cores (MI300A). */
bool endpoints_share_memory(const struct graph *graph, place_id a, place_id b);

/* True for GPUs of two vendors: no runtime copies from one to the other. */
bool endpoints_vendors_differ(const struct graph *graph, place_id a, place_id b);

/* True when the GPU has links to switches, and all are down. */
bool endpoints_is_off_switches(const struct graph *graph, place_id gpu);

/* Warns where all links that join the two places are down, or of two GPUs all of one to switches:
 * numbers of these may be from before. */
void endpoints_warn_down(const struct graph *graph, place_id a, place_id b,
                         struct reasons *warnings);

/* UNAVAILABLE for a GPU that was lost or is cut into slices, NOTHING_ALLOWED for one or a memory
 * that is not allowed. The detail names those that are there instead. */
enum berth_code endpoints_check_end(const struct snapshot *snap, const struct allowed *allowed,
                                    place_id end, struct berth_err *err);

/* INVALID_PARAMETER (from, to, bytes: naming it), those of endpoints_check_end, NOT_ENOUGH when an
 * end cannot hold so many bytes. */
enum berth_code endpoints_check(const struct snapshot *snap, const struct allowed *allowed,
                                place_id from, place_id to, int64_t bytes, struct berth_err *err);
