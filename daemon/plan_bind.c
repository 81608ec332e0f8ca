#include "plan_bind.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memrate.h"
#include "plan_bind_cores.h"

/* What is done for one request. */
struct work {
    const struct snapshot *snap;
    const struct bind_request *request;
    struct bind_cores cores;
    place_id *gpu; /* the allowed ones, ascending by number */
    bool *taken;   /* beside gpu */
    size_t gpu_count;
    unsigned *in_numa; /* for home_numa: by place id, how many of a task's cores */
    struct bind_answer answer;
};

static int compare_places(const void *a, const void *b, void *arg)
{
    const struct graph *graph = arg;
    int32_t x = graph_place(graph, *(const place_id *)a)->number, y = graph_place(graph, *(const place_id *)b)->number;
    return (x > y) - (x < y);
}

static enum berth_code check(const struct bind_request *request, struct berth_err *err)
{
    if (request->tasks <= 0 || request->tasks > BIND_TASKS_MAX)
        return err_invalid(err, "tasks", "%" PRId64 " is not from 1 to %d", request->tasks, BIND_TASKS_MAX);
    if (request->gpus_per_task < -1)
        return err_invalid(err, "gpus_per_task", "it is not negative");
    if (request->cores_per_task < 0)
        return err_invalid(err, "cores_per_task", "it is not negative");
    if (request->threads_per_core < 0)
        return err_invalid(err, "threads_per_core", "it is not negative");
    return BERTH_OK;
}

static enum berth_code find_gpus(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    size_t count = graph_count(graph, PLACE_GPU);
    work->gpu = calloc(count + 1, sizeof *work->gpu);
    work->taken = calloc(count + 1, sizeof *work->taken);
    work->in_numa = calloc(graph->place_count, sizeof *work->in_numa);
    if (work->gpu == NULL || work->taken == NULL || work->in_numa == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE; g = graph_next(graph, PLACE_GPU, g + 1))
        if (plan_allows_gpu(work->request->allowed, g))
            work->gpu[work->gpu_count++] = g;
    qsort_r(work->gpu, work->gpu_count, sizeof *work->gpu, compare_places, (void *)graph);
    int64_t asked = work->request->gpus_per_task;
    work->answer.gpus_per_task = asked >= 0 ? asked : work->gpu_count > 0 ? 1 : 0;
    int64_t tasks = work->request->tasks, each = work->answer.gpus_per_task, available = (int64_t)work->gpu_count;
    if (each > available / tasks)
        return plan_not_enough(err, "gpus", each > INT64_MAX / tasks ? INT64_MAX : each * tasks, available,
                               "%" PRId64 " tasks of %" PRId64 " gpus each; %" PRId64 " are allowed", tasks, each, available);
    return BERTH_OK;
}

/* How many gpus that are taken share the place of this kind above it; its numa for PLACE_NUMA. */
static unsigned taken_beside(const struct work *work, place_id gpu, enum place_kind kind)
{
    const struct graph *graph = work->snap->graph;
    place_id mine = kind == PLACE_NUMA ? plan_numa(graph, gpu) : plan_above(graph, gpu, kind);
    unsigned count = 0;
    for (size_t i = 0; mine != PLACE_NONE && i < work->gpu_count; i++) {
        place_id other = kind == PLACE_NUMA ? plan_numa(graph, work->gpu[i]) : plan_above(graph, work->gpu[i], kind);
        count += work->taken[i] && other == mine;
    }
    return count;
}

/* Lower is better, first difference decides. */
#define SCORE_TERMS 4
struct score {
    double term[SCORE_TERMS];
};

static bool is_better(const struct score *a, const struct score *b)
{
    for (size_t i = 0; i < SCORE_TERMS; i++)
        if (a->term[i] != b->term[i])
            return a->term[i] < b->term[i];
    return false;
}

/* A task's first gpu stands apart from the other tasks': one with cores next to it, on the module and the NUMA node with the fewest
 * gpus taken, with most cores next to it. */
