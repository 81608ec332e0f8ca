#include "plan_alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_alloc_order.h"
#include "plan_move.h"

/* What the cores that use the buffer pay for one memory, whatever the kind of allocation. */
struct cores_price {
    place_id numa;
    struct prediction sum;
    size_t why, why_count; /* of the evidence */
};

struct work {
    struct snapshot *snap;
    const struct alloc_request *request;
    struct memuse *use;
    size_t use_count;
    bool has_cores;        /* one of them is cores */
    place_id allocator;    /* the gpu whose runtime gives pinned and managed memory of the host; PLACE_NONE none */
    struct cores_price cores;
    size_t with_setup, without_setup; /* options with a known price of getting them, and without one */
    struct alloc_answer answer;
};

static bool wants(const struct work *work, enum memkind kind) { return work->request->kinds == 0 || (work->request->kinds & 1u << kind) != 0; }

static const char *name_of(const struct work *work, place_id id) { return graph_place(work->snap->graph, id)->name; }

static enum berth_code uses_init(struct work *work, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    struct memuse_access once = {.by = PLACE_NONE, .reads_bytes = request->bytes};
    const struct memuse_access *access = request->access_count > 0 ? request->access : &once;
    size_t count = request->access_count > 0 ? request->access_count : 1;
    work->use = calloc(count, sizeof *work->use);
    if (work->use == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for accesses");
    for (; work->use_count < count; work->use_count++) {
        enum berth_code code = memuse_init(&work->answer.node, work->snap, &access[work->use_count], request->allowed, &work->use[work->use_count], err);
        if (code != BERTH_OK)
            return code;
        work->has_cores |= work->use[work->use_count].gpu == PLACE_NONE;
    }
    return BERTH_OK;
}

/* Where a buffer is used most, by bytes; for the order of what has no prediction, and of equals. */
static place_id used_most_at(const struct work *work)
{
    const struct memuse *most = NULL;
    for (size_t i = 0; i < work->use_count; i++) {
        const struct memuse *use = &work->use[i];
        if (use->near != PLACE_NONE && (most == NULL || use->read_bytes + use->write_bytes > most->read_bytes + most->write_bytes))
            most = use;
    }
    return most != NULL ? most->near : PLACE_NONE;
}

/* ---- candidates ---- */

/* A list of NUMA nodes alone says nothing of gpus' own memory. */
static bool allows_device(const struct work *work, place_id gpu)
{
    const struct allowed *allowed = work->request->allowed;
    bool speaks_of_gpus = false;
    for (place_id g = graph_next(work->snap->graph, PLACE_GPU, 0); allowed->memory != NULL && g != PLACE_NONE; g = graph_next(work->snap->graph, PLACE_GPU, g + 1))
        speaks_of_gpus |= allowed->memory[g];
    return plan_allows_gpu(allowed, gpu) && (!speaks_of_gpus || allowed->memory[gpu]);
}

/* The gpu that uses the buffer, so that its driver maps it; else the first that is allowed. */
static place_id find_allocator(const struct work *work)
{
    const struct graph *graph = work->snap->graph;
    for (size_t i = 0; i < work->use_count; i++)
        if (work->use[i].gpu != PLACE_NONE)
            return work->use[i].gpu;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE; g = graph_next(graph, PLACE_GPU, g + 1))
        if (plan_allows_gpu(work->request->allowed, g) && !memuse_is_lost(work->snap, g))
            return g;
    return PLACE_NONE;
}

static bool is_reached(struct work *work, struct alloc_option *option)
{
    for (size_t i = 0; i < work->use_count; i++) {
        enum memkind_reach reach = memuse_reaches(&work->use[i], &work->answer.node, work->snap, &option->place, &work->answer.warnings, &option->xnack);
        if (reach == MEMKIND_UNREACHED)
            return false;
        option->is_unsure |= reach == MEMKIND_UNKNOWN && option->place.kind == MEMKIND_SYSTEM;
    }
    return true;
}

/* How many candidates there were, and how many of them all who use the buffer reach and are large enough. */
struct tally {
    size_t allowed, reached, fitting;
    int64_t largest; /* of those that are reached */
};

