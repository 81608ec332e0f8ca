/**
 * Permission to claim: which places, and for how long. Ordinary users may claim the cpus and NUMA
 * nodes that the kernel allows them: /proc/PID/status, which affinity and cpusets can only narrow.
 * They may claim GPUs whose device node their user and groups may open. Device controllers of
 * cgroups are ignored, because no file shows their rules; so are access control lists. A process
 * with ids other than the peer's, such as a setuid program, may claim nothing. Any thread.
 */
#pragma once
#include "base/config.h"
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

/* Checks that the claim may last ttl_s seconds. before: the claim that it renews, whose owner it
 * keeps; NULL none. Claims of ordinary users without an owner last claim_ttl_user_max_s at most;
 * for others the caller has cut ttl_s to claim_ttl_max_s. Fails with INVALID_PARAMETER (ttl_s). */
enum berth_code claim_check_ttl(const struct config *config, const struct claim *claim,
                                const struct claim *before, int64_t ttl_s, struct berth_err *err);

/* Cuts the deadline of a stored claim to the latest one of a new claim like it at now_ns. */
void claim_cut_deadline(const struct config *config, struct claim *stored, uint64_t now_ns);
