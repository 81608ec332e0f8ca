/* Call berth_take: plan of this task, and taking it. */
#include <stdlib.h>

#include "lib/lib.h"
#include "lib/task/take_plan.h"
#include "lib/write.h"

#define MOST_MS 2000 /* a program's start does not wait longer for a daemon that hangs */

/* Outcome with the plan that owns its texts. */
struct owned {
    struct berth_taken taken; /* first */
    struct lib_take plan;
};

/* Writes the options of a Bind; the plan adds tasks, key and resources. */
static int write_options(struct berth *berth, const struct berth_bind_request *request,
                         json_t **ret_options)
{
    struct berth_bind_request options;
    berth_bind_request_init(&options);
    if (request != NULL)
        options = *request;
    options.tasks = -1;
    options.world = -1;
    options.ranks = NULL;
    options.whole_node = 1; /* no key but the caller's */
    struct lib_write write = lib_bind_write(&options);
    return lib_write_end(berth, &write, ret_options);
}

static int ask(struct lib_take *plan, const struct berth_bind_request *request)
{
    json_t *options = NULL;
    int status = write_options(plan->berth, request, &options);
    if (status == BERTH_DONE)
        status = lib_take_ask(plan, options, request != NULL ? request->key : NULL);
    if (status == BERTH_DONE && plan->task == NULL)
        status = lib_fail(plan->berth, BERTH_ERROR_UNAVAILABLE,
                          "no berth of the plan has just the gpus that this task was given");
    json_decref(options);
    return status;
}

/* Finds the plan of this task. Its task stays NULL where the launcher has bound everything. */
static int make_plan(struct lib_take *plan, const struct berth_bind_request *request)
{
    const int limit_ms = plan->berth->timeout_ms;
    int status = lib_take_identify(plan, -1, -1);
    if (status == BERTH_DONE && (plan->launcher.task < 0 || plan->launcher.tasks < 0))
        status = lib_fail(plan->berth, BERTH_ERROR_BAD_ARGUMENT, "%s", plan->launcher.missing);
    if (status == BERTH_DONE)
        status =
            lib_take_connect(plan, NULL, limit_ms > 0 && limit_ms < MOST_MS ? limit_ms : MOST_MS);
    if (status == BERTH_DONE)
        status = lib_take_step(plan, NULL);
    if (status == BERTH_DONE && !lib_take_is_bound(plan))
        status = ask(plan, request);
    berth_set_timeout(plan->berth, limit_ms);
    return status;
}

static void tell(struct owned *owned)
{
    const struct lib_take *plan = &owned->plan;
    const struct berth_task *task = plan->task;
    const unsigned parts = task != NULL ? plan->parts : 0;
    owned->taken = (struct berth_taken){
        .launcher = plan->launcher.name,
        .task = plan->launcher.task,
        .tasks = plan->launcher.tasks,
        .parts = parts,
        .cpus = parts & BERTH_PART_CPUS ? task->cpus : plan->step->cpus,
        .gpus = parts & BERTH_PART_GPUS ? task->gpus : plan->step->gpus,
        .memory = parts & BERTH_PART_MEMORY ? task->memory : (struct berth_texts){0},
    };
}

static int take(struct owned *owned, const struct berth_bind_request *request)
{
    struct lib_take *plan = &owned->plan;
    int status = make_plan(plan, request);
    if (status == BERTH_DONE && plan->task != NULL)
        status = berth_apply(plan->berth, plan->task, plan->parts);
    if (status == BERTH_DONE)
        tell(owned);
    return status;
}

int berth_take(struct berth *berth, const struct berth_bind_request *request,
               struct berth_taken **ret_taken)
{
    struct berth *here = berth != NULL ? berth : berth_new();
    struct owned *owned = calloc(1, sizeof *owned);
    int status = BERTH_ERROR_OUT_OF_MEMORY;
    if (here != NULL && owned != NULL) {
        owned->plan.berth = here;
        status = take(owned, request);
    } else if (here != NULL) {
        lib_fail_memory(here);
    }
    if (status == BERTH_DONE && ret_taken != NULL)
        *ret_taken = &owned->taken;
    else if (owned != NULL)
        berth_taken_free(&owned->taken);
    if (berth == NULL)
        berth_free(here);
    return status;
}

void berth_taken_free(struct berth_taken *taken)
{
    struct owned *owned = (struct owned *)taken;
    if (owned != NULL)
        lib_take_done(&owned->plan);
    free(owned);
}
