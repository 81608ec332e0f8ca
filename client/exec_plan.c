#include "exec_plan.h"

#include <stdlib.h>
#include <string.h>

#include "cmd_bind.h"
#include "lib.h"
#include "lib_bind.h"
#include "lib_dealt.h"
#include "slurm_share.h"

#define OPTION(name) (&cmd_bind_options[CMD_BIND_##name])

/* A count that an option gives instead of what is known. */
static int override(const struct cmd *cmd, const struct cmd_option *option, long least, int *number)
{
    const char *text = cmd_value(cmd, option);
    long given;
    if (text == NULL)
        return CMD_DONE;
    if (!lib_parse_count(text, least, CMD_TASKS_MOST, &given))
        return cmd_usage(cmd, "--%s takes a number from %ld to %ld, not %.40s", option->name, least, CMD_TASKS_MOST, text);
    *number = (int)given;
    return CMD_DONE;
}

int exec_plan_who(struct cmd *cmd, struct exec_plan *plan)
{
    if (berth_launcher_here(cmd->berth, NULL, NULL, &plan->said) < 0)
        return cmd_fail_memory();
    struct berth_launcher *who = &plan->who;
    *who = *plan->said;
    int status = override(cmd, OPTION(TASKS), 1, &who->tasks);
    if (status == CMD_DONE)
        status = override(cmd, &cmd_bind_options[CMD_EXEC_TASK], 0, &who->task);
    if (status != CMD_DONE)
        return status;
    bool is_said = cmd_has(cmd, OPTION(TASKS)) || cmd_has(cmd, &cmd_bind_options[CMD_EXEC_TASK]);
    if (who->name == NULL && !is_said) /* it was started by hand, and alone */
        who->tasks = 1, who->task = 0;
    if ((who->task < 0 || who->tasks < 0) && is_said)
        return cmd_usage(cmd, "which task is this, and of how many? %s: give both -n TASKS and -t TASK", who->missing);
    if (who->task >= who->tasks && who->tasks >= 0)
        return cmd_usage(cmd, "there is no task %d of %d: they count from 0", who->task, who->tasks);
    if (who->tasks != plan->said->tasks) /* the launcher speaks of other tasks */
        who->ranks = NULL;
    return CMD_DONE;
}

static void leave_time(struct cmd *cmd, int64_t end_ms)
{
    int64_t left = end_ms - lib_now_ms();
    berth_set_timeout(cmd->berth, left > 1 ? (int)left : 1);
}

/* The names of --gpus as texts, that stay the array's. NULL when out of memory. */
static const char **list_texts(const json_t *array)
{
    const char **item = calloc(json_array_size(array) + 1, sizeof *item);
    for (size_t i = 0; item != NULL && i < json_array_size(array); i++)
        item[i] = json_string_value(json_array_get(array, i));
    return item;
}

static int look_at_step(struct cmd *cmd, struct exec_plan *plan, int *ret_usage)
{
    struct berth_allowed given = {.cpus = cmd_value(cmd, OPTION(CPUS))};
    const char *gpus = cmd_value(cmd, OPTION(GPUS));
    json_t *array = NULL;
    *ret_usage = cmd_check_cpus(cmd, given.cpus);
    if (*ret_usage == CMD_DONE && gpus != NULL)
        *ret_usage = cmd_parse_gpus(cmd, gpus, &array);
    if (*ret_usage != CMD_DONE)
        return BERTH_ERROR_BAD_ARGUMENT;
    if (array != NULL)
        given.gpus = (struct berth_texts){.item = list_texts(array), .count = json_array_size(array)};
    if (array != NULL && given.gpus.item == NULL) {
        json_decref(array);
        *ret_usage = cmd_fail_memory();
        return BERTH_ERROR_OUT_OF_MEMORY;
    }
    *ret_usage = cmd_check_cpus_there(cmd, given.cpus);
    if (*ret_usage != CMD_DONE) {
        free((void *)given.gpus.item);
        json_decref(array);
        return BERTH_ERROR_BAD_ARGUMENT;
    }
    int status = berth_step_here(cmd->berth, &plan->who, &given, NULL, NULL, &plan->step);
    free((void *)given.gpus.item);
    json_decref(array);
    return status;
}

static bool set_allowed(json_t *request, const struct berth_allowed *allowed)
{
    json_t *object = json_object();
    return json_object_set_new(request, "allowed", object) == 0 && json_object_set_new(object, "cpus", json_string(allowed->cpus)) == 0 &&
           cmd_set_texts(object, "memory", &allowed->memory) && cmd_set_texts(object, "gpus", &allowed->gpus);
}

