/**
 * The fingerprint of a node: the same hardware gives the same text at every boot, other hardware
 * another.
 */
#pragma once
#include "node/graph.h"

/* 32 hex digits (FNV-1a, 128 bits) over what kinds of places there are, where they are, their
 * models, addresses and uuids, and their sizes in steps of 9 %, because the firmware keeps a little
 * more or less memory for itself from boot to boot. Not over links, which may be down today, nor
 * software. Not over more things that come and go:
 *  - the size of a NUMA node's memory where it is the only one with memory, or where the nodes and
 * the kernel disagree about how much there is: in a virtual machine it moves by as much as the host
 * likes;
 *  - the uuid and the memory of a gpu that has an address: the driver may not know them before the
 * gpu's first use, and berthd serves before it has answered;
 *  - a switch without an address: only links that a driver tells of lead to it. */
void fingerprint(const struct graph *graph, char ret_text[33]);