static struct score score_first(const struct work *work, place_id gpu)
{
    double near = plan_bind_cores_near(work->snap, &work->cores, gpu);
    return (struct score){{near == 0, taken_beside(work, gpu, PLACE_MODULE), taken_beside(work, gpu, PLACE_NUMA), -near}};
}

static double widest_link(const struct graph *graph, place_id a, place_id b)
{
    double widest = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        bool joins = (link->from == a && link->to == b) || (link->from == b && link->to == a);
        if (joins && link->state != LINK_DOWN)
            widest = fmax(widest, link->nominal_bytes_per_s > 0 ? link->nominal_bytes_per_s : 1);
    }
    return widest;
}

/* The further gpus of a task stand together with its first: on its module, by the widest direct link, at the least distance. */
static struct score score_next(const struct work *work, place_id first, place_id gpu)
{
    const struct graph *graph = work->snap->graph;
    place_id module = plan_above(graph, first, PLACE_MODULE);
    bool same_module = module != PLACE_NONE && plan_above(graph, gpu, PLACE_MODULE) == module;
    return (struct score){{!same_module, -widest_link(graph, first, gpu), plan_distance(work->snap, first, gpu), 0}};
}

static place_id take_gpu(struct work *work, place_id first)
{
    size_t best = SIZE_MAX;
    struct score best_score = {0};
    for (size_t i = 0; i < work->gpu_count; i++) {
        if (work->taken[i])
            continue;
        struct score score = first == PLACE_NONE ? score_first(work, work->gpu[i]) : score_next(work, first, work->gpu[i]);
        if (best == SIZE_MAX || is_better(&score, &best_score)) {
            best = i;
            best_score = score;
        }
    }
    work->taken[best] = true;
    return work->gpu[best];
}

