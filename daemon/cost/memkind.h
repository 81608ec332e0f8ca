/**
 * Kinds of allocations: which there are on a node, in which memory they lie, and the call for each.
 *
 * A memory is a NUMA node's or a GPU's. Where the kernel shows a GPU's memory as a NUMA node
 * (GH200), both names stand for the same memory: the node's for numa_alloc_onnode, the GPU's for
 * the GPU's own runtime. Where processor and GPU have one memory (MI300A) it has the NUMA node's
 * name.
 *
 * Pure; any thread.
 */
#pragma once
#include <stddef.h>

#include "node/graph.h"

enum memkind { MEMKIND_SYSTEM, MEMKIND_PINNED, MEMKIND_MANAGED, MEMKIND_DEVICE, MEMKIND_COUNT };
/* as the interface names them; NULL-terminated */
extern const char *const memkind_names[MEMKIND_COUNT + 1];

/* An allocation that is possible. */
struct memkind_place {
    place_id memory;
    enum memkind kind;
    /* whose runtime gives it: of device memory that GPU, of managed memory the one it stays with
     * or, on a NUMA node as of pinned memory, any; PLACE_NONE for system memory */
    place_id gpu;
    place_id owner; /* the GPU whose memory it is; PLACE_NONE: a processor's */
    place_id numa;  /* the NUMA node by whose name cores know it, or get it; PLACE_NONE none */
    place_id apu;   /* a GPU that has this processor's memory as well; PLACE_NONE none */
    bool moves;     /* managed memory of a GPU: it may move to another that touches it */
    bool migrates;  /* and back to cores, which do not reach it there */
};

/* gpu as above. */
struct memkind_place memkind_place(const struct graph *graph, place_id memory, enum memkind kind,
                                   place_id gpu);

/* Returns the NUMA node whose memory a GPU has in common with the cores there; PLACE_NONE none. */
place_id memkind_common(const struct graph *graph, place_id gpu);

/* True for memory of that GPU, alone or in common with the cores. gpu PLACE_NONE: false. */
bool memkind_is_own(const struct graph *graph, const struct memkind_place *place, place_id gpu);

/* Prints the program's call. xnack: with HSA_XNACK=1 in the environment only. */
void memkind_call(const struct graph *graph, const struct memkind_place *place, int64_t bytes,
                  bool xnack, char *buffer, size_t size);
