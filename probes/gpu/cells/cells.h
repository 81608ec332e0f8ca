/**
 * Folder probes/gpu/cells: the cells of the GPU probe: a file for each kind of measurement.
 *
 * Main types: struct gpu_run, struct gpu_cell.
 * Uses: common cpu gpu/driver gpu/timing
 * Public headers: cell.h cells.h names.h run.h
 * Shown by: tests/unit/gpu/cells, tests/system/standin.sh
 *
 * Each function of a run and its cells adds the cells of one kind of measurement.
 */
#pragma once
#include <stdbool.h>

#include "gpu/cells/run.h"
#include "gpu/cells/stream_operations.h"
#include "gpu/driver/blas.h"
#include "gpu/driver/gpu_kernels.h"
#include "gpu/timing/work.h"

/* Copies and kernels between the host's NUMA nodes and the devices: rates, curves and latency. */
bool gpu_cells_host(const struct gpu_run *run, struct gpu_cells *cells);

/* Copies and kernels between devices, and in each device's own memory: rates, curves and latency.
 */
bool gpu_cells_peer(const struct gpu_run *run, struct gpu_cells *cells);

/* True when two pairs of devices are peers: the same models, copy paths and distance on the bus, so
 * that one curve holds for both. */
bool gpu_cells_peer_equivalent(const struct gpu_node *node, int from, int to, int other_from,
                               int other_to);

/* memory_bandwidth of a device in its own memory over numbers of blocks. threads=1, 2, 4, ...
 * blocks up to twice its multiprocessors, otherwise launched as tuned. Measures read, write, and
 * copy, which counts the bytes read and the bytes written. */
bool gpu_cells_blocks(const struct gpu_run *run, struct gpu_cells *cells);

/* Pieces of a copy dealt to one, two and four streams of a device: copy_streams with the nearest
 * memory of the host and with each peer; in the full profile. */
bool gpu_cells_copy_streams(const struct gpu_run *run, struct gpu_cells *cells);

/* Copy calls on each kind of memory: kind_copy between any two kinds, by the call that returns at
 * once and the one that blocks. In the full profile, host memory on the NUMA node next to the
 * device. */
bool gpu_cells_kinds(const struct gpu_run *run, struct gpu_cells *cells);

/* A device that reads or writes the host's memory while the host's cores read it. The device's
 * rate is memory_bandwidth with noise=numa, the cores' rate is memory_noise. In the full profile,
 * on the NUMA node next to the device. */
bool gpu_cells_noise(const struct gpu_run *run, struct gpu_cells *cells);

/* Managed memory in four uses. It stays with the host and is read and written there. It comes to
 * the device when touched (managed, and of malloc where the device reaches that). Host and device
 * write a buffer in turns, and the device alone many times after the host (gpu_touch). In the full
 * profile, on the NUMA node next to the device. */
bool gpu_cells_touch(const struct gpu_run *run, struct gpu_cells *cells);

/* gpu_pingpong: round trips of a flag between kernels of two devices, and between a thread on a
 * NUMA node and a kernel. The flags are in each memory that both sides reach. 200 rounds are
 * discarded, then 2000 are timed by the device's clock (from's), or by the thread's. */
bool gpu_cells_pingpong(const struct gpu_run *run, struct gpu_cells *cells);

/* Time until a program can use memory of the host, on the NUMA node next to each device. Kinds
 * are ordinary memory, each page of which one thread touches, and memory that the driver pins. In
 * the full profile. */
bool gpu_cells_allocation(const struct gpu_run *run, struct gpu_cells *cells);

/* Cells of the group collective: latency and bandwidth of the operations of NCCL or RCCL over the
 * first 2, 3, ... usable devices. The members' buffers are in their own memory, in the next
 * member's, and in host memory. One cell for each metric and number of members, in the full
 * profile. */
bool gpu_cells_collective(const struct gpu_run *run, struct gpu_cells *cells);

/* matrix_product: c = a b by a device. Its operands are in its own memory, and in that of each
 * other device and NUMA node: one of them there, or all three. In single precision by a kernel of
 * the probe, and by the vendor's library where it is found. By the library in the other types, too,
 * with the nearest NUMA node, where the operands are also in managed memory. */
bool gpu_cells_product(const struct gpu_run *run, struct gpu_cells *cells);

/* Side of matrices, with elements of so many bytes, of which two fit these bytes: 4096, halved
 * until they do. 0: even GPU_PRODUCT_TILE does not fit. */
uint64_t gpu_cells_product_side(uint64_t bytes, size_t each);

/* One product on a device, for enqueuing by gpu_cells_product_enqueue. */
struct gpu_cells_product_job {
    const struct gpu_node *node;
    int device;
    struct gpu_product_args args;
    struct gpu_blas *blas; /* NULL: own kernel, of floats */
    enum gpu_blas_type type;
};
int gpu_cells_product_enqueue(void *job, gpu_stream stream);

/* Does one and waits for it: the library loads its kernels at their first use, which takes longer
 * than a stream can be held. */
bool gpu_cells_product_warm_up(struct gpu_cells_product_job *job, struct gpu_err *err);

/* memory_latency of a device: dependent loads in its own memory, in other devices' and in the
 * host's, over sizes and far beyond the caches. A slot of GPU_CHASE_STRIDE bytes gives one line of
 * GPU_CHASE_LINE to the cycle; bytes counts lines. A cycle that a cache might hold is walked once
 * before it is timed. Before that walk, the memory's owner pushes the lines left from building the
 * cycle out of its cache. A larger cycle continues at the end of the last piece, so that a line
 * returns only after all others. The value is the lowest decile over pieces of the walk. */
