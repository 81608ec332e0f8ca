#include "plan/bind/bind.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost/endpoints.h"
#include "cost/evidence.h"
#include "node/allowed.h"
#include "node/gpu.h"
#include "node/reasons.h"
#include "plan/bind/core_allocator.h"
#include "plan/bind/cores.h"
#include "plan/bind/cpu_tasks.h"
#include "plan/bind/explain.h"
#include "plan/bind/gpus.h"
#include "plan/bind/nics.h"
#include "plan/bind/traffic.h"

#define WHY_MAX 6 /* numbers that are cited */

/* What is done for one request. */
struct work {
    const struct snapshot *snap;
    const struct bind_request *request;
    struct bind_cores cores;
    struct bind_gpus gpus;
    struct bind_traffic traffic;
    struct bind_answer answer;
};

static enum berth_code check(const struct bind_request *request, struct berth_err *err)
{
    const struct {
        const char *name;
        int64_t number;
    } counts[] = {{"gpus_per_task", request->gpus_per_task == -1 ? 0 : request->gpus_per_task},
                  {"cores_per_task", request->cores_per_task},
                  {"threads_per_core", request->threads_per_core},
                  {"tasks_per_gpu", request->tasks_per_gpu}};
    if (request->tasks <= 0 || request->tasks > BIND_TASKS_MAX)
        return err_invalid(err, "tasks", "%" PRId64 " is not from 1 to %d", request->tasks,
                           BIND_TASKS_MAX);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].number < 0)
            return err_invalid(err, counts[i].name, "it is not negative");
    if (request->tasks_per_gpu > 1 && request->gpus_per_task != 1 && request->gpus_per_task != -1)
        return err_invalid(err, "tasks_per_gpu",
                           "tasks share gpus only when they have one each, not %" PRId64,
                           request->gpus_per_task);
    return BERTH_OK;
}

/* "12 tasks with 1 gpu each need 12; there are 8: gpu0-gpu7". */
static enum berth_code not_enough(const struct work *work, int64_t tasks, int64_t each,
                                  int64_t share, struct berth_err *err)
{
    int64_t needed =
                each > INT64_MAX / tasks - share ? INT64_MAX : (each * tasks + share - 1) / share,
            available = (int64_t)work->gpus.count;
    char there[80], shared[48] = "", lost[64] = "", hint[112] = "";
    if (graph_count(work->snap->graph, PLACE_GPU) == 0)
        snprintf(there, sizeof there, "no gpu: this node has none");
    else
        plan_bind_gpus_list(work->snap->graph, &work->gpus, there, sizeof there);
    if (share > 1)
        snprintf(shared, sizeof shared, ", up to %" PRId64 " on one,", share);
    if (work->gpus.lost != PLACE_NONE)
        snprintf(lost, sizeof lost, "; %s is lost",
                 graph_place(work->snap->graph, work->gpus.lost)->name);
    else if (work->gpus.cut != PLACE_NONE)
        snprintf(lost, sizeof lost, "; %s %s", graph_place(work->snap->graph, work->gpus.cut)->name,
                 endpoints_cut_text(work->snap->graph, work->gpus.cut));
    if (each == 1 && available > 0)
        snprintf(hint, sizeof hint,
                 "; to share them add --tasks-per-gpu: berth bind -n %" PRId64
                 " --tasks-per-gpu %" PRId64,
                 tasks, (tasks - 1) / available + 1);
    return err_not_enough(err, "gpus", needed, available,
                          "%" PRId64 " task%s with %" PRId64 " gpu%s%s%s need%s %" PRId64
                          "; allowed and there: %s%s%s",
                          tasks, tasks == 1 ? "" : "s", each, each == 1 ? "" : "s",
                          tasks == 1 ? "" : " each", shared, tasks == 1 ? "s" : "", needed, there,
                          lost, hint);
}

/* The caller may use none of the node's gpus, by the request or by what others have claimed:
 * traffic between gpus, or gpus asked for, are refused; tasks that need none get none, and a
 * warning. */
static enum berth_code none_allowed(struct work *work, size_t there, struct berth_err *err)
{
    const struct bind_request *request = work->request;
    bool needs_gpus = request->gpus_per_task > 0 || request->tasks_per_gpu > 0,
         are_claimed = request->allowed->gpus_claimed;
    for (size_t i = 0; request->traffic != NULL && i < request->traffic->count; i++)
        needs_gpus |= request->traffic->flow[i].from != TRAFFIC_HOST &&
                      request->traffic->flow[i].to != TRAFFIC_HOST;
    err_text(err, 0, are_claimed ? "" : "allowed.gpus");
    if (needs_gpus)
        return err_set(err, BERTH_NOTHING_ALLOWED,
                       "%zu gpu%s there and %s; with gpus_per_task 0 the tasks have none", there,
                       there == 1 ? " is" : "s are",
                       are_claimed
                           ? "others have claimed all that are allowed (berth claims lists by whom)"
                           : "none is allowed (allowed.gpus)");
    reasons_add(&work->answer.warnings, are_claimed ? REASON_GPUS_CLAIMED : REASON_GPUS_NOT_ALLOWED,
                NO_SUBJECTS, NUMBERS((double)there));
    return BERTH_OK;
}

