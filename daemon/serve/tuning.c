/* io.berth.Fabric.GetTuning: launch shapes, sizes of pieces and the size at which the mechanism
 * changes, of the kernels of GPUs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/jsonify.h"
#include "node/tuned_sizes.h"
#include "node/tuning.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/request.h"
#include "serve/serve.h"

enum operation { READ, WRITE, COPY, PULL, OPERATIONS };
static const char *const operations[] = {"read", "write", "copy", "pull", NULL};

/* A GetTuning in progress. */
struct asking {
    const struct snapshot *snap;
    uint64_t claims;    /* generation at the time of the request */
    int64_t now_s;      /* 0: no age counts */
    place_id place, to; /* PLACE_NONE: every gpu, with its own memory */
    int operation;      /* OPERATIONS: all */
};

static void asking_free(void *state)
{
    struct asking *asking = state;
    snapshot_unref(asking->snap);
    free(asking);
}

/* One use of a memory by a gpu. */
struct use {
    const struct graph *graph;
    place_id gpu, memory;
    int operation;
    bool has_shape;
    struct tuning shape;
    const struct curve *engine, *kernel; /* of bytes over sizes; NULL none */
};

/* A number of the answer; value below 0: why_not. by NULL: a kernel's shape. */
struct tuned {
    int64_t value;
    const char *why_not, *by;
    place_id from, to;                               /* what was measured; PLACE_NONE unknown */
    double bytes_per_s, low, high, next_bytes_per_s; /* NAN unknown */
    int64_t measured_at_s;                           /* 0 unknown */
};

static bool is_own(const struct use *use) { return use->gpu == use->memory; }

static bool is_peer(const struct use *use)
{
    return !is_own(use) && graph_is(use->graph, use->memory, PLACE_GPU);
}

static void find_shape(const struct snapshot *snap, struct use *use)
{
    char name[16];
    /* one shape serves copies with the host in both directions */
    int operation = use->operation == PULL && !is_peer(use) ? COPY : use->operation;
    snprintf(name, sizeof name, "%s%s",
             is_own(use)    ? ""
             : is_peer(use) ? "peer-"
                            : "host-",
             operations[operation]);
    use->has_shape =
        tuning_find(snap->shapes, graph_place(use->graph, use->gpu)->model, name, &use->shape);
}

/* Finds the curves of the copy engine and of the kernel. Those with the host go from the memory
 * that the bytes come from; those between gpus from the gpu whose kernel it is. */
static void find_curves(const struct snapshot *snap, struct use *use)
{
    const struct curves *curves = snap->derived.curves;
    bool pulls = use->operation == PULL || use->operation == READ,
         copies = use->operation == COPY || use->operation == PULL;
    place_id from = pulls ? use->memory : use->gpu, to = pulls ? use->gpu : use->memory;
    char axes[32] = "";
    if (is_own(use))
        return;
    if (is_peer(use)) {
        if (use->operation != COPY)
            snprintf(axes, sizeof axes, "operation=%s", operations[use->operation]);
        use->kernel = curve_find(curves, METRIC_GPU_GPU_KERNEL, use->gpu, use->memory, axes);
        if (copies)
            use->engine = curve_find(curves, METRIC_GPU_GPU_COPY_ENGINE, from, to,
                                     pulls ? "direction=read" : "");
        return;
    }
    if (!copies)
        snprintf(axes, sizeof axes, "operation=%s", operations[use->operation]);
    use->kernel = curve_find(curves, METRIC_HOST_GPU_KERNEL, from, to, axes);
    if (copies)
        use->engine = curve_find(curves, METRIC_HOST_GPU_COPY_ENGINE, from, to, "");
}

static struct tuned none(const char *why_not)
{
    return (struct tuned){-1, why_not, NULL, PLACE_NONE, PLACE_NONE, NAN, NAN, NAN, NAN, 0};
}

static void print_place(struct print *reply, const struct graph *graph, const char *key,
                        place_id place)
{
    print_key(reply, key);
    print_string(reply, place != PLACE_NONE ? graph_place(graph, place)->name : NULL);
}

