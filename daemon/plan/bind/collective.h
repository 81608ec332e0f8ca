/**
 * The time of an all-reduce as NCCL or RCCL took it among the same GPUs (collective_bandwidth), in
 * place of its ring of transfers by the simulator.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "node/snapshot.h"

struct bind_collective {
    struct estimate time;      /* NAN: it was not measured among these GPUs */
    const struct value *value; /* of the snapshot: of the most bytes that are no more */
};

/* Among count GPUs, each in one task, that many bytes each. Between two measured sizes the time is
 * interpolated; beyond the largest more bytes have the rate of large ones. */
struct bind_collective plan_bind_collective(const struct snapshot *snap, const place_id *gpu,
                                            size_t count, double bytes);
