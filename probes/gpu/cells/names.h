/** Checks the names of a person's command line against the machine. Pure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "gpu/cells/run.h"

#define GPU_NAMES_TEXT 4096 /* room for the sentence: 64 GPUs and 64 NUMA nodes */

#define GPU_NAMES_SET_FLOWS 16

struct gpu_names_set {
    bool by_kernel; /* else by copy engine */
    int count;
    int flow[GPU_NAMES_SET_FLOWS][2]; /* devices, from and to; -1 one that was left out */
};

/* Reads "FROM>TO+FROM>TO", and more of them, behind "kernel/" by kernel. False when it is no set of
 * several copies between GPUs of this machine; *ret then has the part that was read. */
bool gpu_names_set(const struct gpu_node *node, const char *text, struct gpu_names_set *ret);

/* True when every name of the places, of without (NULL-terminated) and of sets is one of the
 * node's. Every skipped cell must be "metric from to" with names that a record has. GPUs that were
 * left out are valid names, too. False: one sentence gives the wrong name and the valid ones. */
bool gpu_names_check(const struct gpu_node *node, const struct gpu_selection *selection,
                     const char *const *without, char *ret_text, size_t size);
