/* Resources that the tasks of a step share, and the part bound to this task by the launcher. */
#include "lib/allowed.h"
#include "lib/cpus.h"
#include "lib/lib.h"
#include "lib/task/ancestor.h"
#include "lib/task/slurm_gpus.h"
#include "lib/task/task.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METHOD "io.berth.Fabric.GetNode"

static const char *format_cpus(struct lib_read *read, const struct lib_cpus *cpus)
{
    size_t size = lib_cpus_format(cpus, NULL, 0);
    char *text = lib_result_block(read, size, 1);
    if (text != NULL)
        lib_cpus_format(cpus, text, size);
    return text;
}

static void set_affinity(const struct lib_cpus *cpus)
{
    sched_setaffinity(0, sizeof cpus->word, (const cpu_set_t *)(const void *)cpus->word);
}

/* Cpus of the cpuset: the kernel cuts a requested affinity to it. Returns own when the kernel
 * refuses. */
static struct lib_cpus widest(const struct lib_cpus *own)
{
    struct lib_cpus all, got;
    memset(&all, 0xff, sizeof all);
    set_affinity(&all);
    bool fine = lib_cpus_of(0, &got);
    set_affinity(own);
    return fine ? got : *own;
}

/* Cpus of the ancestor within the cpuset, when they include this task's; else this task's own. */
static struct lib_cpus step_cpus(const struct lib_cpus *own, const struct lib_ancestor *ancestor)
{
    const size_t words = sizeof own->word / sizeof own->word[0];
    struct lib_cpus step = widest(own);
    bool contains = ancestor->has_cpus;
    for (size_t i = 0; i < words; i++) {
        step.word[i] &= ancestor->cpus.word[i];
        contains &= (own->word[i] & ~step.word[i]) == 0;
    }
    return contains ? step : *own;
}

static int read_cpus(struct berth *berth, struct lib_read *read,
                     const struct berth_launcher *launcher, const struct lib_ancestor *ancestor,
                     const char *given, struct berth_step *step)
{
    struct lib_cpus own, all;
    if (!lib_cpus_of(0, &own))
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "cannot read this thread's affinity: %s",
                        strerror(errno));
    all = own;
    if (launcher->tasks > 1) /* a single task has all cpus of the step */
        all = step_cpus(&own, ancestor);
    step->cpus = format_cpus(read, &own);
    if (given == NULL) {
        step->cpus_bound = memcmp(&own, &all, sizeof own) != 0;
        step->allowed.cpus = format_cpus(read, &all);
        return BERTH_DONE;
    }
    char *copy = lib_result_block(read, strlen(given) + 1, 1);
    step->allowed.cpus = copy != NULL ? strcpy(copy, given) : NULL;
    return BERTH_DONE;
}

static size_t count_usable(const struct lib_gpu *gpus, size_t count)
{
    size_t usable = 0;
    for (size_t i = 0; i < count; i++)
        usable += gpus[i].usable;
    return usable;
}

/* Reads the task's own variables. The process that starts the tasks belongs to root: only root can
 * read its variables, and they are not the step's. */
static enum lib_slurm_binding slurm_binding(const struct lib_variables *variables,
                                            const struct berth_launcher *launcher)
{
    bool is_slurms = launcher->name != NULL && strcmp(launcher->name, "slurm") == 0;
    return is_slurms ? lib_slurm_gpus_binding(lib_variable(variables, "SLURM_GPUS_ON_NODE"),
                                              lib_variable(variables, "SLURM_STEP_GPUS"))
                     : LIB_SLURM_UNKNOWN;
}

/* Counts all gpus of the node when Slurm shows each task only its own. A cgroup may hide the gpus
 * of other tasks. The job's claim keeps a plan within the job. */
static void widen(struct lib_gpu *gpus, size_t count, const struct berth_texts *given)
{
    for (size_t i = 0; given == NULL && i < count; i++)
        gpus[i].usable = true;
}