/* Traffic is between the ranks of the whole job, where the launcher says which of them are here. */
static bool set_ranks(struct cmd *cmd, json_t *request, const struct berth_launcher *who)
{
    bool has_traffic = cmd_has(cmd, OPTION(PATTERN)) || cmd_has(cmd, OPTION(FLOW)) || cmd_has(cmd, OPTION(FLOWS));
    if (!has_traffic || who->ranks == NULL || cmd_has(cmd, OPTION(RANKS)) || cmd_has(cmd, OPTION(WORLD)))
        return true;
    json_t *ranks = json_array();
    bool fine = json_object_set_new(request, "ranks", ranks) == 0 && json_object_set_new(request, "world", json_integer(who->world)) == 0;
    for (int i = 0; fine && i < who->tasks; i++)
        fine = json_array_append_new(ranks, json_integer(who->ranks[i])) == 0;
    return fine;
}

/* How many gpus a job of Slurm's has for these tasks, of those that they may use; 0 where no job has said so: then Bind's own default stands. */
static int job_gpus(const struct exec_plan *plan)
{
    const long count = lib_dealt_count(getenv("SLURM_GPUS_ON_NODE")), usable = (long)plan->step->allowed.gpus.count;
    return (int)(count < usable ? count : usable);
}

/* As the plugin deals them out, where nobody says how. */
static bool share_gpus(struct cmd *cmd, struct exec_plan *plan, json_t *request)
{
    struct berth_bind_request share;
    berth_bind_request_init(&share);
    share.tasks = plan->who.tasks;
    slurm_share_gpus(job_gpus(plan), &share);
    const bool has_left_over = share.visible == BERTH_VISIBLE_ALL && !cmd_has(cmd, OPTION(VISIBLE)), are_few = share.tasks_per_gpu > 0 && !cmd_has(cmd, OPTION(SHARE));
    plan->sees_all = plan->sees_all || (has_left_over && job_gpus(plan) == (int)plan->step->allowed.gpus.count); /* else others' are among those allowed */
    return json_object_set_new(request, "gpus_per_task", json_integer(share.gpus_per_task)) == 0 &&
           (!has_left_over || json_object_set_new(request, "visible", json_string("all")) == 0) &&
           (!are_few || json_object_set_new(request, "tasks_per_gpu", json_integer(share.tasks_per_gpu)) == 0);
}

static int make_request(struct cmd *cmd, struct exec_plan *plan, json_t *request)
{
    const char *key = cmd_value(cmd, OPTION(KEY)), *visible = cmd_value(cmd, OPTION(VISIBLE));
    plan->sees_all = visible != NULL && strcmp(visible, "all") == 0;
    int status = cmd_bind_request(cmd, request);
    if (status != CMD_DONE)
        return status;
    bool fine = json_object_set_new(request, "tasks", json_integer(plan->who.tasks)) == 0 &&
                json_object_set_new(request, "key", json_string(key != NULL ? key : plan->step->key)) == 0 && set_allowed(request, &plan->step->allowed) &&
                set_ranks(cmd, request, &plan->who);
    const bool is_said = cmd_has(cmd, OPTION(GPUS_EACH));
    if (fine && plan->step->gpus_bound && !is_said)
        fine = json_object_set_new(request, "gpus_per_task", json_integer((json_int_t)plan->step->gpus.count)) == 0;
    else if (fine && !is_said && job_gpus(plan) > 0)
        fine = share_gpus(cmd, plan, request);
    return fine ? CMD_DONE : cmd_fail_memory();
}

/* For the gpus that the launcher has chosen there is nothing to choose, nor is traffic what a choice would go by. */
static bool ask_by_gpu(json_t *request, const struct exec_plan *plan, size_t berths)
{
    static const char *const of_choice[] = {"pattern", "flows", "bytes", "ranks", "world", "order", "mechanism", "tasks_per_gpu"};
    const json_int_t gpus = (json_int_t)plan->step->gpus.count, cores = json_integer_value(json_object_get(request, "cores_per_task"));
    for (size_t i = 0; i < sizeof of_choice / sizeof of_choice[0]; i++)
        json_object_del(request, of_choice[i]);
    return json_object_set_new(request, "tasks", json_integer((json_int_t)berths)) == 0 &&
           json_object_set_new(request, "gpus_per_task", json_integer(1)) == 0 &&
           (cores == 0 || json_object_set_new(request, "cores_per_task", json_integer((cores + gpus - 1) / gpus)) == 0);
}

