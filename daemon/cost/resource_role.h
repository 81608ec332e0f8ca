/**
 * What transfers may share by the structure of a node: ports of modules and switches, memories,
 * gpus, links; each for one direction or for both. Whether they do is for measurements to say
 * (cost/resource_fit.h). Pure.
 *
 * GPU memory belongs to its gpu, so that a flow goes from or to a gpu, a NUMA node, or what the
 * caller measured else, which shares nothing here.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "node/graph.h"
#include "node/pci.h"

enum resource_part {
    /* between two linked places: both directions, or out from place to other, or in from other to
     * place */
    RESOURCE_LINK,
    RESOURCE_GPU, /* all from or to a gpu */
    /* of a module of several gpus, or of several at a NUMA node that are of no one module:
     * between them and the host */
    RESOURCE_HOST_PORT,
    /* of several gpus behind one port of the host (detail pcie_port): between them and what is
     * not behind it; place is the lowest gpu */
    RESOURCE_PCIE_PORT,
    /* of a gpu: between it and the host, where transfers with gpus of other hives go as well */
    RESOURCE_HOST_LINK,
    /* all gpus of a hive (cost/resource_hive.h), between them and the host, where there are
     * several hives; place is its lowest gpu */
    RESOURCE_HIVE,
    /* of a gpu with links to several switches: all of them together, between it and other gpus
     * there */
    RESOURCE_SWITCH_PORT,
    RESOURCE_SWITCH,  /* between the gpus at a switch and all else; through: among them */
    RESOURCE_MEMORY,  /* of a NUMA node */
    RESOURCE_PACKAGE, /* all NUMA nodes of a package that has several */
};

enum resource_direction { RESOURCE_OUT, RESOURCE_IN, RESOURCE_BOTH, RESOURCE_THROUGH };

struct resource_role {
    enum resource_part part;
    enum resource_direction direction;
    place_id place, other; /* other: the link's second gpu, else PLACE_NONE */
    size_t level;          /* of a PCIe port, from the host on: 0 the one next to it */
};

/* All of the node, what is more particular first; the caller frees them. NULL when out of memory.
 */
struct resource_role *resource_role_all(const struct graph *graph, size_t *ret_count);

/* The lowest gpu behind the same PCIe port of that level as a gpu or nic, where several gpus share
 * one; PLACE_NONE. */
place_id resource_role_pcie_port(const struct graph *graph, place_id place, size_t level);

/* Whether a transfer uses it; for ports to switches and PCIe ports resource_structure_has. hive: by
 * place, as resource_hive_find has it. over_host: between gpus, its bytes go through the host. */
bool resource_role_has(const struct graph *graph, const struct resource_role *role,
                       const place_id *hive, bool over_host, place_id from, place_id to);

/* Whether it is the port of gpus at a NUMA node, which nothing but measurements can show (a PCIe
 * switch that the tree does not tell). */
bool resource_role_is_hidden(const struct graph *graph, const struct resource_role *role);

/* "numa0:memory:write", "module1:host-port:out", "numa0:gpu-port:in", "gpu0:pcie-port:in",
 * "gpu3:in", "gpu3:switch-port:in", "gpu3:host-link:in", "gpu4:hive:out", "gpu0-gpu1:link"; from
 * gpu0 to gpu1 "gpu0-gpu1:link:out". */
void resource_role_name(const struct graph *graph, const struct resource_role *role, char *buffer,
                        size_t size);
