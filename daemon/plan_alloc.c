#include "plan_alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memrate.h"

/* One access with the cores or the gpu that make it. */
struct use {
    struct accessor who;
    place_id near; /* the NUMA node with most of the cores, or the gpu; PLACE_NONE when structure does not say where it is */
    double read_bytes, write_bytes;
    bool random;
};

struct work {
    const struct snapshot *snap;
    const struct alloc_request *request;
    struct use *use;
    size_t use_count;
    struct alloc_answer answer;
};

/* The NUMA node that has most of the cores; the lowest of equals. */
static place_id most_of(const struct graph *graph, const struct accessor *who)
{
    place_id best = PLACE_NONE;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE; n = graph_next(graph, PLACE_NUMA, n + 1))
        if (who->inside[n] > 0 && (best == PLACE_NONE || who->inside[n] > who->inside[best]))
            best = n;
    return best;
}

static enum berth_code use_init(struct work *work, const struct alloc_access *access, struct use *use, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct place *by = access->by != PLACE_NONE ? graph_place(graph, access->by) : NULL;
    if (access->reads_bytes < 0 || access->writes_bytes < 0)
        return err_invalid(err, "accesses", "bytes are not negative");
    if (access->cores < 0)
        return err_invalid(err, "accesses", "cores are not negative");
    use->read_bytes = (double)access->reads_bytes;
    use->write_bytes = (double)access->writes_bytes;
    use->random = access->random;
    if (by != NULL && by->kind == PLACE_GPU) {
        memrate_gpu(access->by, &use->who);
        bool is_somewhere = plan_numa(graph, access->by) != PLACE_NONE || plan_above(graph, access->by, PLACE_PACKAGE) != PLACE_NONE;
        use->near = is_somewhere ? access->by : PLACE_NONE;
        return BERTH_OK;
    }
    if (by != NULL && (by->cpus == NULL || by->kind > PLACE_PU))
        return err_invalid(err, "accesses", "%s has no cores and is no gpu", by->name);
    enum berth_code code = memrate_cores(graph, by != NULL ? by->cpus : &work->request->allowed->cpus, &use->who, err);
    if (code != BERTH_OK)
        return code;
    if (use->who.in_all == 0 && by == NULL && graph_count(graph, PLACE_CORE) == 0)
        return err_set(err, BERTH_UNAVAILABLE, "the cores of this node are not known: say who uses the memory (accesses)");
    if (use->who.in_all == 0)
        return by != NULL ? err_invalid(err, "accesses", "%s has no cores and is no gpu", by->name)
                          : err_set(err, BERTH_NOTHING_ALLOWED, "no core is allowed (allowed.cpus)");
    if (access->cores > use->who.in_all)
        return plan_not_enough(err, "cores", access->cores, use->who.in_all, "%" PRId64 " cores are to use the memory; %s has %u", access->cores,
                               by != NULL ? by->name : "the allowed part of the node", use->who.in_all);
    if (access->cores > 0)
        use->who.cores = (unsigned)access->cores;
    use->near = most_of(graph, &use->who);
    return BERTH_OK;
}

