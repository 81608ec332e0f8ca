/* The SPANK plugin: each task of a step takes its berth before its program runs, like `berth exec`.
 * No failure here fails a job: the task runs as Slurm has placed it, and the node's first such task
 * reports it once.
 *
 * plugstack.conf: optional spank_berth.so [socket=PATH] [gres_conf=FILE] [timeout_ms=N]
 * [default=WORDS], WORDS as of --berth. */
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <syslog.h>
#include <unistd.h>

#include "lib/berth.h"
#include "lib/task/apply.h"
#include "lib/task/hwloc_file.h"
#include "lib/task/merged_berth.h"
#include "lib/task/slurm_gpus.h"
#include "lib/task/slurm_visible.h"
#include "lib/task/step_printer.h"
#include "slurm/call.h"
#include "slurm/cores.h"
#include "slurm/gres.h"
#include "slurm/hooks.h"
#include "slurm/job.h"
#include "slurm/spank_options.h"
#include "slurm/spank_setting.h"

#define CLAIM_MS  100
#define LINE_SIZE 512
/* SLURM_STEP_GPUS of the whole step, from before its tasks exist until they execute */
#define STEP_GPUS "BERTH_STEP_GPUS"

/* cppcheck-suppress unknownMacro */
SPANK_PLUGIN(berth, 1)

/* Reports an invalid word before the job exists. */
static int check_words(int value, const char *words, int is_remote)
{
    struct spank_options options;
    char why[LINE_SIZE];
    (void)value;
    spank_options_init(&options);
    if (is_remote || spank_options_parse(words, &options, why, sizeof why))
        return ESPANK_SUCCESS;
    slurm_error("--berth: %s", why);
    return -1;
}

static const struct spank_option berth_option = {
    .name = (char *)"berth",
    .arginfo = (char *)"WORDS",
    .usage = (char *)"take measured berths: "
                     "pattern=ring,bytes=64M,host=1G,visible=all,order=rank,gpus=N,cores=N; or off",
    .has_arg = 1,
    .cb = check_words,
};

/* Reads the site's options, then the job's. False with one line in why. */
static bool read_options(spank_t spank, const struct spank_setting *setting,
                         struct spank_options *ret, char *why, size_t size)
{
    char *given = NULL;
    *ret = setting->options;
    if (setting->is_default_wrong)
        return false;
    if (spank_option_getopt(spank, (struct spank_option *)&berth_option, &given) !=
            ESPANK_SUCCESS ||
        given == NULL)
        return true;
    ret->is_off = false; /* a job with the option takes part, even where the default is off */
    return spank_options_parse(given, ret, why, size);
}

int slurm_spank_init(spank_t spank, int count, char **words)
{
    (void)count;
    (void)words;
    spank_context_t context = spank_context();
    if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR || context == S_CTX_REMOTE)
        return spank_option_register(spank, (struct spank_option *)&berth_option);
    return ESPANK_SUCCESS;
}

int slurm_spank_user_init(spank_t spank, int count, char **words)
{
    char gpus[4096];
    (void)count;
    (void)words;
    if (spank_getenv(spank, "SLURM_STEP_GPUS", gpus, sizeof gpus) == ESPANK_SUCCESS)
        spank_setenv(spank, STEP_GPUS, gpus, 1);
    else
        spank_unsetenv(spank, STEP_GPUS);
    return ESPANK_SUCCESS;
}

/* One task before its program executes. */
struct task {
    spank_t spank;
    struct spank_setting setting;
    struct spank_options options;
    struct slurm_call call;
    struct berth_launcher *launcher;
    struct berth_step *step;
    struct berth_binding *binding;
    enum berth_visible visible; /* as requested */
    struct slurm_visible shown;
    struct lib_merge merged; /* cpus NULL: the berth is one of the binding's */
    json_t *node;
    /* gpus of the step, and those that Slurm has bound to the task */
    const char *gpus[SLURM_GPUS_MOST], *own_gpus[SLURM_GPUS_MOST];
    bool is_gpu_bound;
    int own_count;
    char cpus[16384], why[LINE_SIZE];
};

