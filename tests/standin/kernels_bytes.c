#include "kernels_bytes.h"

#include <string.h>

#define REAL_CHASE (1u << 17) /* cycles of so many slots are really built */
#define REAL_ROWS  4096       /* of a mesh, at most eight nodes each */
#define SMALL      65536      /* bytes */
#define LOOKS      128

/* The bytes there, NULL when the memory is gone meanwhile. */
static void *bytes_at(struct world *world, uint64_t address, uint64_t size)
{
    struct memory_spot spot;
    return size > 0 && memory_find(world->memory, address, size, &spot) ? spot.bytes : NULL;
}

static uint64_t real_size(const struct world *world, uint64_t size)
{
    return size < world->model->bytes_max ? size : world->model->bytes_max;
}

/* A path that breaks bytes changes the first and the last of what came over it. */
static void spoil(const struct world_op *op, char *bytes, uint64_t size)
{
    if (!op->wrong || size == 0)
        return;
    bytes[0] ^= 0x40;
    bytes[size - 1] ^= 0x02;
}

/* Whether large ranges have the same bytes already, as they have when a copy is repeated to be
 * timed. What is looked at lies all over them, so that a pattern or a poison is seen; small ranges
 * are never said to be the same. */
static bool is_same(const char *target, const char *source, uint64_t size)
{
    if (size < SMALL)
        return false;
    for (uint64_t i = 0; i < LOOKS; i++) {
        uint64_t at = i == LOOKS - 1 ? size - 8 : size / LOOKS * i;
        if (memcmp(target + at, source + at, 8) != 0)
            return false;
    }
    return true;
}

static void move(struct world *world, struct world_op *op, uint64_t to, uint64_t from,
                 uint64_t size)
{
    char *target = bytes_at(world, to, size), *source = bytes_at(world, from, size);
    size = real_size(world, size);
    if (target == NULL || source == NULL)
        return;
    if (!is_same(target, source, size))
        memmove(target, source, size);
    spoil(op, target, size);
}

void kernel_bytes_move(struct world *world, struct world_op *op)
{
    move(world, op, op->to, op->from, op->size);
}

void kernel_bytes_copy(struct world *world, struct world_op *op)
{
    struct gpu_stream_args args;
    memcpy(&args, op->args, sizeof args);
    move(world, op, args.to, args.from, args.bytes);
}

void kernel_bytes_write(struct world *world, struct world_op *op)
{
    struct gpu_stream_args args;
    memcpy(&args, op->args, sizeof args);
    char *target = bytes_at(world, args.to, args.bytes);
    uint64_t size = real_size(world, args.bytes);
    if (target == NULL)
        return;
    memcpy(target, &args.value, size < 8 ? size : 8);
    if (size > 8 && !is_same(target + 8, target, size - 8))
        for (uint64_t i = 8; i + 8 <= size; i += 8)
            memcpy(target + i, &args.value, 8);
    spoil(op, target, size);
}

void kernel_bytes_fill(struct world *world, struct world_op *op)
{
    struct gpu_pattern_args args;
    memcpy(&args, op->args, sizeof args);
    char *target = bytes_at(world, args.address, args.bytes);
    uint64_t size = real_size(world, args.bytes);
    if (target == NULL)
        return;
    for (uint64_t i = 0; i < size / 8; i++) {
        gpu_u64 word = gpu_pattern(args.seed, i);
        memcpy(target + 8 * i, &word, 8);
    }
    spoil(op, target, size);
}

void kernel_bytes_check(struct world *world, struct world_op *op)
{
    struct gpu_pattern_args args;
    memcpy(&args, op->args, sizeof args);
    const char *words = bytes_at(world, args.address, args.bytes);
    char *result = bytes_at(world, args.result, 16);
    if (words == NULL || result == NULL)
        return;
    gpu_u64 wrong, lowest;
    memcpy(&wrong, result, 8);
    memcpy(&lowest, result + 8, 8);
    for (uint64_t i = 0; i < real_size(world, args.bytes) / 8; i++) {
        gpu_u64 word;
        memcpy(&word, words + 8 * i, 8);
        if (word == gpu_pattern(args.seed, i) && !(op->wrong && i == 0))
            continue;
        wrong++;
        lowest = i < lowest ? i : lowest;
    }
    memcpy(result, &wrong, 8);
    memcpy(result + 8, &lowest, 8);
}

void kernel_bytes_build(struct world *world, struct world_op *op)
{
    struct gpu_chase_build_args args;
    struct memory_spot spot;
    memcpy(&args, op->args, sizeof args);
    if (!memory_find(world->memory, args.address, args.slots * args.stride, &spot))
        return;
    if (args.slots > REAL_CHASE)
        return;
    gpu_u64 at = gpu_chase_address(&args, 0);
    for (gpu_u64 i = 1; i <= args.slots; i++) {
        gpu_u64 next = gpu_chase_address(&args, i < args.slots ? i : 0);
        memcpy(spot.bytes + (at - args.address), &next, 8);
        at = next;
    }
}

