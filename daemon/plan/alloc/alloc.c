#include "plan/alloc/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cost/ends.h"
#include "cost/evidence.h"
#include "cost/move.h"
#include "node/allowed.h"
#include "node/gpu.h"
#include "node/locality.h"
#include "node/reasons.h"
#include "plan/alloc/order.h"
#include "plan/alloc/say.h"

#define ROUNDING 1e-9 /* of bytes that are added up by shares */

static bool wants(const struct alloc_work *work, enum memkind kind)
{
    return work->request->kinds == 0 || (work->request->kinds & 1u << kind) != 0;
}

static const char *name_of(const struct alloc_work *work, place_id id)
{
    return graph_place(work->snap->graph, id)->name;
}

static enum berth_code uses_init(struct alloc_work *work, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    struct memuse_access once = {.by = PLACE_NONE, .reads_bytes = request->bytes};
    const struct memuse_access *access = request->access_count > 0 ? request->access : &once;
    size_t count = request->access_count > 0 ? request->access_count : 1;
    work->use = calloc(count, sizeof *work->use);
    if (work->use == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for accesses");
    for (; work->use_count < count; work->use_count++) {
        enum berth_code code = memuse_init(&work->answer.node, work->snap, &access[work->use_count],
                                           request->allowed, &work->use[work->use_count], err);
        if (code != BERTH_OK) {
            if (request->access_count > 0)
                err_in_item(err, "accesses", work->use_count);
            return code;
        }
        work->has_cores |= work->use[work->use_count].gpu == PLACE_NONE;
        work->has_gpus |= work->use[work->use_count].gpu != PLACE_NONE;
    }
    return BERTH_OK;
}

/* What a gpu, or the cores of a NUMA node, move: of cores of several NUMA nodes each moves as much.
 */
static double bytes_at(const struct alloc_work *work, place_id at)
{
    double bytes = 0;
    for (size_t i = 0; i < work->use_count; i++) {
        const struct memuse *use = &work->use[i];
        double share =
            use->gpu != PLACE_NONE ? use->gpu == at : (double)use->who.inside[at] / use->who.in_all;
        bytes += share * (use->read_bytes + use->write_bytes);
    }
    return bytes;
}

/* Where a buffer is used most, by bytes, the first of equals by place; for the order of what has no
 * prediction, and of equals. */
static struct alloc_most used_most(const struct alloc_work *work)
{
    const struct graph *graph = work->snap->graph;
    struct alloc_most most = {.at = PLACE_NONE};
    for (place_id p = 0; p < (place_id)graph->place_count; p++) {
        enum place_kind kind = graph_place(graph, p)->kind;
        double bytes = kind == PLACE_NUMA || kind == PLACE_GPU ? bytes_at(work, p) : 0;
        if (!(bytes > 0) || bytes < most.bytes * (1 - ROUNDING))
            continue;
        most.is_shared = most.at != PLACE_NONE && bytes <= most.bytes * (1 + ROUNDING);
        if (!most.is_shared)
            most = (struct alloc_most){.at = p, .bytes = bytes};
    }
    return most;
}

/* ---- candidates ---- */

/* A list of NUMA nodes alone says nothing of gpus' own memory. */
static bool allows_device(const struct alloc_work *work, place_id gpu)
{
    const struct allowed *allowed = work->request->allowed;
    bool speaks_of_gpus = false;
    for (place_id g = graph_next(work->snap->graph, PLACE_GPU, 0);
         allowed->memory != NULL && g != PLACE_NONE;
         g = graph_next(work->snap->graph, PLACE_GPU, g + 1))
        speaks_of_gpus |= allowed->memory[g];
    return allowed_has_gpu(allowed, gpu) && (!speaks_of_gpus || allowed->memory[gpu]);
}

/* The gpu that uses the buffer most, the first of equals by place, so that its driver maps it; else
 * the first that is allowed. */
static place_id find_allocator(const struct alloc_work *work)
{
    const struct graph *graph = work->snap->graph;
    place_id most = PLACE_NONE;
    for (size_t i = 0; i < work->use_count; i++) {
        place_id gpu = work->use[i].gpu;
        double more = gpu == PLACE_NONE || most == PLACE_NONE
                          ? 0
                          : bytes_at(work, gpu) - bytes_at(work, most);
        if (gpu != PLACE_NONE && (most == PLACE_NONE || more > 0 || (more == 0 && gpu < most)))
            most = gpu;
    }
    if (most != PLACE_NONE)
        return most;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        if (allowed_has_gpu(work->request->allowed, g) && !plan_ends_is_lost(work->snap, g) &&
            !gpu_is_cut(graph, g))
            return g;
    return PLACE_NONE;
}

static bool is_reached(struct alloc_work *work, struct alloc_option *option)
{
    for (size_t i = 0; i < work->use_count; i++) {
        enum memkind_reach reach =
            memuse_reaches(&work->use[i], &work->answer.node, work->snap, &option->place,
                           &work->answer.warnings, &option->xnack);
        if (reach == MEMKIND_UNREACHED)
            return false;
        option->is_unsure |= reach == MEMKIND_UNKNOWN && option->place.kind == MEMKIND_SYSTEM;
    }
    return true;
}

static int64_t detail_of(const struct place *place, const char *key)
{
    const char *text = place_detail(place, key);
    return text != NULL ? strtoll(text, NULL, 10) : -1;
}

/* Now of what is a NUMA node's; of a gpu's as the drivers were asked last, on this machine: what
 * was free when a node was recorded is over. */
static void find_free(const struct alloc_work *work, struct alloc_option *option)
{
    const struct graph *graph = work->snap->graph;
    const struct place *memory = graph_place(graph, option->place.memory);
    place_id numa = memkind_numa(&work->answer.node, option->place.memory);
    option->free_bytes =
        numa != PLACE_NONE ? free_memory_of(&work->request->free, graph_place(graph, numa)->number)
                           : -1;
    option->free_at_s = option->free_bytes >= 0 ? work->request->free.at_s : -1;
    int64_t used = detail_of(memory, "bytes_used"),
            at_s = detail_of(graph_place(graph, 0), "facts_at_s");
    if (numa != PLACE_NONE || graph->origin != ORIGIN_LIVE || memory->capacity_bytes < 0 ||
        used < 0 || used > memory->capacity_bytes || at_s < 0)
        return;
    option->free_bytes = memory->capacity_bytes - used;
    option->free_at_s = at_s;
}

/* How many candidates there were, and how many of them all who use the buffer reach and are large
 * enough. */
struct tally {
    size_t allowed, reached, fitting;
    int64_t largest; /* of those that are reached */
};

static void consider(struct alloc_work *work, struct memkind_place place, struct tally *tally)
{
    struct alloc_answer *answer = &work->answer;
    const struct alloc_request *request = work->request;
    int64_t capacity = graph_place(work->snap->graph, place.memory)->capacity_bytes;
    struct alloc_option option = {.place = place,
                                  .is_gpus_own = !work->has_cores && place.kind == MEMKIND_DEVICE &&
                                                 memkind_is_one(&work->answer.node, place.gpu)};
    tally->allowed++;
    if (!is_reached(work, &option))
        return;
    tally->reached++;
    tally->largest = capacity > tally->largest ? capacity : tally->largest;
    if (capacity > 0 && capacity < request->bytes) {
        char has[QUANTITY_SIZE];
        reasons_note(&answer->warnings, "%s is left out: it has %s in all",
                     name_of(work, place.memory), quantity_size((double)capacity, has));
        return;
    }
    tally->fitting++;
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
        /* What a gpu's driver pins is the processor's. */
        bool is_hosts =
            memkind_owner(&work->answer.node, m) == PLACE_NONE && work->allocator != PLACE_NONE;
        for (enum memkind kind = MEMKIND_PINNED; is_hosts && kind <= MEMKIND_MANAGED; kind++)
            if (wants(work, kind))
                consider(work, (struct memkind_place){m, kind, work->allocator}, tally);
    }
}