/* Value of a variable in the task's environment, not in that of slurmstepd. */
static const char *variable(const char *name, void *arg)
{
    char **environment = NULL;
    size_t length = strlen(name);
    if (spank_get_item(arg, S_JOB_ENV, &environment) != ESPANK_SUCCESS || environment == NULL)
        return NULL;
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static bool fail(struct task *task, const char *why)
{
    if (why != task->why)
        snprintf(task->why, sizeof task->why, "%s", why);
    return false;
}

/* Reads the gpus that Slurm has given to the step: device files may be open to all, and tasks free
 * to run anywhere. Numbers of VISIBLE_DEVICES count within the job where devices are constrained,
 * else within the node. SLURM_STEP_GPUS always counts within the node, and lists only the task's
 * gpus once --gpu-bind has bound it. With --gpu-bind=none a task has no such variable and may use
 * all gpus of the step. */
static bool read_gpus(struct task *task, struct berth_allowed *ret)
{
    const char *own = variable("SLURM_STEP_GPUS", task->spank),
               *all = variable(STEP_GPUS, task->spank);
    int count = 0;
    if (own == NULL || *own == '\0')
        own = all;
    if (own == NULL || *own == '\0')
        return true;
    struct slurm_gres *gres = malloc(sizeof *gres);
    if (gres == NULL)
        return fail(task, "out of memory");
    if (!slurm_gres_load(task->setting.gres_conf, gres, task->why, sizeof task->why)) {
        free(gres);
        return false;
    }
    task->own_count =
        slurm_gres_names(gres, task->node, own, task->own_gpus, task->why, sizeof task->why);
    if (task->own_count >= 0)
        count = slurm_gres_names(gres, task->node, all != NULL ? all : own, task->gpus, task->why,
                                 sizeof task->why);
    free(gres);
    task->is_gpu_bound = task->own_count < count;
    ret->gpus.count = count > 0 ? (size_t)count : 0;
    return task->own_count >= 0 && count >= 0;
}

static bool read_given(struct task *task, struct berth_allowed *ret)
{
    char *cores = NULL;
    ret->gpus.item = task->gpus;
    if (slurm_call(&task->call, "io.berth.Fabric.GetNode", json_object(), &task->node) !=
        BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    if (!read_gpus(task, ret))
        return false;
    if (spank_get_item(task->spank, S_STEP_ALLOC_CORES, &cores) == ESPANK_SUCCESS &&
        cores != NULL && slurm_cores_cpus(task->node, cores, task->cpus, sizeof task->cpus))
        ret->cpus = task->cpus;
    return true;
}

/* True when the cpus of a list are some of another's, not all. The kernel's notation and the one
 * from Slurm's cores differ. */
static bool is_part_of(const char *list, const char *other)
{
    bool in_one[4096] = {false}, in_other[4096] = {false};
    bool *const sets[] = {in_one, in_other};
    const char *const lists[] = {list, other};
    for (int i = 0; i < 2; i++)
        for (const char *at = lists[i]; *at != '\0';) {
            char *end;
            long first = strtol(at, &end, 10),
                 last = *end == '-' ? strtol(end + 1, &end, 10) : first;
            for (long n = first; n <= last && n >= 0 && n < 4096; n++)
                sets[i][n] = true;
            at = *end == ',' ? end + 1 : "";
        }
    bool is_less = false;
    for (int n = 0; n < 4096; n++) {
        if (in_one[n] && !in_other[n])
            return false;
        is_less |= in_other[n] && !in_one[n];
    }
    return is_less;
}

/* Requests a berth for each gpu, for tasks that Slurm has bound to gpus; each takes the berths of
 * its own gpus. All tasks of the step send the same request. Without such a plan, as with fewer
 * cores than gpus, all tasks stay as they are: under another plan two tasks could take one berth.
 */
static bool ask_by_gpu(struct task *task)
{
    struct berth_bind_request request;
    berth_bind_request_init(&request);
    request.tasks = (int)task->step->allowed.gpus.count;
    request.gpus_per_task = 1;
    request.allowed = &task->step->allowed;
    request.key = task->step->key;
    request.host_bytes = task->options.host_bytes;
    request.visible = task->options.visible;
    if (task->options.cores_per_task > 0)
        request.cores_per_task =
            (task->options.cores_per_task + task->own_count - 1) / task->own_count;
    int status = berth_bind(slurm_call_left(&task->call), &request, &task->binding);
    if (status == BERTH_DONE)
        return lib_merge(task->binding, &task->step->gpus, &task->merged) ||
               fail(task, "out of memory");
    if (status == BERTH_ERROR_NOT_ENOUGH)
        snprintf(task->why, sizeof task->why,
                 "Slurm has bound the tasks to gpus, and there is no berth for each of the step's "
                 "%d: %s",
                 request.tasks, slurm_call_why(&task->call));
    else
        fail(task, slurm_call_why(&task->call));
    return false;
}

static bool ask(struct task *task)
{
    const struct spank_options *options = &task->options;
    struct berth_bind_request request;
    if (task->is_gpu_bound)
        return ask_by_gpu(task);
    berth_bind_request_init(&request);
    request.tasks = task->launcher->tasks;
    request.allowed = &task->step->allowed;
    request.key = task->step->key;
    request.pattern = options->pattern;
    request.bytes = options->bytes;
    request.host_bytes = options->host_bytes;
    request.mechanism = options->mechanism;
    request.order = options->order;
    request.visible = options->visible;
    request.gpus_per_task = options->gpus_per_task;
    request.cores_per_task = options->cores_per_task;
    if (options->pattern != BERTH_PATTERN_DEFAULT) {
        request.ranks = task->launcher->ranks;
        request.world = task->launcher->ranks != NULL ? task->launcher->world : -1;
    }
    lib_slurm_gpus_distribute((int)task->step->allowed.gpus.count, &request);
    task->visible = request.visible;
    return berth_bind(slurm_call_left(&task->call), &request, &task->binding) == BERTH_DONE ||
           fail(task, slurm_call_why(&task->call));
}

static bool find_out(struct task *task)
{
    struct berth_allowed given = {.cpus = NULL};
    if (berth_launcher_here(task->call.berth, variable, task->spank, &task->launcher) != BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    if (task->launcher->missing != NULL)
        return fail(task, task->launcher->missing);
    if (!read_given(task, &given))
        return false;
    if (berth_step_here(slurm_call_left(&task->call), task->launcher, &given, variable, task->spank,
                        &task->step) != BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    /* Slurm confines tasks to the cpus of the step; that binds no task to cpus of its own. */
    if (given.cpus != NULL)
        task->step->cpus_bound = is_part_of(task->step->cpus, given.cpus);
    task->step->allowed.gpus = given.gpus;
    task->step->gpus =
        (struct berth_texts){.item = task->own_gpus, .count = (size_t)task->own_count};
    task->step->gpus_bound = task->is_gpu_bound;
    return true;
}

/* Adds the variables of the berth's gpus, counted within the job, when the plan has none. */
static const struct berth_task *show_gpus(struct task *task, const struct berth_task *berth,
                                          unsigned parts)
{
    const struct slurm_visible_job job = {.visible = variable("ROCR_VISIBLE_DEVICES", task->spank),
                                          .numbers = variable("SLURM_STEP_GPUS", task->spank),
                                          .gpus = task->gpus,
                                          .count = (int)task->step->allowed.gpus.count};
    const struct berth_texts *others =
        task->visible == BERTH_VISIBLE_ALL ? &task->step->allowed.gpus : NULL;
    if (!(parts & BERTH_PART_GPUS) || !slurm_visible_lacks(berth) ||
        !slurm_visible_make(task->node, &job, berth, others, &task->shown))
        return berth;
    return &task->shown.task;
}

/* Leaves a variable that chooses a nic where somebody else has set it. */
static void set_variable(const struct task *task, const struct berth_pair *pair)
{
    char buffer[LIB_APPLY_MARK_SIZE];
    const char *mark = lib_apply_mark(pair->name, buffer);
    if (mark != NULL &&
        !lib_apply_is_free(variable(pair->name, task->spank), variable(mark, task->spank)))
        return;
    if (mark != NULL)
        spank_setenv(task->spank, mark, pair->value, 1);
    spank_setenv(task->spank, pair->name, pair->value, 1);
}

static bool take(struct task *task)
{
    unsigned parts = 0;
    const struct berth_task *berth = &task->merged.task;
    if (task->merged.cpus == NULL)
        berth = berth_step_berth(task->step, task->launcher->task, task->binding, &parts);
    else
        parts = BERTH_PART_ALL &
                ~(unsigned)(BERTH_PART_GPUS |
                            (task->step->cpus_bound ? BERTH_PART_CPUS | BERTH_PART_MEMORY : 0));
    if (berth == NULL)
        return fail(task, "the plan has no berth for this task");
    if (berth_apply(task->call.berth, berth, parts & (BERTH_PART_CPUS | BERTH_PART_MEMORY)) !=
        BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    berth = show_gpus(task, berth, parts);
    for (size_t i = 0; i < berth->environment.count; i++)
        if (lib_apply_is_name(berth->environment.item[i].name) &&
            lib_apply_includes(berth->environment.item[i].name, parts))
            set_variable(task, &berth->environment.item[i]);
    for (size_t i = 0; i < berth->unset.count; i++)
        if (lib_apply_includes(berth->unset.item[i], parts))
            spank_unsetenv(task->spank, berth->unset.item[i]);
    return true;
}

/* Has hwloc load the daemon's file, in every task that takes part. */
static void share_topology(const struct task *task)
{
    struct lib_hwloc hwloc;
    if (lib_hwloc_find(task->setting.socket, variable, task->spank, &hwloc))
        for (int i = 0; i < LIB_HWLOC_VARIABLES; i++)
            spank_setenv(task->spank, hwloc.variable[i].name, hwloc.variable[i].value, 0);
}

/* True for the first task of this step here that reports this kind: all tasks are children of one
 * slurmstepd. */
static bool is_first(const char *kind)
{
    return lib_step_printer("/dev/shm", NULL, NULL, NULL, kind) != LIB_PRINTER_OTHER;
}

/* Any task may lack a berth. The job gets one message; the administrator gets one per task. */
static void report(const struct task *task, int number, bool is_placed)
{
    const struct berth_step *step = task->step;
    if (!is_placed) {
        syslog(LOG_DAEMON | LOG_WARNING,
               "berth-slurm: task %d of the step here runs as Slurm has placed it: %s", number,
               task->why);
        if (is_first("not placed"))
            slurm_spank_log("berth: %s: tasks run as Slurm has placed them", task->why);
    } else if (number == 0 && step != NULL && (step->cpus_bound || step->gpus_bound))
        slurm_spank_log("berth: Slurm has bound the tasks to %s%s%s, and that stays "
                        "(--cpu-bind=none --gpu-bind=none leaves it to berth)",
                        step->cpus_bound ? "cpus" : "",
                        step->cpus_bound && step->gpus_bound ? " and " : "",
                        step->gpus_bound ? "gpus" : "");
}

static bool place(struct task *task)
{
    if (slurm_call_init(&task->call, task->setting.socket, (int)task->setting.timeout_ms) !=
        BERTH_DONE)
        return fail(task, slurm_call_why(&task->call));
    return find_out(task) && ask(task) && take(task);
}

/* False for batch, extern and interactive steps, which have no tasks of an application. */
static bool has_application(spank_t spank)
{
    uint32_t step = 0;
    return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step < SLURM_MAX_NORMAL_STEP_ID;
}

int slurm_spank_task_init(spank_t spank, int count, char **words)
{
    struct task *task = calloc(1, sizeof *task);
    int number = 0;
    if (task == NULL || !has_application(spank)) {
        spank_unsetenv(spank, STEP_GPUS);
        free(task);
        return ESPANK_SUCCESS;
    }
    task->spank = spank;
    /* the task prolog runs after this; the program will have its own name */
    prctl(PR_SET_NAME, SLURM_TASK_PLACED);
    spank_setting_read(count, words, &task->setting, task->why, sizeof task->why);
    if (task->why[0] != '\0' && !task->setting.is_default_wrong && is_first("plugstack.conf"))
        slurm_error("berth: %s", task->why);
    bool is_placed =
        read_options(spank, &task->setting, &task->options, task->why, sizeof task->why);
    if (is_placed && !task->options.is_off)
        is_placed = place(task);
    if (!task->options.is_off)
        share_topology(task);
    if (spank_get_item(spank, S_TASK_ID, &number) != ESPANK_SUCCESS)
        number = 0;
    report(task, number, is_placed);
    spank_unsetenv(spank, STEP_GPUS);
    slurm_visible_done(&task->shown);
    lib_merge_done(&task->merged);
    berth_binding_free(task->binding);
    berth_step_free(task->step);
    berth_launcher_free(task->launcher);
    json_decref(task->node);
    slurm_call_done(&task->call);
    free(task);
    return ESPANK_SUCCESS;
}

/* Runs as root in the step's slurmstepd. Its tasks are then in their cgroups and wait to execute.
 */
int slurm_spank_task_post_fork(spank_t spank, int count, char **words)
{
    struct spank_setting setting;
    struct slurm_call call;
    char why[LINE_SIZE]; /* reported by the tasks */
    uint32_t job = 0;
    int number = -1;
    pid_t task = 0;
    char *cores = NULL;
    if (spank_get_item(spank, S_TASK_ID, &number) != ESPANK_SUCCESS || number != 0 ||
        spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_TASK_PID, &task) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_ALLOC_CORES, &cores) != ESPANK_SUCCESS || cores == NULL)
        return ESPANK_SUCCESS;
    spank_setting_read(count, words, &setting, why, sizeof why);
    int status = slurm_call_init(&call, setting.socket, CLAIM_MS);
    call.is_quiet = true;
    if (status == BERTH_DONE)
        slurm_step_claim(&call, job, cores, task);
    slurm_call_done(&call);
    return ESPANK_SUCCESS;
}
