/**
 * The AMD driver's topology tree in sysfs, read into plain structs and checked for errors that are
 * visible without another source. Formats: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c and
 * kfd_crat.h.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/files.h"

enum kfd_link_type {
    KFD_LINK_HYPERTRANSPORT = 1,
    KFD_LINK_PCIE = 2,
    KFD_LINK_QPI = 5,
    KFD_LINK_XGMI = 11
};

/* Weights of XGMI links. Others are sums over several hops. */
enum kfd_weight {
    KFD_WEIGHT_SAME_DEVICE = 13,
    KFD_WEIGHT_XGMI_HOP = 15,
    KFD_WEIGHT_PARTITION_TO_PARTITION = 41
};

struct kfd_link {
    uint64_t type, from, to, weight;
    uint64_t min_megabytes_per_s, max_megabytes_per_s; /* one link, all links; 0 unknown */
};

struct kfd_node {
    int32_t number;
    uint64_t cpu_count, simd_count, simd_per_cu, gfx_version, device_id, domain, location,
        render_minor, hive, unique, xcc_count;
    uint64_t gpu_id;        /* 0 unknown */
    int64_t memory_bytes;   /* sum of its banks; -1 unknown */
    char name[32];          /* "" unknown */
    struct kfd_link *links; /* owned; io_links */
    size_t link_count;
    size_t peer_count;   /* entries in p2p_links */
    uint64_t counted[3]; /* number of entries of each of kfd_lists according to the properties */
    size_t present[3];   /* number of entries that exist */
};

extern const char *const kfd_lists[3]; /* "io_links", "p2p_links", "mem_banks" */

struct kfd_tree {
    struct kfd_node *nodes; /* owned; ascending numbers */
    size_t count;
};

/* Reads path/topology/nodes below io. Fails with ABSENT when there is none, or no node with a gpu.
 * Fails with BAD_DATA and the file's name when a file cannot be the kernel's. Nodes whose
 * properties may not be read (cgroup) are left out. */
enum berth_code kfd_read(const struct files *io, const char *path, struct kfd_tree *ret_tree,
                         struct berth_err *err);
void kfd_done(struct kfd_tree *tree);

/* Returns the node of that number; NULL when there is none. */
const struct kfd_node *kfd_find(const struct kfd_tree *tree, uint64_t number);