bool gpu_cells_chase(const struct gpu_run *run, struct gpu_cells *cells);

/* Measured sizes, in bytes of lines, up to most. From 8 KiB, two an octave, or, few, from 32 KiB,
 * one every second octave. Returns their number, at most GPU_CELLS_CHASE_SIZES. */
#define GPU_CELLS_CHASE_SIZES 64
size_t gpu_cells_chase_sizes(uint64_t most, bool few, uint64_t *ret_bytes);

/* Bytes of lines that represent memory itself: four times the cache, or as many as a buffer of that
 * size holds. 0: too few to be beyond the cache. */
uint64_t gpu_cells_chase_beyond(uint64_t cache, uint64_t buffer_bytes);

/* gpu_stream: BS1 to BS7 in each device's own memory, BS6 and BS7 with elements of degree 1 to 15.
 * Each is measured as times over sizes with both overheads, so that its curve gives T0, Wmax and
 * B80. Sizes reach to the limit of the run's buffers, at most 2 GiB moved; the last ones lie far
 * beyond any cache. BS1 is in the quick profile. */
bool gpu_cells_stream(const struct gpu_run *run, struct gpu_cells *cells);

/* Operations of the curve of one test and degree, ascending by bytes, without duplicates. From 4
 * KiB on they are a factor of four apart, then a quarter, half and all of the largest size. Returns
 * their number, at most GPU_WORKS_MAX. */
size_t gpu_cells_stream_sizes(int test, int degree, const struct gpu_memory *a,
                              const struct gpu_memory *b, struct gpu_bs *ret_bs);

/* Finds the fastest launch of streaming kernels (gpu/timing/launch_shapes.h) for untuned models.
 * Tries every shape once, and the best of them again. A tuned model is timed with its shapes, and
 * tuned anew where a rate has drifted. */
bool gpu_cells_tune(const struct gpu_run *run, struct gpu_cells *cells);

/* A shape and its times. */
#define GPU_CELLS_TUNE_TIMES 5
struct gpu_cells_try {
    struct gpu_shape shape;
    unsigned order; /* position in the list: among equally fast ones the first is taken */
    double ns[GPU_CELLS_TUNE_TIMES];
    unsigned count;
};

/* Shapes to try on a device with this many multiprocessors, in order of preference. They have as
 * many blocks as the bytes need, blocks that loop, or many of those. Returns their number. */
#define GPU_CELLS_TRIES_MAX 96
enum gpu_cells_grid {
    GPU_CELLS_GRID_NEEDED,
    GPU_CELLS_GRID_STAYS,
    GPU_CELLS_GRID_WAVES,
    GPU_CELLS_GRID_COUNT
};
size_t gpu_cells_tune_shapes(int multiprocessors, enum gpu_cells_grid first,
                             struct gpu_cells_try *ret_tries);

/* Index of the best by median. Shapes within 1.2 percent count as equally fast, more than two
 * medians of one shape differ. Among these it takes the first of the list, so that another run
 * finds the same. count is at least 1. */
size_t gpu_cells_tune_best(const struct gpu_cells_try *tries, size_t count);

/* True when the rates of a shape have drifted from those at tuning: the repetitions lie apart, and
 * the medians by more than 5 percent. False where those at tuning are unknown. */
bool gpu_cells_tune_drifted(const struct gpu_tuned *then, const struct gpu_tuned *now);

/* Transfers at the same time: copies between the host and sets of devices, and copies between
 * devices that may share a link. */
bool gpu_cells_sets(const struct gpu_run *run, struct gpu_cells *cells);

/* Sets of devices that copy to or from the host at once, as bit masks: each alone, each pair,
 * triples, all. At most @triples triples, drawn at random, and at most max sets. Returns the number
 * of ret_masks. */
size_t gpu_cells_sets_host(int devices, size_t triples, struct probe_random *random, size_t max,
                           uint64_t *ret_masks);

/* Copies from device to device at the same time, from[i] to to[i]. */
struct gpu_cells_set {
    int count;
    int from[GPU_DEVICES_MAX], to[GPU_DEVICES_MAX];
};

/* Sets of devices that copy to each other at the same time, as numbers for gpu_cells_sets_flows.
 * First each pair alone; then all at once, each to the next, to the next but one, and so on. Last,
 * any two pairs but a pair and its opposite (direction=both is that): at most max, drawn at random.
 * Returns their number, NULL when out of memory; the caller frees them. */
int64_t *gpu_cells_sets_peer(int devices, size_t max, struct probe_random *random,
                             size_t *ret_count);
struct gpu_cells_set gpu_cells_sets_flows(int64_t number, int devices);

/* Sets of all devices to one, and of one to all the others, for each device. Numbers of the same
 * kind, at most twice as many as devices. With two devices, both equal a pair alone. Then only
 * copies that the target drives, which no pair has, come once for each. Returns their number. */
size_t gpu_cells_sets_fans(int devices, bool pulled, int64_t *ret_numbers);

/* Checks the bytes of every path, once, outside all timing. Paths are between the host's memory
 * and each device and between any two devices, in each direction. Each is used by copy engine
 * (driven by either end) and by kernel (pushed and pulled). A pattern is written at the source,
 * other bytes at the target, and the target is compared after the transfer. Bytes that differ are a
 * finding, wrong-bytes. */
bool gpu_verify(const struct gpu_run *run, struct gpu_cells *cells);

/* Number of words (8 bytes) that differ from the pattern, and index of the first; ret_first is
 * untouched when none does. */
uint64_t gpu_verify_compare(const uint64_t *words, uint64_t count, uint64_t seed,
                            uint64_t *ret_first);
