#include "gpu/cells/stream_operations.h"

#define ALIGN      UINT64_C(256)
#define BLOCKS_MAX 8192 /* partial sums */
#define SUMS_BYTES ((BLOCKS_MAX + 1) * sizeof(double))
#define WORD       sizeof(double)
#define INDEX      sizeof(int32_t)

static uint64_t down(uint64_t bytes) { return bytes / ALIGN * ALIGN; }
static uint64_t up(uint64_t bytes) { return down(bytes + ALIGN - 1); }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static bool has_sum(int test) { return test >= 3 && test <= 5; }
static bool has_mesh(int test) { return test >= GPU_BS_MESH; }

/* Returns the number of blocks: one step for each thread, but at most BLOCKS_MAX partial sums. */
static unsigned blocks_of(int test, uint64_t n)
{
    uint64_t step = (uint64_t)GPU_BS_BLOCK * 2 * (test == 5 ? GPU_BS_UNROLL / 2 : GPU_BS_UNROLL),
             blocks = (n + step - 1) / step;
    return (unsigned)(has_sum(test) ? least(blocks, BLOCKS_MAX) : blocks);
}

/* The vectors lie one to a buffer, or two, in halves; sums has the partial sums and the result. */
static bool lay_vectors(uint64_t bytes, const struct gpu_memory *a, uint64_t b_bytes, uint64_t b,
                        uint64_t sums, struct gpu_bs *bs)
{
    static const unsigned moved[] = {0, 2, 3, 1, 2, 6}; /* vectors read and vectors written */
    uint64_t each = bs->test == 5   ? least(down(a->bytes / 2), down(b_bytes / 2))
                    : bs->test == 3 ? down(a->bytes)
                                    : least(down(a->bytes), down(b_bytes));
    uint64_t n = least(bytes / moved[bs->test], each) / WORD;
    if (n == 0)
        return false;
    bs->bytes = n * moved[bs->test] * WORD;
    bs->grid = blocks_of(bs->test, n);
    bs->args = (struct gpu_bs_args){.x = a->address,
                                    .y = b,
                                    .z = a->address + each,
                                    .w = b + each,
                                    .partial = sums,
                                    .result = sums + BLOCKS_MAX * WORD,
                                    .n = n,
                                    .blocks = bs->grid,
                                    .alpha = 0.5,
                                    .beta = 0.5};
    return true;
}

static uint64_t mesh_bytes(const struct gpu_mesh_args *mesh)
{
    return gpu_mesh_nodes(mesh) * (WORD + INDEX) + gpu_mesh_rows(mesh) * (WORD + INDEX) + INDEX;
}

/* The nodes' values and the starts in one buffer, the rows' values and the index in the other. */
static bool mesh_fits(const struct gpu_mesh_args *mesh, uint64_t a_bytes, uint64_t b_bytes)
{
    uint64_t nodes = gpu_mesh_nodes(mesh), rows = gpu_mesh_rows(mesh);
    return nodes <= INT32_MAX && up(nodes * WORD) + (rows + 1) * INDEX <= a_bytes &&
           up(rows * WORD) + nodes * INDEX <= b_bytes;
}

/* A box as near to a cube as its number of layers allows. */
static bool lay_mesh(int degree, uint64_t bytes, const struct gpu_memory *a, uint64_t b_bytes,
                     uint64_t b, struct gpu_bs *bs)
{
    struct gpu_mesh_args mesh = {.side = {1, 1, 1}, .degree = (gpu_u64)degree};
    if (mesh_bytes(&mesh) > bytes || !mesh_fits(&mesh, a->bytes, b_bytes))
        return false;
    /* grows each direction in turn, as long as the mesh fits */
    for (bool grown = true; grown;) {
        grown = false;
        for (int d = 0; d < 3; d++) {
            mesh.side[d]++;
            bool fits = mesh_bytes(&mesh) <= bytes && mesh_fits(&mesh, a->bytes, b_bytes);
            mesh.side[d] -= !fits;
            grown |= fits;
        }
    }
    uint64_t nodes = gpu_mesh_nodes(&mesh), rows = gpu_mesh_rows(&mesh);
    mesh.start = a->address + up(nodes * WORD);
    mesh.index = b + up(rows * WORD);
    bs->mesh = mesh;
    bs->bytes = mesh_bytes(&mesh);
    bs->grid = (unsigned)((rows + GPU_BS_BLOCK - 1) / GPU_BS_BLOCK);
    bs->args = (struct gpu_bs_args){.x = bs->test == 6 ? a->address : b,
                                    .y = bs->test == 6 ? b : a->address,
                                    .index = mesh.index,
                                    .start = mesh.start,
                                    .entries = nodes,
                                    .n = rows};
    return true;
}

bool gpu_bs_lay(int test, int degree, uint64_t bytes, const struct gpu_memory *a,
                const struct gpu_memory *b, struct gpu_bs *ret_bs)
{
    struct gpu_bs bs = {.test = test};
    if (b->bytes < up(SUMS_BYTES))
        return false;
    uint64_t sums = b->address, rest = b->address + up(SUMS_BYTES),
             rest_bytes = b->bytes - up(SUMS_BYTES);
    if (has_mesh(test) ? !lay_mesh(degree, bytes, a, rest_bytes, rest, &bs)
                       : !lay_vectors(bytes, a, rest_bytes, rest, sums, &bs))
        return false;
    *ret_bs = bs;
    return true;
}

bool gpu_bs_has_kernels(const struct gpu_device *device, int test)
{
    return device->kernel[GPU_KERNEL_BS1 + test - 1] != NULL &&
           (!has_sum(test) || device->kernel[GPU_KERNEL_SUM] != NULL) &&
           (!has_mesh(test) || device->kernel[GPU_KERNEL_MESH] != NULL);
}

int gpu_bs_prepare(const struct gpu_node *node, int device, const struct gpu_bs *bs,
                   gpu_stream stream)
{
    if (!has_mesh(bs->test))
        return 0;
    uint64_t blocks =
        least((gpu_mesh_nodes(&bs->mesh) + GPU_BS_BLOCK - 1) / GPU_BS_BLOCK, BLOCKS_MAX);
    return node->api->launch(node->api, node->device[device].kernel[GPU_KERNEL_MESH],
                             (unsigned)blocks, GPU_BS_BLOCK, stream, &bs->mesh, sizeof bs->mesh);
}

int gpu_bs_launch(const struct gpu_node *node, int device, const struct gpu_bs *bs,
                  gpu_stream stream)
{
    const gpu_function *kernel = node->device[device].kernel;
    int code = node->api->launch(node->api, kernel[GPU_KERNEL_BS1 + bs->test - 1], bs->grid,
                                 GPU_BS_BLOCK, stream, &bs->args, sizeof bs->args);
    if (code == 0 && has_sum(bs->test))
        code = node->api->launch(node->api, kernel[GPU_KERNEL_SUM], 1, GPU_BS_BLOCK, stream,
                                 &bs->args, sizeof bs->args);
    return code;
}
