#include "cost/evidence.h"
#include "node/locality.h"
#include "node/spread.h"
#include "unit/plan/alloc/alloc_nodes.h"

/* What starting kernels adds to the time of a buffer, and how far from one time to the next that
 * is. */

/* A curve of that transfer that begins with start_ns, by the values of its sizes. */
static void curve_within(struct fixture *f, enum metric metric, place_id from, place_id to,
                         const char *how, double start_ns, double gb, double share)
{
    for (unsigned bytes = 65536; bytes <= 16777216; bytes *= 4) {
        char axes[48];
        double rate = bytes * 1e9 / (start_ns + bytes / gb);
        snprintf(axes, sizeof axes, "bytes=%u%s%s", bytes, *how != '\0' ? ";" : "", how);
        nodes_value(f->values, metric, VALUE_MEASURED, from, to, axes, rate, rate * (1 - share),
                    rate * (1 + share));
    }
}

static void curve(struct fixture *f, enum metric metric, place_id from, place_id to,
                  double start_ns, double gb)
{
    curve_within(f, metric, from, to, "", start_ns, gb, 0.01);
}

static void ask_small(struct fixture *f, place_id by, int64_t bytes)
{
    struct alloc_access access = {.by = by, .reads_bytes = bytes};
    locality_cpus(f->graph, &f->allowed.cpus);
    assert_int_equal(
        ask_for(f, (struct alloc_request){.bytes = bytes, .access = &access, .access_count = 1}),
        BERTH_OK);
}

/* Each time around a buffer is a kernel, that of a large one too: 6 us are half of 64 MiB in the
 * gpu's own memory. */
static void starting_kernels_is_counted(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    curve(&f, METRIC_GPU_STREAM, f.gpu[0], f.gpu[0], 6000, 4000);
    curve(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], 1000, 50);
    struct alloc_access access = {.by = f.gpu[0], .reads_bytes = 3 << 26};
    locality_cpus(f.graph, &f.allowed.cpus);
    assert_int_equal(
        ask_for(&f, (struct alloc_request){.bytes = 1 << 26, .access = &access, .access_count = 1}),
        BERTH_OK);
    assert_true(fabs(time_of(&f, MEMKIND_DEVICE, f.gpu[0]) - (3 * 6000 + (3 << 26) / 4000.0)) <
                300);
    /* Where it is most of the time, it is as uncertain as the rest. */
    const struct alloc_option *own = option(&f, MEMKIND_DEVICE, f.gpu[0]);
    assert_true(own->predicted.high_ns / own->predicted.time_ns > 1.01);
    /* Of reading the host's memory no curve says it: not less than in the gpu's own, and as
     * uncertain as those that are known differ. */
    const struct alloc_option *pinned = option(&f, MEMKIND_PINNED, f.numa[0]);
    assert_true(fabs(pinned->predicted.time_ns - (3 * 6000 + (3 << 26) / 50.0)) < 300);
    assert_true(pinned->predicted.high_ns - pinned->predicted.time_ns > 3 * 4900);
    /* Of large buffers it is that of other kernels, which matters where it is more than a
     * hundredth. */
    assert_true(doubts(&f, own, REASON_SIMILAR_ACCESS) &&
                !doubts(&f, pinned, REASON_SIMILAR_ACCESS) &&
                own->predicted.source == SOURCE_SIMILAR_PAIR);
    end(&f);
}

/* Host memory by the other processor, of which no curve is: another gpu's memory is as far, and
 * says more than the host's next to the gpu. Of that next to it nothing of the kind counts. */
static void far_memory_starts_as_late_as_what_is_as_far(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    curve(&f, METRIC_GPU_STREAM, f.gpu[0], f.gpu[0], 2000, 4000);
    curve_within(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "operation=read", 3000, 50, 0.01);
    curve_within(&f, METRIC_GPU_GPU_KERNEL, f.gpu[0], f.gpu[1], "operation=read", 5000, 300, 0.01);
    ask_small(&f, f.gpu[0], 1 << 20);
    const struct alloc_option *near = option(&f, MEMKIND_PINNED, f.numa[0]),
                              *far = option(&f, MEMKIND_PINNED, f.numa[1]);
    assert_true(fabs(near->predicted.time_ns - (3000 + (1 << 20) / 50.0)) < 100);
    assert_true(fabs(far->predicted.time_ns - (5000 + (1 << 20) / 40.0)) < 100);
    assert_true(!doubts(&f, near, REASON_SIMILAR_ACCESS) && doubts(&f, far, REASON_SIMILAR_ACCESS));
    /* as far as they are apart */
    assert_true(far->predicted.high_ns - far->predicted.time_ns > 2900 &&
                far->predicted.time_ns - far->predicted.low_ns > 2900);
    assert_true(near->predicted.high_ns - near->predicted.time_ns < 1500);
    end(&f);
}

/* Sizes that are timed many at once deviate less than one does: what the kind's large transfers do
 * counts then. */
static void what_is_timed_many_at_once_says_little_of_one(void **state)
{
    (void)state;
    struct fixture f = begin(DISCRETE);
    all_known(&f, 50, 40);
    curve_within(&f, METRIC_HOST_GPU_KERNEL, f.numa[0], f.gpu[0], "operation=read", 3000, 50,
                 0.001);
    ask_small(&f, f.gpu[0], 1 << 20);
    const struct estimate *near = &option(&f, MEMKIND_PINNED, f.numa[0])->predicted;
    double one = 1.96 * spread_deviation(log(1.01 / 0.99) / 2, 9); /* all_known's */
    assert_true(near->high_ns / near->time_ns - 1 > one &&
                near->high_ns / near->time_ns - 1 < 2 * one);
    assert_true(1 - near->low_ns / near->time_ns > one * 0.95);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starting_kernels_is_counted),
        cmocka_unit_test(far_memory_starts_as_late_as_what_is_as_far),
        cmocka_unit_test(what_is_timed_many_at_once_says_little_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
