/* Measures copies at the same time: host_gpu_copy_engine_concurrent, host_gpu_kernel_concurrent,
 * gpu_gpu_copy_engine_concurrent, gpu_gpu_kernel_concurrent. */
#include "gpu/cells/cells.h"

#include <stdlib.h>

#include "gpu/cells/names.h"
#include "gpu/timing/bidirectional.h"
#include "gpu/timing/path.h"
#include "gpu/timing/rate.h"

#define HOST_SETS_MAX 4096 /* the daemon's limit for a run */
#define QUICK_TRIPLES 8
#define FULL_TRIPLES  600
#define QUICK_PAIRS   40 /* sets of pairs with more than four devices */
#define FEW_PAIRS     60 /* number of sets among four devices */
#define FULL_PAIRS    1600

_Static_assert(GPU_CELL_FLOWS_MAX == GPU_TRIAL_FLOWS_MAX, "a set is run as a whole");

enum { TO_DEVICES, TO_HOST, BOTH, DIRECTION_COUNT };
#define VARIANT(mechanism, direction) ((int)(mechanism)*DIRECTION_COUNT + (direction))
#define VARIANT_COUNT                 (2 * DIRECTION_COUNT)
/* all with this node's memory, else each with the next */
#define VARIANT_NUMA(index) (((index) + 1) * VARIANT_COUNT)

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves most of the count numbers, drawn at random, to the front. */
static size_t draw(int64_t *numbers, size_t count, size_t most, struct probe_random *random)
{
    for (size_t i = 0; i < count && i < most; i++)
        swap(&numbers[i], &numbers[i + probe_random_below(random, count - i)]);
    return count < most ? count : most;
}

static size_t put_mask(uint64_t mask, size_t count, size_t max, uint64_t *masks)
{
    if (count < max)
        masks[count++] = mask;
    return count;
}

size_t gpu_cells_sets_host(int devices, size_t triples, struct probe_random *random, size_t max,
                           uint64_t *ret_masks)
{
    size_t count = 0, seen = 0;
    for (int a = 0; a < devices; a++)
        count = put_mask(UINT64_C(1) << a, count, max, ret_masks);
    if (devices > 3)
        count = put_mask(devices == 64 ? UINT64_MAX : (UINT64_C(1) << devices) - 1, count, max,
                         ret_masks);
    for (int a = 0; a < devices; a++)
        for (int b = a + 1; b < devices; b++)
            count = put_mask(UINT64_C(1) << a | UINT64_C(1) << b, count, max, ret_masks);
    /* Each triple enters the sample with equal probability (reservoir). */
    size_t first = count, room = max - count < triples ? max - count : triples;
    for (int a = 0; a < devices; a++)
        for (int b = a + 1; b < devices; b++)
            for (int c = b + 1; c < devices; c++, seen++) {
                uint64_t mask = UINT64_C(1) << a | UINT64_C(1) << b | UINT64_C(1) << c;
                size_t at = seen < room ? seen : probe_random_below(random, seen + 1);
                if (at >= room)
                    continue;
                ret_masks[first + at] = mask;
                count = first + (seen < room ? seen + 1 : room);
            }
    return count;
}

/* The number of a set has the count of its pairs (1 or 2) and their devices, 6 bits each. With
 * count 0, a is a pattern below and d its device; in TO_THE_NEXT each device copies to the device d
 * places after it. In ASKED, c and d are the number of a requested set. */
enum { TO_THE_NEXT, ALL_TO_ONE, ONE_TO_ALL, ASKED };

static int64_t number_of(int pairs, int a, int b, int c, int d)
{
    return ((((int64_t)pairs * 64 + a) * 64 + b) * 64 + c) * 64 + d;
}

static struct gpu_cells_set fan_of(int one, bool to_one, int devices)
{
    struct gpu_cells_set set = {0};
    for (int i = 0; i < devices; i++) {
        if (i == one)
            continue;
        set.from[set.count] = to_one ? i : one;
        set.to[set.count++] = to_one ? one : i;
    }
    return set;
}

struct gpu_cells_set gpu_cells_sets_flows(int64_t number, int devices)
{
    struct gpu_cells_set set = {.count = (int)(number >> 24)};
    int last = (int)(number & 63), what = (int)(number >> 18);
    if (set.count == 0 && what != TO_THE_NEXT)
        return fan_of(last, what == ALL_TO_ONE, devices);
    if (set.count == 0) {
        set.count = devices;
        for (int i = 0; i < devices; i++) {
            set.from[i] = i;
            set.to[i] = (i + last) % devices;
        }
        return set;
    }
    for (int i = 0; i < set.count; i++) {
        set.from[i] = (int)(number >> (18 - 12 * i)) & 63;
        set.to[i] = (int)(number >> (12 - 12 * i)) & 63;
    }
    return set;
}