/* A cycle that is too long to be built ends where it began. */
void kernel_bytes_chase(struct world *world, struct world_op *op)
{
    struct gpu_chase_args args;
    struct memory_spot spot;
    memcpy(&args, op->args, sizeof args);
    char *result = bytes_at(world, args.result, 24);
    if (result == NULL || !memory_find(world->memory, args.start, 8, &spot))
        return;
    gpu_u64 at = args.start;
    if (spot.block == NULL || spot.block->chase_slots <= REAL_CHASE)
        for (gpu_u64 i = 0; i < args.loads && at != 0; i++) {
            const char *slot = bytes_at(world, at, 8);
            if (slot == NULL)
                break;
            memcpy(&at, slot, 8);
        }
    double ns = (double)args.loads * op->load_ns;
    gpu_u64 values[3] = {at, (gpu_u64)ns,
                         (gpu_u64)(ns * world->model->device[op->device].khz / 1e6)};
    memcpy(result, values, sizeof values);
}

void kernel_bytes_pingpong(struct world *world, struct world_op *op)
{
    struct gpu_pingpong_args args;
    memcpy(&args, op->args, sizeof args);
    char *result = bytes_at(world, args.result, 24);
    gpu_u64 values[3] = {op->round, (gpu_u64)op->counted_ns,
                         (gpu_u64)(op->counted_ns * world->model->device[op->device].khz / 1e6)};
    if (result != NULL)
        memcpy(result, values, sizeof values);
}

static double *doubles(struct world *world, uint64_t address, uint64_t count)
{
    return bytes_at(world, address, count * 8);
}

/* What starts and entries are there of rows whose nodes are among the real ones; the others stay 0,
 * an entry like any. */
void kernel_bytes_mesh(struct world *world, struct world_op *op)
{
    struct gpu_mesh_args args;
    memcpy(&args, op->args, sizeof args);
    if (args.side[0] == 0 || args.side[1] == 0 || args.side[2] == 0)
        return;
    uint64_t nodes = gpu_mesh_nodes(&args), rows = gpu_mesh_rows(&args);
    int *start = bytes_at(world, args.start, 4 * (rows + 1)),
        *index = bytes_at(world, args.index, 4 * nodes);
    if (start == NULL || index == NULL)
        return;
    uint64_t real = real_size(world, 4 * nodes) / 4;
    for (uint64_t node = 0; node < real && node < 8 * REAL_ROWS + 8; node++) {
        struct gpu_mesh_row row = gpu_mesh_at(&args, node);
        if (row.count > 0)
            start[row.row] = (int)row.start;
        for (int k = 0; k < row.count; k++)
            index[row.start + (gpu_u64)k] = (int)row.node[k];
    }
    start[rows] = (int)nodes;
}

static double dot(const double *x, const double *y, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; x != NULL && y != NULL && i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void leave_partial(struct world *world, const struct gpu_bs_args *args, double sum)
{
    double *partial = doubles(world, args->partial, 1);
    if (partial == NULL)
        return;
    for (uint64_t i = 1; i < args->blocks && doubles(world, args->partial, args->blocks) != NULL;
         i++)
        partial[i] = 0;
    partial[0] = sum;
}

/* One row of bs6 and bs7; one beyond what the mesh has really got counts for nothing. */
static void do_row(const struct gpu_bs_args *args, unsigned test, uint64_t i, const double *x,
                   double *y, const int *index, const int *start)
{
    double sum = 0;
    for (int k = start[i]; k < start[i + 1] && (uint64_t)k < args->entries; k++) {
        uint64_t entry = (uint64_t)index[k];
        if (entry >= args->entries)
            return;
        if (test == 6)
            sum += x[entry];
        else
            y[entry] = x[i];
    }
    if (test == 6)
        y[i] = sum;
}

void kernel_bytes_bs(struct world *world, struct world_op *op)
{
    struct gpu_bs_args args;
    memcpy(&args, op->args, sizeof args);
    uint64_t n = real_size(world, args.n * 8) / 8;
    if (op->test >= 6 && n > REAL_ROWS)
        n = REAL_ROWS;
    double *x = doubles(world, args.x, op->test == 6 ? args.entries : args.n),
           *y = doubles(world, args.y, op->test == 7 ? args.entries : args.n);
    const double *z = doubles(world, args.z, args.n), *w = doubles(world, args.w, args.n);
    const int *index = bytes_at(world, args.index, 4 * args.entries),
              *start = bytes_at(world, args.start, 4 * (args.n + 1));
    if (x == NULL || (op->test != 3 && y == NULL))
        return;
    for (uint64_t i = 0; i < n; i++)
        if (op->test == 1)
            y[i] = x[i];
        else if (op->test == 2)
            y[i] = args.alpha * x[i] + args.beta * y[i];
        else if (op->test == 5 && z != NULL && w != NULL) {
            x[i] += args.alpha * z[i];
            y[i] -= args.alpha * w[i];
        } else if (op->test >= 6 && index != NULL && start != NULL)
            do_row(&args, op->test, i, x, y, index, start);
    if (op->test == 3)
        leave_partial(world, &args, dot(x, x, n));
    if (op->test == 4 || op->test == 5)
        leave_partial(world, &args, op->test == 4 ? dot(x, y, n) : dot(y, y, n));
}

void kernel_bytes_sum(struct world *world, struct world_op *op)
{
    struct gpu_bs_args args;
    memcpy(&args, op->args, sizeof args);
    const double *partial = doubles(world, args.partial, args.blocks);
    double *result = doubles(world, args.result, 1), sum = 0;
    for (uint64_t i = 0; partial != NULL && i < args.blocks; i++)
        sum += partial[i];
    if (result != NULL)
        *result = sum;
}
