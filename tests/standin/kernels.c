#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gemm.h"
#include "kernels_bytes.h"

struct launch {
    struct world *world;
    struct world_op *op;
    const struct kernel *kernel;
    unsigned grid, block;
};

struct kernel {
    const char *name;
    size_t args_size;
    enum code (*prepare)(struct launch *launch, const void *args);
    world_effect effect;
    unsigned unroll, test;
};

/* What a device can have under way at a time, over how long one access takes; of bytes that are all
 * under way at once that is in what the path takes anyway. */
static double flight_limit(const struct launch *launch, int place, uint64_t bytes)
{
    const struct model *model = launch->world->model;
    const struct model_device *device = &model->device[launch->op->device];
    double latency = model_chase_ns(model, launch->op->device, place, UINT64_MAX);
    double threads = fmin((double)launch->grid * launch->block,
                          (double)device->multiprocessors * device->threads);
    double under_way = threads * launch->kernel->unroll * 16;
    return latency > 0 && under_way > 0 && under_way < (double)bytes ? under_way / latency * 1e9
                                                                     : INFINITY;
}

/* How long managed memory that goes to whoever touches it takes to come. */
static double migrate_ns(struct launch *launch, struct memory_block *block, uint64_t bytes)
{
    double rate = launch->world->model->migrate;
    if (block == NULL || block->owner != MEMORY_MANAGED || block->stays || rate <= 0 ||
        block->device == launch->op->device)
        return 0;
    block->device = launch->op->device;
    return (double)bytes / rate * 1e9;
}

/* The operation's device accesses that memory; scale is how often, for each byte of the operation.
 */
static enum code access_memory(struct launch *launch, enum model_how how, uint64_t address,
                               uint64_t bytes, double scale)
{
    struct world *world = launch->world;
    struct world_op *op = launch->op;
    struct memory_spot spot;
    if (bytes == 0 || !memory_find(world->memory, address, bytes, &spot))
        return CODE_ILLEGAL_ADDRESS;
    double extra = migrate_ns(launch, spot.block, bytes);
    int place = spot.block != NULL && spot.block->device >= 0 ? spot.block->device : spot.place;
    if (place < world->model->device_count && place != op->device &&
        !world->device[op->device].peers[place])
        return CODE_ILLEGAL_ADDRESS;
    if (spot.block == NULL && world->model->device[op->device].pageable == 0)
        return CODE_ILLEGAL_ADDRESS;
    const struct model_path *path =
        model_path(world->model, MODEL_KERNEL, how, spot.kind, op->device, place);
    if (path->limit <= 0)
        return CODE_ILLEGAL_ADDRESS;
    world_use(op, path, scale);
    op->ns += extra;
    op->flow.limit = fmin(op->flow.limit, flight_limit(launch, place, bytes) / scale);
    return CODE_OK;
}

static enum code both(enum code first, enum code second)
{
    return first != CODE_OK ? first : second;
}

static enum code prepare_stream(struct launch *launch, const void *args, bool reads, bool writes)
{
    const struct gpu_stream_args *stream = args;
    launch->op->bytes = (double)stream->bytes;
    double most = (double)launch->world->model->device[launch->op->device].multiprocessors *
                  kernel_threads(launch->kernel);
    launch->op->part = fmin((double)launch->grid * launch->block / most, 1);
    enum code code =
        reads ? access_memory(launch, MODEL_READ, stream->from, stream->bytes, 1) : CODE_OK;
    return writes ? both(code, access_memory(launch, MODEL_WRITE, stream->to, stream->bytes, 1))
                  : code;
}
static enum code prepare_read(struct launch *launch, const void *args)
{
    return prepare_stream(launch, args, true, false);
}
static enum code prepare_write(struct launch *launch, const void *args)
{
    return prepare_stream(launch, args, false, true);
}
static enum code prepare_copy(struct launch *launch, const void *args)
{
    return prepare_stream(launch, args, true, true);
}

