/**
 * Pages of this process on the NUMA nodes of the host.
 */
#pragma once
#include "lib/lib.h"

/* Maps bytes of memory whose pages come from a NUMA node, as they are touched. NULL on failure;
 * errno says why. Ended by lib_pages_free. */
void *lib_pages_new(int node, size_t bytes);
void lib_pages_free(void *memory, size_t bytes);

/* Touches memory, and gets its pages from a NUMA node while that has room. False when the kernel
 * takes no policy; errno says why. */
bool lib_pages_touch(int node, void *memory, size_t bytes);

/* NUMA node of a page; -1 unknown, or not touched yet. */
int lib_pages_node(const void *memory);

/* Node of "numa3"; -1 for another name. */
int lib_pages_number(const char *name);