static void consider(struct work *work, struct memkind_place place, struct tally *tally)
{
    struct alloc_answer *answer = &work->answer;
    const struct alloc_request *request = work->request;
    place_id numa = memkind_numa(&answer->node, place.memory);
    int64_t capacity = graph_place(work->snap->graph, place.memory)->capacity_bytes;
    struct alloc_option option = {.place = place, .free_bytes = numa != PLACE_NONE ? memfree_of(&request->free, graph_place(work->snap->graph, numa)->number) : -1};
    tally->allowed++;
    if (!is_reached(work, &option))
        return;
    tally->reached++;
    tally->largest = capacity > tally->largest ? capacity : tally->largest;
    if (capacity > 0 && capacity < request->bytes) {
        plan_warn(&answer->warnings, "%s is left out: it has %" PRId64 " bytes in all", name_of(work, place.memory), capacity);
        return;
    }
    tally->fitting++;
    answer->option[answer->count++] = option;
}

static void on_numas(struct work *work, struct tally *tally)
{
    const struct graph *graph = work->snap->graph;
    for (place_id m = graph_next(graph, PLACE_NUMA, 0); m != PLACE_NONE; m = graph_next(graph, PLACE_NUMA, m + 1)) {
        if (graph_place(graph, m)->capacity_bytes == 0 || !plan_allows_memory(work->request->allowed, m))
            continue;
        if (wants(work, MEMKIND_SYSTEM))
            consider(work, (struct memkind_place){m, MEMKIND_SYSTEM, PLACE_NONE}, tally);
        /* What a gpu's driver pins is the processor's. */
        bool is_hosts = memkind_owner(&work->answer.node, m) == PLACE_NONE && work->allocator != PLACE_NONE;
        for (enum memkind kind = MEMKIND_PINNED; is_hosts && kind <= MEMKIND_MANAGED; kind++)
            if (wants(work, kind))
                consider(work, (struct memkind_place){m, kind, work->allocator}, tally);
    }
}

static bool is_used_by(const struct work *work, place_id gpu)
{
    for (size_t i = 0; i < work->use_count; i++)
        if (work->use[i].gpu == gpu)
            return true;
    return false;
}

static void on_gpus(struct work *work, struct tally *tally)
{
    const struct graph *graph = work->snap->graph;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE; g = graph_next(graph, PLACE_GPU, g + 1)) {
        bool is_one = memkind_is_one(&work->answer.node, g);
        if (is_used_by(work, g) && wants(work, MEMKIND_DEVICE) && !plan_allows_gpu(work->request->allowed, g))
            plan_warn(&work->answer.warnings, "%s uses the buffer, but nothing may be allocated on it (allowed.gpus)", name_of(work, g));
        place_id memory = is_one ? memkind_numa(&work->answer.node, g) : g;
        if (!allows_device(work, g) || (is_one && !plan_allows_memory(work->request->allowed, memory)))
            continue;
        if (memuse_is_lost(work->snap, g)) {
            plan_warn(&work->answer.warnings, "%s is left out: it stopped answering (gpu-lost)", name_of(work, g));
            continue;
        }
        if (wants(work, MEMKIND_DEVICE))
            consider(work, (struct memkind_place){memory, MEMKIND_DEVICE, g}, tally);
        if (wants(work, MEMKIND_MANAGED) && !is_one && is_used_by(work, g))
            consider(work, (struct memkind_place){g, MEMKIND_MANAGED, g}, tally);
    }
}

static enum berth_code none_left(const struct work *work, const struct tally *tally, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    bool needs_gpu = request->kinds != 0 && (request->kinds & 1u << MEMKIND_SYSTEM) == 0;
    if (tally->allowed == 0 && needs_gpu && work->allocator == PLACE_NONE)
        return err_set(err, BERTH_NOTHING_ALLOWED, graph_count(work->snap->graph, PLACE_GPU) == 0
                                                       ? "pinned, managed and device memory are a gpu's driver's: there is no gpu, system memory there is"
                                                       : "pinned, managed and device memory are a gpu's driver's: no gpu is allowed (allowed.gpus)");
    if (tally->allowed == 0)
        return err_set(err, BERTH_NOTHING_ALLOWED, "no NUMA node with memory is allowed (allowed.memory)");
    if (tally->reached > 0)
        return plan_not_enough(err, "bytes of memory", request->bytes, tally->largest,
                               "%" PRId64 " bytes do not fit in one memory: the largest has %" PRId64, request->bytes, tally->largest);
    return err_set(err, BERTH_NOTHING_ALLOWED, "no allocation of these kinds and memories is reached by all who use it: %s",
                   work->answer.warnings.count > 0 ? work->answer.warnings.line[0] : "");
}

