/* The streaming model: the bytes of a test are those that the probe counts, and times come from the
 * values and the curves of the test. */
#include "cost/kernel_time.h"
#include "unit/plan/node_folder.h"

#include "gpu/cells/stream_operations.h"
#include "node/transfer.h"

#define GB 1e9

static void bytes_are_those_of_the_probe(void **state)
{
    (void)state;
    struct gpu_memory a = {.address = 1 << 20, .bytes = UINT64_C(1) << 33},
                      b = {.address = UINT64_C(1) << 40, .bytes = UINT64_C(1) << 33};
    struct gpu_bs bs;
    for (int test = 1; test < KERNEL_TIME_MESH; test++)
        for (uint64_t bytes = 4096; bytes < UINT64_C(1) << 31; bytes *= 8) {
            assert_true(gpu_bs_lay(test, GPU_BS_DEGREE, bytes, &a, &b, &bs));
            assert_near(kernel_time_bytes(test, KERNEL_TIME_DEGREE, (double)bs.args.n),
                        (double)bs.bytes);
        }
    for (int test = KERNEL_TIME_MESH; test <= KERNEL_TIME_TESTS; test++)
        for (int k = 0; k < 6 * GPU_BS_DEGREES; k++) { /* cubes */
            int degree = 1 + k / 6;
            double side = 1 << k % 6, rows = pow(degree * side + 1, 3),
                   bytes = pow(side * (degree + 1), 3) * 12 + rows * 12 + 4;
            if (bytes > 4e9)
                continue;
            assert_true(gpu_bs_lay(test, degree, (uint64_t)bytes, &a, &b, &bs));
            assert_true(bs.mesh.side[0] == side && bs.mesh.side[1] == side &&
                        bs.mesh.side[2] == side);
            assert_true((double)bs.args.n == rows && (double)bs.bytes == bytes);
            assert_near(kernel_time_bytes(test, degree, rows), bytes);
        }
    assert_int_equal(gpu_bs_lay(6, GPU_BS_DEGREE, 511 * 24, &a, &b, &bs),
                     false); /* the least mesh */
    assert_true(gpu_bs_lay(6, GPU_BS_DEGREE, (uint64_t)kernel_time_bytes(6, GPU_BS_DEGREE, 512), &a,
                           &b, &bs));
}

struct fixture {
    struct graph *graph;
    struct values *values;
    place_id gpu;
};

static struct fixture begin(void)
{
    struct fixture f = {.graph = nodes_mi250x(), .values = values_new()};
    f.gpu = nodes_place(f.graph, PLACE_GPU, 0);
    return f;
}

/* A test with that rate of large vectors; t0_ns NAN: none. */
static void known(struct fixture *f, const char *axes, enum value_source source, double gb_per_s,
                  double t0_ns)
{
    char start[TRANSFER_AXES_MAX];
    bool is_measured = source == VALUE_MEASURED;
    nodes_value(f->values, METRIC_GPU_STREAM, source, f->gpu, f->gpu, axes, gb_per_s * GB,
                is_measured ? gb_per_s * 0.98 * GB : NAN, is_measured ? gb_per_s * 1.02 * GB : NAN);
    transfer_overhead_axes(METRIC_GPU_STREAM, axes, TRANSFER_QUEUE, start, sizeof start);
    if (!isnan(t0_ns))
        nodes_value(f->values, METRIC_TRANSFER_OVERHEAD, source, f->gpu, f->gpu, start, t0_ns,
                    t0_ns, t0_ns);
}