int64_t *gpu_cells_sets_peer(int devices, size_t max, struct probe_random *random,
                             size_t *ret_count)
{
    size_t n = devices < 2 ? 0 : (size_t)devices, pairs = n * (n == 0 ? 0 : n - 1), count = 0;
    int64_t *numbers = malloc((pairs + pairs * pairs / 2 + n + 1) * sizeof *numbers);
    if (numbers == NULL)
        return NULL;
    for (size_t p = 0; p < pairs; p++) {
        int a = (int)(p / (n - 1)), b = (int)(p % (n - 1));
        numbers[count++] = number_of(1, a, b + (b >= a), 0, 0);
    }
    for (int k = 1; n > 2 && k < devices; k++)
        numbers[count++] = number_of(0, 0, 0, 0, k);
    size_t first = count;
    for (size_t p = 0; p < pairs; p++)
        for (size_t q = p + 1; q < pairs; q++) {
            int a = (int)(p / (n - 1)), b = (int)(p % (n - 1)), c = (int)(q / (n - 1)),
                d = (int)(q % (n - 1));
            b += b >= a;
            d += d >= c;
            if (a != d || b != c)
                numbers[count++] = number_of(2, a, b, c, d);
        }
    *ret_count = first + draw(numbers + first, count - first, max, random);
    return numbers;
}

size_t gpu_cells_sets_fans(int devices, bool pulled, int64_t *ret_numbers)
{
    size_t count = 0;
    for (int one = 0; one < devices && devices > (pulled ? 1 : 2); one++) {
        ret_numbers[count++] = number_of(0, ALL_TO_ONE, 0, 0, one);
        if (devices > 2)
            ret_numbers[count++] = number_of(0, ONE_TO_ALL, 0, 0, one);
    }
    return count;
}

/* The flows between these ends, measured together. */
static bool measure_set(struct gpu_run *run, const struct gpu_cell *cell,
                        enum gpu_mechanism mechanism, bool pulled, bool both_with_host,
                        int64_t budget_ns)
{
    struct gpu_flow flows[GPU_TRIAL_FLOWS_MAX];
    struct probe_summary rates[GPU_TRIAL_FLOWS_MAX];
    struct gpu_report_flow results[GPU_TRIAL_FLOWS_MAX];
    int ends[GPU_TRIAL_FLOWS_MAX][2];
    struct gpu_path path = {
        .mechanism = mechanism, .operation = GPU_OPERATION_COPY, .shared = true, .pulled = pulled};
    struct probe_axes axes = cell->axes != NULL ? cell->axes(cell) : (struct probe_axes){0};
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    size_t count = cell->flows(run, cell, ends);
    for (size_t i = 0; i < count; i++)
        if (!gpu_path_flow(run->buffers, &path, ends[i][0], ends[i][1], &flows[i], &err.why))
            return gpu_run_failed(run, cell, &axes, &err);
    if (both_with_host && mechanism == GPU_BY_KERNEL) {
        int device = ends[0][0] >= 0 ? ends[0][0] : ends[0][1],
            numa = ends[0][0] >= 0 ? ends[0][1] : ends[0][0];
        if (!gpu_bidirectional_measure(&run->bidirectional, device, numa, &err))
            return gpu_run_failed(run, cell, &axes, &err);
        gpu_bidirectional_divide(&run->bidirectional, flows, count);
    } else {
        gpu_path_divide(run->node, flows, count);
    }
    const struct gpu_legs legs = {
        .trial = run->trial, .leg_ns = run->leg_ns, .budget_ns = budget_ns};
    if (!gpu_rate_concurrent(&legs, flows, count, rates, NULL, &err))
        return gpu_run_failed(run, cell, &axes, &err);
    for (size_t i = 0; i < count; i++)
        results[i] = (struct gpu_report_flow){ends[i][0], ends[i][1], rates[i]};
    return gpu_report_set(run->report, run->node, cell->metric, &axes, results, count);
}

