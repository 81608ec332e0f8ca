/**
 * Kinds of allocations: which there are on a node, in which memory they lie, who reaches them, and
 * the call for each.
 *
 * A memory is a NUMA node's or a gpu's. Where the kernel shows a gpu's memory as a NUMA node
 * (GH200), both names stand for the same memory: the node's for numa_alloc_onnode, the gpu's for
 * the gpu's own runtime. Where processor and gpu have one memory (MI300A)
 * it has the NUMA node's name.
 *
 * Pure; any thread.
 */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "node/graph.h"
#include "node/snapshot.h"

enum memkind { MEMKIND_SYSTEM, MEMKIND_PINNED, MEMKIND_MANAGED, MEMKIND_DEVICE, MEMKIND_COUNT };
/* as the interface names them; NULL-terminated */
extern const char *const memkind_names[MEMKIND_COUNT + 1];

/* An allocation that is possible. */
struct memkind_place {
    place_id memory;
    enum memkind kind;
    /* whose runtime gives it: device, of managed the one it stays with or, on a NUMA node, like
     * pinned, any; PLACE_NONE for system */
    place_id gpu;
};

/* Memories of gpus in a graph, found once for a request. */
struct memkind_node {
    const struct graph *graph;
    /* owned, by place id: of a gpu the NUMA node that is its memory, of such a NUMA node the gpu;
     * else PLACE_NONE */
    place_id *numa_of;
};

/* NO_MEMORY. */
enum berth_code memkind_node_init(const struct graph *graph, struct memkind_node *ret,
                                  struct berth_err *err);
void memkind_node_done(struct memkind_node *node);

/* True when a gpu has one memory with the processor next to it, numa_of[gpu]. */
bool memkind_is_one(const struct memkind_node *node, place_id gpu);

/* The gpu whose memory this is, a NUMA node's or a gpu's; PLACE_NONE when it is a processor's, or
 * one that both have. */
place_id memkind_owner(const struct memkind_node *node, place_id memory);

/* A gpu that has one memory with a processor, and it is this; PLACE_NONE there is none. */
place_id memkind_one_of(const struct memkind_node *node, place_id memory);

/* The NUMA node by whose name cores know this memory; PLACE_NONE when they know it by none. */
place_id memkind_numa(const struct memkind_node *node, place_id memory);

enum memkind_reach { MEMKIND_REACHED, MEMKIND_UNREACHED, MEMKIND_UNKNOWN };

/* xnack: only with HSA_XNACK=1 in the environment. */
struct memkind_reached {
    enum memkind_reach reach;
    bool xnack;
};

/* Cores, or kernels of a gpu with their reach of the host's memory. */
struct memkind_user {
    place_id gpu; /* PLACE_NONE: cores */
    struct memkind_reached system, managed;
};

/* gpu: PLACE_NONE for cores. */
struct memkind_user memkind_user(const struct memkind_node *node, const struct snapshot *snap,
                                 place_id gpu);
struct memkind_reached memkind_reaches(const struct memkind_user *user,
                                       const struct memkind_node *node, const struct snapshot *snap,
                                       const struct memkind_place *place);

/* Prints the program's call. xnack: as above. */
void memkind_call(const struct memkind_node *node, const struct memkind_place *place, int64_t bytes,
                  bool xnack, char *buffer, size_t size);
