/**
 * Permission of ordinary users to claim places. They may claim the cpus and NUMA nodes that the
 * kernel allows them: /proc/PID/status, which affinity and cpusets can only narrow. They may claim
 * GPUs whose device node their user and groups may open. Device controllers of cgroups are ignored,
 * because no file shows their rules; so are access control lists. A process with ids other than the
 * peer's, such as a setuid program, may claim nothing. Any thread.
 */
#pragma once
#include "base/err.h"
#include "base/files.h"
#include "base/peer.h"
#include "claim/claim.h"

/* Checks that the peer may have this claim. A claim for computing needs every cpu, NUMA node and
 * GPU inside its places; one for profiling needs every GPU. Only administrators may name a NIC or a
 * switch, because nothing shows whose it is. Fails with PERMISSION_DENIED, which names the place,
 * and with NO_MEMORY. */
enum berth_code claim_permission(const struct files *io, const struct graph *graph,
                                 const struct peer *peer, const struct claim *claim,
                                 struct berth_err *err);
