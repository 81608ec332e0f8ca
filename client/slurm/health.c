/* Health check of a Slurm node: drains it on findings, resumes it after clean checks. */
#include "slurm/hooks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "slurm/scontrol.h"

#define PREFIX      "berth: " /* prefix of every reason that this check sets and may resume */
#define REASON_SIZE 200

struct node_state {
    bool is_drained; /* true also while draining */
    char reason[REASON_SIZE];
};

static bool check_node(const char *node, struct node_state *ret)
{
    char shown[8192], state[128];
    const char *const words[] = {"scontrol", "show", "node", node, NULL};
    *ret = (struct node_state){.is_drained = false};
    if (!slurm_scontrol(words, shown, sizeof shown) ||
        !slurm_scontrol_value(shown, " State=", true, state, sizeof state)) {
        slurm_call_log(LOG_WARNING, "scontrol does not say how node %.60s is", node);
        return false;
    }
    ret->is_drained = strstr(state, "DRAIN") != NULL;
    slurm_scontrol_value(shown, " Reason=", false, ret->reason, sizeof ret->reason);
    return true;
}

static bool is_ours(const struct node_state *state)
{
    return strncmp(state->reason, PREFIX, strlen(PREFIX)) == 0;
}

static void update_node(const char *node, const char *state, const char *reason)
{
    char name[300], to[40], why[REASON_SIZE + 8], said[256];
    snprintf(name, sizeof name, "NodeName=%s", node);
    snprintf(to, sizeof to, "State=%s", state);
    snprintf(why, sizeof why, "Reason=%s", reason != NULL ? reason : "");
    const char *const words[] = {"scontrol", "update", name, to, reason != NULL ? why : NULL, NULL};
    if (slurm_scontrol(words, said, sizeof said))
        slurm_call_log(LOG_NOTICE, "node %.60s: %s%s%s", node, state, reason != NULL ? ", " : "",
                       reason != NULL ? reason : "");
    else
        slurm_call_log(LOG_WARNING, "node %.60s: scontrol could not update it to %s", node, state);
}

/* Number of clean checks since berth drained the node. NOT_OURS: berth has not drained it. UNKNOWN:
 * no count is stored, as after a boot. */
enum { NOT_OURS = -1, UNKNOWN = -2 };

static long read_count(const char *path)
{
    FILE *file = fopen(path, "re");
    long count = UNKNOWN;
    if (file != NULL) {
        if (fscanf(file, "%9ld", &count) != 1 || count < NOT_OURS)
            count = UNKNOWN;
        fclose(file);
    }
    return count;
}

static void write_count(const char *path, long count)
{
    FILE *file = fopen(path, "we");
    bool is_written = file != NULL && fprintf(file, "%ld\n", count) > 0;
    int number = errno;
    if (file != NULL && fclose(file) != 0 && is_written) {
        is_written = false;
        number = errno;
    }
    if (!is_written)
        slurm_call_log(LOG_WARNING, "%.200s: %s: clean checks are not counted", path,
                       strerror(number));
}

static void drain(const struct slurm_health *health, const char *reason)
{
    struct node_state state;
    char text[REASON_SIZE];
    if (!check_node(health->node, &state))
        return;
    snprintf(text, sizeof text, PREFIX "%s", reason);
    if (!state.is_drained)
        update_node(health->node, "DRAIN", text);
    if (health->resume_after > 0)
        write_count(health->state, state.is_drained && !is_ours(&state) ? NOT_OURS : 0);
}

/* Asks Slurm's controller only when berth has drained the node, or may have: thousands of nodes run
 * this check. */
static void count_clean(const struct slurm_health *health)
{
    struct node_state state;
    long clean = read_count(health->state);
    if (clean == NOT_OURS || !check_node(health->node, &state))
        return;
    if (!state.is_drained || !is_ours(&state)) {
        write_count(health->state, NOT_OURS);
        return;
    }
    clean = clean < 0 ? 1 : clean + 1;
    if (clean >= health->resume_after) {
        update_node(health->node, "RESUME", NULL);
        clean = UNKNOWN; /* the next check reads the result of the update */
    }
    write_count(health->state, clean);
}

void slurm_health_check(struct slurm_call *call, const struct slurm_health *health)
{
    json_t *reply = NULL;
    if (slurm_call(call, "io.berth.Health.Check", json_object(), &reply) != BERTH_DONE) {
        slurm_call_log(LOG_WARNING, "the node's health is not known: %s", slurm_call_why(call));
        return;
    }
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    if (json_is_true(json_object_get(reply, "drain")))
        drain(health, reason != NULL ? reason : "unhealthy");
    else if (health->resume_after > 0)
        count_clean(health);
    json_decref(reply);
}