static enum code prepare_fill(struct launch *launch, const void *args)
{
    const struct gpu_pattern_args *pattern = args;
    launch->op->bytes = (double)pattern->bytes;
    return access_memory(launch, MODEL_WRITE, pattern->address, pattern->bytes, 1);
}

/* A sector of 32 bytes for each word. */
static enum code prepare_stride(struct launch *launch, const void *args)
{
    const struct gpu_stride_args *stride = args;
    const uint64_t words = stride->bytes / stride->stride;
    launch->op->bytes = 32.0 * (double)words;
    return access_memory(launch, MODEL_WRITE, stride->address, stride->bytes, 1);
}

static enum code prepare_check(struct launch *launch, const void *args)
{
    const struct gpu_pattern_args *pattern = args;
    launch->op->bytes = (double)pattern->bytes;
    return access_memory(launch, MODEL_READ, pattern->address, pattern->bytes, 1);
}

static enum code prepare_build(struct launch *launch, const void *args)
{
    const struct gpu_chase_build_args *build = args;
    struct memory_spot spot;
    launch->op->bytes = (double)build->slots * 8;
    enum code code =
        access_memory(launch, MODEL_WRITE, build->address, build->slots * build->stride, 1);
    /* Known from now on: what is launched behind it is priced before it runs. */
    if (code == CODE_OK &&
        memory_find(launch->world->memory, build->address, build->slots * build->stride, &spot) &&
        spot.block != NULL) {
        spot.block->chase_slots = build->slots;
        spot.block->chase_stride = build->stride;
    }
    return code;
}

/* Only time: so many loads of the level of caches that holds what the cycle visits. */
static enum code prepare_chase(struct launch *launch, const void *args)
{
    const struct gpu_chase_args *chase = args;
    struct world *world = launch->world;
    struct memory_spot spot;
    enum code code = access_memory(launch, MODEL_READ, chase->start, 8, 1);
    if (code != CODE_OK || !memory_find(world->memory, chase->start, 8, &spot))
        return CODE_ILLEGAL_ADDRESS;
    /* a line of each slot, half of it */
    uint64_t visited =
        spot.block == NULL ? 0 : spot.block->chase_slots * spot.block->chase_stride / 2;
    launch->op->load_ns = model_chase_ns(world->model, launch->op->device, spot.place,
                                         visited > 0 ? visited : UINT64_MAX);
    launch->op->ns += (double)chase->loads * launch->op->load_ns;
    launch->op->bytes = 0;
    return CODE_OK;
}

static enum code prepare_gate(struct launch *launch, const void *args)
{
    const struct gpu_gate_args *gate = args;
    struct memory_spot spot;
    if (!memory_find(launch->world->memory, gate->flag, 4, &spot))
        return CODE_ILLEGAL_ADDRESS;
    launch->op->mine = (volatile _Atomic uint32_t *)(void *)spot.bytes;
    launch->op->value = (uint32_t)gate->value;
    launch->op->limit_ns = (double)gate->limit_ns;
    return CODE_OK;
}

/* Its partner is not known yet, but where the flags are tells whose time it is: of two devices that
 * of the pair, with the host that of its NUMA node. */
static enum code prepare_pingpong(struct launch *launch, const void *args)
{
    const struct gpu_pingpong_args *flags = args;
    struct world *world = launch->world;
    struct world_op *op = launch->op;
    struct memory_spot mine, theirs;
    if (!memory_find(world->memory, flags->mine, 4, &mine) ||
        !memory_find(world->memory, flags->theirs, 4, &theirs))
        return CODE_ILLEGAL_ADDRESS;
    op->mine = (volatile _Atomic uint32_t *)(void *)mine.bytes;
    op->theirs = (volatile _Atomic uint32_t *)(void *)theirs.bytes;
    op->place[0] = model_owner(world->model, mine.place);
    op->place[1] = model_owner(world->model, theirs.place);
    op->rounds = flags->rounds;
    op->skip = flags->skip;
    op->first = flags->first != 0;
    op->limit_ns = (double)flags->limit_ns;
    return CODE_OK;
}

