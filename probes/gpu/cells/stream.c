/* Measures gpu_stream: operations BS1 to BS7 in a device's own memory, over sizes; BS6 and BS7 for
 * each degree of elements. */
#include "gpu/cells/cells.h"

#include <math.h>

#define LEAST (UINT64_C(4) << 10)
#define MOST  (UINT64_C(2) << 30)
/* the first size that takes so long is quick's last: the largest two take three quarters of the
 * time */
#define QUICK_NS 150e3

static size_t add(size_t count, int test, int degree, uint64_t bytes, const struct gpu_memory *a,
                  const struct gpu_memory *b, struct gpu_bs *ret_bs)
{
    struct gpu_bs bs;
    if (count == GPU_WORKS_MAX || !gpu_bs_lay(test, degree, bytes, a, b, &bs) ||
        (count > 0 && bs.bytes <= ret_bs[count - 1].bytes))
        return count;
    ret_bs[count] = bs;
    return count + 1;
}

size_t gpu_cells_stream_sizes(int test, int degree, const struct gpu_memory *a,
                              const struct gpu_memory *b, struct gpu_bs *ret_bs)
{
    struct gpu_bs largest;
    size_t count = 0;
    if (!gpu_bs_lay(test, degree, MOST, a, b, &largest))
        return 0;
    for (uint64_t bytes = LEAST; bytes < largest.bytes / 4; bytes *= 4)
        count = add(count, test, degree, bytes, a, b, ret_bs);
    for (int quarters = 1; quarters <= 4; quarters *= 2)
        count = add(count, test, degree, largest.bytes / 4 * (uint64_t)quarters, a, b, ret_bs);
    return count;
}

/* A cell's variant. */
static int variant_of(int test, int degree) { return test + degree * (GPU_BS_TESTS + 1); }
static int test_of(int variant) { return variant % (GPU_BS_TESTS + 1); }
static int degree_of(int variant) { return variant / (GPU_BS_TESTS + 1); }

struct job {
    const struct gpu_node *node;
    int device;
    struct gpu_bs bs;
};

static int prepare(void *arg, gpu_stream stream)
{
    const struct job *job = arg;
    return gpu_bs_prepare(job->node, job->device, &job->bs, stream);
}

static int enqueue(void *arg, gpu_stream stream)
{
    const struct job *job = arg;
    return gpu_bs_launch(job->node, job->device, &job->bs, stream);
}

static size_t make_works(const struct gpu_run *run, int device, int variant,
                         const struct gpu_memory *a, const struct gpu_memory *b,
                         struct job *ret_jobs, struct gpu_work *ret_works)
{
    struct gpu_bs sizes[GPU_WORKS_MAX];
    size_t count = gpu_cells_stream_sizes(test_of(variant), degree_of(variant), a, b, sizes);
    for (size_t i = 0; i < count; i++) {
        ret_jobs[i] = (struct job){run->node, device, sizes[i]};
        ret_works[i] = (struct gpu_work){
            .device = device, .prepare = prepare, .enqueue = enqueue, .arg = &ret_jobs[i]};
    }
    return count;
}

static struct probe_axes axes_of(const struct gpu_cell *cell)
{
    struct probe_axes axes = {0};
    int test = test_of(cell->variant), degree = degree_of(cell->variant);
    if (degree != GPU_BS_DEGREE)
        probe_axes_add(&axes, "degree", "%d", degree);
    if (test != 1)
        probe_axes_add(&axes, "test", "bs%d", test);
    return axes;
}

static bool measure(struct gpu_run *run, const struct gpu_cell *cell, int64_t budget_ns)
{
    struct job jobs[GPU_WORKS_MAX];
    struct gpu_work works[GPU_WORKS_MAX];
    struct probe_summary ns[GPU_WORKS_MAX], call;
    struct probe_sample samples[GPU_WORKS_MAX];
    struct gpu_memory a, b;
    struct probe_axes axes = axes_of(cell);
    struct gpu_err err = {.fault = GPU_FAULT_OTHER};
    if (!gpu_buffers_device(run->buffers, cell->from, 0, &a, &err.why) ||
        !gpu_buffers_device(run->buffers, cell->from, 1, &b, &err.why))
        return gpu_run_failed(run, cell, &axes, &err);
    size_t count = make_works(run, cell->from, cell->variant, &a, &b, jobs, works);
    if (!gpu_bs_has_kernels(&run->node->device[cell->from], test_of(cell->variant)) || count == 0) {
        probe_why_write(&err.why, "%.190s",
                        count == 0                               ? "the buffers are too small"
                        : run->node->kernels_why.text[0] != '\0' ? run->node->kernels_why.text
                                                                 : "no such kernel");
        return gpu_run_failed(run, cell, &axes, &err);
    }
    double longest_ns = run->selection.profile == GPU_FULL ? INFINITY : QUICK_NS;
    const struct gpu_timing queue_timing = gpu_run_timing(run, cell->from, budget_ns * 9 / 10),
                            call_timing = gpu_run_timing(run, cell->from, budget_ns / 10);
    if (!gpu_work_times(&queue_timing, works, &count, longest_ns, ns, &err) ||
        !gpu_work_call(&call_timing, &works[0], &call, &err))
        return gpu_run_failed(run, cell, &axes, &err);
    for (size_t i = 0; i < count; i++)
        samples[i] = (struct probe_sample){.bytes = (int64_t)jobs[i].bs.bytes, .ns = ns[i]};
    return gpu_report_samples(
        run->report, run->node,
        &(struct gpu_report_series){cell->metric, cell->from, cell->to, &axes}, samples, count,
        &(struct gpu_starts){.call = {.value = call.value}, .queue_ns = ns[0].value});
}

static bool list(const struct gpu_run *run, struct gpu_cells *cells, int device, int test,
                 int degree)
{
    struct gpu_cell cell = {.metric = PROBE_GPU_STREAM,
                            .phase = test == 1 ? GPU_PHASE_CURVES : GPU_PHASE_DETAIL,
                            .from = device,
                            .to = device,
                            .measure = measure,
                            .axes = axes_of,
                            .variant = variant_of(test, degree)};
    return gpu_cells_add(run, cells, &cell);
}

bool gpu_cells_stream(const struct gpu_run *run, struct gpu_cells *cells)
{
    bool full = run->selection.profile == GPU_FULL, ok = true;
    for (int device = 0; device < run->node->device_count; device++)
        for (int test = 1; ok && test <= (full ? GPU_BS_TESTS : 1); test++) {
            ok = list(run, cells, device, test, GPU_BS_DEGREE);
            for (int degree = 1; ok && test >= GPU_BS_MESH && degree <= GPU_BS_DEGREES; degree++)
                ok = degree == GPU_BS_DEGREE || list(run, cells, device, test, degree);
        }
    return ok;
}
