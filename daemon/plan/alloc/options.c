/* The options of Allocate: memories and kinds of allocations that all users reach. */
#include <stdlib.h>

#include "base/quantity.h"
#include "cost/endpoints.h"
#include "node/gpu.h"
#include "plan/alloc/work.h"

#define ROUNDING 1e-9 /* of bytes that are added up by shares */

static bool wants(const struct alloc_work *work, enum memkind kind)
{
    return work->request->kinds == 0 || (work->request->kinds & 1u << kind) != 0;
}

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

/* Returns the place of a kind that uses the buffer most, the first of equals; PLACE_NONE none. */
static place_id find_heaviest(const struct alloc_work *work, enum place_kind kind, double *most)
{
    const struct graph *graph = work->snap->graph;
    place_id found = PLACE_NONE;
    for (place_id p = graph_next(graph, kind, 0); p != PLACE_NONE;
         p = graph_next(graph, kind, p + 1)) {
        double bytes = plan_alloc_bytes_at(work, p);
        if (bytes > *most * (1 + ROUNDING)) {
            *most = bytes;
            found = p;
        }
    }
    return found;
}

/* Finds the place whose memory goes first among equals, and the gpu whose driver maps the buffer:
 * one that uses it, else the first that is allowed. */
static void find_places(struct alloc_work *work)
{
    const struct graph *graph = work->snap->graph;
    double most = 0;
    work->allocator = find_heaviest(work, PLACE_GPU, &most);
    place_id numa = find_heaviest(work, PLACE_NUMA, &most);
    work->heaviest = numa != PLACE_NONE ? numa : work->allocator;
    for (place_id g = graph_next(graph, PLACE_GPU, 0);
         g != PLACE_NONE && work->allocator == PLACE_NONE; g = graph_next(graph, PLACE_GPU, g + 1))
        if (allowed_has_gpu(work->request->allowed, g) && is_usable(work, g))
            work->allocator = g;
}

/* Warns of users that cannot reach an option, or may not. */
static bool is_reached(struct alloc_work *work, struct alloc_option *option)
{
    struct reasons *warnings = &work->answer.warnings;
    const char *kind = memkind_names[option->place.kind];
    for (size_t i = 0; i < work->user_count; i++) {
        const struct memuser *user = &work->user[i].who;
        const char *name = user->gpu != PLACE_NONE ? plan_alloc_name(work, user->gpu) : "cores";
        enum memuser_reach reach = memuser_reaches(user, work->snap, &option->place);
        option->xnack |= reach == MEMUSER_BY_XNACK;
        if (reach == MEMUSER_UNREACHED) {
            reasons_add(warnings, REASON_UNREACHED, SUBJECTS(kind, name), NO_NUMBERS);
            return false;
        }
        if (reach == MEMUSER_UNKNOWN && option->place.kind == MEMKIND_SYSTEM) {
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

/* Takes the free memory of a NUMA node from now, of a gpu from when its driver was asked last. */
static void find_free(const struct alloc_work *work, struct alloc_option *option)
{
    const struct graph *graph = work->snap->graph;
    const struct place *memory = graph_place(graph, option->place.memory);
    const struct free_memory_view *free = &work->request->free;
    place_id numa = option->place.migrates ? PLACE_NONE : option->place.numa;
    int64_t used = detail_of(memory, "bytes_used"),
            at_s = detail_of(graph_place(graph, 0), "facts_at_s");
    option->free_bytes = option->free_at_s = -1;
    if (numa != PLACE_NONE) {
        option->free_bytes = free_memory_of(free, graph_place(graph, numa)->number);
        option->free_at_s = option->free_bytes >= 0 ? free->at_s : -1;
    } else if (graph->origin == ORIGIN_LIVE && used >= 0 && used <= memory->capacity_bytes &&
               at_s >= 0) {
        option->free_bytes = memory->capacity_bytes - used;
        option->free_at_s = at_s;
    }
    option->is_short = option->place.gpu != option->place.memory && option->free_bytes >= 0 &&
                       option->free_bytes < work->request->bytes;
}

/* Numbers of candidates that are allowed and that all users reach; the largest of these. */
struct tally {
    size_t allowed, reached;
    int64_t largest;
};

static void consider(struct alloc_work *work, place_id memory, enum memkind kind, place_id gpu,
                     struct tally *tally)
{
    struct alloc_answer *answer = &work->answer;
    int64_t capacity = graph_place(work->snap->graph, memory)->capacity_bytes;
    struct alloc_option option = {.place = memkind_place(work->snap->graph, memory, kind, gpu)};
    if (!wants(work, kind))
        return;
    tally->allowed++;
    if (!is_reached(work, &option))
        return;
    tally->reached++;
    tally->largest = capacity > tally->largest ? capacity : tally->largest;
    if (capacity > 0 && capacity < work->request->bytes) {
        reasons_add_about(&answer->warnings, REASON_TOO_SMALL, plan_alloc_name(work, memory),
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
        consider(work, m, MEMKIND_SYSTEM, PLACE_NONE, tally);
        /* a gpu's driver pins memory of processors */
        bool is_hosts = endpoints_gpu_of(graph, m) == PLACE_NONE && work->allocator != PLACE_NONE;
        for (enum memkind kind = MEMKIND_PINNED; is_hosts && kind <= MEMKIND_MANAGED; kind++)
            consider(work, m, kind, work->allocator, tally);
    }
}

static void on_gpus(struct alloc_work *work, struct tally *tally)
{
    const struct graph *graph = work->snap->graph;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        place_id common = memkind_common(graph, g);
        bool is_one = common != PLACE_NONE;
        if (!allows_device(work, g) ||
            (is_one && !allowed_has_memory(work->request->allowed, common)))
            continue;
        if (!is_usable(work, g)) {
            reasons_add_about(&work->answer.warnings, REASON_GPU_LEFT_OUT, plan_alloc_name(work, g),
                              NO_NUMBERS);
            continue;
        }
        consider(work, is_one ? common : g, MEMKIND_DEVICE, g, tally);
        /* several gpus have it in turn, whoever had it first */
        if (!is_one && g == work->allocator && plan_alloc_bytes_at(work, g) > 0)
            consider(work, g, MEMKIND_MANAGED, g, tally);
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

enum berth_code plan_alloc_options(struct alloc_work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct tally tally = {.largest = -1};
    find_places(work);
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
