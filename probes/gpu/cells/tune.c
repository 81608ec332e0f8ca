/* Finds launch shapes of the kernels for memory_bandwidth, host_gpu_kernel and gpu_gpu_kernel. */
#include "gpu/cells/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "gpu/timing/launch_shapes.h"
#include "gpu/timing/path.h"

#define AGAIN    5     /* shapes that are tried again: the fastest at first sight, */
#define FIRST_OF 3     /* and these of the list */
#define MORE     2     /* operations whose time counts then */
#define AS_FAST  1.012 /* times the best */
#define DRIFT    0.05  /* rates of kernels on two H100 differed by up to 2.9 % in five runs */
#define WANTED   150e3 /* ns that one operation takes */
#define FIRST    (UINT64_C(8) << 20)
#define GRAIN    UINT64_C(4096)
#define CACHES   4                 /* times the last cache: least bytes moved in own memory */
#define LEAST_NS INT64_C(80000000) /* in less time not all shapes of a target are tried */

/* Own memory is fastest with blocks that come in order, each for one step; so is writing to a peer.
 * Kernels that read over a link are fastest with resident blocks. Those that store as much besides
 * need several times as many as fit at once. */
size_t gpu_cells_tune_shapes(int multiprocessors, enum gpu_cells_grid first,
                             struct gpu_cells_try *ret_tries)
{
    enum { BLOCKS = 3, WAVES = 5, UNROLLS = 6 };
    static const unsigned blocks[GPU_CELLS_GRID_COUNT][BLOCKS] = {
        {256, 512, 1024}, {512, 256, 1024}, {512, 256, 1024}};
    static const unsigned waves[GPU_CELLS_GRID_COUNT][WAVES] = {
        {0, 1, 2, 4, 8}, {1, 2, 4, 0, 8}, {8, 4, 2, 1, 0}};
    static const unsigned unrolls[GPU_CELLS_GRID_COUNT][UNROLLS] = {
        {4, 8, 2, 12, 16, 1}, {12, 8, 4, 16, 2, 1}, {12, 8, 4, 16, 2, 1}};
    size_t count = 0;
    for (size_t j = 0; j < WAVES; j++)
        for (size_t i = 0; i < BLOCKS; i++)
            for (size_t k = 0; k < UNROLLS; k++)
                /* No multiprocessor holds more threads; a further block would wait for a free
                 * place. */
                if (blocks[first][i] * waves[first][j] <= 4096) {
                    unsigned grid =
                        waves[first][j] * (multiprocessors > 0 ? (unsigned)multiprocessors : 64);
                    ret_tries[count] =
                        (struct gpu_cells_try){.shape = {blocks[first][i], grid, unrolls[first][k]},
                                               .order = (unsigned)count};
                    count++;
                }
    return count;
}

