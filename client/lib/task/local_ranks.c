#include "lib/task/local_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "lib/lib.h"
#include "lib/task/task.h"

#define LIST_MOST ((size_t)1 << 14) /* bytes; 256 uuids have fewer */

static const char *value_of(const struct berth_task *task, const char *name)
{
    for (size_t i = 0; i < task->environment.count; i++)
        if (strcmp(task->environment.item[i].name, name) == 0)
            return task->environment.item[i].value;
    return NULL;
}

/* True when the list between commas has the first item of text. */
static bool has_first(const char *list, const char *text)
{
    size_t length = strcspn(text, ",");
    for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && strncmp(list, text, length) == 0)
            return true;
    return false;
}

static void add_first(char *list, const char *text)
{
    if (*list != '\0')
        strcat(list, ",");
    strncat(list, text, strcspn(text, ","));
}

/* Joins the own gpus of all tasks, which are first in their lists, then the rest of this task's
 * list. False when the tasks do not each have one. list has room for all lists together. */
static bool join(const struct berth_binding *binding, const char *name, const char *rest,
                 char *list)
{
    for (size_t i = 0; i < binding->task_count; i++) {
        const struct berth_task *task = &binding->tasks[i];
        const char *value = value_of(task, name);
        if (task->task != (int)i || task->gpus.count != 1 || value == NULL || *value == '\0' ||
            has_first(list, value) || strlen(list) > LIST_MOST)
            return false;
        add_first(list, value);
    }
    for (; *rest != '\0'; rest += strcspn(rest, ","), rest += *rest == ',')
        if (!has_first(list, rest))
            add_first(list, rest);
    return true;
}

static char *join_all(const struct berth_binding *binding, const char *name, const char *rest)
{
    size_t size = strlen(rest) + 2;
    if (size > LIST_MOST + 2)
        return NULL;
    for (size_t i = 0; i < binding->task_count; i++) {
        const char *value = value_of(&binding->tasks[i], name);
        size += value != NULL ? strlen(value) + 1 : 0;
    }
    char *list = calloc(size, 1);
    if (list != NULL && join(binding, name, rest, list))
        return list;
    free(list);
    return NULL;
}

bool lib_local_ranks(const struct berth_launcher *launcher, const struct berth_binding *binding,
                     const struct berth_task *task, struct lib_local_ranks *ret)
{
    const char *name = "CUDA_VISIBLE_DEVICES";
    if (!lib_launcher_is_pytorchs(launcher))
        return false;
    if (value_of(task, name) == NULL)
        name = "ROCR_VISIBLE_DEVICES";
    if (value_of(task, name) == NULL)
        return false;
    const struct berth_pairs *all = &task->environment;
    struct lib_local_ranks ranks = {.task = *task,
                                    .value = join_all(binding, name, value_of(task, name)),
                                    .pairs = calloc(all->count, sizeof *ranks.pairs)};
    if (ranks.value == NULL || ranks.pairs == NULL) {
        lib_local_ranks_done(&ranks);
        return false;
    }
    for (size_t i = 0; i < all->count; i++) {
        ranks.pairs[i] = all->item[i];
        if (strcmp(all->item[i].name, name) == 0)
            ranks.pairs[i].value = ranks.value;
    }
    ranks.task.environment.item = ranks.pairs;
    *ret = ranks;
    return true;
}

void lib_local_ranks_done(struct lib_local_ranks *ranks)
{
    free(ranks->value);
    free(ranks->pairs);
    *ranks = (struct lib_local_ranks){.value = NULL};
}
