/**
 * What a task's environment says so that its libraries use the nics next to it, where that is
 * surely right:
 *
 * - UCX_NET_DEVICES, of UCX, which Open MPI and MPICH are built on: the task's own InfiniBand and
 * RoCE devices, each with its port ("mlx5_0:1").
 * - NCCL_IB_HCA, of NCCL and RCCL: the same in all tasks of a node, because each must see the same
 * nics (NVIDIA/nccl, issue 1478: ranks that see different ones build rings that do not fit). It
 * names exactly ("=") those that are next to any of the node's gpus, and of these NCCL takes the
 * nearest to each by itself.
 * - MPICH_OFI_NIC_POLICY, of Cray MPICH on Slingshot, is for all ranks of a job: NUMA, where each
 * task's nics are those of the one NUMA node that it runs on.
 *
 * What is known of a nic: its "verbs" name, its "port_state", and "ports" where it has several.
 * Devices whose names say neither InfiniBand nor RoCE (EFA, iWARP, Omni-Path) are none for these.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/bind.h"

/* The value of UCX_NET_DEVICES for a task with these nics, that the caller frees; NULL: none would
 * surely be right, and where one of them is such a device, ret_why is it, else PLACE_NONE.
 * NO_MEMORY. */
enum berth_code nic_variables_ucx(const struct graph *graph, const place_id *nic, size_t count,
                                  char **ret, place_id *ret_why, struct berth_err *err);

/* Why that one is not named: "nic4 (mlx5_2) has no port that is known to be active". */
const char *nic_variables_why(const struct graph *graph, place_id nic, char *text, size_t size);

/* The value of NCCL_IB_HCA for all tasks with gpus of this node, that the caller frees; NULL: some
 * gpu has no such device next to it, or none is active. NO_MEMORY. */
enum berth_code nic_variables_nccl(const struct snapshot *snap, char **ret, struct berth_err *err);

/* "MPICH_OFI_NIC_POLICY=NUMA", that the caller frees; NULL: that would not give each task its nics.
 * NO_MEMORY. */
enum berth_code nic_variables_cray(const struct graph *graph, const struct bind_answer *answer,
                                   char **ret, struct berth_err *err);
