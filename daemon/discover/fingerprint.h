/**
 * The fingerprint of a node: the same text for the same hardware at every boot, a different text
 * for different hardware.
 */
#pragma once
#include "node/graph.h"

/* Writes 32 hex digits (FNV-1a, 128 bits) over all places: their kinds, parents, models, addresses
 * and uuids. Sizes are counted in steps of 9 %, because the firmware keeps a little more or less
 * memory for itself from boot to boot. Links, which may be down today, and software are left out.
 * Other facts that come and go are left out, too:
 *  - The size of a NUMA node's memory where it is the only one with memory, or where the nodes and
 *    the kernel disagree about the total. In a virtual machine the host changes it at any time.
 *  - The uuid and the memory of a gpu that has an address. The driver may not report them before
 *    the gpu's first use, and berthd serves earlier than that.
 *  - A switch without an address: only links reported by a driver lead to it. */
void fingerprint(const struct graph *graph, char ret_text[33]);
