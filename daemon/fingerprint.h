/**
 * The fingerprint of a node: the same hardware gives the same text at every boot, other hardware another.
 */
#pragma once
#include "graph.h"

/* 32 hex digits (FNV-1a, 128 bits) over what kinds of places there are, where they are, their models, addresses and uuids, and
 * their sizes in steps of 9 %, because the firmware keeps a little more or less memory for itself from boot to boot. Not over links, which may be
 * down today, nor software. */
void fingerprint(const struct graph *graph, char ret_text[33]);