static size_t host_flows(const struct gpu_run *run, const struct gpu_cell *cell, int (*ret_ends)[2])
{
    int direction = cell->variant % DIRECTION_COUNT, index = cell->variant / VARIANT_COUNT - 1;
    size_t count = 0;
    for (int device = 0; device < run->node->device_count; device++) {
        int numa = GPU_PLACE_NUMA(index >= 0 ? index : gpu_node_near(run->node, device));
        for (int back = 0; back < 2; back++) {
            if (!((uint64_t)cell->bytes >> device & 1) ||
                direction == (back ? TO_DEVICES : TO_HOST))
                continue;
            ret_ends[count][0] = back ? device : numa;
            ret_ends[count][1] = back ? numa : device;
            count++;
        }
    }
    return count;
}

static bool measure_host(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    return measure_set(run, cell,
                       (enum gpu_mechanism)(cell->variant % VARIANT_COUNT / DIRECTION_COUNT), false,
                       cell->variant % DIRECTION_COUNT == BOTH, budget_ns);
}

static size_t asked_flows(const struct gpu_run *run, size_t number, int (*ret_ends)[2])
{
    struct gpu_names_set set;
    (void)gpu_names_set(run->node, run->selection.sets[number], &set);
    for (int i = 0; i < set.count; i++) {
        ret_ends[i][0] = set.flow[i][0];
        ret_ends[i][1] = set.flow[i][1];
    }
    return (size_t)set.count;
}

static size_t peer_flows(const struct gpu_run *run, const struct gpu_cell *cell, int (*ret_ends)[2])
{
    if (cell->bytes >> 18 == ASKED)
        return asked_flows(run, (size_t)cell->bytes & 0xfff, ret_ends);
    struct gpu_cells_set set = gpu_cells_sets_flows(cell->bytes, run->node->device_count);
    for (int i = 0; i < set.count; i++) {
        ret_ends[i][0] = set.from[i];
        ret_ends[i][1] = set.to[i];
    }
    return (size_t)set.count;
}

/* A peer set's variant: the mechanism, or copy engines that the targets drive. */
#define PULLED 2

static struct probe_axes peer_axes(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    if (cell->variant == PULLED)
        probe_axes_add(&axes, "direction", "read");
    return axes;
}

static bool measure_peer(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    bool pulled = cell->variant == PULLED;
    return measure_set(run, cell, pulled ? GPU_BY_ENGINE : (enum gpu_mechanism)cell->variant,
                       pulled, false, budget_ns);
}

static bool list_host(const struct gpu_run *run, struct gpu_cells *cells,
                      struct probe_random *random)
{
    bool full = run->selection.profile == GPU_FULL, ok = true;
    uint64_t *masks = malloc(HOST_SETS_MAX * sizeof *masks);
    if (masks == NULL)
        return false;
    size_t count = gpu_cells_sets_host(run->node->device_count, full ? FULL_TRIPLES : QUICK_TRIPLES,
                                       random, HOST_SETS_MAX / 6, masks);
    for (size_t i = 0; ok && i < count; i++)
        for (int mechanism = GPU_BY_ENGINE;
             ok && mechanism <= (full ? GPU_BY_KERNEL : GPU_BY_ENGINE); mechanism++)
            for (int direction = 0; ok && direction < DIRECTION_COUNT; direction++) {
                struct gpu_cell cell = {
                    .metric = mechanism == GPU_BY_ENGINE ? PROBE_HOST_GPU_COPY_ENGINE_CONCURRENT
                                                         : PROBE_HOST_GPU_KERNEL_CONCURRENT,
                    .phase = mechanism == GPU_BY_ENGINE ? GPU_PHASE_SETS : GPU_PHASE_DETAIL,
                    .rank = i < (size_t)run->node->device_count + 1 ? 0 : 1,
                    .from = GPU_PLACE_NONE,
                    .to = GPU_PLACE_NONE,
                    .variant = VARIANT(mechanism, direction),
                    .bytes = (int64_t)masks[i],
                    .measure = measure_host,
                    .flows = host_flows};
                ok = gpu_cells_add(run, cells, &cell);
            }
    free(masks);
    return ok;
}

/* Adds, in full, all devices with the memory of one node, the case of a job with all its data on
 * one. It does so for each node that is far from one of them. */
