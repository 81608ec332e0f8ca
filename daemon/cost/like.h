/**
 * Likes: the GPU probe measures many sizes for one of the pairs that look alike, and of the others
 * the rate of many bytes. The curve of the one then stands for all: what starting a transfer costs
 * is the same where mechanism, models and rate are, unless it was measured of each what a few bytes
 * take (copy_latency): then it is the same where that is.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/curve.h"
#include "node/snapshot.h"

/* The curve of another transfer of rate's metric and axes between places of the same kinds and
 * models that gets the same rate to 5 %: one that shares the gpu rather than another, then the one
 * closest in rate, then the first; where plan_like_latency is known, one that starts as fast to 5
 * %. rate is a cell of the snapshot without an axis bytes. NULL: there is none. */
const struct curve *plan_like_curve(const struct snapshot *snap, const struct value *rate);

/* The same whatever rate it gets: what starting a transfer costs is known of it. NULL: there is
 * none. */
const struct curve *plan_like_start(const struct snapshot *snap, const struct value *rate);

/* What a few bytes of that very transfer were measured to take in a queue, which is what starting
 * one costs there. NULL: nobody measured it. */
const struct value *plan_like_latency(const struct snapshot *snap, const struct value *rate);
