#include "plan/alloc/alloc.h"

#include <math.h>
#include <stdlib.h>

#include "base/quantity.h"
#include "cost/endpoints.h"
#include "node/gpu.h"
#include "node/locality.h"
#include "plan/alloc/work.h"

#define ROUNDING 1e-9 /* of bytes that are added up by shares */

static bool wants(const struct alloc_work *work, enum memkind kind)
{
    return work->request->kinds == 0 || (work->request->kinds & 1u << kind) != 0;
}

/* Finds the place whose memory goes first among equals, and where nothing is predicted. */
static place_id find_heaviest(const struct alloc_work *work)
{
    const struct graph *graph = work->snap->graph;
    place_id found = PLACE_NONE;
    double most = 0;
    for (place_id p = 0; p < (place_id)graph->place_count; p++) {
        enum place_kind kind = graph_place(graph, p)->kind;
        double bytes = kind == PLACE_NUMA || kind == PLACE_GPU ? plan_alloc_bytes_at(work, p) : 0;
        if (bytes > most * (1 + ROUNDING)) {
            most = bytes;
            found = p;
        }
    }
    return found;
}

/* ---- candidates ---- */

static bool is_usable(const struct alloc_work *work, place_id gpu)
{
    return !endpoints_is_lost(work->snap, gpu) && !gpu_is_cut(work->snap->graph, gpu);
}

/* A list of NUMA nodes alone says nothing of gpus' own memory. */
static bool allows_device(const struct alloc_work *work, place_id gpu)
{
    const struct allowed *allowed = work->request->allowed;
    bool names_gpus = false;
    for (place_id g = graph_next(work->snap->graph, PLACE_GPU, 0);
         allowed->memory != NULL && g != PLACE_NONE;
         g = graph_next(work->snap->graph, PLACE_GPU, g + 1))
        names_gpus |= allowed->memory[g];
    return allowed_has_gpu(allowed, gpu) && (!names_gpus || allowed->memory[gpu]);
}

/* The gpu that uses the buffer most, the first of equals, so that its driver maps it; else the
 * first that is allowed. */
static place_id find_allocator(const struct alloc_work *work)
{
    const struct graph *graph = work->snap->graph;
    place_id found = PLACE_NONE;
    double most = -1;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        double bytes = plan_alloc_bytes_at(work, g);
        if (bytes > most &&
            (bytes > 0 || (allowed_has_gpu(work->request->allowed, g) && is_usable(work, g)))) {
            most = bytes;
            found = g;
        }
    }
    return found;
}

/* Warns of users that cannot reach an option, or may not. */
static bool is_reached(struct alloc_work *work, struct alloc_option *option)
{
    struct reasons *warnings = &work->answer.warnings;
    const char *kind = memkind_names[option->place.kind];
    for (size_t i = 0; i < work->user_count; i++) {
        const struct memkind_user *user = &work->user[i].reach;
        const char *name = user->gpu != PLACE_NONE ? plan_alloc_name(work, user->gpu) : "cores";
        struct memkind_reached found =
            memkind_reaches(user, &work->answer.node, work->snap, &option->place);
        option->xnack |= found.xnack;
        if (found.reach == MEMKIND_UNREACHED) {
            reasons_add(warnings, REASON_UNREACHED, SUBJECTS(kind, name), NO_NUMBERS);
            return false;
        }
        if (found.reach == MEMKIND_UNKNOWN && option->place.kind == MEMKIND_SYSTEM) {
            reasons_add(warnings, REASON_REACH_UNKNOWN, SUBJECTS(kind, name), NO_NUMBERS);
            option->is_unsure = true;
        }
    }
    return true;
}

static int64_t detail_of(const struct place *place, const char *key)
{
    const char *text = place_detail(place, key);
    return text != NULL ? strtoll(text, NULL, 10) : -1;
}

/* Now of a NUMA node; of a gpu on this machine as its driver was asked last. */
static void find_free(const struct alloc_work *work, struct alloc_option *option)
{
    const struct graph *graph = work->snap->graph;
    const struct place *memory = graph_place(graph, option->place.memory);
    place_id numa = memkind_numa(&work->answer.node, option->place.memory);
    option->free_bytes = option->free_at_s = -1;
    if (numa != PLACE_NONE) {
        option->free_bytes = free_memory_of(&work->request->free, graph_place(graph, numa)->number);
        option->free_at_s = option->free_bytes >= 0 ? work->request->free.at_s : -1;
        return;
    }
    int64_t used = detail_of(memory, "bytes_used"),
            at_s = detail_of(graph_place(graph, 0), "facts_at_s");
    if (graph->origin != ORIGIN_LIVE || used < 0 || used > memory->capacity_bytes || at_s < 0)
        return;
    option->free_bytes = memory->capacity_bytes - used;
    option->free_at_s = at_s;
}

