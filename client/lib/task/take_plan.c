#include "lib/task/take_plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/lib.h"
#include "lib/task/slurm_gpus.h"
#include "lib/write.h"

int lib_take_identify(struct lib_take *plan, int tasks, int task)
{
    int status = berth_launcher_here(plan->berth, NULL, NULL, &plan->reported);
    if (status < 0)
        return status;
    struct berth_launcher *who = &plan->launcher;
    *who = *plan->reported;
    if (who->name == NULL && tasks < 0 && task < 0) /* started by hand, as the only task */
        tasks = 1, task = 0;
    if (tasks >= 0)
        who->tasks = tasks;
    if (task >= 0)
        who->task = task;
    if (who->tasks !=
        plan->reported->tasks) /* the launcher's ranks are for another number of tasks */
        who->ranks = NULL;
    return BERTH_DONE;
}

static void leave_time(const struct lib_take *plan)
{
    int64_t left = plan->end_ms - lib_now_ms();
    berth_set_timeout(plan->berth, left > 1 ? (int)left : 1);
}

/* Puts the time of all calls into the error of a late call. */
static int with_whole_time(const struct lib_take *plan, int status)
{
    if (status == BERTH_ERROR_TIMED_OUT)
        lib_fail_late_of_all(plan->berth, plan->timeout_ms);
    return status;
}

int lib_take_connect(struct lib_take *plan, const char *socket, int timeout_ms)
{
    plan->timeout_ms = timeout_ms;
    plan->end_ms = lib_now_ms() + timeout_ms;
    leave_time(plan);
    int status = berth_connect(plan->berth, socket);
    leave_time(plan);
    return with_whole_time(plan, status);
}

int lib_take_step(struct lib_take *plan, const struct berth_allowed *given)
{
    leave_time(plan);
    return with_whole_time(
        plan, berth_step_here(plan->berth, &plan->launcher, given, NULL, NULL, &plan->step));
}

bool lib_take_is_bound(const struct lib_take *plan)
{
    return plan->step->cpus_bound && plan->step->gpus_bound;
}

static bool set(json_t *request, const char *key, json_int_t number)
{
    return json_object_set_new(request, key, json_integer(number)) == 0;
}

static bool has(const json_t *request, const char *key)
{
    return json_object_get(request, key) != NULL;
}

/* Traffic connects the ranks of the whole job, where the launcher states which of them are here. */
static bool set_ranks(json_t *request, const struct berth_launcher *who)
{
    bool has_traffic = has(request, "pattern") || has(request, "flows");
    if (!has_traffic || who->ranks == NULL || has(request, "ranks") || has(request, "world"))
        return true;
    json_t *ranks = json_array();
    bool fine =
        json_object_set_new(request, "ranks", ranks) == 0 && set(request, "world", who->world);
    for (int i = 0; fine && i < who->tasks; i++)
        fine = json_array_append_new(ranks, json_integer(who->ranks[i])) == 0;
    return fine;
}

/* Number of gpus that a Slurm job has for these tasks, at most the allowed gpus. 0 where no job
 * states a number: Bind's own default then holds. */
static int job_gpus(const struct lib_take *plan)
{
    const long count = lib_slurm_gpus_count(getenv("SLURM_GPUS_ON_NODE")),
               usable = (long)plan->step->allowed.gpus.count;
    return (int)(count < usable ? count : usable);
}

/* Distributes the gpus like the plugin, where no option does. */
static bool share_gpus(struct lib_take *plan, json_t *request)
{
    struct berth_bind_request share;
    berth_bind_request_init(&share);
    share.tasks = plan->launcher.tasks;
    lib_slurm_gpus_distribute(job_gpus(plan), &share);
    const bool has_left_over = share.visible == BERTH_VISIBLE_ALL && !has(request, "visible");
    const bool are_few = share.tasks_per_gpu > 0 && !has(request, "tasks_per_gpu");
    /* with more allowed gpus than the job's, some belong to other jobs */
    plan->sees_all =
        plan->sees_all || (has_left_over && job_gpus(plan) == (int)plan->step->allowed.gpus.count);
    return set(request, "gpus_per_task", share.gpus_per_task) &&
           (!has_left_over || json_object_set_new(request, "visible", json_string("all")) == 0) &&
           (!are_few || set(request, "tasks_per_gpu", share.tasks_per_gpu));
}

static bool add_gpus(struct lib_take *plan, json_t *request)
{
    if (has(request, "gpus_per_task"))
        return true;
    if (plan->step->gpus_bound)
        return set(request, "gpus_per_task", (json_int_t)plan->step->gpus.count);
    return job_gpus(plan) == 0 || share_gpus(plan, request);
}

static int make_request(struct lib_take *plan, const json_t *options, const char *key,
                        json_t **ret_request)
{
    const char *visible = json_string_value(json_object_get(options, "visible"));
    json_t *request = json_copy((json_t *)options);
    plan->sees_all = visible != NULL && strcmp(visible, "all") == 0;
    bool fine = set(request, "tasks", plan->launcher.tasks) &&
                json_object_set_new(request, "key",
                                    json_string(key != NULL ? key : plan->step->key)) == 0 &&
                set_ranks(request, &plan->launcher) && add_gpus(plan, request);
    int status = fine ? lib_write_allowed(plan->berth, request, 0, 1, &plan->step->allowed)
                      : lib_fail_memory(plan->berth);
    if (status == BERTH_DONE)
        *ret_request = request;
    else
        json_decref(request);
    return status;
}

