/* Measures memory_latency of a device, by dependent loads in its own and other memories. */

#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "gpu/cells/cells.h"
#include "gpu/driver/node.h"

#define CACHES      4 /* times the last-level cache: memory */
#define CACHES_MIN  2
#define LEAST       (UINT64_C(64) << 20) /* least size that is memory, for any cache */
#define PAGE_SLOTS  ((UINT64_C(2) << 20) / GPU_CHASE_STRIDE)
#define GROUP_PAGES 64
/* largest part of the host's memory that a device might cache */
#define WARM_BYTES (UINT64_C(1) << 20)

#define SPARE_RANK  3 /* rank behind all others of its phase */
#define FEW_DEVICES 4

#define BASE_LOADS  GPU_CHASE_UNROLL
#define ROUND_SLOTS 2048 /* number of lines of a first-level cache, or more */
#define ROUNDS      16
#define CACHED_NS   100 /* a faster load comes from a cache */
#define LEAST_NS    5
/* least loads of a piece: a load of a peer's or the host's memory takes a microsecond */
#define PIECE_LOADS GPU_CHASE_UNROLL
#define PIECE_NS    150e3
#define PIECES_MAX  100
#define PIECES_MIN  36 /* the lowest decile has an interval */
#define DECILE      0.1

static uint64_t cache_of(const struct gpu_run *run, int place)
{
    int bytes = place >= 0 ? run->node->device[place].attribute[GPU_ATTRIBUTE_L2_BYTES] : 0;
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static uint64_t larger_cache(const struct gpu_run *run, int device, int place)
{
    uint64_t own = cache_of(run, device), other = cache_of(run, place);
    return own > other ? own : other;
}

uint64_t gpu_cells_chase_beyond(uint64_t cache, uint64_t buffer_bytes)
{
    uint64_t requested = CACHES * cache < LEAST ? LEAST : CACHES * cache;
    uint64_t most = buffer_bytes / GPU_CHASE_STRIDE * GPU_CHASE_LINE;
    uint64_t bytes = requested < most ? requested : most;
    return bytes < CACHES_MIN * cache ? 0 : bytes;
}

size_t gpu_cells_chase_sizes(uint64_t most, bool few, uint64_t *ret_bytes)
{
    size_t count = 0;
    for (uint64_t octave = few ? UINT64_C(32) << 10 : UINT64_C(8) << 10; octave <= most;
         octave *= few ? 4 : 2)
        for (uint64_t bytes = octave;
             bytes < 2 * octave && bytes <= most && count < GPU_CELLS_CHASE_SIZES;
             bytes += few ? octave : octave / 2)
            ret_bytes[count++] = bytes;
    return count;
}

/* State of a walk. */
struct chase {
    struct gpu_run *run;
    int device; /* the kernel that walks */
    int owner;  /* the kernel that builds */
    struct gpu_chase_build_args build;
    uint64_t position; /* start of the next piece */
    gpu_address result;
};

struct piece {
    const struct chase *chase;
    uint64_t loads;
};

static int enqueue_piece(void *arg, gpu_stream stream)
{
    const struct piece *piece = arg;
    const struct chase *chase = piece->chase;
    const struct gpu_api *api = chase->run->node->api;
    struct gpu_chase_args args = {.start = gpu_chase_address(&chase->build, chase->position),
                                  .loads = piece->loads,
                                  .result = chase->result};
    return api->launch(api, chase->run->node->device[chase->device].kernel[GPU_KERNEL_CHASE], 1, 1,
                       stream, &args, sizeof args);
}

static bool walk(struct chase *chase, uint64_t loads, double *ret_ns, struct gpu_err *err)
{
    struct piece piece = {chase, loads};
    if (!gpu_trial_time(chase->run->trial, chase->device, enqueue_piece, &piece, ret_ns, err))
        return false;
    chase->position = (chase->position + loads) % chase->build.slots;
    return true;
}

/* Loads that do not count: the first ones, and a round of the first-level cache's size, because a
 * kernel begins with it empty. */
static uint64_t base_of(const struct chase *chase)
{
    uint64_t round =
        (chase->build.slots + GPU_CHASE_UNROLL - 1) / GPU_CHASE_UNROLL * GPU_CHASE_UNROLL;
    return chase->build.slots > ROUND_SLOTS || round < BASE_LOADS ? BASE_LOADS : round;
}

/* Time of a load, without the cost of starting the kernel. */
static bool walk_piece(struct chase *chase, uint64_t loads, double *ret_ns, struct gpu_err *err)
{
    double base, all;
    if (!walk(chase, base_of(chase), &base, err) || !walk(chase, base_of(chase) + loads, &all, err))
        return false;
    *ret_ns = (all - base) / (double)loads;
    return true;
}

/* The owner writes the cycle. Where spare is not empty, it then writes enough other memory to push
 * the cycle out of its cache. */
static bool build(const struct chase *chase, const struct gpu_memory *spare, struct gpu_err *err)
{
    const struct gpu_node *node = chase->run->node;
    const struct gpu_device *owner = &node->device[chase->owner];
    if (!gpu_node_enter(node, chase->owner, err))
        return false;
    int code = node->api->launch(node->api, owner->kernel[GPU_KERNEL_CHASE_BUILD],
                                 (unsigned)owner->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS], 256,
                                 owner->stream[0], &chase->build, sizeof chase->build);
    if (code == 0 && spare->bytes > 0)
        code = node->api->fill(node->api, spare->address, 0, spare->bytes, owner->stream[0]);
    if (code == 0)
        code = node->api->stream_wait(node->api, owner->stream[0]);
    return gpu_node_check(node, chase->owner, code, "build the cycle", err);
}