static bool list_far(const struct gpu_run *run, struct gpu_cells *cells)
{
    int devices = run->node->device_count;
    bool ok = true;
    for (int index = 0;
         ok && run->selection.profile == GPU_FULL && devices > 1 && index < run->node->numa_count;
         index++) {
        bool far = false;
        for (int device = 0; device < devices; device++)
            far |= gpu_node_near(run->node, device) != index;
        for (int direction = 0; ok && far && direction < DIRECTION_COUNT; direction++) {
            struct gpu_cell cell = {
                .metric = PROBE_HOST_GPU_COPY_ENGINE_CONCURRENT,
                .phase = GPU_PHASE_DETAIL,
                .from = GPU_PLACE_NONE,
                .to = GPU_PLACE_NONE,
                .variant = VARIANT_NUMA(index) + VARIANT(GPU_BY_ENGINE, direction),
                .bytes = (int64_t)(devices == 64 ? UINT64_MAX : (UINT64_C(1) << devices) - 1),
                .measure = measure_host,
                .flows = host_flows};
            ok = gpu_cells_add(run, cells, &cell);
        }
    }
    return ok;
}

static bool add_peer(const struct gpu_run *run, struct gpu_cells *cells, int64_t number,
                     int variant, int rank)
{
    bool by_kernel = variant == GPU_BY_KERNEL, is_asked = number >> 18 == ASKED;
    struct gpu_cell cell = {.metric = by_kernel ? PROBE_GPU_GPU_KERNEL_CONCURRENT
                                                : PROBE_GPU_GPU_COPY_ENGINE_CONCURRENT,
                            .phase = by_kernel && !is_asked ? GPU_PHASE_DETAIL : GPU_PHASE_SETS,
                            .rank = rank,
                            .from = GPU_PLACE_NONE,
                            .to = GPU_PLACE_NONE,
                            .variant = variant,
                            .bytes = number,
                            .axes = peer_axes,
                            .measure = measure_peer,
                            .flows = peer_flows};
    return gpu_cells_add(run, cells, &cell);
}

/* Adds the requested sets: pairs before all others, larger ones behind. Devices that were left out
 * have none. */
static bool list_asked(const struct gpu_run *run, struct gpu_cells *cells, size_t *ret_count)
{
    bool ok = true;
    for (size_t i = 0; ok && i < run->selection.set_count; i++) {
        struct gpu_names_set set;
        bool is_there = gpu_names_set(run->node, run->selection.sets[i], &set);
        for (int f = 0; f < set.count && is_there; f++)
            is_there = set.flow[f][0] >= 0 && set.flow[f][1] >= 0;
        if (!is_there)
            continue;
        ok = add_peer(run, cells, number_of(0, ASKED, 0, (int)(i >> 6), (int)(i & 63)),
                      set.by_kernel ? GPU_BY_KERNEL : GPU_BY_ENGINE, set.count == 2 ? 0 : 2);
        *ret_count += set.count == 2;
    }
    return ok;
}

/* Adds the peer sets. Quick draws fewer, by the number of requested sets. */
static bool list_peer(const struct gpu_run *run, struct gpu_cells *cells,
                      struct probe_random *random)
{
    bool full = run->selection.profile == GPU_FULL;
    size_t count, asked = 0,
                  most = full                          ? FULL_PAIRS
                         : run->node->device_count > 4 ? QUICK_PAIRS
                                                       : FEW_PAIRS;
    bool ok = list_asked(run, cells, &asked);
    int64_t *numbers = gpu_cells_sets_peer(run->node->device_count,
                                           full           ? most
                                           : asked < most ? most - asked
                                                          : 0,
                                           random, &count);
    if (numbers == NULL)
        return false;
    for (size_t i = 0; ok && i < count; i++)
        for (int variant = GPU_BY_ENGINE; ok && variant <= (full ? GPU_BY_KERNEL : GPU_BY_ENGINE);
             variant++)
            ok = add_peer(run, cells, numbers[i], variant, 1);
    free(numbers);
    return ok;
}

/* Adds, in full, all devices to one and one to all, by every possible driver of the copies. */
static bool list_fans(const struct gpu_run *run, struct gpu_cells *cells)
{
    int64_t numbers[2 * GPU_DEVICES_MAX];
    bool ok = true;
    for (int variant = GPU_BY_ENGINE; run->selection.profile == GPU_FULL && variant <= PULLED;
         variant++) {
        size_t count = gpu_cells_sets_fans(run->node->device_count, variant == PULLED, numbers);
        for (size_t i = 0; ok && i < count; i++)
            ok = add_peer(run, cells, numbers[i], variant, 0);
    }
    return ok;
}

bool gpu_cells_sets(const struct gpu_run *run, struct gpu_cells *cells)
{
    struct probe_random random = {run->selection.seed};
    return list_host(run, cells, &random) && list_far(run, cells) &&
           list_peer(run, cells, &random) && list_fans(run, cells);
}
