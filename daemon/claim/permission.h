/**
 * What somebody who is no administrator may claim: the cpus and NUMA nodes that the kernel lets it
 * use (/proc/PID/status, where an affinity or a cpuset can only narrow what there is), and the gpus
 * whose device node its user and groups may open. What the device controller of a cgroup allows, no
 * file says: it is not looked at, and neither are access control lists. A process that has ids
 * other than the peer's, as a setuid program has, claims nothing. Any thread.
 */
#pragma once
#include "base/err.h"
#include "base/files.h"
#include "base/peer.h"
#include "claim/claim.h"

/* Whether the peer may have this claim. For computing every cpu, NUMA node and gpu inside its
 * places must be the peer's; for profiling every gpu. Nothing tells whose a nic or a switch is:
 * naming one is for administrators. PERMISSION_DENIED says for what; NO_MEMORY. */
enum berth_code claim_permission(const struct files *io, const struct graph *graph,
                                 const struct peer *peer, const struct claim *claim,
                                 struct berth_err *err);
