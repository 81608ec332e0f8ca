/* Measures copy_streams: pieces of a copy dealt to several streams of a device. */
#include "gpu/cells/cells.h"

#include <math.h>

#include "gpu/timing/path.h"
#include "gpu/timing/repeat.h"

#define PIECE   (UINT64_C(1) << 20)
#define PIECES  16 /* of one repetition, of all streams together */
#define STREAMS 4  /* at most; one repetition by PCIe 5 takes 0.3 ms */

struct pieces {
    struct gpu_run *run;
    struct gpu_flow flow[STREAMS];
    size_t streams;
};

/* Rate of all pieces, from the start of the first to the end of the last. */
static bool copy_once(void *arg, double *ret_rate, struct gpu_err *err)
{
    struct pieces *pieces = arg;
    double ns = 0;
    if (!gpu_trial_run(pieces->run->trial, pieces->flow, pieces->streams, err))
        return false;
    for (size_t i = 0; i < pieces->streams; i++)
        ns = fmax(ns, pieces->flow[i].began_ns + pieces->flow[i].ns);
    *ret_rate = 1e9 * PIECES * (double)PIECE / ns;
    return true;
}

static struct probe_axes axes_of(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    if (cell->variant != 1)
        probe_axes_add(&axes, "streams", "%d", cell->variant);
    return axes;
}

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    const struct gpu_path path = {.mechanism = GPU_BY_ENGINE};
    struct pieces pieces = {.run = run, .streams = (size_t)cell->variant};
    struct probe_axes axes = axes_of(cell);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    struct gpu_flow flow;
    struct probe_summary rate;
    if (!gpu_path_flow(run->buffers, &path, cell->from, cell->to, &flow, &err.why))
        return gpu_run_failed(run, cell, NULL, &err);
    /* each stream has bytes of its own */
    uint64_t part = flow.span / pieces.streams / PIECE * PIECE;
    if (part == 0) {
        probe_why_write(&err.why, "too little memory for a piece of each stream");
        return gpu_run_failed(run, cell, NULL, &err);
    }
    for (size_t i = 0; i < pieces.streams; i++) {
        pieces.flow[i] = flow;
        pieces.flow[i].op.bytes = PIECE;
        pieces.flow[i].op.to += i * part;
        pieces.flow[i].op.from += i * part;
        pieces.flow[i].span = part;
        pieces.flow[i].advance = PIECE;
        pieces.flow[i].count = PIECES / (unsigned)pieces.streams;
    }
    if (!gpu_repeat(copy_once, &pieces, budget_ns, &rate, &err))
        return gpu_run_failed(run, cell, NULL, &err);
    return gpu_run_value(run, cell, &axes, &rate);
}

static bool add_pair(const struct gpu_run *run, struct gpu_cells *cells, int from, int to)
{
    bool ok = true;
    for (int streams = 1; ok && streams <= STREAMS; streams *= 2) {
        struct gpu_cell cell = {.metric = PROBE_COPY_STREAMS,
                                .phase = GPU_PHASE_DETAIL,
                                .from = from,
                                .to = to,
                                .measure = measure,
                                .axes = axes_of,
                                .variant = streams};
        ok = gpu_cells_add(run, cells, &cell);
    }
    return ok;
}

bool gpu_cells_copy_streams(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool ok = true;
    if (run->selection.profile != GPU_FULL)
        return true;
    for (int device = 0; device < run->node->device_count; device++) {
        int near = GPU_PLACE_NUMA(gpu_node_near(run->node, device));
        if (run->node->numa_count > 0)
            ok = ok && add_pair(run, cells, near, device) && add_pair(run, cells, device, near);
        for (int other = 0; other < run->node->device_count; other++)
            if (other != device && run->node->device[device].access[other])
                ok = ok && add_pair(run, cells, device, other);
    }
    return ok;
}