/* How many gpus a task has, and whether there are so many. */
static enum berth_code find_gpus(struct work *work, struct berth_err *err)
{
    const struct bind_request *request = work->request;
    struct bind_gpus *gpus = &work->gpus;
    enum berth_code code =
        plan_bind_gpus_find(work->snap, request->allowed, &work->answer.warnings, gpus, err);
    if (code != BERTH_OK)
        return code;
    bool has_some = gpus->count > 0 || gpus->lost != PLACE_NONE || gpus->cut != PLACE_NONE;
    int64_t each = request->gpus_per_task >= 0 ? request->gpus_per_task : has_some,
            share = request->tasks_per_gpu > 1 ? request->tasks_per_gpu : 1,
            room = (int64_t)gpus->count * (share < BIND_TASKS_MAX ? share : BIND_TASKS_MAX);
    work->answer.gpus_per_task = each;
    if (!has_some && gpus->there > 0 && request->gpus_per_task != 0)
        code = none_allowed(work, gpus->there, err);
    if (code == BERTH_OK && each > room / request->tasks)
        code = not_enough(work, request->tasks, each, share, err);
    return code;
}

/* Says what decided where nothing predicts a time. */
static enum berth_code choose_gpus(struct work *work, struct berth_err *err)
{
    struct bind_answer *answer = &work->answer;
    const struct traffic *traffic = work->request->traffic;
    size_t each = (size_t)answer->gpus_per_task, count = each * answer->task_count;
    if (count == 0)
        return BERTH_OK;
    answer->gpu = calloc(count, sizeof *answer->gpu);
    if (answer->gpu == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    enum berth_code code = plan_bind_traffic_choose(work->snap, work->request, &work->gpus,
                                                    &work->cores, answer, &work->traffic, err);
    for (size_t t = 0; t < answer->task_count; t++)
        answer->task[t].gpus = answer->gpu + t * each;
    if (code != BERTH_OK || work->traffic.is_chosen)
        return code;
    if (traffic != NULL && traffic->count > 0)
        reasons_add(&answer->warnings, REASON_LOCALITY_DECIDED, NO_SUBJECTS, NO_NUMBERS);
    if (work->traffic.is_placed || count < work->gpus.count)
        reasons_add(&answer->reasons,
                    work->traffic.is_placed ? REASON_GPUS_BY_PEERS : REASON_GPUS_SPREAD,
                    NO_SUBJECTS, NO_NUMBERS);
    return BERTH_OK;
}

static enum berth_code choose_cores(struct work *work, struct berth_err *err)
{
    struct bind_answer *answer = &work->answer;
    const struct core_request request = {.tasks = answer->task_count,
                                         .gpus_per_task = (size_t)answer->gpus_per_task,
                                         .cores_per_task = work->request->cores_per_task,
                                         .allowed = work->request->allowed,
                                         .numa = work->traffic.is_chosen ? work->traffic.task_numa
                                                                         : NULL};
    if (answer->gpus_per_task == 0)
        return plan_bind_cpu_tasks(work->snap, &work->cores, &request, work->request->traffic,
                                   answer, err);
    return plan_bind_allocate(work->snap, &work->cores, &request, answer, err);
}

/* Explains a task's cores in several NUMA nodes or L3s (without GPUs), and memory elsewhere. */
static void explain_cores(struct work *work, size_t t)
{
    const struct bind_cores *cores = &work->cores;
    struct bind_answer *answer = &work->answer;
    const struct bind_group *first = NULL;
    place_id memory = answer->task[t].memory;
    bool in_l3s = false, in_numas = false, is_known = false, has_memory = memory == PLACE_NONE;
    char name[32];
    for (size_t i = 0; i < cores->count; i++) {
        const struct bind_group *group = &cores->group[cores->core[i].group];
        if (!cpuset_intersects(&cores->core[i].use, &answer->task[t].cpus))
            continue;
        first = first == NULL ? group : first;
        in_l3s = in_l3s || group != first;
        in_numas = in_numas || group->numa != first->numa;
        is_known = is_known || group->numa != PLACE_NONE;
        has_memory = has_memory || group->numa == memory;
    }
    plan_bind_task_name(t, name);
    if (in_numas)
        reasons_add_about(&answer->warnings, REASON_CORES_IN_NUMAS, name, NO_NUMBERS);
    else if (in_l3s && answer->gpus_per_task == 0 &&
             (work->request->cores_per_task > 0 || first->cores >= answer->cores_per_task))
        reasons_add_about(&answer->warnings, REASON_CORES_IN_L3S, name, NO_NUMBERS);
    if (memory == PLACE_NONE)
        reasons_add(&answer->warnings, REASON_MEMORY_NONE, NO_SUBJECTS, NO_NUMBERS);
    else if (is_known && !has_memory)
        reasons_add_about(&answer->warnings, REASON_MEMORY_ELSEWHERE, name, NO_NUMBERS);
}

static enum berth_code choose_nics(struct work *work, struct berth_err *err)
{
    struct bind_answer *answer = &work->answer;
    size_t nics = graph_count(work->snap->graph, PLACE_NIC);
    if (nics == 0)
        return BERTH_OK;
    answer->nic = calloc(nics * answer->task_count + 1, sizeof *answer->nic);
    if (answer->nic == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the nics");
    for (size_t t = 0; t < answer->task_count; t++) {
        struct bind_task *task = &answer->task[t];
        struct nics_of who = {.gpu = task->gpus,
                              .gpu_count = (size_t)answer->gpus_per_task,
                              .cpus = &task->cpus,
                              .memory = task->memory};
        task->nics = answer->nic_count;
        task->nic_count = plan_bind_nics(work->snap, &who, answer->nic + task->nics);
        answer->nic_count += task->nic_count;
    }
    return BERTH_OK;
}

/* True if the tasks may have memory in one NUMA node only. */
static bool has_one_memory(const struct work *work)
{
    const struct graph *graph = work->snap->graph;
    size_t count = 0;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1))
        count += allowed_has_memory(work->request->allowed, n) &&
                 graph_place(graph, n)->capacity_bytes != 0;
    return count <= 1;
}