static void print_tuned(struct print *reply, const struct graph *graph, const char *key,
                        const struct tuned *tuned)
{
    print_key(reply, key);
    print_open(reply, '{');
    print_key(reply, "value");
    print_count(reply, tuned->value);
    print_key(reply, "why_not");
    print_string(reply, tuned->value < 0 ? tuned->why_not : NULL);
    print_key(reply, "by");
    print_string(reply, tuned->by);
    print_place(reply, graph, "from", tuned->from);
    print_place(reply, graph, "to", tuned->to);
    print_key(reply, "bytes_per_s");
    print_real(reply, tuned->bytes_per_s);
    print_key(reply, "low");
    print_real(reply, tuned->low);
    print_key(reply, "high");
    print_real(reply, tuned->high);
    print_key(reply, "next_bytes_per_s");
    print_real(reply, tuned->next_bytes_per_s);
    print_key(reply, "measured_at_s");
    print_count(reply, tuned->measured_at_s > 0 ? tuned->measured_at_s : -1);
    print_close(reply, '}');
}

static void print_shape(struct print *reply, const struct use *use)
{
    static const char *const keys[] = {"grid", "block", "unroll"};
    const struct tuning *shape = &use->shape;
    const unsigned numbers[] = {shape->grid, shape->block, shape->unroll};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct tuned tuned = none("no run of the GPU probe has tuned it for this model");
        if (use->has_shape)
            tuned = (struct tuned){numbers[i],
                                   NULL,
                                   "kernel",
                                   graph_find(use->graph, shape->timed[0]),
                                   graph_find(use->graph, shape->timed[1]),
                                   shape->bytes_per_s,
                                   shape->low,
                                   shape->high,
                                   shape->next_bytes_per_s,
                                   shape->tuned_at_s};
        print_tuned(reply, use->graph, keys[i], &tuned);
    }
}

static const char *mechanism(bool is_kernel) { return is_kernel ? "kernel" : "copy_engine"; }

static int64_t newest(const struct curve *a, const struct curve *b)
{
    int64_t of_a = a != NULL ? a->measured_at_s : 0, of_b = b != NULL ? b->measured_at_s : 0;
    return of_a > of_b ? of_a : of_b;
}

/* The mechanism that moves large sizes faster, as far as is known. */
static const struct curve *fastest(const struct use *use,
                                   const struct tuned_sizes_threshold *threshold)
{
    if (use->engine == NULL || use->kernel == NULL)
        return use->engine != NULL ? use->engine : use->kernel;
    return threshold->is_certain ? (threshold->is_kernel_above ? use->kernel : use->engine)
           : curve_wmax_bytes_per_s(use->kernel) > curve_wmax_bytes_per_s(use->engine)
               ? use->kernel
               : use->engine;
}

static void print_chunk(struct print *reply, const struct use *use,
                        const struct tuned_sizes_threshold *threshold)
{
    const struct curve *curve = fastest(use, threshold);
    struct tuned tuned = none(is_own(use) ? "sizes in its own memory are not measured"
                                          : "no sizes of it are measured");
    double bytes = curve != NULL ? tuned_sizes_chunk(curve) : (double)NAN;
    if (curve != NULL)
        tuned.why_not = "no measured size reaches 95 % of the highest rate";
    if (curve != NULL && !isnan(bytes)) {
        double ns = curve_time_ns(curve, bytes), half = curve_fit_spread(&curve->fit, bytes);
        bool has_half = half < 1; /* NAN as well has none */
        tuned = (struct tuned){(int64_t)bytes,
                               NULL,
                               mechanism(curve == use->kernel),
                               curve->from,
                               curve->to,
                               1e9 * bytes / ns,
                               has_half ? 1e9 * bytes / (ns * (1 + half)) : (double)NAN,
                               has_half ? 1e9 * bytes / (ns * (1 - half)) : (double)NAN,
                               1e9 * (bytes / 2) / curve_time_ns(curve, bytes / 2),
                               curve->measured_at_s};
    }
    print_tuned(reply, use->graph, "chunk_bytes", &tuned);
}

