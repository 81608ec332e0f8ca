#include "slurm/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "lib/lib.h"
#include "slurm/gres.h"
#include "slurm/scontrol.h"

#define PLACEMENT "io.berth.Placement."
#define LONGEST_S (INT64_C(366) * 86400) /* the daemon cuts it to its limit */
#define ENDED_S   15
/* longest time of a job's processes and its epilog after the job's end */
#define CLEANUP_S 3600

bool slurm_job_key(char ret[SLURM_JOB_KEY_SIZE])
{
    const char *job = getenv("SLURM_JOB_ID");
    if (!lib_key_is_job(job))
        return false;
    snprintf(ret, SLURM_JOB_KEY_SIZE, SLURM_JOB_KEYS "%s", job);
    return true;
}

int64_t slurm_job_ttl_s(void)
{
    const char *end = getenv("SLURM_JOB_END_TIME");
    int64_t end_s = end != NULL ? strtoll(end, NULL, 10) : 0, now_s = time(NULL);
    return end_s > now_s && end_s - now_s < LONGEST_S ? end_s - now_s + CLEANUP_S : LONGEST_S;
}

static int claim(struct slurm_call *call, const char *key, const json_t *places)
{
    return slurm_call(call, PLACEMENT "Claim",
                      json_pack("{s:O,s:s,s:s,s:I}", "places", places, "purpose", "compute", "key",
                                key, "ttl_s", (json_int_t)slurm_job_ttl_s()),
                      NULL);
}

static bool covers_any(const json_t *claimed, const json_t *places)
{
    size_t i, j;
    const json_t *one, *other;
    json_array_foreach(json_object_get(claimed, "places"), i, one)
    {
        json_array_foreach(places, j, other) if (json_equal(one, other)) return true;
    }
    return false;
}

/* Job number in the key of a claim of root; NULL for other claims. */
static const char *job_of(const json_t *claimed)
{
    const char *key = json_string_value(json_object_get(claimed, "key"));
    bool is_jobs = key != NULL && strncmp(key, SLURM_JOB_KEYS, strlen(SLURM_JOB_KEYS)) == 0 &&
                   json_integer_value(json_object_get(claimed, "uid")) == 0;
    const char *job = is_jobs ? key + strlen(SLURM_JOB_KEYS) : NULL;
    return lib_key_is_job(job) ? job : NULL;
}

static bool release(struct slurm_call *call, const json_t *claimed)
{
    return slurm_call(call, PLACEMENT "Release",
                      json_pack("{s:O}", "claim", json_object_get(claimed, "claim")),
                      NULL) == BERTH_DONE;
}

bool slurm_job_release_earlier(struct slurm_call *call, const char *key, const json_t *places,
                               bool all_of_them)
{
    json_t *reply = NULL;
    bool any = false;
    size_t i;
    const json_t *claimed;
    if (slurm_call(call, PLACEMENT "ListClaims", json_object(), &reply) != BERTH_DONE)
        return false;
    json_array_foreach(json_object_get(reply, "claims"), i, claimed)
    {
        const char *job = job_of(claimed);
        if (job == NULL || strcmp(job, key + strlen(SLURM_JOB_KEYS)) == 0 ||
            !covers_any(claimed, places) || (!all_of_them && slurm_scontrol_has_steps(job)))
            continue;
        slurm_call_report(call, LOG_NOTICE,
                          "%s takes places over from the claim of " SLURM_JOB_KEYS
                          "%s, whose job Slurm has ended",
                          key, job);
        any |= release(call, claimed);
    }
    json_decref(reply);
    return any;
}

