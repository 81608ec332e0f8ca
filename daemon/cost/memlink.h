/**
 * What cores get of the memory of another processor that has it in common with its gpu, where
 * nobody measured it: the links between such packages (MI300A) are stated as their gpus', and carry
 * what cores move as well.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/memkind.h"
#include "cost/memrate.h"

/* Bytes per second, an upper end without an interval: each NUMA node's cores move their share, from
 * their own memory as its rate says, from another by the links. With a warning, and the evidence
 * there is. value is NAN where cores are not all in such packages, or nothing is known of a link.
 * how: "read" or "write". NO_MEMORY. */
enum berth_code memlink_stream(const struct memkind_node *node, const struct snapshot *snap,
                               const struct accessor *who, place_id memory, const char *how,
                               struct memrate_basis *basis, struct memrate *ret,
                               struct berth_err *err);