static bool is_used_by(const struct alloc_work *work, place_id gpu)
{
    for (size_t i = 0; i < work->use_count; i++)
        if (work->use[i].gpu == gpu)
            return true;
    return false;
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
        if (plan_ends_is_lost(work->snap, g) || gpu_is_cut(graph, g)) {
            const char *why = plan_ends_is_lost(work->snap, g) ? "stopped answering (gpu-lost)"
                                                               : plan_ends_cut_text(graph, g);
            reasons_note(&work->answer.warnings, "%s is left out: it %s", name_of(work, g), why);
            continue;
        }
        if (wants(work, MEMKIND_DEVICE))
            consider(work, (struct memkind_place){memory, MEMKIND_DEVICE, g}, tally);
        if (wants(work, MEMKIND_MANAGED) && !is_one && is_used_by(work, g))
            consider(work, (struct memkind_place){g, MEMKIND_MANAGED, g}, tally);
    }
}

static enum berth_code none_left(const struct alloc_work *work, const struct tally *tally,
                                 struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    char asked[QUANTITY_SIZE], has[QUANTITY_SIZE];
    bool needs_gpu = request->kinds != 0 && (request->kinds & 1u << MEMKIND_SYSTEM) == 0;
    if (tally->allowed == 0 && needs_gpu && work->allocator == PLACE_NONE)
        return err_set(err, BERTH_NOTHING_ALLOWED,
                       graph_count(work->snap->graph, PLACE_GPU) == 0
                           ? "pinned, managed and device memory are a gpu's driver's: there is no "
                             "gpu, system memory there is"
                           : "pinned, managed and device memory are a gpu's driver's: no gpu is "
                             "allowed (allowed.gpus), system memory may be");
    if (tally->allowed == 0)
        return err_set(err, BERTH_NOTHING_ALLOWED,
                       "no NUMA node with memory is allowed (allowed.memory)");
    if (tally->reached > 0) {
        quantity_sizes((double)request->bytes, (double)tally->largest, asked, has);
        return err_not_enough(err, "bytes of memory", request->bytes, tally->largest,
                              "%s do not fit in one memory: the largest has %s", asked, has);
    }
    return err_set(err, BERTH_NOTHING_ALLOWED,
                   "no allocation of these kinds and memories is reached by all who use it: %s",
                   work->answer.warnings.count > 0 ? work->answer.warnings.item[0].text : "");
}

