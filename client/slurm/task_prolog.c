/* Environment of a task from Bind, printed by Slurm's task prolog. */
#include "slurm/hooks.h"

#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "lib/task/ancestor.h"
#include "lib/task/apply.h"
#include "lib/task/hwloc_file.h"
#include "lib/task/slurm_gpus.h"
#include "lib/task/slurm_list.h"
#include "lib/task/slurm_visible.h"
#include "slurm/call.h"
#include "slurm/gres.h"

#define SPECIAL_STEPS  0xfffffff0UL /* SLURM_MAX_NORMAL_STEP_ID: no steps of an application */
#define ANCESTORS_MOST 8 /* most shells and scripts of a site between a task and its prolog */

struct task {
    struct slurm_call call;
    struct berth_launcher *launcher;
    struct berth_step *step;
    struct berth_binding *binding;
    json_t *node;
    const char *gpus[SLURM_GPUS_MOST];
    int gpu_count;
    enum berth_visible visible; /* as requested */
    struct slurm_visible shown;
    char why[320];
};

static bool fail(struct task *task, const char *why)
{
    if (why != task->why)
        snprintf(task->why, sizeof task->why, "%s", why);
    return false;
}

static bool read_gpus(struct task *task, const char *gres_conf, const char *numbers)
{
    struct slurm_gres *gres = malloc(sizeof *gres);
    if (gres == NULL)
        return fail(task, "out of memory");
    bool fine = slurm_gres_load(gres_conf, gres, task->why, sizeof task->why);
    task->gpu_count =
        fine ? slurm_gres_names(gres, task->node, numbers, task->gpus, task->why, sizeof task->why)
             : -1;
    free(gres);
    return task->gpu_count >= 0;
}

/* True when each task of the step sees all of its gpus; --gpu-bind leaves only a task's own in
 * SLURM_STEP_GPUS. */
static bool is_for_all(const char *numbers)
{
    /* a later check reports a value that is no list */
    return lib_slurm_gpus_binding(getenv("SLURM_GPUS_ON_NODE"), numbers) != LIB_SLURM_BOUND;
}