static enum berth_code uses_init(struct work *work, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    struct alloc_access once = {.by = PLACE_NONE, .reads_bytes = request->bytes};
    const struct alloc_access *access = request->access_count > 0 ? request->access : &once;
    size_t count = request->access_count > 0 ? request->access_count : 1;
    work->use = calloc(count, sizeof *work->use);
    if (work->use == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for accesses");
    while (work->use_count < count) {
        size_t i = work->use_count++;
        enum berth_code code = use_init(work, &access[i], &work->use[i], err);
        if (code != BERTH_OK)
            return code;
    }
    return BERTH_OK;
}

static void add_stream(struct prediction *sum, double bytes, struct memrate rate)
{
    sum->time_ns += bytes / rate.value * 1e9;
    sum->low_ns += bytes / rate.high * 1e9;
    sum->high_ns += bytes / rate.low * 1e9;
}

static enum berth_code add_use(struct work *work, const struct use *use, place_id memory, struct memrate_basis *basis, struct prediction *sum,
                               struct berth_err *err)
{
    struct memrate rate;
    if (use->random) {
        double loads = ceil((use->read_bytes + use->write_bytes) / ALLOC_LINE_BYTES / use->who.cores);
        if (loads == 0)
            return BERTH_OK;
        enum berth_code code = memrate_latency(work->snap, &use->who, memory, basis, &rate, err);
        if (code == BERTH_OK) {
            *sum = (struct prediction){sum->time_ns + loads * rate.value, sum->low_ns + loads * rate.low, sum->high_ns + loads * rate.high};
            plan_warn(basis->warnings, "how many random accesses a core has under way at once was not measured: counted one after the other");
        }
        return code;
    }
    const struct {
        const char *how;
        double bytes;
    } streams[] = {{"read", use->read_bytes}, {"write", use->write_bytes}};
    for (size_t i = 0; i < 2; i++) {
        if (streams[i].bytes == 0)
            continue;
        enum berth_code code = memrate_stream(work->snap, &use->who, memory, streams[i].how, basis, &rate, err);
        if (code != BERTH_OK)
            return code;
        add_stream(sum, streams[i].bytes, rate);
    }
    return BERTH_OK;
}

/* Where a buffer is used most, by bytes; for the order of what has no prediction. */
static place_id used_most_at(const struct work *work)
{
    const struct use *most = NULL;
    for (size_t i = 0; i < work->use_count; i++) {
        const struct use *use = &work->use[i];
        if (use->near != PLACE_NONE && (most == NULL || use->read_bytes + use->write_bytes > most->read_bytes + most->write_bytes))
            most = use;
    }
    return most != NULL ? most->near : PLACE_NONE;
}

static enum berth_code price(struct work *work, struct alloc_option *option, place_id at, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    struct memrate_basis basis = {&answer->evidence, answer->evidence.count, &answer->warnings};
    struct prediction sum = {0};
    size_t warnings = answer->warnings.count;
    option->why = basis.start;
    for (size_t i = 0; i < work->use_count && !isnan(sum.time_ns); i++) {
        enum berth_code code = add_use(work, &work->use[i], option->memory, &basis, &sum, err);
        if (code != BERTH_OK)
            return code;
    }
    option->distance = at != PLACE_NONE ? plan_distance(work->snap, at, option->memory) : NAN;
    if (isnan(sum.time_ns)) {
        /* What a half prediction rested on supports nothing; the order rests on the distance. */
        answer->evidence.count = basis.start;
        answer->warnings.count = warnings;
        sum = (struct prediction){NAN, NAN, NAN};
        place_id numa = at != PLACE_NONE ? plan_numa(work->snap->graph, at) : PLACE_NONE;
        const struct value *stated = numa != PLACE_NONE ? plan_numa_distance(work->snap, numa, option->memory) : NULL;
        if (stated != NULL && !plan_evidence_add(&answer->evidence, basis.start, stated))
            return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    }
    option->predicted = sum;
    option->why_count = answer->evidence.count - option->why;
    return BERTH_OK;
}

static bool is_candidate(const struct alloc_request *request, const struct place *place, place_id id)
{
    return place->kind == PLACE_NUMA && place->capacity_bytes != 0 && plan_allows_memory(request->allowed, id);
}

static enum berth_code candidates(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct alloc_request *request = work->request;
    int64_t largest = -1;
    size_t allowed = 0;
    work->answer.option = calloc(graph_count(graph, PLACE_NUMA) + 1, sizeof *work->answer.option);
    if (work->answer.option == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for options");
    for (place_id m = graph_next(graph, PLACE_NUMA, 0); m != PLACE_NONE; m = graph_next(graph, PLACE_NUMA, m + 1)) {
        const struct place *place = graph_place(graph, m);
        if (!is_candidate(request, place, m))
            continue;
        allowed++;
        largest = place->capacity_bytes > largest ? place->capacity_bytes : largest;
        if (place->capacity_bytes > 0 && place->capacity_bytes < request->bytes) {
            plan_warn(&work->answer.warnings, "%s is left out: it has %" PRId64 " bytes in all", place->name, place->capacity_bytes);
            continue;
        }
        int64_t free_bytes = memfree_of(&request->free, place->number);
        work->answer.option[work->answer.count++] = (struct alloc_option){.memory = m, .free_bytes = free_bytes};
    }
    if (allowed == 0)
        return err_set(err, BERTH_NOTHING_ALLOWED, "no NUMA node with memory is allowed (allowed.memory)");
    if (work->answer.count == 0)
        return plan_not_enough(err, "bytes of memory", request->bytes, largest,
                               "%" PRId64 " bytes do not fit on one NUMA node: the largest has %" PRId64, request->bytes, largest);
    return BERTH_OK;
}

static int compare_doubles(double a, double b) { return (a > b) - (a < b); }

static bool is_short(const struct alloc_option *option, int64_t bytes) { return option->free_bytes >= 0 && option->free_bytes < bytes; }

static int compare_options(const void *a, const void *b, void *arg)
{
    const struct alloc_option *x = a, *y = b;
    const struct alloc_request *request = arg;
    int order = is_short(x, request->bytes) - is_short(y, request->bytes);
    if (order == 0)
        order = isnan(x->predicted.time_ns) - isnan(y->predicted.time_ns);
    if (order == 0 && !isnan(x->predicted.time_ns))
        order = compare_doubles(x->predicted.time_ns, y->predicted.time_ns);
    if (order == 0)
        order = compare_doubles(x->distance, y->distance);
    return order != 0 ? order : (x->memory > y->memory) - (x->memory < y->memory);
}

static enum berth_code check_order(struct work *work, place_id at, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct alloc_answer *answer = &work->answer;
    size_t unknown = 0;
    for (size_t i = 0; i < answer->count; i++)
        unknown += isnan(answer->option[i].predicted.time_ns);
    if (unknown == answer->count && answer->count > 1 && at == PLACE_NONE) {
        err_text(err, 0, metric_info(METRIC_MEMORY_BANDWIDTH)->name);
        err_text(err, 1, work->request->access_count > 0 && work->request->access[0].by != PLACE_NONE
                             ? graph_place(graph, work->request->access[0].by)->name
                             : graph_place(graph, 0)->name);
        err_text(err, 2, graph_place(graph, answer->option[0].memory)->name);
        return err_set(err, BERTH_NOT_MEASURED, "neither measurements nor structure tell this node's memories apart");
    }
    if (unknown == answer->count)
        plan_warn(&answer->warnings, "nothing known predicts these times: the order is by distance alone");
    for (size_t i = 0; i < answer->count && unknown < answer->count; i++)
        if (isnan(answer->option[i].predicted.time_ns))
            plan_warn(&answer->warnings, "nothing known predicts the time on %s: it stands by distance", graph_place(graph, answer->option[i].memory)->name);
    return BERTH_OK;
}

static enum berth_code fill(struct work *work, struct berth_err *err)
{
    const struct alloc_request *request = work->request;
    struct alloc_answer *answer = &work->answer;
    if (request->bytes <= 0)
        return err_invalid(err, "bytes", "an allocation has at least one");
    enum berth_code code = candidates(work, err);
    if (code == BERTH_OK)
        code = uses_init(work, err);
    if (code != BERTH_OK)
        return code;
    if (!request->allowed->given)
        plan_warn(&answer->warnings, "the request does not say where it comes from (allowed): the whole node is meant");
    place_id at = used_most_at(work);
    for (size_t i = 0; i < answer->count; i++) {
        code = price(work, &answer->option[i], at, err);
        if (code != BERTH_OK)
            return code;
        if (is_short(&answer->option[i], request->bytes))
            plan_warn(&answer->warnings, "%s has %" PRId64 " bytes free now: less than asked for",
                      graph_place(work->snap->graph, answer->option[i].memory)->name, answer->option[i].free_bytes);
    }
    code = check_order(work, at, err);
    qsort_r(answer->option, answer->count, sizeof *answer->option, compare_options, (void *)request);
    return code;
}

enum berth_code plan_alloc(const struct snapshot *snap, const struct alloc_request *request, struct alloc_answer *ret, struct berth_err *err)
{
    struct work work = {.snap = snap, .request = request};
    enum berth_code code = fill(&work, err);
    for (size_t i = 0; i < work.use_count; i++)
        memrate_done(&work.use[i].who);
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
    plan_evidence_done(&answer->evidence);
    answer->option = NULL;
    answer->count = 0;
}