/* True when the pieces are enough. Those that an interval needs are worth twice the time; spent is
 * a share of it. */
static bool is_enough(const struct probe_summary *summary, unsigned n, double spent)
{
    return n == PIECES_MAX || (n >= PIECES_MIN && (spent >= 1 || probe_stats_settled(summary))) ||
           (n >= PROBE_STATS_MIN && spent >= 2);
}

static bool take_pieces(struct chase *chase, int64_t budget_ns, struct probe_summary *ret_ns,
                        struct gpu_err *err)
{
    double samples[PIECES_MAX], look;
    int64_t began_ns = probe_clock_ns();
    /* The first finds no translation of an address and no code of the kernel in any cache. */
    uint64_t base = base_of(chase), few = base > BASE_LOADS ? 4 * base : 2 * PIECE_LOADS;
    if (!walk(chase, base + few, &look, err) || !walk_piece(chase, few, &look, err))
        return false;
    uint64_t loads =
        (uint64_t)(PIECE_NS / fmax(look, LEAST_NS)) / GPU_CHASE_UNROLL * GPU_CHASE_UNROLL;
    loads = loads < PIECE_LOADS ? PIECE_LOADS : loads;
    /* The time of the round before varies by more than a few loads from a cache. */
    if (base > BASE_LOADS && look < CACHED_NS && loads < ROUNDS * base)
        loads = ROUNDS * base;
    struct probe_summary summary;
    unsigned n = 0;
    do {
        if (!walk_piece(chase, loads, &samples[n++], err))
            return false;
        summary = probe_stats_quantile(samples, n, DECILE);
    } while (!is_enough(&summary, n, (double)(probe_clock_ns() - began_ns) / (double)budget_ns));
    err->fault = GPU_FAULT_OTHER;
    if (!(summary.value > 0))
        return probe_why_set(&err->why, "more loads do not take more time");
    if (!(summary.low > 0))
        summary.low = summary.high = NAN;
    *ret_ns = summary;
    return true;
}

/* The walked memory and its owner. */
static bool find_memory(struct gpu_run *run, const struct gpu_cell *cell,
                        struct gpu_memory *ret_memory, struct probe_why *why)
{
    const struct gpu_node *node = run->node;
    const struct gpu_device *device = &node->device[cell->from];
    if (!device->usable)
        return probe_why_set(why, "%.190s", device->why.text);
    if (device->kernel[GPU_KERNEL_CHASE] == NULL || device->kernel[GPU_KERNEL_CHASE_BUILD] == NULL)
        return probe_why_set(why, "%.190s",
                             node->kernels_why.text[0] != '\0' ? node->kernels_why.text
                                                               : "no such kernel");
    if (cell->to < 0)
        return gpu_buffers_host(run->buffers, GPU_PLACE_NUMA(0) - cell->to, GPU_MEMORY_PINNED, 0,
                                cell->from, ret_memory, why);
    if (cell->to != cell->from && !device->access[cell->to])
        return probe_why_set(why, "%s", probe_nevers[PROBE_NO_ACCESS]);
    return gpu_buffers_device(run->buffers, cell->to, 0, ret_memory, why);
}

static bool lay(struct gpu_run *run, const struct gpu_cell *cell, const struct gpu_memory *memory,
                uint64_t bytes, struct chase *ret_chase, struct probe_why *why)
{
    struct gpu_memory own;
    if (bytes == 0 || bytes / GPU_CHASE_LINE * GPU_CHASE_STRIDE > memory->bytes)
        return probe_why_set(why, "a buffer of %s is too small",
                             probe_size((int64_t)memory->bytes).text);
    if (!gpu_buffers_device(run->buffers, cell->from, 1, &own, why))
        return false;
    *ret_chase = (struct chase){.run = run,
                                .device = cell->from,
                                .owner = cell->to >= 0 ? cell->to : cell->from,
                                .result = own.address,
                                .build = {.address = memory->address,
                                          .slots = bytes / GPU_CHASE_LINE,
                                          .stride = GPU_CHASE_STRIDE,
                                          .group = GROUP_PAGES * PAGE_SLOTS,
                                          .seed = probe_random_next(&run->random)}};
    return true;
}

