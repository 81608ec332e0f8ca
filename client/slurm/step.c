/* Claim of a job's cores by its first step on the node. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "slurm/cores.h"
#include "slurm/job.h"

#define PLACEMENT "io.berth.Placement."

/* The name of a job's cgroup: job_12, or since Slurm 26.05 its SLUID, 14 characters from an s on.
 */
static bool is_job(const char *name, size_t length, uint32_t job)
{
    char number[32];
    int size = snprintf(number, sizeof number, "job_%" PRIu32, job);
    return (length == (size_t)size && memcmp(name, number, length) == 0) ||
           (length == 14 && *name == 's');
}

/* Finds the job's cgroup of version 2 from the cgroup of one of its processes: ".../job_12" of
 * ".../job_12/step_0/user/task_0". */
static bool find_cgroup(pid_t task, uint32_t job, char *ret, size_t size)
{
    char path[40], line[2048];
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)task);
    FILE *file = fopen(path, "re");
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        char *end = strncmp(line, "0::/", 4) == 0 ? strstr(line, "/step_") : NULL;
        if (end == NULL)
            continue;
        *end = '\0';
        const char *name = strrchr(line, '/') + 1;
        is_found = is_job(name, (size_t)(end - name), job) &&
                   (size_t)snprintf(ret, size, "/sys/fs/cgroup%s", line + 3) < size;
    }
    if (file != NULL)
        fclose(file);
    return is_found;
}

/* Finds the claim of the prolog; NULL when there is none. has_cores: an earlier step has added
 * cores. */
static const json_t *find_claim(const json_t *reply, const char *key, bool *ret_has_cores)
{
    size_t i, j;
    const json_t *claimed, *place;
    *ret_has_cores = false;
    json_array_foreach(json_object_get(reply, "claims"), i, claimed)
    {
        const char *its = json_string_value(json_object_get(claimed, "key"));
        if (its == NULL || strcmp(its, key) != 0 ||
            json_integer_value(json_object_get(claimed, "uid")) != 0)
            continue;
        json_array_foreach(json_object_get(claimed, "places"), j, place) *ret_has_cores |=
            strncmp(json_string_value(place), "core", 4) == 0 ||
            strncmp(json_string_value(place), "pu", 2) == 0;
        return claimed;
    }
    return NULL;
}

static int claim(struct slurm_call *call, const char *key, const json_t *places, const char *cgroup,
                 bool is_own)
{
    json_t *parameters = json_pack("{s:O,s:s,s:s,s:I}", "places", places, "purpose", "compute",
                                   "key", key, "ttl_s", (json_int_t)slurm_job_ttl_s());
    bool fine = parameters != NULL;
    if (fine && cgroup != NULL)
        fine = json_object_set_new(parameters, "owner_cgroup", json_string(cgroup)) == 0;
    else if (fine && is_own)
        fine = json_object_set_new(parameters, "owner_pid", json_integer(getpid())) == 0;
    if (!fine) {
        json_decref(parameters);
        parameters = NULL;
    }
    return slurm_call(call, PLACEMENT "Claim", parameters, NULL);
}

static void add(struct slurm_call *call, const char *key, const json_t *places, const char *cgroup,
                bool is_own)
{
    int status = claim(call, key, places, cgroup, is_own);
    if (status == BERTH_ERROR_ALREADY_CLAIMED &&
        slurm_job_release_earlier(call, key, places, false))
        status = claim(call, key, places, cgroup, is_own);
    if (status == BERTH_ERROR_NO_SUCH_OWNER && cgroup != NULL) /* the daemon sees other cgroups */
        status = claim(call, key, places, NULL, is_own);
    if (status != BERTH_DONE)
        slurm_call_report(call, LOG_WARNING, "%s: the cores of the job are not claimed: %s", key,
                          slurm_call_why(call));
}

/* Places of the cores and of the claim. NULL when the cores cannot be identified. */
static json_t *list_places(const json_t *node, const char *cores, const json_t *claimed)
{
    char cpus[16384];
    json_t *places =
        slurm_cores_cpus(node, cores, cpus, sizeof cpus) ? slurm_cores_places(node, cpus) : NULL;
    if (places != NULL && json_array_extend(places, json_object_get(claimed, "places")) != 0 &&
        claimed != NULL) {
        json_decref(places);
        return NULL;
    }
    return places;
}

void slurm_step_claim(struct slurm_call *call, uint32_t job, const char *cores, pid_t task)
{
    char key[SLURM_JOB_KEY_SIZE], cgroup[2200];
    json_t *reply = NULL, *node = NULL, *places = NULL;
    bool has_cores = false;
    snprintf(key, sizeof key, SLURM_JOB_KEYS "%" PRIu32, job);
    int status = slurm_call(call, PLACEMENT "ListClaims", json_object(), &reply);
    const json_t *claimed = status == BERTH_DONE ? find_claim(reply, key, &has_cores) : NULL;
    if (status == BERTH_DONE && !has_cores)
        status = slurm_call(call, "io.berth.Fabric.GetNode", json_object(), &node);
    if (status == BERTH_DONE && !has_cores)
        places = list_places(node, cores, claimed);
    if (status != BERTH_DONE)
        slurm_call_report(call, LOG_WARNING, "%s: the cores of the job are not claimed: %s", key,
                          slurm_call_why(call));
    else if (!has_cores && (places == NULL || json_array_size(places) == 0))
        slurm_call_report(
            call, LOG_WARNING,
            "%s: the cores of the job are not claimed: which cpus Slurm's cores %.60s "
            "are cannot be told",
            key, cores);
    else if (!has_cores)
        add(call, key, places, find_cgroup(task, job, cgroup, sizeof cgroup) ? cgroup : NULL,
            claimed == NULL);
    json_decref(places);
    json_decref(node);
    json_decref(reply);
}
