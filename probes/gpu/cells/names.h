/** Checks the names of a person's command line against the machine. Pure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gpu/cells/run.h"

#define GPU_NAMES_TEXT 4096 /* room for the sentence: 64 GPUs and 64 NUMA nodes */

/* Reads two copies between GPUs, "FROM>TO+FROM>TO", as numbers of devices. A device that was left
 * out or is not the node's is -1. False: the text has another form, or a copy is from a GPU to
 * itself. */
bool gpu_names_set(const struct gpu_node *node, const char *text, int ret_device[4]);

/* True when every name of the places, of without (NULL-terminated) and of sets is one of the
 * node's. Every skipped cell must be "metric from to" with names that a record has. GPUs that were
 * left out are valid names, too. False: one sentence gives the wrong name and the valid ones. */
bool gpu_names_check(const struct gpu_node *node, const struct gpu_selection *selection,
                     const char *const *without, char *ret_text, size_t size);
