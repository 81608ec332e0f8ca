/**
 * Kernels of a gpu that access memory of some kind: the time of streams and of random accesses.
 *
 * One stream is priced by the least doubtful of the values that tell its rate (enum source; among
 * equals the nearest to it in kind): its own metric; that of a similar access (a copy, another kind
 * of allocation, a gpu of the same model); the other direction; published; stated by firmware. By
 * links where there is none, for the host's memory no faster than the nearest of it. Each time
 * around a buffer starts a kernel.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/memkind.h"
#include "cost/memtime.h"

struct memgpu {
    const struct snapshot *snap;
    const struct memkind_node *node;
    struct memkind_place place;
    place_id gpu;
    bool xnack;  /* page faults of AMD's gpus are switched on */
    double span; /* bytes of the buffer */
    struct memtime_basis *basis;
};

/* The time of reading and then writing that many bytes, each once around the buffer and again.
 * Memory that the gpu touches first costs the measured first touch, once around. NAN when nothing
 * is known. */
struct memtime memgpu_stream(const struct memgpu *at, double read_bytes, double write_bytes);

/* True for that gpu's own memory, unless it is managed memory that moves to it. */
bool memgpu_is_own(const struct memgpu *at);

/* The time of random reads of that many bytes in all. As many are in flight as the stream of its
 * own memory needs (Little's law), because nothing measures them: no interval. No faster than a
 * stream, and as one where no latency is known. */
struct memtime memgpu_random(const struct memgpu *at, double bytes);

/* The time until that many bytes of managed memory are back with the cores that touch them. NAN
 * when it was not measured. */
struct memtime memgpu_return(const struct memgpu *at, double bytes);