static void time_is_t0_and_the_bytes(void **state)
{
    (void)state;
    struct fixture f = begin();
    known(&f, "", VALUE_MEASURED, 800, 3000);
    known(&f, "test=bs3", VALUE_PUBLISHED, 400, 7000);
    known(&f, "test=bs4", VALUE_MEASURED, 500, NAN);
    known(&f, "degree=3;test=bs6", VALUE_MEASURED, 250, 5000);
    struct snapshot *snap = nodes_snapshot_of(f.graph, f.values, NULL);

    struct kernel_time copy = kernel_time_find(snap, f.gpu, 1, KERNEL_TIME_DEGREE);
    struct estimate time = kernel_time_queued(&copy, 8e6);
    assert_near(time.time_ns, 3000 + 1e4);
    assert_true(time.source == SOURCE_MEASURED && time.low_ns < time.time_ns * 0.98 &&
                time.low_ns > time.time_ns * 0.8 && time.high_ns > time.time_ns * 1.02);
    assert_true(isnan(kernel_time_called(&copy, 8e6).time_ns));
    /* from B80 on 80 % of Wmax */
    double b80 = kernel_time_b80_bytes(&copy, copy.t0_queue_ns);
    assert_near(b80, 4 * 3e-6 * 800 * GB);
    assert_near(b80 * 1e9 / kernel_time_queued(&copy, b80).time_ns, 0.8 * 800 * GB);

    struct kernel_time norm = kernel_time_find(snap, f.gpu, 3, KERNEL_TIME_DEGREE);
    time = kernel_time_queued(&norm, 4e6);
    assert_near(time.time_ns, 7000 + 1e4);
    assert_true(time.source == SOURCE_PUBLISHED && isnan(time.low_ns) && isnan(time.high_ns));

    struct kernel_time dot = kernel_time_find(snap, f.gpu, 4, KERNEL_TIME_DEGREE);
    time = kernel_time_queued(&dot, 5e6);
    assert_near(time.time_ns, 1e4);
    assert_true(time.source == SOURCE_LOWER_BOUND && time.low_ns == time.time_ns &&
                isnan(time.high_ns));
    assert_null(kernel_time_find(snap, f.gpu, 2, KERNEL_TIME_DEGREE).value);
    struct kernel_time gather = kernel_time_find(snap, f.gpu, 6, 3);
    assert_near(kernel_time_queued(&gather, 5e6).time_ns, 5000 + 2e4);
    assert_null(kernel_time_find(snap, f.gpu, 6, KERNEL_TIME_DEGREE).value);

    /* writes half of its bytes, none, a third (of which only others are known) */
    assert_int_equal(kernel_time_like(snap, f.gpu, 1, 1), 1);
    assert_int_equal(kernel_time_like(snap, f.gpu, 0, 1), 1);
    assert_int_equal(kernel_time_like(snap, f.gpu, 1, 0), 3);
    assert_int_equal(kernel_time_like(snap, f.gpu, 2, 1), 1);
    assert_int_equal(kernel_time_like(snap, nodes_place(f.graph, PLACE_GPU, 1), 1, 1), 0);
    snapshot_unref(snap);
}

/* On a recorded node: each size that was measured, by each test. */
static void measured_sizes_are_within_the_interval(void **state)
{
    (void)state;
    struct snapshot *snap = folder_snapshot("tests/nodes/h200x1");
    place_id gpu = nodes_place(snap->graph, PLACE_GPU, 0);
    const struct value *v;
    size_t count = values_range(snap->values, METRIC_GPU_STREAM, gpu, &v), sizes = 0, within = 0;
    for (; count > 0; v++, count--) {
        char rest[TRANSFER_AXES_MAX];
        int test = 1;
        int64_t bytes = transfer_split(values_axes(snap->values, v), rest, sizeof rest);
        sscanf(rest, "test=bs%d", &test);
        if (bytes == 0)
            continue;
        struct kernel_time kernel = kernel_time_find(snap, gpu, test, KERNEL_TIME_DEGREE);
        struct estimate time = kernel_time_queued(&kernel, (double)bytes),
                        called = kernel_time_called(&kernel, (double)bytes);
        double ns = (double)bytes * 1e9 / v->value;
        assert_within(time.time_ns, ns, 0.25);
        assert_true(time.source == SOURCE_MEASURED && called.time_ns > time.time_ns &&
                    called.low_ns < called.time_ns && called.high_ns > called.time_ns);
        assert_near(kernel_time_wmax_bytes_per_s(&kernel), curve_wmax_bytes_per_s(kernel.curve));
        sizes++;
        within += time.low_ns <= ns && ns <= time.high_ns;
    }
    print_message("%zu of %zu sizes\n", within, sizes);
    assert_true(sizes > 70 && within * 100 >= sizes * 90);
    snapshot_unref(snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_probe),
        cmocka_unit_test(time_is_t0_and_the_bytes),
        cmocka_unit_test(measured_sizes_are_within_the_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