static bool find_out(struct task *task, const char *gres_conf, const char *numbers)
{
    if (berth_launcher_here(task->call.berth, NULL, NULL, &task->launcher) != BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    if (task->launcher->missing != NULL)
        return fail(task, task->launcher->missing);
    if (slurm_call(&task->call, "io.berth.Fabric.GetNode", json_object(), &task->node) !=
        BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    if (!read_gpus(task, gres_conf, numbers))
        return false;
    /* VISIBLE_DEVICES are renumbered inside a job and carry no information here. With an empty list
     * of gpus the library does not ask for the node again to resolve them. */
    const struct berth_allowed none = {.gpus = {.item = task->gpus, .count = 0}};
    if (berth_step_here(slurm_call_left(&task->call), task->launcher, &none, NULL, NULL,
                        &task->step) != BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    task->step->allowed.gpus =
        (struct berth_texts){.item = task->gpus, .count = (size_t)task->gpu_count};
    /* No process here has the cpus of the whole step. This process, and the one that becomes the
     * task, may be bound to the cpus of this task. */
    task->step->allowed.cpus = NULL;
    task->step->gpus_bound = 0;
    return true;
}

static bool ask(struct task *task)
{
    struct berth_bind_request request;
    berth_bind_request_init(&request);
    request.tasks = task->launcher->tasks;
    request.allowed = &task->step->allowed;
    request.key = task->step->key;
    lib_slurm_gpus_distribute(task->gpu_count, &request);
    task->visible = request.visible;
    return berth_bind(slurm_call_left(&task->call), &request, &task->binding) == BERTH_DONE ||
           fail(task, slurm_call_why(&task->call));
}

/* An invalid name could be a command of Slurm's own. */
static bool has_names(const struct berth_task *berth)
{
    for (size_t i = 0; i < berth->environment.count; i++)
        if (!lib_apply_is_name(berth->environment.item[i].name))
            return false;
    for (size_t i = 0; i < berth->unset.count; i++)
        if (!lib_apply_is_name(berth->unset.item[i]))
            return false;
    return true;
}

/* A value of several lines would hold further commands. A variable that chooses a nic stays where
 * somebody else has set it. */
static void put_value(FILE *text, const struct berth_pair *pair)
{
    char buffer[LIB_APPLY_MARK_SIZE];
    const char *mark = lib_apply_mark(pair->name, buffer);
    if (strchr(pair->value, '\n') != NULL ||
        (mark != NULL && !lib_apply_is_free(getenv(pair->name), getenv(mark))))
        return;
    fprintf(text, "export %s=%s\n", pair->name, pair->value);
    if (mark != NULL)
        fprintf(text, "export %s=%s\n", mark, pair->value);
}

static void put(FILE *text, const struct berth_task *berth)
{
    const unsigned parts = BERTH_PART_GPUS | BERTH_PART_ENVIRONMENT;
    for (size_t i = 0; i < berth->environment.count; i++)
        if (lib_apply_includes(berth->environment.item[i].name, parts))
            put_value(text, &berth->environment.item[i]);
    for (size_t i = 0; i < berth->unset.count; i++)
        if (lib_apply_includes(berth->unset.item[i], parts))
            fprintf(text, "unset %s\n", berth->unset.item[i]);
}

/* Adds the variables of the berth's gpus, counted within the job, when the plan has none. */
static const struct berth_task *show_gpus(struct task *task, const struct berth_task *berth)
{
    const struct slurm_visible_job job = {.visible = getenv("ROCR_VISIBLE_DEVICES"),
                                          .numbers = getenv("SLURM_STEP_GPUS"),
                                          .gpus = task->gpus,
                                          .count = task->gpu_count};
    const struct berth_texts *others =
        task->visible == BERTH_VISIBLE_ALL ? &task->step->allowed.gpus : NULL;
    if (!slurm_visible_lacks(berth) ||
        !slurm_visible_make(task->node, &job, berth, others, &task->shown))
        return berth;
    return &task->shown.task;
}

static bool print(struct task *task, FILE *output)
{
    char *lines = NULL;
    size_t size = 0;
    unsigned parts = 0;
    const struct berth_task *berth =
        berth_step_berth(task->step, task->launcher->task, task->binding, &parts);
    if (berth == NULL)
        return fail(task, "the plan has no berth for this task");
    if (!has_names(berth))
        return fail(task, "the plan has a variable with a name that none has");
    FILE *text = open_memstream(&lines, &size);
    if (text == NULL)
        return fail(task, "out of memory");
    put(text, show_gpus(task, berth));
    bool fine = !ferror(text);
    fine = fclose(text) == 0 && fine;
    if (fine)
        fwrite(lines, 1, size, output);
    free(lines);
    return fine || fail(task, "out of memory");
}

/* Reports once for all tasks of the step here. */
static void report(const struct task *task)
{
    const char *local = getenv("SLURM_LOCALID"), *job = getenv("SLURM_JOB_ID"),
               *step = getenv("SLURM_STEP_ID");
    if (local == NULL || strcmp(local, "0") == 0)
        slurm_call_log(LOG_WARNING,
                       "slurm/%.20s.%.20s: tasks see the gpus that Slurm shows them: %s",
                       job != NULL ? job : "", step != NULL ? step : "", task->why);
}

static bool run(struct task *task, const char *socket, int budget_ms, const char *gres_conf,
                const char *numbers, FILE *output)
{
    if (slurm_call_init(&task->call, socket, budget_ms) != BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    return find_out(task, gres_conf, numbers) && ask(task) && print(task, output);
}

/* True when the plugin has placed the task: it names the process that becomes the task, an ancestor
 * of this one. */
static bool is_placed(void)
{
    char name[sizeof SLURM_TASK_PLACED + 1];
    pid_t pid = getppid();
    for (int depth = 0; depth < ANCESTORS_MOST && pid > 1; depth++) {
        if (lib_ancestor_name(pid, name, sizeof name) && strcmp(name, SLURM_TASK_PLACED) == 0)
            return true;
        if (!lib_ancestor_parent(pid, &pid))
            return false;
    }
    return false;
}

/* Has hwloc load the daemon's file. Batch scripts and interactive steps start launchers, which may
 * need the topologies of other nodes. */
static void share_topology(const char *socket, FILE *output)
{
    struct lib_hwloc hwloc;
    const char *step = getenv("SLURM_STEP_ID");
    if (step == NULL || strtoul(step, NULL, 10) >= SPECIAL_STEPS)
        return;
    if (!lib_hwloc_find(socket, NULL, NULL, &hwloc) || strchr(hwloc.path, '\n') != NULL)
        return;
    for (int i = 0; i < LIB_HWLOC_VARIABLES; i++)
        fprintf(output, "export %s=%s\n", hwloc.variable[i].name, hwloc.variable[i].value);
}

void slurm_task_print(const char *socket, int budget_ms, const char *gres_conf, FILE *output)
{
    const char *numbers = getenv("SLURM_STEP_GPUS");
    if (is_placed())
        return;
    share_topology(socket, output);
    if (numbers == NULL || *numbers == '\0' || !is_for_all(numbers))
        return;
    struct task *task = calloc(1, sizeof *task);
    if (task == NULL)
        return;
    if (!run(task, socket, budget_ms, gres_conf, numbers, output))
        report(task);
    slurm_visible_done(&task->shown);
    berth_binding_free(task->binding);
    berth_step_free(task->step);
    berth_launcher_free(task->launcher);
    json_decref(task->node);
    slurm_call_done(&task->call);
    free(task);
}