static void read_gpus(struct lib_read *read, const json_t *node, const struct berth_texts *given,
                      const struct lib_variables *variables, const struct berth_launcher *launcher,
                      const struct lib_ancestor *ancestor, struct berth_step *step)
{
    struct lib_gpu openable[LIB_GPUS_MAX], own[LIB_GPUS_MAX], shared[LIB_GPUS_MAX];
    size_t count;
    if (!lib_allowed_gpus(read, node, given, openable, &count))
        return;
    const struct lib_visible mine = lib_visible_variables(variables);
    memcpy(own, openable, count * sizeof *own);
    memcpy(shared, openable, count * sizeof *shared);
    lib_visible_apply(&mine, own, count);
    const size_t mine_count = count_usable(own, count);
    const enum lib_slurm_binding binding = slurm_binding(variables, launcher);
    if (launcher->tasks <= 1 || (binding == LIB_SLURM_UNBOUND && given == NULL)) {
        memcpy(shared, own, count * sizeof *shared);
    } else if (binding == LIB_SLURM_BOUND && mine_count > 0) {
        widen(shared, count, given);
    } else if (binding == LIB_SLURM_UNKNOWN && ancestor->variables != NULL) {
        const struct lib_visible its = {
            .cuda = lib_ancestor_variable(ancestor, "CUDA_VISIBLE_DEVICES"),
            .cuda_order = lib_ancestor_variable(ancestor, "CUDA_DEVICE_ORDER"),
            .rocr = lib_ancestor_variable(ancestor, "ROCR_VISIBLE_DEVICES"),
            .hip = lib_ancestor_variable(ancestor, "HIP_VISIBLE_DEVICES"),
        };
        lib_visible_apply(&its, shared, count);
    } else if (binding == LIB_SLURM_UNKNOWN && mine_count >= (size_t)launcher->tasks) {
        memcpy(shared, own, count * sizeof *shared);
    }
    step->gpus_bound =
        binding != LIB_SLURM_UNBOUND && mine_count > 0 && mine_count < count_usable(shared, count);
    step->gpus = lib_allowed_names(read, own, count);
    step->allowed.gpus = lib_allowed_names(read, shared, count);
}

static bool is_number(const struct lib_variables *variables, const char *name, int number)
{
    char text[16];
    const char *its = lib_variable(variables, name);
    snprintf(text, sizeof text, "%d", number);
    return its != NULL && strcmp(its, text) == 0;
}

/* True when Slurm itself has started this task, although another launcher's variables are set: as
 * ParaStation does, from a process for each task. Slurm then counts this task alike, and the
 * process that started it is in no step. */
static bool is_slurms_too(const struct lib_variables *variables,
                          const struct berth_launcher *launcher,
                          const struct lib_ancestor *ancestor)
{
    return launcher->task >= 0 && is_number(variables, "SLURM_LOCALID", launcher->task) &&
           is_number(variables, "SLURM_PROCID", launcher->rank) &&
           (is_number(variables, "SLURM_STEP_NUM_TASKS", launcher->world) ||
            is_number(variables, "SLURM_NTASKS", launcher->world)) &&
           lib_key_is_job(lib_variable(variables, "SLURM_JOB_ID")) &&
           lib_key_is_job(lib_variable(variables, "SLURM_STEP_ID")) &&
           lib_ancestor_variable(ancestor, "SLURM_STEP_ID") == NULL;
}

/* Makes the key. For another launcher inside a Slurm job the key is part of the job's key: the
 * prolog's claim for the job then includes this step. Two torchruns here may have one run id, and
 * two jobs of jsrun one namespace: their key names the process, too. */
static void make_key(struct lib_read *read, const struct lib_variables *variables,
                     const struct berth_launcher *launcher, const struct lib_ancestor *ancestor,
                     struct berth_step *step)
{
    char key[LIB_KEY_SIZE + 240], own[160];
    const char *its = launcher->key != NULL ? launcher->key : "";
    const char *claimed = lib_variable(variables, "BERTH_KEY"),
               *job = lib_variable(variables, "SLURM_JOB_ID");
    bool is_slurms = strncmp(its, "slurm/", 6) == 0,
         is_whole = strncmp(its, "torchrun/", 9) != 0 && strncmp(its, "jsrun/", 6) != 0;
    if (!is_slurms && is_slurms_too(variables, launcher, ancestor)) {
        snprintf(own, sizeof own, "slurm/%.60s.%.60s", job,
                 lib_variable(variables, "SLURM_STEP_ID"));
        is_slurms = true;
    } else if (*its != '\0' && is_whole)
        snprintf(own, sizeof own, "%.150s", its);
    else
        snprintf(own, sizeof own, "%.100s%sprocess/%d.%" PRIu64, its, *its != '\0' ? "." : "",
                 (int)ancestor->pid, ancestor->start_ticks);
    if (is_slurms || (claimed != NULL && *claimed == '\0') ||
        (claimed == NULL && !lib_key_is_job(job)))
        snprintf(key, sizeof key, "%s", own);
    else
        snprintf(key, sizeof key, "%s%.80s.%s", claimed == NULL ? "slurm/" : "",
                 claimed == NULL ? job : claimed, own);
    char *copy = lib_result_block(read, strlen(key) + 1, 1);
    step->key = copy != NULL ? strcpy(copy, key) : NULL;
}