static enum berth_code choose_gpus(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct bind_answer *answer = &work->answer;
    size_t each = (size_t)answer->gpus_per_task, count = each * answer->task_count;
    if (count == 0)
        return BERTH_OK;
    answer->gpu = calloc(count, sizeof *answer->gpu);
    if (answer->gpu == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    for (size_t i = 0; i < count; i++)
        answer->gpu[i] = take_gpu(work, i % each == 0 ? PLACE_NONE : answer->gpu[i - i % each]);
    if (work->request->in_rank_order)
        qsort_r(answer->gpu, count, sizeof *answer->gpu, compare_places, (void *)graph);
    for (size_t t = 0; t < answer->task_count; t++)
        qsort_r(answer->gpu + t * each, each, sizeof *answer->gpu, compare_places, (void *)graph);
    /* Tasks in the order of their lowest gpu: a row of the pool begins with it. */
    qsort_r(answer->gpu, answer->task_count, each * sizeof *answer->gpu, compare_places, (void *)graph);
    return BERTH_OK;
}

static enum berth_code choose_cores(struct work *work, struct berth_err *err)
{
    struct bind_answer *answer = &work->answer;
    struct bind_cores_request request = {.tasks = answer->task_count, .gpus = answer->gpu, .gpus_per_task = (size_t)answer->gpus_per_task,
                                         .cores_per_task = work->request->cores_per_task};
    struct cpuset *cpus = calloc(answer->task_count, sizeof *cpus);
    if (cpus == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the cpus");
    enum berth_code code = plan_bind_cores(work->snap, &work->cores, &request, &answer->evidence, &answer->warnings, cpus,
                                           &answer->cores_per_task, err);
    for (size_t t = 0; code == BERTH_OK && t < answer->task_count; t++) {
        answer->task[t].gpus = answer->gpu != NULL ? answer->gpu + t * request.gpus_per_task : NULL;
        answer->task[t].cpus = cpus[t];
    }
    free(cpus);
    return code;
}

/* The NUMA node with most of the task's cores; the first of equals. */
static place_id home_numa(const struct work *work, const struct bind_task *task)
{
    place_id best = PLACE_NONE;
    memset(work->in_numa, 0, work->snap->graph->place_count * sizeof *work->in_numa);
    for (size_t i = 0; i < work->cores.count; i++) {
        place_id numa = plan_numa(work->snap->graph, work->cores.core[i].id);
        if (numa == PLACE_NONE || !cpuset_intersects(&work->cores.core[i].use, &task->cpus))
            continue;
        work->in_numa[numa]++;
        if (best == PLACE_NONE || work->in_numa[numa] > work->in_numa[best])
            best = numa;
    }
    return best;
}

static bool is_gpu_memory(const struct place *numa)
{
    const char *memory = place_detail(numa, "memory");
    return memory != NULL && strcmp(memory, "gpu") == 0;
}

/* The allowed memory nearest to home, a gpu's own left aside; NONE when there is none. */
static place_id nearest_memory(const struct work *work, place_id home)
{
    const struct graph *graph = work->snap->graph;
    place_id best = PLACE_NONE;
    double least = INFINITY;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE; n = graph_next(graph, PLACE_NUMA, n + 1)) {
        const struct place *numa = graph_place(graph, n);
        double distance = home != PLACE_NONE ? plan_distance(work->snap, home, n) : 0;
        if (numa->capacity_bytes != 0 && !is_gpu_memory(numa) && plan_allows_memory(work->request->allowed, n) && distance < least) {
            least = distance;
            best = n;
        }
    }
    return best;
}

/* What a task's cores are known to get from one memory, cited in evidence. */
static enum berth_code rates_of(const struct work *work, const struct accessor *who, place_id memory, struct plan_evidence *evidence,
                                struct memrate *ret_latency, struct berth_err *err)
{
    struct plan_warnings unsaid = {0}; /* the values say themselves where they come from */
    struct memrate_basis basis = {.evidence = evidence, .warnings = &unsaid};
    struct memrate stream;
    enum berth_code code = memrate_latency(work->snap, who, memory, &basis, ret_latency, err);
    return code == BERTH_OK ? memrate_stream(work->snap, who, memory, "read", &basis, &stream, err) : code;
}

/* The memory with the least latency, when that is measured to be less than that of the nearest by structure; else that. */
static enum berth_code measured_memory(const struct work *work, const struct accessor *who, place_id nearest, place_id *ret_memory,
                                       struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct plan_evidence unsaid = {0};
    struct memrate least, latency;
    place_id best = nearest;
    enum berth_code code = rates_of(work, who, nearest, &unsaid, &least, err);
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); code == BERTH_OK && n != PLACE_NONE; n = graph_next(graph, PLACE_NUMA, n + 1)) {
        const struct place *numa = graph_place(graph, n);
        if (n == nearest || numa->capacity_bytes == 0 || is_gpu_memory(numa) || !plan_allows_memory(work->request->allowed, n))
            continue;
        code = rates_of(work, who, n, &unsaid, &latency, err);
        if (code == BERTH_OK && latency.high < least.low) {
            least = latency;
            best = n;
        }
    }
    plan_evidence_done(&unsaid);
    if (code == BERTH_OK)
        *ret_memory = best;
    return code;
}

static enum berth_code choose_memory(struct work *work, size_t t, struct berth_err *err)
{
    struct bind_task *task = &work->answer.task[t];
    place_id home = home_numa(work, task);
    task->memory = nearest_memory(work, home);
    if (task->memory == PLACE_NONE) {
        plan_warn(&work->answer.warnings, "no memory is named: this node has no NUMA node with memory that is allowed");
        return BERTH_OK;
    }
    struct accessor who;
    struct memrate latency;
    enum berth_code code = memrate_cores(work->snap->graph, &task->cpus, &who, err);
    if (code != BERTH_OK)
        return code;
    code = measured_memory(work, &who, task->memory, &task->memory, err);
    if (code == BERTH_OK)
        code = rates_of(work, &who, task->memory, &work->answer.evidence, &latency, err);
    memrate_done(&who);
    if (home != PLACE_NONE && task->memory != home)
        plan_warn(&work->answer.warnings, "task %zu: memory of %s is used, as %s next to its cores has none, is not allowed or is slower", t,
                  graph_place(work->snap->graph, task->memory)->name, graph_place(work->snap->graph, home)->name);
    return code;
}