static void print_streams(struct print *reply, const struct values *values, const struct use *use)
{
    bool pulls = use->operation == PULL, copies = pulls || use->operation == COPY;
    struct tuned_sizes_streams found = {0};
    if (copies && !is_own(use))
        found = tuned_sizes_streams(values, pulls ? use->memory : use->gpu,
                                    pulls ? use->gpu : use->memory);
    struct tuned tuned =
        none(!copies       ? "a copy engine only copies"
             : is_own(use) ? "copies by the copy engine in its own memory are not measured"
                           : "the full profile measures it, of a gpu with the host's "
                             "nearest memory and with its peers");
    if (found.value != NULL)
        tuned = (struct tuned){found.count,
                               NULL,
                               "copy_engine",
                               found.value->from,
                               found.value->to,
                               found.value->value,
                               found.value->low,
                               found.value->high,
                               found.next != NULL ? found.next->value : (double)NAN,
                               found.value->measured_at_s};
    print_tuned(reply, use->graph, "streams", &tuned);
}

static void print_threshold(struct print *reply, const struct use *use,
                            const struct tuned_sizes_threshold *threshold)
{
    struct tuned tuned = none(threshold->why_not);
    if (!isnan(threshold->bytes))
        tuned = (struct tuned){(int64_t)threshold->bytes,
                               NULL,
                               mechanism(threshold->is_kernel_above),
                               use->gpu,
                               use->memory,
                               threshold->bytes_per_s,
                               threshold->low,
                               threshold->high,
                               threshold->next_bytes_per_s,
                               newest(use->engine, use->kernel)};
    print_tuned(reply, use->graph, "threshold_bytes", &tuned);
    print_key(reply, "certain_below_bytes");
    print_count(reply, isnan(threshold->certain_below) ? -1 : (int64_t)threshold->certain_below);
    print_key(reply, "below");
    print_string(reply, threshold->is_certain ? mechanism(threshold->is_kernel_below) : NULL);
    print_key(reply, "above");
    print_string(reply, threshold->is_certain ? mechanism(threshold->is_kernel_above) : NULL);
}

static struct tuned_sizes_threshold find_threshold(const struct snapshot *snap,
                                                   const struct use *use)
{
    if (!is_own(use) && use->operation >= COPY)
        return tuned_sizes_threshold(snap->derived.curves, use->engine, use->kernel);
    return (struct tuned_sizes_threshold){
        NAN,
        NAN,
        false,
        false,
        false,
        NAN,
        NAN,
        NAN,
        NAN,
        use->operation < COPY ? "a copy engine only copies"
                              : "copies by the copy engine in its own memory are not measured"};
}

static void print_conditions(struct print *reply, const struct use *use)
{
    const struct tuning *shape = &use->shape;
    char number[24];
    print_key(reply, "conditions");
    print_open(reply, '{');
    print_key(reply, "fingerprint");
    print_string(reply, use->graph->fingerprint);
    if (use->has_shape && shape->version[0] != '\0') {
        print_key(reply, "driver");
        print_string(reply, shape->version);
    }
    if (use->has_shape && shape->power_cap_w >= 0) {
        snprintf(number, sizeof number, "%lld", (long long)shape->power_cap_w);
        print_key(reply, "power_cap_w");
        print_string(reply, number);
    }
    if (use->has_shape && shape->clock_max_mhz >= 0) {
        snprintf(number, sizeof number, "%lld", (long long)shape->clock_max_mhz);
        print_key(reply, "clock_max_mhz");
        print_string(reply, number);
    }
    print_close(reply, '}');
}

static void print_stale(struct print *reply, const struct asking *asking, const struct use *use)
{
    char why[TUNING_WHY_SIZE];
    int64_t sizes_at_s = newest(use->engine, use->kernel);
    print_key(reply, "stale");
    if (use->has_shape && tuning_is_stale(&use->shape, use->graph, use->gpu, asking->now_s, why))
        print_string(reply, why);
    else if (asking->now_s > 0 && sizes_at_s > 0 && asking->now_s - sizes_at_s > TUNING_FRESH_S)
        print_string(reply, "its sizes were measured more than 7 days ago");
    else
        print_null(reply);
}