/* Of tasks without gpus little is weighed: that is proven where nothing could be chosen, and else
 * said. */
static void judge(struct work *work)
{
    const struct bind_request *request = work->request;
    struct bind_answer *answer = &work->answer;
    bool has_gpus = answer->gpus_per_task > 0,
         is_all = has_gpus ? (size_t)answer->gpus_per_task == work->gpus.count
                           : isnan(answer->predicted.time_ns) || has_one_memory(work);
    if (request->tasks == 1 && request->threads_per_core == 0 && is_all &&
        answer->cores_per_task == (int64_t)work->cores.count) {
        answer->is_proven = true;
        answer->gap = 0;
    }
    if (!has_gpus && !answer->is_proven && !isnan(answer->predicted.time_ns))
        reasons_add(&answer->reasons, REASON_ORDERS_WEIGHED, NO_SUBJECTS, NO_NUMBERS);
}

static enum berth_code fill(struct work *work, struct berth_err *err)
{
    const struct bind_request *request = work->request;
    struct bind_answer *answer = &work->answer;
    enum berth_code code = check(request, err);
    if (code == BERTH_OK)
        code = plan_bind_cores_init(work->snap->graph, &request->allowed->cpus,
                                    request->threads_per_core, &work->cores, err);
    if (code == BERTH_OK)
        code = find_gpus(work, err);
    if (code != BERTH_OK)
        return code;
    int64_t cores = (int64_t)work->cores.count, tasks = request->tasks,
            each = request->cores_per_task > 0 ? request->cores_per_task : 1,
            needed = each > INT64_MAX / tasks ? INT64_MAX : each * tasks;
    if (each > cores / tasks)
        return err_not_enough(
            err, "cores", needed, cores,
            "%" PRId64 " task%s with %" PRId64 " core%s each need %" PRId64 "; allowed: %" PRId64,
            tasks, tasks == 1 ? "" : "s", each, each == 1 ? "" : "s", needed, cores);
    if (!request->allowed->given)
        reasons_add(&answer->warnings, REASON_ALLOWED_UNSTATED, NO_SUBJECTS, NO_NUMBERS);
    answer->task_count = (size_t)request->tasks;
    answer->task = calloc(answer->task_count + 1, sizeof *answer->task);
    if (answer->task == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    code = choose_gpus(work, err);
    if (code == BERTH_OK)
        code = choose_cores(work, err);
    for (size_t t = 0; code == BERTH_OK && t < answer->task_count; t++)
        explain_cores(work, t);
    if (code == BERTH_OK)
        code = choose_nics(work, err);
    size_t places = answer->evidence.count;
    if (code == BERTH_OK)
        code = plan_bind_explain(&work->traffic, work->snap, &work->gpus, answer, err);
    if (code == BERTH_OK)
        evidence_few(&answer->evidence, places, WHY_MAX);
    if (code == BERTH_OK)
        judge(work);
    return code;
}

enum berth_code plan_bind(const struct snapshot *snap, const struct bind_request *request,
                          struct bind_answer *ret, struct berth_err *err)
{
    struct estimate unknown = estimate_of(NAN, NAN, NAN);
    struct work work = {.snap = snap,
                        .request = request,
                        .answer = {.predicted = unknown, .baseline = unknown, .gap = NAN}};
    enum berth_code code = fill(&work, err);
    plan_bind_cores_done(&work.cores);
    plan_bind_gpus_done(&work.gpus);
    plan_bind_traffic_done(&work.traffic);
    if (code == BERTH_OK)
        *ret = work.answer;
    else
        plan_bind_done(&work.answer);
    return code;
}

void plan_bind_done(struct bind_answer *answer)
{
    free(answer->task);
    free(answer->gpu);
    free(answer->nic);
    evidence_done(&answer->evidence);
    answer->task = NULL;
    answer->gpu = answer->nic = NULL;
}
