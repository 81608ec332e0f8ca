/**
 * Transfers between gpus that do not go the way that links show, because they get more than it can carry: what joins these gpus nobody told of (NVLink that a virtual machine hides, where all that
 * is seen is each gpu's own PCIe link to the host).
 *
 * So much is certain where a link between a gpu and a NUMA node is said to carry clearly less, and copies with the host, which do go over it, are known and bear the figure out: a link that lay idle
 * when it was looked at may say too little, and then these say so first. Such a transfer uses no link of that way, raises no link's capacity, and takes nothing from copies with the host.
 *
 * Pure; any thread.
 */
#pragma once
#include "resource_structure.h"

/* While the structure is made, before any capacity is raised by what was seen. False when out of memory. */
bool resource_elsewhere(const struct graph *graph, const struct values *values, const struct sets *sets, struct resource_structure *structure);
