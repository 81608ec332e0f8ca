#include "exec_together.h"

#include <stdlib.h>
#include <string.h>

#include "lib_cpus.h"

/* The berth that has this gpu and no other. */
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

static char *list_of(const struct lib_cpus *cpus)
{
    size_t size = lib_cpus_format(cpus, NULL, 0);
    char *text = malloc(size);
    if (text != NULL)
        lib_cpus_format(cpus, text, size);
    return text;
}

bool exec_together(const struct berth_binding *binding, const struct berth_texts *gpus, struct exec_together *ret)
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
    struct exec_together together = {.task = *find(binding, gpus->item[0]), .cpus = list_of(&cpus), .memory = calloc(memories + 1, sizeof *together.memory)};
    if (together.cpus == NULL || together.memory == NULL) {
        exec_together_done(&together);
        return false;
    }
    together.task.memory = (struct berth_texts){.item = together.memory};
    for (size_t i = 0; i < gpus->count; i++)
        add_memory(find(binding, gpus->item[i]), &together.task.memory, together.memory);
    together.task.gpus = *gpus;
    together.task.cpus = together.cpus;
    together.task.cpu_mask = NULL;
    *ret = together;
    return true;
}

void exec_together_done(struct exec_together *together)
{
    free(together->cpus);
    free((void *)together->memory);
    *together = (struct exec_together){.cpus = NULL};
}