/* Finds memory to fill the owner's cache with: none when the cycle is larger than that cache. */
static bool find_spare(struct gpu_run *run, const struct gpu_cell *cell, bool warm,
                       struct gpu_memory *ret_spare, struct probe_why *why)
{
    uint64_t least = CACHES_MIN * cache_of(run, cell->to);
    *ret_spare = (struct gpu_memory){0};
    if (cell->to < 0 || !warm || least == 0)
        return true;
    if (!gpu_buffers_device(run->buffers, cell->to, 1, ret_spare, why))
        return false;
    ret_spare->bytes = ret_spare->bytes < least ? ret_spare->bytes : least;
    return true;
}

static struct probe_axes axes_of(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    if (cell->bytes > 0)
        probe_axes_add(&axes, "bytes", "%lld", (long long)cell->bytes);
    return axes;
}

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct gpu_memory memory, spare;
    struct chase chase;
    struct probe_summary ns;
    struct probe_axes axes = axes_of(cell);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    double ignored;
    uint64_t cache = larger_cache(run, cell->from, cell->to);
    /* A device's cache holds its own memory, and of the host's at most the size of the first
     * level. */
    bool warm = cell->bytes > 0 && (uint64_t)cell->bytes <= (cell->to >= 0 ? cache : WARM_BYTES);
    bool ok = find_memory(run, cell, &memory, &err.why) &&
              find_spare(run, cell, warm, &spare, &err.why) &&
              lay(run, cell, &memory,
                  cell->bytes > 0 ? (uint64_t)cell->bytes
                                  : gpu_cells_chase_beyond(cell->to >= 0 ? cache : 0, memory.bytes),
                  &chase, &err.why) &&
              build(&chase, &spare, &err) &&
              (!warm || walk(&chase, chase.build.slots, &ignored, &err)) &&
              take_pieces(&chase, budget_ns, &ns, &err);
    return ok ? gpu_run_value(run, cell, &axes, &ns) : gpu_run_failed(run, cell, &axes, &err);
}

/* True for the first of peer pairs, which represents the others; those come when there is time
 * left. With few devices, their own memory and the host's have no representative. */
static bool stands_for_others(const struct gpu_run *run, int from, int to)
{
    const struct gpu_device *device = run->node->device;
    bool is_peer = to >= 0 && to != from, few = run->node->device_count <= FEW_DEVICES;
    for (int a = 0; is_peer && a <= from; a++)
        for (int b = 0; b < run->node->device_count; b++) {
            if (a == from && b == to)
                return true;
            if (a != b && gpu_cells_peer_equivalent(run->node, from, to, a, b))
                return false;
        }
    for (int a = 0; !is_peer && !few && a < from; a++)
        if (strcmp(device[a].model, device[from].model) == 0)
            return false;
    return true;
}

/* Adds memory itself, and, in full, sizes. */
static bool list_target(const struct gpu_run *run, struct gpu_cells *cells, int device, int to)
{
    uint64_t sizes[GPU_CELLS_CHASE_SIZES], cache = larger_cache(run, device, to);
    bool spare = run->selection.profile != GPU_FULL && !stands_for_others(run, device, to);
    struct gpu_cell cell = {.metric = PROBE_MEMORY_LATENCY,
                            .phase = spare ? GPU_PHASE_DETAIL : GPU_PHASE_LATENCY,
                            .rank = (spare ? SPARE_RANK : 0) + (to == device ? 0 : 1),
                            .is_spare = spare,
                            .from = device,
                            .to = to,
                            .measure = measure,
                            .axes = axes_of};
    bool ok = gpu_cells_add(run, cells, &cell);
    if (run->selection.profile != GPU_FULL)
        return ok;
    cell.phase = GPU_PHASE_DETAIL;
    uint64_t most = to >= 0 && CACHES * cache > LEAST ? CACHES * cache : LEAST;
    size_t count = gpu_cells_chase_sizes(most, to != device, sizes);
    for (size_t i = 0; ok && i < count; i++) {
        cell.bytes = (int64_t)sizes[i];
        ok = gpu_cells_add(run, cells, &cell);
    }
    return ok;
}

bool gpu_cells_chase(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool full = run->selection.profile == GPU_FULL, ok = true;
    for (int device = 0; device < run->node->device_count; device++) {
        for (int to = 0; ok && to < run->node->device_count; to++)
            ok = list_target(run, cells, device, to);
        for (int index = 0; ok && index < run->node->numa_count; index++)
            if (full || index == gpu_node_near(run->node, device))
                ok = list_target(run, cells, device, GPU_PLACE_NUMA(index));
    }
    return ok;
}