static enum berth_code candidates(struct alloc_work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct alloc_answer *answer = &work->answer;
    struct tally tally = {.largest = -1};
    answer->option =
        calloc(3 * graph_count(graph, PLACE_NUMA) + 2 * graph_count(graph, PLACE_GPU) + 1,
               sizeof *answer->option);
    if (answer->option == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for options");
    work->allocator = find_allocator(work);
    on_numas(work, &tally);
    on_gpus(work, &tally);
    for (enum memkind kind = MEMKIND_PINNED;
         work->request->kinds != 0 && work->allocator == PLACE_NONE && kind <= MEMKIND_DEVICE;
         kind++)
        if (wants(work, kind))
            reasons_note(&answer->warnings,
                         "%s memory is left out: it is a gpu's driver's, and no gpu is %s",
                         memkind_names[kind],
                         graph_count(graph, PLACE_GPU) == 0 ? "there" : "allowed");
    return answer->count == 0 ? none_left(work, &tally, err) : BERTH_OK;
}

/* ---- the whole ---- */

static void name_not_measured(const struct alloc_work *work, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    bool by_gpu = work->use[0].gpu != PLACE_NONE;
    err_text(err, 0, metric_info(by_gpu ? METRIC_HOST_GPU_KERNEL : METRIC_MEMORY_BANDWIDTH)->name);
    err_text(err, 1,
             name_of(work, request->access_count > 0 && request->access[0].by != PLACE_NONE
                               ? request->access[0].by
                               : 0));
    err_text(err, 2, name_of(work, work->answer.option[0].place.memory));
}

/* Whether structure tells the options apart: by where they are used most, or at least that one of
 * them is that gpu's own. */
static bool is_told(const struct alloc_work *work, place_id at)
{
    const struct graph *graph = work->snap->graph;
    if (at != PLACE_NONE && (locality_numa(graph, at) != PLACE_NONE ||
                             locality_above(graph, at, PLACE_PACKAGE) != PLACE_NONE))
        return true;
    for (size_t i = 0; i < work->answer.count; i++)
        if (work->answer.option[i].distance < 0)
            return true;
    return false;
}

static enum berth_code check_known(const struct alloc_work *work, place_id at,
                                   struct berth_err *err)
{
    size_t unknown = 0;
    for (size_t i = 0; i < work->answer.count; i++)
        unknown += isnan(work->answer.option[i].predicted.time_ns);
    if (unknown < work->answer.count || work->answer.count == 1 || is_told(work, at))
        return BERTH_OK;
    name_not_measured(work, err);
    return err_set(err, BERTH_NOT_MEASURED,
                   "neither measurements nor structure tell this node's memories apart");
}

static enum berth_code prepare(struct alloc_work *work, struct berth_err *err)
{
    if (work->request->bytes <= 0)
        return err_invalid(err, "bytes", "an allocation has at least one");
    enum berth_code code = memkind_node_init(work->snap->graph, &work->answer.node, err);
    if (code == BERTH_OK)
        code = uses_init(work, err);
    return code == BERTH_OK ? candidates(work, err) : code;
}

static enum berth_code rank(struct alloc_work *work, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    if (!work->request->allowed->given)
        reasons_note(
            &answer->warnings,
            "the request does not say where it comes from (allowed): the whole node is meant");
    work->most = used_most(work);
    enum berth_code code = plan_alloc_price(work, work->most.at, err);
    if (code == BERTH_OK)
        code = check_known(work, work->most.at, err);
    if (code != BERTH_OK)
        return code;
    plan_alloc_order(work->snap, work->request->bytes, answer);
    plan_alloc_say(work);
    return BERTH_OK;
}

enum berth_code plan_alloc(const struct snapshot *snap, const struct alloc_request *request,
                           struct alloc_answer *ret, struct berth_err *err)
{
    struct alloc_work work = {.snap = snap, .request = request, .cores = {.numa = PLACE_NONE}};
    enum berth_code code = prepare(&work, err);
    if (code == BERTH_OK)
        code = rank(&work, err);
    for (size_t i = 0; i < work.use_count; i++)
        memuse_done(&work.use[i]);
    free(work.use);
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