/* How many candidates are allowed, how many all users reach, and the largest of those. */
struct tally {
    size_t allowed, reached;
    int64_t largest;
};

static void consider(struct alloc_work *work, struct memkind_place place, struct tally *tally)
{
    struct alloc_answer *answer = &work->answer;
    int64_t capacity = graph_place(work->snap->graph, place.memory)->capacity_bytes;
    struct alloc_option option = {.place = place};
    tally->allowed++;
    if (!is_reached(work, &option))
        return;
    tally->reached++;
    tally->largest = capacity > tally->largest ? capacity : tally->largest;
    if (capacity > 0 && capacity < work->request->bytes) {
        reasons_add_about(&answer->warnings, REASON_TOO_SMALL, plan_alloc_name(work, place.memory),
                          NO_NUMBERS);
        return;
    }
    find_free(work, &option);
    answer->option[answer->count++] = option;
}

static void on_numas(struct alloc_work *work, struct tally *tally)
{
    const struct graph *graph = work->snap->graph;
    for (place_id m = graph_next(graph, PLACE_NUMA, 0); m != PLACE_NONE;
         m = graph_next(graph, PLACE_NUMA, m + 1)) {
        if (graph_place(graph, m)->capacity_bytes == 0 ||
            !allowed_has_memory(work->request->allowed, m))
            continue;
        if (wants(work, MEMKIND_SYSTEM))
            consider(work, (struct memkind_place){m, MEMKIND_SYSTEM, PLACE_NONE}, tally);
        /* A gpu's driver pins memory of processors. */
        bool is_hosts =
            memkind_owner(&work->answer.node, m) == PLACE_NONE && work->allocator != PLACE_NONE;
        for (enum memkind kind = MEMKIND_PINNED; is_hosts && kind <= MEMKIND_MANAGED; kind++)
            if (wants(work, kind))
                consider(work, (struct memkind_place){m, kind, work->allocator}, tally);
    }
}

static void on_gpus(struct alloc_work *work, struct tally *tally)
{
    const struct graph *graph = work->snap->graph;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        bool is_one = memkind_is_one(&work->answer.node, g);
        place_id memory = is_one ? memkind_numa(&work->answer.node, g) : g;
        if (!allows_device(work, g) ||
            (is_one && !allowed_has_memory(work->request->allowed, memory)))
            continue;
        if (!is_usable(work, g)) {
            reasons_add_about(&work->answer.warnings, REASON_GPU_LEFT_OUT, plan_alloc_name(work, g),
                              NO_NUMBERS);
            continue;
        }
        if (wants(work, MEMKIND_DEVICE))
            consider(work, (struct memkind_place){memory, MEMKIND_DEVICE, g}, tally);
        if (wants(work, MEMKIND_MANAGED) && !is_one && plan_alloc_bytes_at(work, g) > 0)
            consider(work, (struct memkind_place){g, MEMKIND_MANAGED, g}, tally);
    }
}

static enum berth_code none_left(const struct alloc_work *work, const struct tally *tally,
                                 struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    char asked[QUANTITY_SIZE], has[QUANTITY_SIZE];
    bool needs_gpu = request->kinds != 0 && (request->kinds & 1u << MEMKIND_SYSTEM) == 0;
    if (tally->reached > 0) {
        quantity_sizes((double)request->bytes, (double)tally->largest, asked, has);
        return err_not_enough(err, "bytes of memory", request->bytes, tally->largest,
                              "%s do not fit in one memory: the largest has %s", asked, has);
    }
    if (tally->allowed > 0)
        return err_set(err, BERTH_NOTHING_ALLOWED,
                       "no allocation of these kinds and memories is reached by all who use it: %s",
                       work->answer.warnings.item[work->answer.warnings.count - 1].text);
    if (!needs_gpu || work->allocator != PLACE_NONE) {
        err_text(err, 0, "allowed.memory");
        return err_set(err, BERTH_NOTHING_ALLOWED,
                       "no NUMA node with memory is allowed (allowed.memory)");
    }
    bool has_gpus = graph_count(work->snap->graph, PLACE_GPU) > 0;
    err_text(err, 0, has_gpus ? "allowed.gpus" : "");
    return err_set(err, BERTH_NOTHING_ALLOWED,
                   "pinned, managed and device memory are a gpu's driver's: %s",
                   has_gpus ? "no gpu is allowed (allowed.gpus), system memory may be"
                            : "there is no gpu, system memory there is");
}