/* Drops the shapes that the driver does not launch; returns the number left. */
static size_t drop_refused(const struct gpu_device *device, enum gpu_operation how,
                           struct gpu_cells_try *tries, size_t count)
{
    static const enum gpu_kernel firsts[] = {GPU_KERNEL_READ, GPU_KERNEL_WRITE, GPU_KERNEL_COPY};
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (gpu_node_stream_fits(device, firsts[how], &tries[i].shape))
            tries[kept++] = tries[i];
    return kept;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time; infinite for a shape that was not measured. */
static double median(const struct gpu_cells_try *one)
{
    double ns[GPU_CELLS_TUNE_TIMES];
    if (one->count == 0)
        return INFINITY;
    memcpy(ns, one->ns, one->count * sizeof *ns);
    qsort(ns, one->count, sizeof *ns, compare);
    return ns[one->count / 2];
}

size_t gpu_cells_tune_best(const struct gpu_cells_try *tries, size_t count)
{
    double least = INFINITY;
    for (size_t i = 0; i < count; i++)
        least = fmin(least, median(&tries[i]));
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if (median(&tries[i]) <= AS_FAST * least &&
            (best == count || tries[i].order < tries[best].order))
            best = i;
    return best == count ? 0 : best;
}

bool gpu_cells_tune_drifted(const struct gpu_tuned *then, const struct gpu_tuned *now)
{
    return then->rate > 0 && (now->low > then->high || now->high < then->low) &&
           fabs(now->rate / then->rate - 1) > DRIFT;
}

/* Rates of the chosen shape, each operation of so many bytes. */
static struct gpu_tuned rates_of(const struct gpu_cells_try *tries, size_t count, size_t best,
                                 uint64_t bytes)
{
    const struct gpu_cells_try *one = &tries[best];
    double all = 1e9 * (double)bytes, least_ns = INFINITY, most_ns = 0, next_ns = INFINITY;
    for (unsigned i = 0; i < one->count; i++) {
        least_ns = fmin(least_ns, one->ns[i]);
        most_ns = fmax(most_ns, one->ns[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (i != best)
            next_ns = fmin(next_ns, median(&tries[i]));
    return (struct gpu_tuned){all / median(one), all / most_ns, all / least_ns, all / next_ns};
}

static bool run_count(struct gpu_run *run, struct gpu_flow *flow, unsigned count, double *ret_ns,
                      struct gpu_err *err)
{
    flow->count = count;
    if (!gpu_trial_run(run->trial, flow, 1, err))
        return false;
    *ret_ns = flow->ns;
    return true;
}

/* Times it once, or one more in a queue, which excludes its start and the bytes left in caches at
 * the end. A shape that the device refuses is left out; only a lost device ends the tuning. */
static bool try_shape(struct gpu_run *run, struct gpu_flow *flow, bool again,
                      struct gpu_cells_try *one, struct gpu_err *err)
{
    double first = 0, all;
    flow->op.shape = one->shape;
    if ((again && !run_count(run, flow, 1, &first, err)) ||
        !run_count(run, flow, again ? 1 + MORE : 1, &all, err))
        return err->fault != GPU_FAULT_LOST;
    one->ns[one->count++] = again ? (all - first) / MORE : all;
    return true;
}

/* Bytes that take about the requested time with the current shape. */
static bool find_bytes(struct gpu_run *run, struct gpu_flow *flow, uint64_t least,
                       struct gpu_err *err)
{
    flow->count = 1;
    flow->op.bytes = least > FIRST ? least : FIRST;
    flow->op.bytes = flow->op.bytes < flow->span ? flow->op.bytes : flow->span / GRAIN * GRAIN;
    for (int i = 0; i < 2; i++)
        if (!gpu_trial_run(run->trial, flow, 1, err))
            return false;
    double bytes = fmin((double)flow->op.bytes * WANTED / fmax(flow->ns, 1), (double)flow->span);
    uint64_t requested = (uint64_t)fmax(bytes, (double)least) / GRAIN * GRAIN;
    flow->op.bytes = requested < GRAIN        ? GRAIN
                     : requested > flow->span ? flow->span / GRAIN * GRAIN
                                              : requested;
    return true;
}

static int compare_tries(const void *a, const void *b)
{
    double x = median(a), y = median(b);
    return (x > y) - (x < y);
}

static bool tune(struct gpu_run *run, struct gpu_flow *flow, int device, enum gpu_cells_grid grid,
                 int64_t end_ns, struct gpu_shape *ret_shape, struct gpu_tuned *ret_rate,
                 struct gpu_err *err)
{
    struct gpu_cells_try tries[GPU_CELLS_TRIES_MAX];
    const struct gpu_device *of = &run->node->device[device];
    size_t count = gpu_cells_tune_shapes(of->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS], grid, tries);
    count = drop_refused(of, flow->op.operation, tries, count);
    for (size_t i = count; i > 1; i--) {
        size_t other = probe_random_below(&run->random, i);
        struct gpu_cells_try kept = tries[i - 1];
        tries[i - 1] = tries[other];
        tries[other] = kept;
    }
    flow->advance = flow->op.bytes;
    for (size_t i = 0; i < count && probe_clock_ns() < end_ns; i++)
        if (!try_shape(run, flow, false, &tries[i], err))
            return false;
    qsort(tries, count, sizeof *tries, compare_tries);
    size_t again = 0;
    for (size_t i = 0; i < count; i++)
        if (tries[i].count > 0 && (tries[i].order < FIRST_OF || i < AGAIN)) {
            tries[again] = tries[i];
            tries[again++].count = 0;
        }
    for (int round = 0; round < GPU_CELLS_TUNE_TIMES; round++)
        for (size_t i = 0; i < again; i++)
            if (!try_shape(run, flow, true, &tries[i], err))
                return false;
    if (again == 0)
        return probe_why_set(&err->why, "no shape could be launched");
    size_t best = gpu_cells_tune_best(tries, again);
    if (tries[best].count == 0)
        return probe_why_set(&err->why, "no shape could be launched");
    *ret_shape = tries[best].shape;
    *ret_rate = rates_of(tries, again, best, flow->op.bytes);
    return true;
}

/* Times the shape of the flow as tuning did; says whether its rate has drifted from then. */
static bool retime(struct gpu_run *run, struct gpu_flow *flow, const struct gpu_tuned *then,
                   bool *ret_drifted, struct gpu_err *err)
{
    struct gpu_cells_try one = {.shape = flow->op.shape};
    flow->advance = flow->op.bytes;
    for (int round = 0; round < GPU_CELLS_TUNE_TIMES; round++)
        if (!try_shape(run, flow, true, &one, err))
            return false;
    struct gpu_tuned now = rates_of(&one, 1, 0, flow->op.bytes);
    *ret_drifted = one.count == 0 || gpu_cells_tune_drifted(then, &now);
    return true;
}

static enum gpu_cells_grid grid_of(enum gpu_tune_target target, int way)
{
    bool reads = way == GPU_OPERATION_READ;
    if (target == GPU_TUNE_PEER && way == GPU_TUNE_PULL)
        return GPU_CELLS_GRID_WAVES;
    return target == GPU_TUNE_HOST || (target == GPU_TUNE_PEER && reads) ? GPU_CELLS_GRID_STAYS
                                                                         : GPU_CELLS_GRID_NEEDED;
}

/* One target of a model: the shapes that it has, or is to have. */
struct tuning {
    const struct gpu_cell *cell;
    enum gpu_tune_target target;
    int device;
    int64_t budget_ns; /* of one use */
    struct gpu_shape shape[GPU_TUNE_WAYS];
    struct gpu_tuned rate[GPU_TUNE_WAYS];
};

/* Makes the flow of a use, with bytes that take about as long as tuning wants. */
static bool make_flow(struct gpu_run *run, const struct tuning *tuning, int way,
                      struct gpu_flow *ret_flow, struct gpu_err *err)
{
    const struct gpu_cell *cell = tuning->cell;
    int cache = run->node->device[tuning->device].attribute[GPU_ATTRIBUTE_L2_BYTES];
    bool pulled = way == GPU_TUNE_PULL;
    struct gpu_path path = {.mechanism = GPU_BY_KERNEL,
                            .operation = pulled ? GPU_OPERATION_COPY : (enum gpu_operation)way,
                            .pulled = pulled};
    /* Reads of the host's memory go from it, writes to it. */
    bool back = tuning->target == GPU_TUNE_HOST && way == GPU_OPERATION_WRITE;
    return gpu_path_flow(run->buffers, &path, back ? cell->to : cell->from,
                         back ? cell->from : cell->to, ret_flow, &err->why) &&
           find_bytes(run, ret_flow,
                      tuning->target == GPU_TUNE_OWN && cache > 0 ? CACHES * (uint64_t)cache : 0,
                      err);
}

/* Says whether a rate of the known shapes has drifted since they were tuned: twice in a row,
 * because something else may have used the link. */
static bool find_drift(struct gpu_run *run, const struct tuning *tuning, bool *ret_drifted,
                       struct gpu_err *err)
{
    bool drifted = false;
    for (int way = 0; way < gpu_tune_operations(tuning->target) && !drifted; way++) {
        const struct gpu_tuned *then = &run->node->device[tuning->device].rate[tuning->target][way];
        struct gpu_flow flow;
        if (!make_flow(run, tuning, way, &flow, err) || !retime(run, &flow, then, &drifted, err) ||
            (drifted && !retime(run, &flow, then, &drifted, err)))
            return false;
    }
    *ret_drifted = drifted;
    return true;
}

static bool tune_all(struct gpu_run *run, struct tuning *tuning, struct gpu_err *err)
{
    for (int way = 0; way < gpu_tune_operations(tuning->target); way++) {
        struct gpu_flow flow;
        int64_t end_ns = probe_clock_ns() + tuning->budget_ns;
        if (!make_flow(run, tuning, way, &flow, err) ||
            !tune(run, &flow, tuning->device, grid_of(tuning->target, way), end_ns,
                  &tuning->shape[way], &tuning->rate[way], err))
            return false;
    }
    return true;
}

static void ends_of(const struct gpu_node *node, const struct tuning *tuning,
                    char ret_ends[GPU_TUNE_ENDS_SIZE])
{
    const struct gpu_cell *cell = tuning->cell;
    gpu_tune_ends(node, tuning->device, cell->from == tuning->device ? cell->to : cell->from,
                  ret_ends);
}

/* True when the known shapes were timed with the same places as now, so that rates compare. */
static bool is_same(const struct gpu_node *node, const struct tuning *tuning)
{
    char ends[GPU_TUNE_ENDS_SIZE];
    ends_of(node, tuning, ends);
    return strcmp(node->device[tuning->device].tuned_ends[tuning->target], ends) == 0;
}

/* Gives the shapes to all devices of the model. */
static void hand_out(struct gpu_node *node, const struct tuning *tuning)
{
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device *other = &node->device[i];
        if (strcmp(other->model, node->device[tuning->device].model) != 0)
            continue;
        for (int way = 0; way < gpu_tune_operations(tuning->target); way++) {
            *gpu_tune_shape(other, tuning->target, way) = tuning->shape[way];
            other->rate[tuning->target][way] = tuning->rate[way];
        }
        other->tuned |= 1U << tuning->target;
        other->known |= 1U << tuning->target;
        other->tuned_at_s[tuning->target] = (int64_t)time(NULL);
        ends_of(node, tuning, other->tuned_ends[tuning->target]);
    }
}

/* Tunes a whole target of a model, so that it is complete or absent. Known shapes stay while their
 * rates do, and while there is no time for better ones. */
static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct tuning tuning = {.cell = cell,
                            .target = (enum gpu_tune_target)cell->variant,
                            .device = cell->from >= 0 ? cell->from : cell->to};
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    const struct gpu_device *device = &run->node->device[tuning.device];
    bool is_due = !(device->tuned >> tuning.target & 1),
         is_known = device->known >> tuning.target & 1;
    tuning.budget_ns = budget_ns / gpu_tune_operations(tuning.target);
    if (is_known && budget_ns < LEAST_NS)
        return true;
    if ((!is_due && is_same(run->node, &tuning) && !find_drift(run, &tuning, &is_due, &err)) ||
        (is_due && !tune_all(run, &tuning, &err)))
        return gpu_run_failed(run, cell, NULL, &err);
    if (is_due)
        hand_out(run->node, &tuning);
    return true;
}

/* The first usable device of each model tunes for all of its model. */
static bool is_first(const struct gpu_node *node, int index)
{
    for (int i = 0; i < index; i++)
        if (node->device[i].usable && strcmp(node->device[i].model, node->device[index].model) == 0)
            return false;
    return node->device[index].usable && node->device[index].kernel[GPU_KERNEL_GATE] != NULL;
}

static int first_peer(const struct gpu_node *node, int device)
{
    for (int i = 0; i < node->device_count; i++)
        if (i != device && node->device[device].access[i])
            return i;
    return -1;
}

bool gpu_cells_tune(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    for (int i = 0; i < run->node->device_count; i++) {
        int peer = first_peer(run->node, i);
        const struct {
            enum probe_metric metric;
            int from, to;
            bool there;
        } targets[] = {
            [GPU_TUNE_OWN] = {PROBE_MEMORY_BANDWIDTH, i, i, true},
            [GPU_TUNE_PEER] = {PROBE_GPU_GPU_KERNEL, i, peer, peer >= 0},
            [GPU_TUNE_HOST] = {PROBE_HOST_GPU_KERNEL, GPU_PLACE_NUMA(gpu_node_near(run->node, i)),
                               i, run->node->numa_count > 0},
        };
        for (int target = 0; is_first(run->node, i) && target < GPU_TUNE_TARGET_COUNT; target++) {
            struct gpu_cell cell = {.metric = targets[target].metric,
                                    .phase = GPU_PHASE_TUNE,
                                    .from = targets[target].from,
                                    .to = targets[target].to,
                                    .variant = target,
                                    .is_more = true,
                                    .measure = measure};
            if (targets[target].there)
                ok = ok && gpu_cells_add(run, cells, &cell);
        }
    }
    return ok;
}