static enum code prepare_sum(struct launch *launch, const void *args)
{
    const struct gpu_bs_args *bs = args;
    launch->op->bytes = (double)bs->blocks * 8;
    return access_memory(launch, MODEL_READ, bs->partial, bs->blocks * 8, 1);
}

/* Bytes of each operand for each element; index and start are counted by what is in start. */
static enum code prepare_bs(struct launch *launch, const void *args)
{
    static const struct {
        bool x, y, z, w, write_x, write_y;
    } uses[] = {{.x = true, .write_y = true},
                {.x = true, .y = true, .write_y = true},
                {.x = true},
                {.x = true, .y = true},
                {.x = true, .y = true, .z = true, .w = true, .write_x = true, .write_y = true}};
    const struct gpu_bs_args *bs = args;
    unsigned test = launch->kernel->test - 1;
    uint64_t bytes = bs->n * 8;
    enum code code = CODE_OK;
    launch->op->bytes = (double)bytes;
    if (test < sizeof uses / sizeof *uses) {
        code = uses[test].x ? both(code, access_memory(launch, MODEL_READ, bs->x, bytes, 1)) : code;
        code = uses[test].y ? both(code, access_memory(launch, MODEL_READ, bs->y, bytes, 1)) : code;
        code = uses[test].z ? both(code, access_memory(launch, MODEL_READ, bs->z, bytes, 1)) : code;
        code = uses[test].w ? both(code, access_memory(launch, MODEL_READ, bs->w, bytes, 1)) : code;
        code = uses[test].write_x ? both(code, access_memory(launch, MODEL_WRITE, bs->x, bytes, 1))
                                  : code;
        return uses[test].write_y ? both(code, access_memory(launch, MODEL_WRITE, bs->y, bytes, 1))
                                  : code;
    }
    /* Each entry of index once; values of the elements that share a row are one row's. bs6 reads
     * entries and writes rows, bs7 the other way round. */
    bool gathers = test == 5;
    double rows = 1, entries = (double)bs->entries / (double)bs->n;
    code = access_memory(launch, MODEL_READ, bs->x, gathers ? bs->entries * 8 : bytes,
                         gathers ? entries : rows);
    code = both(code, access_memory(launch, MODEL_WRITE, bs->y, gathers ? bytes : bs->entries * 8,
                                    gathers ? rows : entries));
    code = both(code, access_memory(launch, MODEL_READ, bs->index, bs->entries * 4, entries / 2));
    return both(code, access_memory(launch, MODEL_READ, bs->start, 4 * (bs->n + 1), 0.5));
}

static enum code prepare_mesh(struct launch *launch, const void *args)
{
    const struct gpu_mesh_args *mesh = args;
    uint64_t nodes = gpu_mesh_nodes(mesh);
    launch->op->bytes = (double)nodes * 4;
    return both(access_memory(launch, MODEL_WRITE, mesh->index, nodes * 4, 1),
                access_memory(launch, MODEL_WRITE, mesh->start, 4 * (gpu_mesh_rows(mesh) + 1), 1));
}

static enum code prepare_product(struct launch *launch, const void *args)
{
    const struct gpu_product_args *product = args;
    uint64_t bytes = product->n * product->n * 4;
    launch->op->bytes = (double)bytes;
    enum code code = both(access_memory(launch, MODEL_READ, product->a, bytes, 1),
                          access_memory(launch, MODEL_READ, product->b, bytes, 1));
    code = both(code, access_memory(launch, MODEL_WRITE, product->c, bytes, 1));
    double n = (double)product->n;
    launch->op->ns +=
        launch->world->model->flops > 0 ? 2 * n * n * n / launch->world->model->flops * 1e9 : 0;
    return code;
}

/* A library's product, which is named by no kernel of the probe. */
static enum code prepare_gemm(struct launch *launch, const void *args)
{
    const struct standin_gemm_args *gemm = args;
    double n = (double)gemm->n, flops = launch->world->model->flops * gemm->speed;
    uint64_t bytes = gemm->n * gemm->n * gemm->bytes;
    launch->op->bytes = (double)bytes;
    enum code code = both(access_memory(launch, MODEL_READ, gemm->a, bytes, 1),
                          access_memory(launch, MODEL_READ, gemm->b, bytes, 1));
    code = both(code, access_memory(launch, MODEL_WRITE, gemm->c, bytes, 1));
    launch->op->ns += flops > 0 ? 2 * n * n * n / flops * 1e9 : 0;
    return code;
}

