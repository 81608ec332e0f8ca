/**
 * Which device each of Slurm's gpu numbers means. SLURM_JOB_GPUS and SLURM_STEP_GPUS count places
 * in Slurm's own list of a node's devices (the GRES index): that of gres.conf as it is written, or,
 * where Slurm finds the gpus itself (AutoDetect), the order of their PCI addresses. Source:
 * gres_p_node_config_load and _sort_gpu_by_links_order in src/plugins/gres/gpu/gres_gpu.c of
 * Slurm 22.05; gres.conf(5).
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SLURM_GPUS_MOST 256

struct slurm_gres {
    /* in the order of the lines; of a device of several files the first */
    char file[SLURM_GPUS_MOST][108];
    /* 0: gres.conf names no files: Slurm finds the gpus itself, or has none */
    int count;
    bool is_automatic; /* Slurm has sorted them */
};

/* Takes the gpus of this node (NULL: of lines for all nodes alone) from the text of a gres.conf. A
 * line that is not understood is left out, and so is what it includes. False when out of memory. */
bool slurm_gres_read(const char *text, const char *node, struct slurm_gres *ret);

/* The same from gres.conf itself, with the files that it includes: path, else beside $SLURM_CONF,
 * in Slurm's cache of a configuration that came from its controller, or in /etc/slurm. None of them
 * there: no devices. False with a line in why when one is there and cannot be read: which gpus
 * Slurm means is not known then. */
bool slurm_gres_load(const char *path, struct slurm_gres *ret, char *why, size_t size);

/* The names of the gpus that numbers such as "0-3,7" mean, borrowed from node (what GetNode
 * replied). How many; -1 with a line in why when one of them is not to be told. */
int slurm_gres_names(const struct slurm_gres *gres, const json_t *node, const char *numbers,
                     const char *ret_names[SLURM_GPUS_MOST], char *why, size_t size);