/* From a nic to the nearest of the task's gpus, or to its memory. */
static double nic_distance(const struct work *work, const struct bind_task *task, place_id nic)
{
    double least = INFINITY;
    for (int64_t i = 0; i < work->answer.gpus_per_task; i++)
        least = fmin(least, plan_distance(work->snap, task->gpus[i], nic));
    if (work->answer.gpus_per_task == 0) {
        const struct cpuset *next_to = graph_place(work->snap->graph, nic)->cpus;
        least = next_to != NULL && cpuset_intersects(next_to, &task->cpus) ? 0
                : task->memory != PLACE_NONE                              ? plan_distance(work->snap, task->memory, nic)
                                                                          : 0;
    }
    return least;
}

/* Where a node has a fabric, its Ethernet ports are for administration. */
static bool is_fabric(const struct place *nic)
{
    const char *fabric = place_detail(nic, "fabric");
    return fabric != NULL && strcmp(fabric, "ethernet") != 0;
}

static enum berth_code choose_nics(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct bind_answer *answer = &work->answer;
    size_t nics = graph_count(graph, PLACE_NIC);
    bool has_fabric = false;
    for (place_id n = graph_next(graph, PLACE_NIC, 0); n != PLACE_NONE; n = graph_next(graph, PLACE_NIC, n + 1))
        has_fabric |= is_fabric(graph_place(graph, n));
    if (nics == 0)
        return BERTH_OK;
    answer->nic = calloc(nics * answer->task_count, sizeof *answer->nic);
    if (answer->nic == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the nics");
    for (size_t t = 0; t < answer->task_count; t++) {
        struct bind_task *task = &answer->task[t];
        double least = INFINITY;
        task->nics = answer->nic_count;
        for (place_id n = graph_next(graph, PLACE_NIC, 0); n != PLACE_NONE; n = graph_next(graph, PLACE_NIC, n + 1)) {
            double distance = nic_distance(work, task, n);
            if (has_fabric && !is_fabric(graph_place(graph, n)))
                continue;
            if (distance < least)
                answer->nic_count = task->nics;
            least = fmin(least, distance);
            if (distance == least)
                answer->nic[answer->nic_count++] = n;
        }
        task->nic_count = answer->nic_count - task->nics;
    }
    return BERTH_OK;
}

static enum berth_code fill(struct work *work, struct berth_err *err)
{
    const struct bind_request *request = work->request;
    struct bind_answer *answer = &work->answer;
    enum berth_code code = check(request, err);
    if (code == BERTH_OK)
        code = plan_bind_cores_init(work->snap->graph, &request->allowed->cpus, request->threads_per_core, &work->cores, err);
    if (code == BERTH_OK)
        code = find_gpus(work, err);
    if (code != BERTH_OK)
        return code;
    int64_t cores = (int64_t)work->cores.count;
    if (request->tasks > cores)
        return plan_not_enough(err, "cores", request->tasks, cores, "%" PRId64 " tasks need a core each; %" PRId64 " are allowed",
                               request->tasks, cores);
    if (!request->allowed->given)
        plan_warn(&answer->warnings, "the request does not say where it comes from (allowed): the whole node is meant");
    answer->task_count = (size_t)request->tasks;
    answer->task = calloc(answer->task_count, sizeof *answer->task);
    if (answer->task == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    code = choose_gpus(work, err);
    if (code == BERTH_OK)
        code = choose_cores(work, err);
    for (size_t t = 0; code == BERTH_OK && t < answer->task_count; t++)
        code = choose_memory(work, t, err);
    if (code == BERTH_OK)
        code = choose_nics(work, err);
    answer->is_only_choice = request->tasks == 1 && request->threads_per_core == 0 && (size_t)answer->gpus_per_task == work->gpu_count && answer->cores_per_task == cores;
    return code;
}

enum berth_code plan_bind(const struct snapshot *snap, const struct bind_request *request, struct bind_answer *ret, struct berth_err *err)
{
    struct work work = {.snap = snap, .request = request};
    enum berth_code code = fill(&work, err);
    plan_bind_cores_done(&work.cores);
    free(work.gpu);
    free(work.taken);
    free(work.in_numa);
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
    plan_evidence_done(&answer->evidence);
    answer->task = NULL;
    answer->gpu = answer->nic = NULL;
}
