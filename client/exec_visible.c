#include "exec_visible.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERED "ROCR_VISIBLE_DEVICES"

static const char *const narrowing[] = {"HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"}; /* count among what NUMBERED leaves */

#define NARROWING (sizeof narrowing / sizeof narrowing[0])

bool exec_visible_lacks(const struct berth_task *task)
{
    for (size_t i = 0; i < task->environment.count; i++)
        if (strcmp(task->environment.item[i].name, NUMBERED) == 0 || strcmp(task->environment.item[i].name, "CUDA_VISIBLE_DEVICES") == 0)
            return false;
    return task->gpus.count > 0;
}

bool exec_visible_make(const json_t *node, const struct slurm_visible_job *job, const struct berth_task *task, const struct berth_texts *others, struct exec_visible *ret)
{
    struct exec_visible visible = {.task = *task};
    if (!slurm_visible_value(node, job, &task->gpus, others, visible.value, sizeof visible.value))
        return false;
    visible.pairs = calloc(task->environment.count + 1, sizeof *visible.pairs);
    visible.unset = calloc(task->unset.count + NARROWING, sizeof *visible.unset);
    if (visible.pairs == NULL || visible.unset == NULL) {
        exec_visible_done(&visible);
        return false;
    }
    *ret = visible;
    if (task->environment.count > 0)
        memcpy(ret->pairs, task->environment.item, task->environment.count * sizeof *ret->pairs);
    ret->pairs[task->environment.count] = (struct berth_pair){.name = NUMBERED, .value = ret->value};
    ret->task.environment = (struct berth_pairs){.item = ret->pairs, .count = task->environment.count + 1};
    memcpy(ret->unset, narrowing, sizeof narrowing);
    for (size_t i = 0; i < task->unset.count; i++)
        ret->unset[NARROWING + i] = task->unset.item[i];
    ret->task.unset = (struct berth_texts){.item = ret->unset, .count = task->unset.count + NARROWING};
    return true;
}

void exec_visible_done(struct exec_visible *visible)
{
    free(visible->pairs);
    free((void *)visible->unset);
    visible->pairs = NULL;
    visible->unset = NULL;
}
