#include "claim/permission.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "claim/proc.h"
#include "node/gpu.h"

static enum berth_code denied(struct berth_err *err, const char *place, const char *why)
{
    return err_set(err, BERTH_PERMISSION_DENIED, "%s is not yours to claim: %s", place, why);
}

/* True when the process may read and write the file. Like the kernel, checks the first class of
 * permission bits that applies; ignores access control lists. */
static bool may_open(const struct stat *status, const struct claim_proc *process)
{
    if (status->st_uid == process->uid)
        return (status->st_mode & 0600) == 0600;
    bool in_group = status->st_gid == process->gid;
    for (size_t i = 0; i < process->group_count; i++)
        in_group |= status->st_gid == process->groups[i];
    return in_group ? (status->st_mode & 0060) == 0060 : (status->st_mode & 0006) == 0006;
}

static enum berth_code check_gpu(const struct files *io, const struct place *gpu,
                                 const struct claim_proc *process, struct berth_err *err)
{
    char node[64] = "";
    struct stat status;
    if (gpu_vendor(gpu) == VENDOR_NVIDIA && gpu->minor >= 0)
        snprintf(node, sizeof node, "/dev/nvidia%" PRId32, gpu->minor);
    else if (gpu->render_node != NULL)
        snprintf(node, sizeof node, "%s", gpu->render_node);
    if (node[0] == '\0' || files_stat(io, node, &status, NULL) != BERTH_OK)
        return denied(err, gpu->name, "its device node is not known here");
    return may_open(&status, process) ? BERTH_OK
                                      : denied(err, gpu->name, "you may not open its device node");
}

static enum berth_code check_place(const struct files *io, const struct graph *graph,
                                   place_id place, bool is_compute,
                                   const struct claim_proc *process, struct berth_err *err)
{
    const struct place *asked = graph_place(graph, place);
    const struct cpuset *cpus = claim_cpus(asked);
    enum berth_code code = BERTH_OK;
    if (asked->kind == PLACE_NIC || asked->kind == PLACE_SWITCH)
        return denied(err, asked->name, "nothing tells whose it is");
    if (is_compute && asked->kind <= PLACE_PU && asked->kind != PLACE_NUMA && cpus == NULL)
        return denied(err, asked->name, "its cpus are not known");
    if (is_compute && cpus != NULL && !cpuset_contains(&process->cpus, cpus))
        return denied(err, asked->name, "it has cpus that you may not run on");
    for (place_id p = 0; code == BERTH_OK && (size_t)p < graph->place_count; p++) {
        const struct place *inner = graph_place(graph, p);
        bool matters = inner->kind == PLACE_GPU || (is_compute && inner->kind == PLACE_NUMA);
        if (!matters || !claim_is_inside(graph, place, p))
            continue;
        if (inner->kind == PLACE_GPU)
            code = check_gpu(io, inner, process, err);
        else if (!cpuset_has(&process->memory, (unsigned)inner->number))
            code = denied(err, inner->name, "you may not allocate on it");
    }
    return code;
}

enum berth_code claim_permission(const struct files *io, const struct graph *graph,
                                 const struct peer *peer, const struct claim *claim,
                                 struct berth_err *err)
{
    struct claim_proc process;
    char name[CLAIM_PLACE_SIZE];
    if (peer->is_admin)
        return BERTH_OK;
    enum berth_code code =
        peer->pid > 0 ? claim_proc_read(io, peer->pid, &process, NULL) : BERTH_ABSENT;
    if (code == BERTH_NO_MEMORY)
        return err_set(err, code, "no memory for a claim");
    if (code == BERTH_OK && process.has_other_ids)
        return denied(err, "the node",
                      "your process has rights that are not yours, as a setuid program has");
    if (code != BERTH_OK || process.uid != peer->uid || process.gid != peer->gid)
        return denied(err, "the node", "your process is not to be seen from here");
    for (const char *at = claim->places; code == BERTH_OK && claim_next_place(&at, name);)
        code = check_place(io, graph, graph_find(graph, name), claim->purpose == CLAIM_COMPUTE,
                           &process, err);
    return code;
}

/* Returns the longest duration of such a claim, in seconds. */
static int64_t longest_s(const struct config *config, bool is_admins, bool has_owner)
{
    return is_admins || has_owner ? config->claim_ttl_max_s : config->claim_ttl_user_max_s;
}

enum berth_code claim_check_ttl(const struct config *config, const struct claim *claim,
                                const struct claim *before, int64_t ttl_s, struct berth_err *err)
{
    int64_t most_s =
        longest_s(config, claim->is_admins, claim_has_owner(claim) || claim_has_owner(before));
    if (ttl_s <= most_s)
        return BERTH_OK;
    return err_invalid(err, "ttl_s",
                       "a claim that ends with no process or cgroup lasts %" PRId64
                       " s at most; owner_pid or owner_cgroup names one (berth claim --owner $$)",
                       most_s);
}

void claim_cut_deadline(const struct config *config, struct claim *stored, uint64_t now_ns)
{
    int64_t most_s = longest_s(config, stored->is_admins, claim_has_owner(stored));
    uint64_t latest_ns = now_ns + (uint64_t)most_s * 1000000000u;
    if (stored->deadline_ns > latest_ns)
        stored->deadline_ns = latest_ns;
}
