/**
 * Devices of Slurm's gpu numbers. SLURM_JOB_GPUS and SLURM_STEP_GPUS count places in Slurm's own
 * list of a node's devices (the GRES index). That is the order of gres.conf or, where Slurm finds
 * the gpus itself (AutoDetect), of their PCI addresses. Source: gres_p_node_config_load and
 * _sort_gpu_by_links_order in src/plugins/gres/gpu/gres_gpu.c of Slurm 22.05; gres.conf(5).
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/task/slurm_list.h"

struct slurm_gres {
    /* device files in the order of the lines; the first file of a device with several */
    char file[SLURM_GPUS_MOST][108];
    /* 0: gres.conf names no files; Slurm finds the gpus itself, or has none */
    int count;
    bool is_automatic; /* true when Slurm has sorted the gpus */
};

/* Reads the gpus of this node from the text of a gres.conf; node NULL reads only lines for all
 * nodes. Skips invalid lines and Include lines. False when out of memory. */
bool slurm_gres_read(const char *text, const char *node, struct slurm_gres *ret);

/* Reads gres.conf and the files that it includes. Looks at path, else beside $SLURM_CONF, in
 * Slurm's cache of a configuration from its controller, or in /etc/slurm. Gives no devices when no
 * file exists. False with a line in why when a file exists but is not readable: Slurm's numbers
 * then have no known meaning. */
bool slurm_gres_load(const char *path, struct slurm_gres *ret, char *why, size_t size);

/* Finds the names of the gpus for numbers such as "0-3,7". The names are borrowed from node,
 * GetNode's reply. Returns their number; -1 with a line in why when a gpu cannot be identified. */
int slurm_gres_names(const struct slurm_gres *gres, const json_t *node, const char *numbers,
                     const char *ret_names[SLURM_GPUS_MOST], char *why, size_t size);
