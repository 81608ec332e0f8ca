#include "lib/task/merged_berth.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cpus.h"
#include "lib/task/apply.h"

/* Berth with this gpu and no other. */
static const struct berth_task *find(const struct berth_binding *binding, const char *gpu)
{
    for (size_t i = 0; i < binding->task_count; i++) {
        const struct berth_task *task = &binding->tasks[i];
        if (task->gpus.count == 1 && strcmp(task->gpus.item[0], gpu) == 0)
            return task;
    }
    return NULL;
}

static bool add_cpus(const struct berth_task *task, struct lib_cpus *cpus)
{
    struct lib_cpus more;
    if (!lib_cpus_parse(task->cpus, &more))
        return false;
    for (size_t i = 0; i < sizeof cpus->word / sizeof cpus->word[0]; i++)
        cpus->word[i] |= more.word[i];
    return true;
}

static void add_memory(const struct berth_task *task, struct berth_texts *memory, const char **item)
{
    for (size_t i = 0; i < task->memory.count; i++) {
        size_t j = 0;
        while (j < memory->count && strcmp(item[j], task->memory.item[i]) != 0)
            j++;
        if (j == memory->count)
            item[memory->count++] = task->memory.item[i];
    }
}

static bool has_pair(const struct berth_pairs *environment, const struct berth_pair *pair)
{
    for (size_t i = 0; i < environment->count; i++)
        if (strcmp(environment->item[i].name, pair->name) == 0 &&
            strcmp(environment->item[i].value, pair->value) == 0)
            return true;
    return false;
}

/* Keeps the variables that hold for all of these berths: a nic chosen for one gpu does not suit
 * all. */
static void keep_common(const struct berth_binding *binding, const struct berth_texts *gpus,
                        struct berth_pairs *environment, struct berth_pair *item)
{
    size_t kept = 0;
    for (size_t i = 0; i < environment->count; i++) {
        const struct berth_pair *pair = &environment->item[i];
        char mark[LIB_APPLY_MARK_SIZE];
        bool is_same = true;
        for (size_t g = 1; g < gpus->count && is_same && lib_apply_mark(pair->name, mark) != NULL;
             g++)
            is_same = has_pair(&find(binding, gpus->item[g])->environment, pair);
        if (is_same)
            item[kept++] = *pair;
    }
    *environment = (struct berth_pairs){.item = item, .count = kept};
}

static char *list_of(const struct lib_cpus *cpus)
{
    size_t size = lib_cpus_format(cpus, NULL, 0);
    char *text = malloc(size);
    if (text != NULL)
        lib_cpus_format(cpus, text, size);
    return text;
}

bool lib_merge(const struct berth_binding *binding, const struct berth_texts *gpus,
               struct lib_merge *ret)
{
    struct lib_cpus cpus = {{0}};
    size_t memories = 0;
    for (size_t i = 0; i < gpus->count; i++) {
        const struct berth_task *task = find(binding, gpus->item[i]);
        if (task == NULL || !add_cpus(task, &cpus))
            return false;
        memories += task->memory.count;
    }
    if (gpus->count == 0)
        return false;
    struct lib_merge merged = {.task = *find(binding, gpus->item[0]),
                               .cpus = list_of(&cpus),
                               .memory = calloc(memories + 1, sizeof *merged.memory)};
    merged.pairs = calloc(merged.task.environment.count + 1, sizeof *merged.pairs);
    if (merged.cpus == NULL || merged.memory == NULL || merged.pairs == NULL) {
        lib_merge_done(&merged);
        return false;
    }
    merged.task.memory = (struct berth_texts){.item = merged.memory};
    for (size_t i = 0; i < gpus->count; i++)
        add_memory(find(binding, gpus->item[i]), &merged.task.memory, merged.memory);
    keep_common(binding, gpus, &merged.task.environment, merged.pairs);
    merged.task.gpus = *gpus;
    merged.task.cpus = merged.cpus;
    merged.task.cpu_mask = NULL;
    *ret = merged;
    return true;
}

void lib_merge_done(struct lib_merge *merged)
{
    free(merged->cpus);
    free((void *)merged->memory);
    free(merged->pairs);
    *merged = (struct lib_merge){.cpus = NULL};
}
