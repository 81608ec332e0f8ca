#include "plan/bind/gpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/ends.h"
#include "node/allowed.h"
#include "node/gpu.h"
#include "node/locality.h"
#include "node/reasons.h"

struct work {
    const struct snapshot *snap;
    const struct bind_gpus *gpus;
    const struct bind_cores *cores;
    bool *taken; /* by gpu */
};

static int compare_places(const void *a, const void *b, void *arg)
{
    const struct graph *graph = arg;
    int32_t x = graph_place(graph, *(const place_id *)a)->number,
            y = graph_place(graph, *(const place_id *)b)->number;
    return (x > y) - (x < y);
}

enum berth_code plan_bind_gpus_find(const struct snapshot *snap, const struct allowed *allowed,
                                    struct reasons *warnings, struct bind_gpus *ret,
                                    struct berth_err *err)
{
    const struct graph *graph = snap->graph;
    struct bind_gpus gpus = {.gpu = calloc(graph_count(graph, PLACE_GPU) + 1, sizeof *gpus.gpu),
                             .lost = PLACE_NONE,
                             .cut = PLACE_NONE};
    if (gpus.gpu == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        if (!allowed_has_gpu(allowed, g))
            continue;
        bool is_lost = plan_ends_is_lost(snap, g);
        if (is_lost)
            gpus.lost = g;
        else if (gpu_is_cut(graph, g))
            gpus.cut = g;
        else
            gpus.gpu[gpus.count++] = g;
        if (is_lost || gpu_is_cut(graph, g))
            reasons_add_about(warnings, REASON_GPU_LEFT_OUT, graph_place(graph, g)->name,
                              NO_NUMBERS);
    }
    qsort_r(gpus.gpu, gpus.count, sizeof *gpus.gpu, compare_places, (void *)graph);
    *ret = gpus;
    return BERTH_OK;
}

void plan_bind_gpus_list(const struct graph *graph, const struct bind_gpus *gpus, char *text,
                         size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", gpus->count == 0 ? "no gpu" : "");
    for (size_t i = 0; i < gpus->count && used < size;) {
        size_t last = i;
        while (last + 1 < gpus->count && graph_place(graph, gpus->gpu[last + 1])->number ==
                                             graph_place(graph, gpus->gpu[last])->number + 1)
            last++;
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 graph_place(graph, gpus->gpu[i])->name);
        if (last > i && used < size)
            used += (size_t)snprintf(text + used, size - used, "-%s",
                                     graph_place(graph, gpus->gpu[last])->name);
        i = last + 1;
    }
}

void plan_bind_gpus_done(struct bind_gpus *gpus)
{
    free(gpus->gpu);
    *gpus = (struct bind_gpus){0};
}

/* How many gpus that are taken share the place of this kind above it; its numa for PLACE_NUMA. */
static unsigned taken_beside(const struct work *work, place_id gpu, enum place_kind kind)
{
    const struct graph *graph = work->snap->graph;
    place_id mine =
        kind == PLACE_NUMA ? locality_numa(graph, gpu) : locality_above(graph, gpu, kind);
    unsigned count = 0;
    for (size_t i = 0; mine != PLACE_NONE && i < work->gpus->count; i++) {
        place_id other = kind == PLACE_NUMA ? locality_numa(graph, work->gpus->gpu[i])
                                            : locality_above(graph, work->gpus->gpu[i], kind);
        count += work->taken[i] && other == mine;
    }
    return count;
}

/* Lower is better, first difference decides. */
#define SCORE_TERMS 5
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

/* A task's first gpu stands apart from the other tasks': one whose links to switches are not down,
 * with cores next to it, on the module and the NUMA node with the fewest gpus taken, with most
 * cores next to it. */
static struct score score_first(const struct work *work, place_id gpu)
{
    double near = plan_bind_cores_near(work->snap, work->cores, gpu);
    return (struct score){{plan_ends_is_off_switches(work->snap->graph, gpu), near == 0,
                           taken_beside(work, gpu, PLACE_MODULE),
                           taken_beside(work, gpu, PLACE_NUMA), -near}};
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

/* The further gpus of a task stand together with its first: not cut off from switches, on its
 * module, by the widest direct link, at the least distance. */
static struct score score_next(const struct work *work, place_id first, place_id gpu)
{
    const struct graph *graph = work->snap->graph;
    place_id module = locality_above(graph, first, PLACE_MODULE);
    bool same_module = module != PLACE_NONE && locality_above(graph, gpu, PLACE_MODULE) == module;
    return (struct score){{plan_ends_is_off_switches(graph, gpu), !same_module,
                           -widest_link(graph, first, gpu),
                           locality_distance(work->snap, first, gpu), 0}};
}

static place_id take_gpu(struct work *work, place_id first)
{
    size_t best = SIZE_MAX;
    struct score best_score = {0};
    for (size_t i = 0; i < work->gpus->count; i++) {
        if (work->taken[i])
            continue;
        struct score score = first == PLACE_NONE ? score_first(work, work->gpus->gpu[i])
                                                 : score_next(work, first, work->gpus->gpu[i]);
        if (best == SIZE_MAX || is_better(&score, &best_score)) {
            best = i;
            best_score = score;
        }
    }
    work->taken[best] = true;
    return work->gpus->gpu[best];
}

/* One gpu for several tasks: those that follow each other, as evenly as it goes. */
static void share(const struct work *work, struct bind_answer *answer)
{
    size_t least = answer->task_count / work->gpus->count,
           more = answer->task_count % work->gpus->count, t = 0;
    for (size_t g = 0; g < work->gpus->count; g++)
        for (size_t i = 0; i < least + (g < more); i++)
            answer->gpu[t++] = work->gpus->gpu[g];
}

static void choose(struct work *work, bool in_rank_order, struct bind_answer *answer)
{
    const struct graph *graph = work->snap->graph;
    size_t each = (size_t)answer->gpus_per_task, count = each * answer->task_count;
    if (count > work->gpus->count) {
        share(work, answer);
        return;
    }
    for (size_t i = 0; i < count; i++)
        answer->gpu[i] = take_gpu(work, i % each == 0 ? PLACE_NONE : answer->gpu[i - i % each]);
    if (in_rank_order)
        qsort_r(answer->gpu, count, sizeof *answer->gpu, compare_places, (void *)graph);
    for (size_t t = 0; t < answer->task_count; t++)
        qsort_r(answer->gpu + t * each, each, sizeof *answer->gpu, compare_places, (void *)graph);
    /* Tasks in the order of their lowest gpu: a row of the pool begins with it. */
    qsort_r(answer->gpu, answer->task_count, each * sizeof *answer->gpu, compare_places,
            (void *)graph);
}

enum berth_code plan_bind_gpus(const struct snapshot *snap, const struct bind_gpus *gpus,
                               const struct bind_cores *cores, bool in_rank_order,
                               struct bind_answer *answer, struct berth_err *err)
{
    struct work work = {.snap = snap,
                        .gpus = gpus,
                        .cores = cores,
                        .taken = calloc(gpus->count + 1, sizeof *work.taken)};
    if (work.taken == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    choose(&work, in_rank_order, answer);
    free(work.taken);
    return BERTH_OK;
}
