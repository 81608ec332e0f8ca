/**
 * Transfers between gpus that do not go the way that links show, because they get more than it can
 * carry: what joins these gpus nobody told of (NVLink that a virtual machine hides, where all that
 * is seen is each gpu's own PCIe link to the host).
 *
 * So much is certain where a link between a gpu and a NUMA node is said to carry clearly less, and
 * copies with the host, which do go over it, are known and bear the figure out: a link that lay
 * idle when it was looked at may say too little, and then these say so first. Such a transfer uses
 * no link of that way, raises no link's capacity, and takes nothing from copies with the host.
 *
 * Pure; any thread.
 */
#pragma once
#include "node/link_path.h"
#include "node/sets.h"
#include "node/values.h"

struct resource_elsewhere {
    uint16_t *gpu; /* owned: by place, its index among the gpus */
    bool *pair;    /* owned: by from and to */
    size_t count;
};

/* sets NULL: none. False when out of memory. */
bool resource_elsewhere_find(const struct graph *graph, const struct values *values,
                             const struct sets *sets, const struct link_paths *paths,
                             struct resource_elsewhere *ret);
void resource_elsewhere_done(struct resource_elsewhere *elsewhere);

/* Of two gpus; false of all others. */
bool resource_elsewhere_has(const struct resource_elsewhere *elsewhere, const struct graph *graph,
                            place_id from, place_id to);
