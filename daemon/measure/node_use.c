#include "measure/node_use.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cgroups of jobs: Slurm with cgroup v2, since 26.05 by its SLUID of 14 characters, and v1; PBS
 * with both. */
static const char *const jobs[] = {
    "/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_*",
    "/sys/fs/cgroup/system.slice/*slurmstepd.scope/s?????????????",
    "/sys/fs/cgroup/*/slurm*/uid_*/job_*",
    "/sys/fs/cgroup/pbs_jobs.service/jobid/*",
    "/sys/fs/cgroup/*/pbs_jobs.service/jobid/*",
};

static double read_number(const struct files *io, const char *path)
{
    char *text = NULL;
    double number = 0;
    if (files_read(io, path, 256, &text, NULL) == BERTH_OK)
        number = strtod(text, NULL);
    free(text);
    return number;
}

struct node_use_gpus node_use_gpus(const struct files *io)
{
    struct node_use_gpus use = {.openings = (long)read_number(io, "/sys/module/nvidia_uvm/refcnt")};
    char **names = NULL;
    if (files_list(io, "/sys/class/kfd/kfd/proc", &names, NULL) == BERTH_OK)
        for (char **name = names; *name != NULL; name++)
            use.processes += isdigit((unsigned char)**name) != 0;
    files_names_free(names);
    return use;
}

/* Copies the name of the first cgroup of a job. */
static bool find_job(const struct files *io, char *ret_name, size_t size)
{
    bool found = false;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0] && !found; i++) {
        char pattern[4200];
        glob_t paths;
        snprintf(pattern, sizeof pattern, "%s%s", io->root, jobs[i]);
        if (glob(pattern, GLOB_ONLYDIR | GLOB_NOSORT, NULL, &paths) != 0)
            continue;
        found = paths.gl_pathc > 0;
        if (found)
            snprintf(ret_name, size, "%s", strrchr(paths.gl_pathv[0], '/') + 1);
        globfree(&paths);
    }
    return found;
}

bool node_use_has_job(const struct files *io, char *ret_why, size_t size)
{
    char job[64];
    if (!find_job(io, job, sizeof job))
        return false;
    snprintf(ret_why, size, "%s is on the node", job);
    return true;
}

bool node_use_is_loaded(const struct files *io, size_t cpus, double per_cpu, char *ret_why,
                        size_t size)
{
    double load = read_number(io, "/proc/loadavg"), most = per_cpu * (double)cpus;
    if (!(load > (most > 1 ? most : 1)))
        return false;
    snprintf(ret_why, size, "the node has a load of %.2f", load);
    return true;
}