static enum berth_code candidates(struct alloc_work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct tally tally = {.largest = -1};
    work->answer.option =
        calloc(3 * graph_count(graph, PLACE_NUMA) + 2 * graph_count(graph, PLACE_GPU) + 1,
               sizeof *work->answer.option);
    if (work->answer.option == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for options");
    on_numas(work, &tally);
    on_gpus(work, &tally);
    for (enum memkind kind = MEMKIND_PINNED;
         work->request->kinds != 0 && work->allocator == PLACE_NONE && kind <= MEMKIND_DEVICE;
         kind++)
        if (wants(work, kind))
            reasons_add_about(&work->answer.warnings, REASON_NO_DRIVER, memkind_names[kind],
                              NO_NUMBERS);
    return work->answer.count == 0 ? none_left(work, &tally, err) : BERTH_OK;
}

/* ---- the whole ---- */

/* Options are told apart by a time, by where the heaviest user is, or as that gpu's own. */
static enum berth_code check_known(const struct alloc_work *work, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    const struct graph *graph = work->snap->graph;
    bool is_told = work->answer.count == 1 ||
                   (work->heaviest != PLACE_NONE &&
                    (locality_numa(graph, work->heaviest) != PLACE_NONE ||
                     locality_above(graph, work->heaviest, PLACE_PACKAGE) != PLACE_NONE));
    for (size_t i = 0; i < work->answer.count; i++)
        is_told |=
            !isnan(work->answer.option[i].predicted.time_ns) || work->answer.option[i].distance < 0;
    if (is_told)
        return BERTH_OK;
    bool by_gpu = work->user[0].reach.gpu != PLACE_NONE;
    err_text(err, 0, metric_info(by_gpu ? METRIC_HOST_GPU_KERNEL : METRIC_MEMORY_BANDWIDTH)->name);
    err_text(err, 1,
             plan_alloc_name(work, request->access_count > 0 && request->access[0].by != PLACE_NONE
                                       ? request->access[0].by
                                       : 0));
    err_text(err, 2, plan_alloc_name(work, work->answer.option[0].place.memory));
    return err_set(err, BERTH_NOT_MEASURED,
                   "neither measurements nor structure tell this node's memories apart");
}

static enum berth_code answer(struct alloc_work *work, struct berth_err *err)
{
    if (work->request->bytes <= 0)
        return err_invalid(err, "bytes", "an allocation has at least one");
    if (!work->request->allowed->given)
        reasons_add(&work->answer.warnings, REASON_ALLOWED_UNSTATED, NO_SUBJECTS, NO_NUMBERS);
    enum berth_code code = memkind_node_init(work->snap->graph, &work->answer.node, err);
    if (code == BERTH_OK)
        code = plan_alloc_users(work, err);
    if (code != BERTH_OK)
        return code;
    work->allocator = find_allocator(work);
    work->heaviest = find_heaviest(work);
    code = candidates(work, err);
    if (code == BERTH_OK)
        code = plan_alloc_price(work, err);
    if (code == BERTH_OK)
        code = check_known(work, err);
    if (code != BERTH_OK)
        return code;
    plan_alloc_order(work);
    plan_alloc_explain(work);
    return BERTH_OK;
}

enum berth_code plan_alloc(const struct snapshot *snap, const struct alloc_request *request,
                           struct alloc_answer *ret, struct berth_err *err)
{
    struct alloc_work work = {.snap = snap, .request = request};
    enum berth_code code = answer(&work, err);
    plan_alloc_users_done(&work);
    if (code == BERTH_OK)
        *ret = work.answer;
    else
        plan_alloc_done(&work.answer);
    return code;
}

void plan_alloc_done(struct alloc_answer *answer)
{
    free(answer->option);
    free(answer->part);
    memkind_node_done(&answer->node);
    evidence_done(&answer->evidence);
    answer->option = NULL;
    answer->part = NULL;
    answer->count = 0;
}
