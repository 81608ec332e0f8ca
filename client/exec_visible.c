#include "exec_visible.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib_allowed.h"
#include "slurm_visible.h"

#define NUMBERED "ROCR_VISIBLE_DEVICES" /* the others count what this one leaves, or are told UUIDs */

static const struct berth_pair *find(const struct berth_task *task)
{
    for (size_t i = 0; i < task->environment.count; i++)
        if (strcmp(task->environment.item[i].name, NUMBERED) == 0 && isdigit((unsigned char)*task->environment.item[i].value))
            return &task->environment.item[i];
    return NULL;
}

static int ask_node(struct cmd *cmd, json_t **ret_node)
{
    char *text = NULL;
    int status = berth_call(cmd->berth, "io.berth.Fabric.GetNode", "{}", &text);
    json_t *node = status == BERTH_DONE ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (status < 0)
        return status;
    if (node == NULL)
        return BERTH_ERROR_OUT_OF_MEMORY; /* the library has found it to be JSON */
    *ret_node = node;
    return BERTH_DONE;
}

int exec_visible(struct cmd *cmd, const struct berth_step *step, const struct berth_task *task, struct exec_visible *ret)
{
    const struct berth_pair *pair = find(task);
    json_t *node = NULL;
    const struct slurm_visible_job job = {.visible = getenv(NUMBERED), .numbers = getenv("SLURM_STEP_GPUS"), .gpus = step->allowed.gpus.item, .count = (int)step->allowed.gpus.count};
    if (pair == NULL || (!lib_allowed_has_devices() && !slurm_visible_is_inside(job.visible, job.numbers)))
        return BERTH_DONE;
    int status = ask_node(cmd, &node);
    if (status < 0)
        return status;
    struct exec_visible visible = {.task = *task, .pairs = calloc(task->environment.count, sizeof *visible.pairs)};
    if (visible.pairs == NULL) {
        json_decref(node);
        return BERTH_ERROR_OUT_OF_MEMORY;
    }
    bool is_told = slurm_visible_value(pair->value, node, &job, visible.value, sizeof visible.value);
    json_decref(node);
    *ret = visible;
    size_t count = 0;
    for (size_t i = 0; i < task->environment.count; i++) {
        const struct berth_pair *its = &task->environment.item[i];
        if (its != pair)
            ret->pairs[count++] = *its;
        else if (is_told)
            ret->pairs[count++] = (struct berth_pair){.name = its->name, .value = ret->value};
    }
    ret->task.environment = (struct berth_pairs){.item = ret->pairs, .count = count};
    return BERTH_DONE;
}

void exec_visible_done(struct exec_visible *visible)
{
    free(visible->pairs);
    visible->pairs = NULL;
}