/* Asks for the node only where a field depends on it. */
static int ask_node(struct berth *berth, const struct berth_texts *given,
                    const struct lib_variables *variables, json_t **ret_node)
{
    const struct lib_visible mine = lib_visible_variables(variables);
    bool needs =
        given != NULL ? given->count > 0 && lib_visible_is_any(&mine) : lib_allowed_has_devices();
    return needs ? lib_call(berth, METHOD, json_object(), ret_node) : BERTH_DONE;
}

static void copy_texts(struct lib_read *read, const struct berth_texts *texts,
                       struct berth_texts *ret)
{
    const char **item = lib_result_block(read, texts->count, sizeof *item);
    for (size_t i = 0; item != NULL && i < texts->count; i++) {
        char *copy = lib_result_block(read, strlen(texts->item[i]) + 1, 1);
        item[i] = copy != NULL ? strcpy(copy, texts->item[i]) : NULL;
    }
    *ret = (struct berth_texts){.item = item, .count = texts->count};
}

int berth_step_here(struct berth *berth, const struct berth_launcher *launcher,
                    const struct berth_allowed *given, berth_variable_fn *variable, void *arg,
                    struct berth_step **ret_step)
{
    const struct lib_variables variables = {variable, arg};
    const struct berth_texts *gpus =
        given != NULL && given->gpus.item != NULL ? &given->gpus : NULL;
    const char *rank_name = lib_launcher_rank_name(launcher);
    struct lib_ancestor ancestor = {0};
    json_t *node = NULL;
    int status = ask_node(berth, gpus, &variables, &node);
    if (status < 0)
        return status;
    struct lib_read read;
    struct berth_step *step = lib_result_new(sizeof *step, node, &read);
    if (step == NULL)
        return lib_fail_memory(berth);
    lib_ancestor_find(rank_name, rank_name != NULL ? lib_variable(&variables, rank_name) : NULL,
                      &ancestor);
    step->allowed.memory = lib_allowed_memory(&read);
    if (node != NULL) {
        read_gpus(&read, node, gpus, &variables, launcher, &ancestor, step);
    } else {
        copy_texts(&read, gpus != NULL ? gpus : &(struct berth_texts){0}, &step->gpus);
        step->allowed.gpus = step->gpus;
    }
    make_key(&read, &variables, launcher, &ancestor, step);
    status = read_cpus(berth, &read, launcher, &ancestor, given != NULL ? given->cpus : NULL, step);
    lib_ancestor_done(&ancestor);
    if (status < 0) {
        lib_result_free(step);
        return status;
    }
    status = lib_result_end(berth, &read, METHOD, step);
    if (status == BERTH_DONE)
        *ret_step = step;
    return status;
}

void berth_step_free(struct berth_step *step) { lib_result_free(step); }

static bool has_all(const struct berth_texts *some, const struct berth_texts *all)
{
    for (size_t i = 0; i < some->count; i++) {
        size_t j = 0;
        while (j < all->count && strcmp(some->item[i], all->item[j]) != 0)
            j++;
        if (j == all->count)
            return false;
    }
    return true;
}

const struct berth_task *berth_step_berth(const struct berth_step *step, int task,
                                          const struct berth_binding *binding, unsigned *ret_parts)
{
    const struct berth_task *berth = NULL;
    for (size_t i = 0; i < binding->task_count && berth == NULL; i++) {
        const struct berth_task *its = &binding->tasks[i];
        bool fits = step->gpus_bound
                        ? its->gpus.count == step->gpus.count && has_all(&its->gpus, &step->gpus)
                        : its->task == task;
        if (fits)
            berth = its;
    }
    unsigned parts = BERTH_PART_ALL;
    if (step->cpus_bound) /* the kernel places its memory near its cpus by default */
        parts &= ~(unsigned)(BERTH_PART_CPUS | BERTH_PART_MEMORY);
    if (step->gpus_bound)
        parts &= ~(unsigned)BERTH_PART_GPUS;
    if (berth != NULL)
        *ret_parts = parts;
    return berth;
}
