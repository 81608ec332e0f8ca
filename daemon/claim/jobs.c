#include "claim/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "claim/proc.h"

#define FIRST_USER 1000 /* UID_MIN of login.defs(5); lower ones belong to the system */

/* Copies the first claimed place with a cpu of the set; false when there is none. */
static bool first_covered(const struct graph *graph, const struct claim *claim,
                          const struct cpuset *cpus, char name[CLAIM_PLACE_SIZE])
{
    for (const char *at = claim->places; claim_next_place(&at, name);) {
        place_id place = graph_find(graph, name);
        const struct cpuset *its =
            place != PLACE_NONE ? claim_cpus(graph_place(graph, place)) : NULL;
        if (its != NULL && cpuset_intersects(its, cpus))
            return true;
    }
    return false;
}

/* True when the process may be bound to claimed cpus. Costs one system call, a hundredth of reading
 * its status. */
static bool may_be_bound(const struct files *io, const struct graph *graph,
                         const struct claim *claim, const struct cpuset *all, pid_t pid)
{
    struct cpuset cpus = {0};
    char name[CLAIM_PLACE_SIZE];
    if (io->root[0] != '\0') /* recorded /proc: only its status tells */
        return true;
    if (syscall(SYS_sched_getaffinity, pid, sizeof cpus.word, cpus.word) < 0)
        return errno != ESRCH;
    return !cpuset_contains(&cpus, all) && first_covered(graph, claim, &cpus, name);
}

static bool is_users(const struct files *io, const char *name, uid_t except)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%.20s", name);
    return strspn(name, "0123456789") == strlen(name) &&
           files_stat(io, path, &status, NULL) == BERTH_OK && status.st_uid >= FIRST_USER &&
           status.st_uid != except;
}

static enum berth_code check_process(const struct files *io, const struct graph *graph,
                                     const struct claim *claim, const struct cpuset *all, pid_t pid,
                                     struct berth_err *err)
{
    struct claim_proc process;
    uint64_t start;
    char name[CLAIM_PLACE_SIZE], by[64];
    enum berth_code code = claim_proc_read(io, pid, &process, NULL);
    if (code == BERTH_NO_MEMORY)
        return err_set(err, code, "no memory for a claim");
    if (code != BERTH_OK || cpuset_contains(&process.cpus, all) ||
        !first_covered(graph, claim, &process.cpus, name) ||
        claim_proc_start(io, pid, &start, NULL) != BERTH_OK)
        return BERTH_OK;
    snprintf(by, sizeof by, "process %jd of uid %ju", (intmax_t)pid, (uintmax_t)process.uid);
    err_text(err, 0, name);
    err_text(err, 1, by);
    return err_set(err, BERTH_ALREADY_CLAIMED,
                   "%s has cpus of somebody's job: %s is bound to some of them", name, by);
}

enum berth_code claim_jobs_check(const struct files *io, const struct graph *graph,
                                 const struct claim *claim, struct berth_err *err)
{
    char **names = NULL;
    struct claim_proc first;
    enum berth_code code = claim_proc_read(io, 1, &first, NULL);
    if (code == BERTH_OK)
        code = files_list(io, "/proc", &names, NULL);
    if (code == BERTH_NO_MEMORY)
        return err_set(err, code, "no memory for a claim");
    if (code != BERTH_OK)
        return BERTH_OK;
    for (char **name = names; *name != NULL && code == BERTH_OK; name++) {
        pid_t pid = (pid_t)strtol(*name, NULL, 10); /* 0: no number */
        if (pid > 0 && may_be_bound(io, graph, claim, &first.cpus, pid) &&
            is_users(io, *name, claim->uid))
            code = check_process(io, graph, claim, &first.cpus, pid, err);
    }
    files_names_free(names);
    return code;
}