/* Requests one berth per gpu. The launcher has chosen the gpus, so options about the choice and the
 * traffic behind it are removed. */
static bool ask_by_gpu(json_t *request, const struct lib_take *plan, size_t berths)
{
    static const char *const of_choice[] = {"pattern", "flows", "bytes",     "ranks",
                                            "world",   "order", "mechanism", "tasks_per_gpu"};
    const json_int_t gpus = (json_int_t)plan->step->gpus.count;
    const json_int_t cores = json_integer_value(json_object_get(request, "cores_per_task"));
    for (size_t i = 0; i < sizeof of_choice / sizeof of_choice[0]; i++)
        json_object_del(request, of_choice[i]);
    return set(request, "tasks", (json_int_t)berths) && set(request, "gpus_per_task", 1) &&
           (cores == 0 || set(request, "cores_per_task", (cores + gpus - 1) / gpus));
}

/* Sends the request. by_gpu: number of berths with one gpu each; 0: one berth per task. */
static int ask(struct lib_take *plan, const json_t *options, const char *key, size_t by_gpu)
{
    json_t *request = NULL, *reply;
    leave_time(plan);
    int status = make_request(plan, options, key, &request);
    if (status == BERTH_DONE && by_gpu > 0 && !ask_by_gpu(request, plan, by_gpu)) {
        json_decref(request);
        status = lib_fail_memory(plan->berth);
    }
    if (status == BERTH_DONE)
        status = lib_call(plan->berth, "io.berth.Placement.Bind", request, &reply);
    return status == BERTH_DONE ? lib_bind_read(plan->berth, reply, &plan->binding) : status;
}

/* True when the daemon itself has refused such a plan. */
static bool is_refusal(int status)
{
    return status == BERTH_ERROR_NOT_ENOUGH || status == BERTH_ERROR_NOTHING_ALLOWED ||
           status == BERTH_ERROR_KEY_MISMATCH;
}

/* Requests the same berths in all tasks of a step, so that one plan gives their cpus. The berths
 * are for all gpus of the node or, when the job has fewer, for the job's number. task stays NULL
 * when the step has fewer cores than gpus, or when the plan has other gpus. */
static int ask_for_bound(struct lib_take *plan, const json_t *options, const char *key)
{
    const size_t all = plan->step->allowed.gpus.count, of_job = (size_t)job_gpus(plan);
    int status = ask(plan, options, key, all);
    if (is_refusal(status) && of_job > 0 && of_job < all)
        status = ask(plan, options, key, of_job);
    if (status == BERTH_DONE && lib_merge(plan->binding, &plan->step->gpus, &plan->merged)) {
        plan->task = &plan->merged.task;
        plan->parts = BERTH_PART_ALL & ~(unsigned)BERTH_PART_GPUS;
        return BERTH_DONE;
    }
    return is_refusal(status) ? BERTH_DONE : status;
}

/* Leaves the launcher's variables where the local count of gpus is unknown. */
static int show_gpus(struct lib_take *plan)
{
    const struct berth_texts *allowed = &plan->step->allowed.gpus;
    const struct slurm_visible_job job = {.visible = getenv("ROCR_VISIBLE_DEVICES"),
                                          .numbers = getenv("SLURM_STEP_GPUS"),
                                          .gpus = allowed->item,
                                          .count = (int)allowed->count};
    json_t *node = NULL;
    if (!slurm_visible_lacks(plan->task))
        return BERTH_DONE;
    leave_time(plan);
    int status = lib_call(plan->berth, "io.berth.Fabric.GetNode", json_object(), &node);
    if (node != NULL &&
        slurm_visible_make(node, &job, plan->task, plan->sees_all ? allowed : NULL, &plan->visible))
        plan->task = &plan->visible.task;
    json_decref(node);
    return status;
}

static int ask_all(struct lib_take *plan, const json_t *options, const char *key)
{
    int status = BERTH_DONE;
    if (plan->step->gpus_bound && !has(options, "gpus_per_task"))
        status = ask_for_bound(plan, options, key);
    if (status < 0 || plan->binding != NULL)
        return status;
    status = ask(plan, options, key, 0);
    if (status == BERTH_DONE)
        plan->task = berth_step_berth(plan->step, plan->launcher.task, plan->binding, &plan->parts);
    if (status < 0 || plan->task == NULL || !(plan->parts & BERTH_PART_GPUS))
        return status;
    if (!has(options, "visible") &&
        lib_local_ranks(&plan->launcher, plan->binding, plan->task, &plan->local))
        plan->task = &plan->local.task;
    return show_gpus(plan);
}

int lib_take_ask(struct lib_take *plan, const json_t *options, const char *key)
{
    return with_whole_time(plan, ask_all(plan, options, key));
}

void lib_take_done(struct lib_take *plan)
{
    slurm_visible_done(&plan->visible);
    lib_local_ranks_done(&plan->local);
    lib_merge_done(&plan->merged);
    berth_binding_free(plan->binding);
    berth_step_free(plan->step);
    berth_launcher_free(plan->reported);
}