static void claim_gpus(struct slurm_call *call, const char *key, const char *const *names,
                       int count)
{
    json_t *places = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(places, json_string(names[i]));
    int status = claim(call, key, places);
    /* The claim has the same number and other gpus: the job was requeued and its epilog found no
     * daemon, or Slurm's numbers have restarted. */
    if (status == BERTH_ERROR_KEY_MISMATCH &&
        slurm_call(call, PLACEMENT "Release", json_pack("{s:s}", "key", key), NULL) == BERTH_DONE)
        status = claim(call, key, places);
    if (status == BERTH_ERROR_ALREADY_CLAIMED && slurm_job_release_earlier(call, key, places, true))
        status = claim(call, key, places);
    if (status != BERTH_DONE)
        slurm_call_log(LOG_WARNING, "%s: the gpus of the job are not claimed: %s", key,
                       slurm_call_why(call));
    json_decref(places);
}

void slurm_job_begin(struct slurm_call *call, const char *gres_conf)
{
    const char *numbers = getenv("SLURM_JOB_GPUS"), *names[SLURM_GPUS_MOST];
    char key[SLURM_JOB_KEY_SIZE], why[320];
    json_t *node = NULL;
    if (!slurm_job_key(key)) {
        slurm_call_log(LOG_WARNING, "no job is known: SLURM_JOB_ID is not set to its number");
        return;
    }
    /* the job has no gpus, and Slurm does not report a job's cores to a prolog */
    if (numbers == NULL || *numbers == '\0')
        return;
    struct slurm_gres *gres = malloc(sizeof *gres);
    if (gres == NULL ||
        slurm_call(call, "io.berth.Fabric.GetNode", json_object(), &node) != BERTH_DONE) {
        slurm_call_log(LOG_WARNING, "%s: the gpus of the job are not claimed: %s", key,
                       slurm_call_why(call));
        free(gres);
        return;
    }
    int count = slurm_gres_load(gres_conf, gres, why, sizeof why)
                    ? slurm_gres_names(gres, node, numbers, names, why, sizeof why)
                    : -1;
    if (count < 0)
        slurm_call_log(LOG_WARNING, "%s: the gpus of the job are not claimed: %s", key, why);
    else
        claim_gpus(call, key, names, count);
    json_decref(node);
    free(gres);
}

void slurm_job_end(struct slurm_call *call)
{
    char key[SLURM_JOB_KEY_SIZE];
    if (!slurm_job_key(key))
        slurm_call_log(LOG_WARNING, "no job is known: SLURM_JOB_ID is not set to its number");
    else if (slurm_call(call, PLACEMENT "Release", json_pack("{s:s}", "key", key), NULL) !=
             BERTH_DONE)
        slurm_call_log(LOG_WARNING,
                       "%s: its claim is not released: %s; the next job on its gpus takes it over",
                       key, slurm_call_why(call));
}

static json_t *list_claims(const char *socket, int budget_ms)
{
    struct slurm_call call;
    json_t *reply = NULL;
    if (slurm_call_init(&call, socket, budget_ms) == BERTH_DONE)
        slurm_call(&call, PLACEMENT "ListClaims", json_object(), &reply);
    slurm_call_done(&call);
    return reply;
}

static void release_ended(const char *socket, int budget_ms, const json_t *claimed)
{
    struct slurm_call call;
    if (slurm_call_init(&call, socket, budget_ms) == BERTH_DONE && release(&call, claimed))
        slurm_call_log(LOG_NOTICE,
                       "%s: its claim is released: Slurm has ended the job, and no epilog did",
                       json_string_value(json_object_get(claimed, "key")));
    slurm_call_done(&call);
}

void slurm_job_release_ended(const char *socket, int budget_ms, const char *node)
{
    json_t *reply = list_claims(socket, budget_ms);
    const time_t end_s = time(NULL) + ENDED_S;
    size_t i;
    const json_t *claimed;
    json_array_foreach(json_object_get(reply, "claims"), i, claimed)
    {
        const char *job = job_of(claimed);
        if (job != NULL && time(NULL) < end_s && !slurm_scontrol_has_steps(job) &&
            slurm_scontrol_has_left(job, node))
            release_ended(socket, budget_ms, claimed);
    }
    json_decref(reply);
}