static void print_use(struct print *reply, const struct asking *asking, place_id gpu,
                      place_id memory, int operation)
{
    const struct snapshot *snap = asking->snap;
    struct use use = {.graph = snap->graph, .gpu = gpu, .memory = memory, .operation = operation};
    find_shape(snap, &use);
    find_curves(snap, &use);
    struct tuned_sizes_threshold threshold = find_threshold(snap, &use);
    print_open(reply, '{');
    print_key(reply, "place");
    print_string(reply, graph_place(snap->graph, gpu)->name);
    print_key(reply, "to");
    print_string(reply, graph_place(snap->graph, memory)->name);
    print_key(reply, "operation");
    print_name(reply, operations[operation]);
    print_shape(reply, &use);
    print_chunk(reply, &use, &threshold);
    print_streams(reply, snap->values, &use);
    print_threshold(reply, &use, &threshold);
    print_conditions(reply, &use);
    print_stale(reply, asking, &use);
    print_close(reply, '}');
}

static void print_pair(struct print *reply, const struct asking *asking, place_id gpu,
                       place_id memory)
{
    for (int operation = 0; operation < OPERATIONS; operation++)
        if ((asking->operation == OPERATIONS || asking->operation == operation) &&
            (operation != PULL || gpu != memory))
            print_use(reply, asking, gpu, memory, operation);
}

static enum berth_code print_tunings(void *state, struct print *reply, struct berth_err *err)
{
    (void)err;
    const struct asking *asking = state;
    const struct graph *graph = asking->snap->graph;
    print_open(reply, '{');
    print_key(reply, "tunings");
    print_open(reply, '[');
    if (asking->place != PLACE_NONE)
        print_pair(reply, asking, asking->place, asking->to);
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0);
         asking->place == PLACE_NONE && gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        print_pair(reply, asking, gpu, gpu);
    print_close(reply, ']');
    print_key(reply, "basis");
    jsonify_print_basis(reply, asking->snap, asking->claims);
    print_close(reply, '}');
    return BERTH_OK;
}

static enum berth_code read_places(const struct graph *graph, const json_t *params,
                                   struct asking *asking, struct berth_err *err)
{
    const json_t *place = json_object_get(params, "place"), *to = json_object_get(params, "to");
    asking->place = asking->to = PLACE_NONE;
    if (place == NULL || json_is_null(place))
        return to == NULL || json_is_null(to)
                   ? BERTH_OK
                   : err_invalid(err, "to", "needs the gpu whose kernel accesses it as place");
    enum berth_code code = request_place(graph, place, "place", &asking->place, err);
    if (code == BERTH_OK && !graph_is(graph, asking->place, PLACE_GPU))
        return err_invalid(err, "place", "%s is no gpu: kernels of gpus are tuned",
                           graph_place(graph, asking->place)->name);
    asking->to = asking->place;
    if (code == BERTH_OK && to != NULL && !json_is_null(to))
        code = request_place(graph, to, "to", &asking->to, err);
    if (code == BERTH_OK && !graph_is(graph, asking->to, PLACE_GPU) &&
        !graph_is(graph, asking->to, PLACE_NUMA))
        return err_invalid(err, "to", "%s is no memory: a gpu or a numa node is",
                           graph_place(graph, asking->to)->name);
    return code;
}

enum berth_code query_get_tuning(const struct call *call, struct outcome *ret,
                                 struct berth_err *err)
{
    const struct graph *graph = call->snap->graph;
    struct asking read = {0};
    enum berth_code code = read_places(graph, call->params, &read, err);
    if (code == BERTH_OK)
        code =
            request_word(call->params, "operation", operations, OPERATIONS, &read.operation, err);
    if (code == BERTH_OK && read.operation == PULL && read.place == read.to)
        code =
            err_invalid(err, "operation", "pull is between two memories: it needs another as to");
    if (code != BERTH_OK)
        return code;
    struct asking *asking = malloc(sizeof *asking);
    if (asking == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *asking = read;
    asking->snap = snapshot_ref(call->snap);
    asking->claims = claim_keep_generation(call->daemon->claims);
    if (graph->origin == ORIGIN_LIVE || graph->origin == ORIGIN_STANDIN)
        asking->now_s = clock_now_s(&call->daemon->clock);
    *ret = (struct outcome){
        .kind = OUTCOME_WORK, .state = asking, .write = print_tunings, .free_state = asking_free};
    return BERTH_OK;
}