#define STREAM(N)                                                                                  \
    {"berth_read_u" #N, sizeof(struct gpu_stream_args), prepare_read, NULL, N, 0},                 \
        {"berth_write_u" #N,                                                                       \
         sizeof(struct gpu_stream_args),                                                           \
         prepare_write,                                                                            \
         kernel_bytes_write,                                                                       \
         N,                                                                                        \
         0},                                                                                       \
    {                                                                                              \
        "berth_copy_u" #N, sizeof(struct gpu_stream_args), prepare_copy, kernel_bytes_copy, N, 0   \
    }
#define BS(N)                                                                                      \
    {                                                                                              \
        "berth_bs" #N, sizeof(struct gpu_bs_args), prepare_bs, kernel_bytes_bs, 4, N               \
    }

static const struct kernel kernels[] = {
    STREAM(1),
    STREAM(2),
    STREAM(4),
    STREAM(8),
    STREAM(12),
    STREAM(16),
    BS(1),
    BS(2),
    BS(3),
    BS(4),
    BS(5),
    BS(6),
    BS(7),
    {"berth_gate", sizeof(struct gpu_gate_args), prepare_gate, NULL, 4, 0},
    {"berth_fill", sizeof(struct gpu_pattern_args), prepare_fill, kernel_bytes_fill, 4, 0},
    {"berth_stride", sizeof(struct gpu_stride_args), prepare_stride, NULL, 4, 0},
    {"berth_check", sizeof(struct gpu_pattern_args), prepare_check, kernel_bytes_check, 4, 0},
    {"berth_chase_build", sizeof(struct gpu_chase_build_args), prepare_build, kernel_bytes_build, 4,
     0},
    {"berth_chase", sizeof(struct gpu_chase_args), prepare_chase, kernel_bytes_chase, 4, 0},
    {"berth_pingpong", sizeof(struct gpu_pingpong_args), prepare_pingpong, kernel_bytes_pingpong, 4,
     0},
    {"berth_mesh", sizeof(struct gpu_mesh_args), prepare_mesh, kernel_bytes_mesh, 4, 0},
    {"berth_sum", sizeof(struct gpu_bs_args), prepare_sum, kernel_bytes_sum, 4, 0},
    {"berth_product", sizeof(struct gpu_product_args), prepare_product, NULL, 4, 0},
    {"standin_gemm", sizeof(struct standin_gemm_args), prepare_gemm, NULL, 4, 0},
};

const struct kernel *kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

unsigned kernel_threads(const struct kernel *kernel)
{
    return kernel->test > 0 || kernel->unroll > 8 ? 512 : 1024;
}

enum code kernel_launch(struct world *world, struct world_stream *stream,
                        const struct kernel *kernel, unsigned grid, unsigned block,
                        const void *args)
{
    enum world_kind kind = kernel->prepare == prepare_gate       ? WORLD_GATE
                           : kernel->prepare == prepare_pingpong ? WORLD_PINGPONG
                                                                 : WORLD_MOVE;
    if (grid == 0 || block == 0 || block > kernel_threads(kernel))
        return CODE_INVALID_VALUE;
    struct world_op *op = world_push(stream, kind);
    if (op == NULL)
        return CODE_OUT_OF_MEMORY;
    struct launch launch = {world, op, kernel, grid, block};
    op->test = kernel->test;
    op->effect = kernel->effect;
    memcpy(op->args, args, kernel->args_size);
    enum code code = kernel->prepare(&launch, op->args);
    /* On a device an access to nowhere is found when the kernel runs, and breaks the context. */
    if (code != CODE_OK) {
        world->device[stream->device].sticky = code;
        *op = (struct world_op){.next = op->next, .kind = WORLD_MOVE, .device = op->device};
    }
    return CODE_OK;
}