/* by_gpu: so many berths of one gpu each; 0 a berth for each task. */
static int ask(struct cmd *cmd, struct exec_plan *plan, size_t by_gpu, int *ret_usage)
{
    json_t *request = json_object();
    *ret_usage = request == NULL ? cmd_fail_memory() : make_request(cmd, plan, request);
    if (*ret_usage == CMD_DONE && by_gpu > 0 && !ask_by_gpu(request, plan, by_gpu))
        *ret_usage = cmd_fail_memory();
    if (*ret_usage != CMD_DONE) {
        json_decref(request);
        return BERTH_ERROR_BAD_ARGUMENT;
    }
    json_t *reply;
    int status = lib_call(cmd->berth, "io.berth.Placement.Bind", request, &reply);
    return status == BERTH_DONE ? lib_bind_read(cmd->berth, reply, &plan->binding) : status;
}

/* Whether the daemon itself has said that there is no such plan. */
static bool is_refusal(int status)
{
    return status == BERTH_ERROR_NOT_ENOUGH || status == BERTH_ERROR_NOTHING_ALLOWED || status == BERTH_ERROR_KEY_MISMATCH;
}

/* All tasks of a step ask the same, so that their cpus are of one plan: berths for all gpus of the node, or, where the job has fewer, for as many as that has. task stays NULL when
 * the step has fewer cores than gpus, or, beside a plan, when that has other gpus. */
static int ask_for_bound(struct cmd *cmd, struct exec_plan *plan, int64_t end_ms, int *ret_usage)
{
    const size_t all = plan->step->allowed.gpus.count, of_job = (size_t)job_gpus(plan);
    leave_time(cmd, end_ms);
    int status = ask(cmd, plan, all, ret_usage);
    if (is_refusal(status) && of_job > 0 && of_job < all) {
        leave_time(cmd, end_ms);
        status = ask(cmd, plan, of_job, ret_usage);
    }
    if (status == BERTH_DONE && lib_merge(plan->binding, &plan->step->gpus, &plan->together)) {
        plan->task = &plan->together.task;
        plan->parts = BERTH_PART_ALL & ~(unsigned)BERTH_PART_GPUS;
        return BERTH_DONE;
    }
    return is_refusal(status) ? BERTH_DONE : status;
}

/* Where nothing tells how gpus are counted here, their variables stay as the launcher has them. */
static int show_gpus(struct cmd *cmd, struct exec_plan *plan)
{
    const struct berth_texts *allowed = &plan->step->allowed.gpus;
    const struct slurm_visible_job job = {.visible = getenv("ROCR_VISIBLE_DEVICES"), .numbers = getenv("SLURM_STEP_GPUS"), .gpus = allowed->item, .count = (int)allowed->count};
    json_t *node = NULL;
    if (!slurm_visible_lacks(plan->task))
        return BERTH_DONE;
    int status = lib_call(cmd->berth, "io.berth.Fabric.GetNode", json_object(), &node);
    if (node != NULL && slurm_visible_make(node, &job, plan->task, plan->sees_all ? allowed : NULL, &plan->visible))
        plan->task = &plan->visible.task;
    json_decref(node);
    return status;
}

static int ask_all(struct cmd *cmd, struct exec_plan *plan, int64_t end_ms, int *ret_usage)
{
    *ret_usage = CMD_DONE;
    leave_time(cmd, end_ms);
    int status = berth_connect(cmd->berth, cmd_value(cmd, &cmd_globals[CMD_SOCKET]));
    if (status == BERTH_DONE) {
        leave_time(cmd, end_ms);
        status = look_at_step(cmd, plan, ret_usage);
    }
    if (status < 0 || (plan->step->cpus_bound && plan->step->gpus_bound))
        return status;
    if (plan->step->gpus_bound && !cmd_has(cmd, OPTION(GPUS_EACH)))
        status = ask_for_bound(cmd, plan, end_ms, ret_usage);
    if (status < 0 || plan->binding != NULL)
        return status;
    leave_time(cmd, end_ms);
    status = ask(cmd, plan, 0, ret_usage);
    if (status == BERTH_DONE)
        plan->task = berth_step_berth(plan->step, plan->who.task, plan->binding, &plan->parts);
    if (status < 0 || plan->task == NULL || !(plan->parts & BERTH_PART_GPUS))
        return status;
    leave_time(cmd, end_ms);
    return show_gpus(cmd, plan);
}

int exec_plan_ask(struct cmd *cmd, struct exec_plan *plan, int timeout_ms, int *ret_usage)
{
    int status = ask_all(cmd, plan, lib_now_ms() + timeout_ms, ret_usage);
    if (status == BERTH_ERROR_TIMED_OUT)
        lib_fail_late_of_all(cmd->berth, timeout_ms);
    return status;
}

void exec_plan_done(struct exec_plan *plan)
{
    slurm_visible_done(&plan->visible);
    lib_merge_done(&plan->together);
    berth_binding_free(plan->binding);
    berth_step_free(plan->step);
    berth_launcher_free(plan->said);
}
