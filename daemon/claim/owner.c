#include "claim/owner.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim/proc.h"

#define CGROUP_ROOT "/sys/fs/cgroup/"
#define PROCS_MAX   (1 << 20) /* largest list of processes, in bytes */

__attribute__((format(printf, 3, 4))) static enum berth_code
gone(struct berth_err *err, const char *parameter, const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    err_text(err, 0, parameter);
    return err_set(err, BERTH_NO_SUCH_OWNER, "%s: %s", parameter, why);
}

enum berth_code claim_owner_process(const struct files *io, const struct peer *peer, int64_t pid,
                                    struct claim_owner *ret, struct berth_err *err)
{
    struct claim_proc process;
    struct berth_err why = {0};
    uint64_t before = 0, after = 0;
    if (pid <= 0 || pid > INT32_MAX)
        return err_invalid(err, "owner_pid", "%" PRId64 " is no process", pid);
    /* Read the start time before and after the user, so that both belong to one process. */
    enum berth_code code = claim_proc_start(io, (pid_t)pid, &before, &why);
    if (code == BERTH_OK)
        code = claim_proc_read(io, (pid_t)pid, &process, &why);
    if (code == BERTH_OK)
        code = claim_proc_start(io, (pid_t)pid, &after, &why);
    if (code == BERTH_OK && before != after)
        code = err_set(&why, BERTH_ABSENT, "process %" PRId64 " has ended", pid);
    if (code == BERTH_ABSENT)
        return gone(err, "owner_pid", "%s", why.detail);
    if (code == BERTH_OK && process.leader != (pid_t)pid)
        return gone(err, "owner_pid", "%" PRId64 " is a thread of process %jd", pid,
                    (intmax_t)process.leader);
    if (code != BERTH_OK)
        return err_set(err, code, "%s", why.detail);
    if (peer->uid != 0 && process.uid != peer->uid)
        return err_set(err, BERTH_PERMISSION_DENIED, "owner_pid: process %" PRId64 " is not yours",
                       pid);
    *ret = (struct claim_owner){.pid = (pid_t)pid, .start_ticks = before};
    return BERTH_OK;
}

/* Returns through *ret_populated if the cgroup has a process. ABSENT when there is no such
 * cgroup. */
static enum berth_code is_populated(const struct files *io, const char *cgroup, bool *ret_populated,
                                    struct berth_err *err)
{
    char path[CLAIM_CGROUP_MAX + 32], *text = NULL;
    snprintf(path, sizeof path, "%s/cgroup.events", cgroup);
    enum berth_code code = files_read(io, path, 4096, &text, err);
    if (code != BERTH_OK)
        return code;
    const char *line = strncmp(text, "populated ", 10) == 0 ? text : strstr(text, "\npopulated ");
    bool populated = line != NULL && strtol(strchr(line, ' '), NULL, 10) == 1;
    free(text);
    *ret_populated = populated;
    return BERTH_OK;
}

/* True when the cgroup itself has a process of the user. Cgroups below may be other users'. */
static bool has_process_of(const struct files *io, const char *cgroup, uid_t uid)
{
    char path[CLAIM_CGROUP_MAX + 32], *text = NULL, *rest = NULL;
    bool has = false;
    snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
    if (files_read(io, path, PROCS_MAX, &text, NULL) != BERTH_OK)
        return false;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && !has;
         line = strtok_r(NULL, "\n", &rest)) {
        struct claim_proc process;
        has = claim_proc_read(io, (pid_t)strtol(line, NULL, 10), &process, NULL) == BERTH_OK &&
              process.uid == uid;
    }
    free(text);
    return has;
}

static bool is_in_cgroup(const struct files *io, struct claim_lineage *process, const char *cgroup)
{
    if (!process->has_cgroup &&
        !claim_proc_cgroup(io, process->pid, process->cgroup, sizeof process->cgroup))
        process->cgroup[0] = '\0';
    process->has_cgroup = true;
    return claim_proc_is_in(process->cgroup, cgroup);
}

enum berth_code claim_owner_cgroup(const struct files *io, const struct peer *peer,
                                   const char *path, struct claim_owner *ret, struct berth_err *err)
{
    bool populated = false;
    size_t length = strlen(path);
    if (strncmp(path, CGROUP_ROOT, sizeof CGROUP_ROOT - 1) != 0 || length >= CLAIM_CGROUP_MAX ||
        path[length - 1] == '/' || strstr(path, "/..") != NULL || strstr(path, "//") != NULL ||
        strstr(path, "/./") != NULL)
        return err_invalid(err, "owner_cgroup",
                           "it is no path below " CGROUP_ROOT ", such as " CGROUP_ROOT
                           "system.slice/job7");
    enum berth_code code = is_populated(io, path, &populated, NULL);
    if (code == BERTH_NO_MEMORY)
        return err_set(err, code, "no memory for a claim");
    if (code != BERTH_OK)
        return gone(err, "owner_cgroup", "%.120s is no cgroup of version 2", path);
    if (!populated)
        return gone(err, "owner_cgroup",
                    "%.120s has no process yet, so that nothing would tell its end", path);
    struct claim_lineage process = {.pid = peer->pid};
    if (!peer->is_admin && !is_in_cgroup(io, &process, path) &&
        !has_process_of(io, path, peer->uid))
        return err_set(err, BERTH_PERMISSION_DENIED, "%.120s has no process of yours", path);
    *ret = (struct claim_owner){.cgroup = (char *)path};
    return BERTH_OK;
}

bool claim_owner_lives(const struct files *io, const struct claim_owner *owner)
{
    uint64_t ticks;
    bool populated;
    enum berth_code code = BERTH_OK;
    if (owner->pid != 0) {
        code = claim_proc_start(io, owner->pid, &ticks, NULL);
        return code == BERTH_OK ? ticks == owner->start_ticks : code == BERTH_NO_MEMORY;
    }
    if (owner->cgroup != NULL) {
        code = is_populated(io, owner->cgroup, &populated, NULL);
        return code == BERTH_OK ? populated : code == BERTH_NO_MEMORY;
    }
    return true;
}

static void read_ancestors(const struct files *io, struct claim_lineage *process)
{
    struct claim_proc found;
    process->has_ancestors = true;
    for (pid_t pid = process->pid; pid > 1 && process->count < CLAIM_LINEAGE_MAX;
         pid = found.parent) {
        process->line[process->count++] = pid;
        if (claim_proc_read(io, pid, &found, NULL) != BERTH_OK)
            break;
    }
}

bool claim_owner_holds(const struct files *io, const struct claim_owner *owner,
                       struct claim_lineage *process)
{
    if (owner->cgroup != NULL)
        return is_in_cgroup(io, process, owner->cgroup);
    if (owner->pid != 0 && !process->has_ancestors)
        read_ancestors(io, process);
    for (size_t i = 0; i < process->count; i++)
        if (process->line[i] == owner->pid)
            return claim_owner_lives(io, owner);
    return false;
}

bool claim_owner_is_for(const struct files *io, const struct claim *claim, uid_t uid,
                        struct claim_lineage *process)
{
    return process != NULL && process->pid > 0 && (claim->uid == uid || claim->uid == 0) &&
           claim_owner_holds(io, &claim->owner, process);
}