static enum berth_code candidates(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct alloc_answer *answer = &work->answer;
    struct tally tally = {.largest = -1};
    answer->option = calloc(3 * graph_count(graph, PLACE_NUMA) + 2 * graph_count(graph, PLACE_GPU) + 1, sizeof *answer->option);
    if (answer->option == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for options");
    work->allocator = find_allocator(work);
    on_numas(work, &tally);
    on_gpus(work, &tally);
    for (enum memkind kind = MEMKIND_PINNED; work->request->kinds != 0 && work->allocator == PLACE_NONE && kind <= MEMKIND_DEVICE; kind++)
        if (wants(work, kind))
            plan_warn(&answer->warnings, "%s memory is left out: it is a gpu's driver's, and no gpu is %s", memkind_names[kind],
                      graph_count(graph, PLACE_GPU) == 0 ? "there" : "allowed");
    return answer->count == 0 ? none_left(work, &tally, err) : BERTH_OK;
}

/* ---- prices ---- */

static struct prediction sum(struct prediction a, struct prediction b)
{
    return (struct prediction){a.time_ns + b.time_ns, a.low_ns + b.low_ns, a.high_ns + b.high_ns};
}

/* All cores' part, once for each memory: its evidence is copied for the other kinds. */
static enum berth_code price_cores(struct work *work, place_id numa, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    struct memrate_basis basis = {&answer->evidence, answer->evidence.count, &answer->warnings};
    struct cores_price price = {.numa = numa, .why = basis.start};
    for (size_t i = 0; i < work->use_count && !isnan(price.sum.time_ns); i++) {
        struct prediction time;
        if (work->use[i].gpu != PLACE_NONE)
            continue;
        enum berth_code code = memuse_cores(&work->use[i], work->snap, numa, (double)work->request->bytes, &basis, &time, err);
        if (code != BERTH_OK)
            return code;
        price.sum = sum(price.sum, time);
    }
    price.why_count = answer->evidence.count - price.why;
    work->cores = price;
    return BERTH_OK;
}

static enum berth_code add_cores(struct work *work, const struct memkind_place *place, struct memrate_basis *basis, struct prediction *total, struct berth_err *err)
{
    place_id numa = memkind_numa(&work->answer.node, place->memory);
    if (!work->has_cores)
        return BERTH_OK;
    if (numa == PLACE_NONE) /* managed memory that a gpu has comes to the host's */
        numa = plan_numa(work->snap->graph, place->gpu);
    if (numa == PLACE_NONE) {
        *total = (struct prediction){NAN, NAN, NAN};
        return BERTH_OK;
    }
    if (work->cores.numa != numa) {
        enum berth_code code = price_cores(work, numa, err);
        if (code != BERTH_OK)
            return code;
    } else {
        for (size_t i = 0; i < work->cores.why_count; i++)
            if (!plan_evidence_add(basis->evidence, basis->start, basis->evidence->item[work->cores.why + i]))
                return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    }
    *total = sum(*total, work->cores.sum);
    return BERTH_OK;
}

/* Managed memory that goes to a gpu comes back when cores touch it, as much as they touch, once. */
static enum berth_code add_return(const struct work *work, const struct gpurate *at, struct memrate_basis *basis, struct prediction *total, struct berth_err *err)
{
    double touched = 0;
    struct prediction back;
    for (size_t i = 0; i < work->use_count; i++)
        touched += work->use[i].gpu == PLACE_NONE ? work->use[i].read_bytes + work->use[i].write_bytes : 0;
    if (at->place->kind != MEMKIND_MANAGED || memkind_numa(&work->answer.node, at->place->memory) != PLACE_NONE || touched == 0)
        return BERTH_OK;
    enum berth_code code = gpurate_return(at, fmin(touched, at->span), basis, &back, err);
    if (code == BERTH_OK)
        *total = sum(*total, back);
    return code;
}

/* Memory that goes where it is touched has no known price when several gpus touch it. */
static bool is_fought_over(const struct work *work, const struct memkind_place *place)
{
    for (size_t i = 0; place->kind == MEMKIND_MANAGED && place->memory == place->gpu && i < work->use_count; i++)
        if (work->use[i].gpu != PLACE_NONE && work->use[i].gpu != place->gpu)
            return true;
    return false;
}

static enum berth_code add_gpus(struct work *work, const struct alloc_option *option, struct memrate_basis *basis, struct prediction *total, struct berth_err *err)
{
    struct gpurate at = {work->snap, &work->answer.node, &option->place, PLACE_NONE, option->xnack, (double)work->request->bytes};
    if (option->is_unsure || is_fought_over(work, &option->place))
        *total = (struct prediction){NAN, NAN, NAN};
    for (size_t i = 0; i < work->use_count && !isnan(total->time_ns); i++) {
        struct prediction time;
        if (work->use[i].gpu == PLACE_NONE)
            continue;
        at.gpu = work->use[i].gpu;
        enum berth_code code = memuse_gpu(&work->use[i], &at, basis, &time, err);
        if (code != BERTH_OK)
            return code;
        *total = sum(*total, time);
    }
    at.gpu = option->place.gpu;
    return isnan(total->time_ns) ? BERTH_OK : add_return(work, &at, basis, total, err);
}

/* What it takes until the memory is there; NULL not known. ret_stands: ordinary memory's first touch, which pinning does as well, stands for it. */
static const struct value *find_setup(const struct work *work, const struct memkind_place *place, bool *ret_stands)
{
    const struct value *v, *found = NULL;
    size_t n = values_range(work->snap->values, METRIC_ALLOCATION, PLACE_NONE, &v);
    for (; n > 0; v++, n--) {
        const char *axes = values_axes(work->snap->values, v);
        if (v->to != place->memory || !(v->value > 0))
            continue;
        if (strcmp(axes, place->kind == MEMKIND_PINNED ? "kind=pinned" : "") == 0)
            return v;
        found = axes[0] == '\0' ? v : found;
    }
    *ret_stands = found != NULL;
    return found;
}

/* Host memory is touched, or pinned, once. A gpu's own is there at once. */
static enum berth_code add_setup(struct work *work, struct alloc_option *option, struct memrate_basis *basis, struct prediction *total, struct berth_err *err)
{
    bool stands = false;
    if (option->place.kind == MEMKIND_DEVICE || option->place.memory == option->place.gpu)
        return BERTH_OK;
    const struct value *v = find_setup(work, &option->place, &stands);
    work->with_setup += v != NULL;
    work->without_setup += v == NULL;
    if (v == NULL)
        return BERTH_OK;
    double ns = (double)work->request->bytes * 1e9;
    option->setup = (struct prediction){ns / v->value, ns / v->high, ns / v->low};
    *total = sum(*total, option->setup);
    if (stands)
        plan_warn(basis->warnings, "what it takes to allocate %s memory was not measured: first touch stands for it", memkind_names[option->place.kind]);
    return memrate_cite(basis, v, err);
}

static double distance_of(const struct work *work, place_id at, place_id memory)
{
    if (at == PLACE_NONE)
        return NAN;
    place_id owner = memkind_owner(&work->answer.node, memory);
    double distance = plan_distance(work->snap, at, memory);
    return owner == PLACE_NONE || owner == memory ? distance : fmin(distance, plan_distance(work->snap, at, owner));
}

static enum berth_code price(struct work *work, struct alloc_option *option, place_id at, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    struct memrate_basis basis = {&answer->evidence, answer->evidence.count, &answer->warnings};
    struct prediction total = {0};
    size_t warnings = answer->warnings.count;
    option->why = basis.start;
    enum berth_code code = add_cores(work, &option->place, &basis, &total, err);
    if (code == BERTH_OK && !isnan(total.time_ns))
        code = add_gpus(work, option, &basis, &total, err);
    if (code == BERTH_OK && !isnan(total.time_ns))
        code = add_setup(work, option, &basis, &total, err);
    if (code != BERTH_OK)
        return code;
    option->distance = distance_of(work, at, option->place.memory);
    if (isnan(total.time_ns)) {
        /* What a half prediction rested on supports nothing; the order rests on the distance. */
        answer->evidence.count = basis.start;
        answer->warnings.count = warnings;
        work->cores.numa = PLACE_NONE;
        total = (struct prediction){NAN, NAN, NAN};
        place_id numa = at != PLACE_NONE ? plan_numa(work->snap->graph, at) : PLACE_NONE;
        const struct value *stated = numa != PLACE_NONE ? plan_numa_distance(work->snap, numa, option->place.memory) : NULL;
        if (stated != NULL && !plan_evidence_add(&answer->evidence, basis.start, stated))
            return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    }
    if (plan_alloc_is_short(option, work->request->bytes))
        plan_warn(&answer->warnings, "%s has %" PRId64 " bytes free now: less than asked for", name_of(work, option->place.memory), option->free_bytes);
    option->predicted = total;
    option->why_count = answer->evidence.count - option->why;
    return BERTH_OK;
}

/* ---- the whole ---- */

static void name_not_measured(const struct work *work, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    bool by_gpu = work->use[0].gpu != PLACE_NONE;
    err_text(err, 0, metric_info(by_gpu ? METRIC_HOST_GPU_KERNEL : METRIC_MEMORY_BANDWIDTH)->name);
    err_text(err, 1, name_of(work, request->access_count > 0 && request->access[0].by != PLACE_NONE ? request->access[0].by : 0));
    err_text(err, 2, name_of(work, work->answer.option[0].place.memory));
}

static enum berth_code check_order(struct work *work, place_id at, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    size_t unknown = 0;
    for (size_t i = 0; i < answer->count; i++)
        unknown += isnan(answer->option[i].predicted.time_ns);
    if (unknown == answer->count && answer->count > 1 && at == PLACE_NONE) {
        name_not_measured(work, err);
        return err_set(err, BERTH_NOT_MEASURED, "neither measurements nor structure tell this node's memories apart");
    }
    if (unknown == answer->count)
        plan_warn(&answer->warnings, "nothing known predicts these times: the order is by distance alone");
    for (size_t i = 0; i < answer->count && unknown < answer->count; i++)
        if (isnan(answer->option[i].predicted.time_ns))
            plan_warn(&answer->warnings, "nothing known predicts the time of %s memory on %s: it stands by distance", memkind_names[answer->option[i].place.kind],
                      name_of(work, answer->option[i].place.memory));
    return BERTH_OK;
}

static enum berth_code prepare(struct work *work, struct berth_err *err)
{
    if (work->request->bytes <= 0)
        return err_invalid(err, "bytes", "an allocation has at least one");
    enum berth_code code = plan_move_prepare(work->snap, err);
    if (code == BERTH_OK)
        code = memkind_node_init(work->snap->graph, &work->answer.node, err);
    if (code == BERTH_OK)
        code = uses_init(work, err);
    return code == BERTH_OK ? candidates(work, err) : code;
}

static enum berth_code rank(struct work *work, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    if (!work->request->allowed->given)
        plan_warn(&answer->warnings, "the request does not say where it comes from (allowed): the whole node is meant");
    place_id at = used_most_at(work);
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < answer->count && code == BERTH_OK; i++)
        code = price(work, &answer->option[i], at, err);
    if (code == BERTH_OK)
        code = check_order(work, at, err);
    if (code != BERTH_OK)
        return code;
    if (work->with_setup > 0 && work->without_setup > 0)
        plan_warn(&answer->warnings, "what first touch costs was not measured of every memory: it is counted where it was (why)");
    plan_alloc_order(work->snap, work->request->bytes, answer);
    return BERTH_OK;
}

enum berth_code plan_alloc(struct snapshot *snap, const struct alloc_request *request, struct alloc_answer *ret, struct berth_err *err)
{
    struct work work = {.snap = snap, .request = request, .cores = {.numa = PLACE_NONE}};
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
    memkind_node_done(&answer->node);
    plan_evidence_done(&answer->evidence);
    answer->option = NULL;
    answer->count = 0;
}
