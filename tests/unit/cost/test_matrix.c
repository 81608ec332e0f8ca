/* Transfers of which only the rate was measured take the curve of one that is alike. */
#include "cost/evidence.h"
#include "cost/matrix.h"
#include "cost/transfer.h"
#include "node/spread.h"
#include "node/transfer.h"
#include "unit/node/built_nodes.h"

#define GB 1e9

static void rate(struct values *values, place_id from, place_id to, const char *axes,
                 double gb_per_s)
{
    nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, from, to, axes, gb_per_s * GB,
                gb_per_s * 0.99 * GB, gb_per_s * 1.01 * GB);
}

/* start_ns, and from there on so many GB/s; the caller's clock sees 5 us more. */
static void sizes(struct values *values, place_id from, place_id to, double start_ns,
                  double gb_per_s)
{
    static const int64_t list[] = {4096, 16384, 65536, 262144, 1048576, 4194304};
    char axes[TRANSFER_AXES_MAX];
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        snprintf(axes, sizeof axes, "bytes=%lld", (long long)list[i]);
        rate(values, from, to, axes, (double)list[i] / (start_ns + (double)list[i] / gb_per_s));
    }
    for (int clock = TRANSFER_CALL; clock <= TRANSFER_QUEUE; clock++) {
        double ns = start_ns + (clock == TRANSFER_CALL ? 5000 : 0);
        transfer_overhead_axes(METRIC_HOST_GPU_COPY_ENGINE, "", (enum transfer_clock)clock, axes,
                               sizeof axes);
        nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, from, to, axes, ns, ns, ns);
    }
    rate(values, from, to, "", gb_per_s);
}

struct fixture {
    struct graph *graph;
    struct values *values;
    place_id gpu[8], numa[4];
};

static struct fixture begin(void)
{
    struct fixture f = {.graph = nodes_mi250x(), .values = values_new()};
    assert_non_null(f.values);
    for (int i = 0; i < 8; i++)
        f.gpu[i] = nodes_place(f.graph, PLACE_GPU, i);
    for (int i = 0; i < 4; i++)
        f.numa[i] = nodes_place(f.graph, PLACE_NUMA, i);
    return f;
}

/* The transfer alone. False where nothing is known of it. */
static bool find(const struct snapshot *snap, place_id from, place_id to, struct transfer *ret)
{
    const struct matrix_item *item =
        matrix_find(snap->derived.matrix, from, to, MECHANISM_COPY_ENGINE);
    *ret = item != NULL ? item->alone : (struct transfer){.sizes = SOURCE_LOWER_BOUND};
    return item != NULL;
}

static const struct curve *like(struct snapshot *snap, place_id from, place_id to)
{
    const struct matrix_item *item =
        matrix_find(snap->derived.matrix, from, to, MECHANISM_COPY_ENGINE);
    assert_non_null(item);
    return item->alone.curve;
}

static void the_gpu_s_own_goes_first_then_the_closest_rate(void **state)
{
    (void)state;
    struct fixture f = begin();
    sizes(f.values, f.numa[3], f.gpu[0], 9000, 28.0);
    sizes(f.values, f.numa[1], f.gpu[2], 7000, 28.3);
    sizes(f.values, f.numa[1], f.gpu[3], 7000, 27.0);
    rate(f.values, f.numa[0], f.gpu[0], "", 28.3);
    rate(f.values, f.numa[0], f.gpu[1], "", 28.3);
    rate(f.values, f.numa[0], f.gpu[4], "", 20.0);
    rate(f.values, f.gpu[0], f.numa[0], "", 28.3);
    struct snapshot *snap = nodes_snapshot(f.graph, f.values);
    assert_int_equal(like(snap, f.numa[0], f.gpu[0])->from, f.numa[3]);
    assert_int_equal(like(snap, f.numa[0], f.gpu[1])->to, f.gpu[2]);
    assert_null(like(snap, f.numa[0], f.gpu[4]));
    assert_null(like(snap, f.gpu[0], f.numa[0]));
    snapshot_unref(snap);
}

static void another_model_is_not_alike(void **state)
{
    (void)state;
    struct fixture f = begin();
    sizes(f.values, f.numa[1], f.gpu[2], 7000, 28.3);
    rate(f.values, f.numa[0], f.gpu[1], "", 28.3);
    free(f.graph->places[f.gpu[2]].model);
    f.graph->places[f.gpu[2]].model = strdup("another");
    struct snapshot *snap = nodes_snapshot(f.graph, f.values);
    assert_null(like(snap, f.numa[0], f.gpu[1]));
    snapshot_unref(snap);
}

static void a_small_transfer_costs_what_starting_its_like_does(void **state)
{
    (void)state;
    struct fixture f = begin();
    sizes(f.values, f.numa[3], f.gpu[0], 9000, 28.3);
    rate(f.values, f.numa[0], f.gpu[0], "", 28.3);
    struct snapshot *snap = nodes_snapshot(f.graph, f.values);
    struct transfer transfer, own;
    struct evidence evidence = {0};
    assert_true(find(snap, f.numa[0], f.gpu[0], &transfer));
    assert_true(find(snap, f.numa[3], f.gpu[0], &own));
    assert_true(transfer.sizes == SOURCE_SIMILAR_PAIR && own.sizes == SOURCE_MEASURED &&
                4096 >= transfer.least_bytes);
    assert_true(fabs(transfer_queued(&transfer, 4096).time_ns / (9000 + 4096 / 28.3) - 1) < 0.02);
    assert_true(fabs(transfer_called(&transfer, 4096).time_ns / (14000 + 4096 / 28.3) - 1) < 0.02);
    transfer_cite(&transfer, &evidence, 0);
    assert_int_equal(evidence.count, 2);
    assert_true(evidence.item[0]->from == f.numa[0] && evidence.item[1]->from == f.numa[3]);
    evidence_done(&evidence);
    snapshot_unref(snap);
}

/* What is known of sizes is not given up for what is noise. */
static void a_way_of_known_sizes_stays(void **state)
{
    (void)state;
    static const int64_t list[] = {4096, 65536, 1048576, 4194304};
    struct fixture f = begin();
    char axes[TRANSFER_AXES_MAX];
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        double gb = (double)list[i] / (10000 + (double)list[i] / 50);
        snprintf(axes, sizeof axes, "bytes=%lld", (long long)list[i]);
        nodes_value(f.values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, f.gpu[0], f.gpu[1], axes,
                    gb * GB, gb * GB, gb * GB);
    }
    const double read[] = {50.5, 55};
    for (int to = 1; to <= 2; to++) {
        nodes_value(f.values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, f.gpu[0], f.gpu[to], "",
                    50 * GB, 50 * GB, 50 * GB);
        nodes_value(f.values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, f.gpu[0], f.gpu[to],
                    "direction=read", read[to - 1] * GB, 50 * GB, 56 * GB);
    }
    struct snapshot *snap = nodes_snapshot(f.graph, f.values);
    struct transfer transfer;
    assert_true(find(snap, f.gpu[0], f.gpu[1], &transfer));
    assert_int_equal(transfer.driver, f.gpu[0]);
    assert_non_null(transfer.curve);
    assert_true(find(snap, f.gpu[0], f.gpu[2], &transfer));
    assert_int_equal(transfer.driver, f.gpu[2]);
    snapshot_unref(snap);
}

static void few_bytes(struct values *values, place_id from, place_id to, double ns)
{
    nodes_value(values, METRIC_COPY_LATENCY, VALUE_MEASURED, from, to, "", ns, ns, ns);
}

/* What few bytes take was measured there: no pair that starts otherwise stands for it, however
 * alike their rates are. */
static void what_few_bytes_take_is_its_own(void **state)
{
    (void)state;
    struct fixture f = begin();
    sizes(f.values, f.numa[3], f.gpu[0], 9000, 28.3);
    sizes(f.values, f.numa[1], f.gpu[2], 18000, 28.3);
    few_bytes(f.values, f.numa[0], f.gpu[0], 18100);
    rate(f.values, f.numa[0], f.gpu[0], "", 28.3);
    few_bytes(f.values, f.numa[0], f.gpu[1], 12000);
    rate(f.values, f.numa[0], f.gpu[1], "", 28.3);
    struct snapshot *snap = nodes_snapshot(f.graph, f.values);
    struct transfer transfer;
    struct evidence evidence = {0};
    assert_int_equal(like(snap, f.numa[0], f.gpu[0])->from, f.numa[1]);
    assert_null(like(snap, f.numa[0], f.gpu[1]));
    assert_true(find(snap, f.numa[0], f.gpu[1], &transfer));
    assert_true(transfer.sizes == SOURCE_MEASURED && 4096 >= transfer.least_bytes);
    assert_true(fabs(transfer_queued(&transfer, 4096).time_ns / (12000 + 4096 / 28.3) - 1) < 0.001);
    assert_true(fabs(transfer_called(&transfer, 4096).time_ns / (17000 + 4096 / 28.3) - 1) < 0.001);
    transfer_cite(&transfer, &evidence, 0);
    assert_true(evidence.count == 2 && evidence.item[1]->metric == METRIC_COPY_LATENCY &&
                evidence.item[1]->to == f.gpu[1]);
    evidence_done(&evidence);
    snapshot_unref(snap);
}

/* How far single calls were apart says where the next one is; of old records, which lack it, other
 * pairs alone say so. */
static void calls_apart_are_in_the_interval(void **state)
{
    (void)state;
    double half_ns[2];
    for (int is_known = 0; is_known < 2; is_known++) {
        struct fixture f = begin();
        sizes(f.values, f.numa[3], f.gpu[0], 9000, 28.3);
        char axes[TRANSFER_AXES_MAX];
        transfer_overhead_axes(METRIC_HOST_GPU_COPY_ENGINE, "", TRANSFER_CALL, axes, sizeof axes);
        double low_ns = is_known ? 13500 : NAN, high_ns = is_known ? 14500 : NAN;
        nodes_value(f.values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, f.numa[3], f.gpu[0], axes,
                    14000, low_ns, high_ns);
        struct snapshot *snap = nodes_snapshot(f.graph, f.values);
        struct transfer transfer;
        assert_true(find(snap, f.numa[3], f.gpu[0], &transfer));
        struct estimate called = transfer_called(&transfer, 4096),
                        queued = transfer_queued(&transfer, 4096);
        half_ns[is_known] = called.high_ns - called.time_ns;
        double call_ns = is_known ? spread_cell(500, transfer.call->n) : 0;
        assert_true(fabs(transfer_call_half_ns(&transfer, 4096) - call_ns) < 1e-6);
        assert_true(fabs(half_ns[is_known] - hypot(queued.high_ns - queued.time_ns, call_ns)) <
                    1e-6);
        snapshot_unref(snap);
    }
    assert_true(half_ns[1] > 2 * half_ns[0]);
}

static bool lacks_own(const struct transfer *transfer, double bytes, double piece)
{
    return (transfer_lacks(transfer, bytes, piece) & LACKS_OWN_SIZES) != 0;
}

/* Where another pair's sizes, or its start, are more than a hundredth of the time it is not of what
 * was measured of this one; and where nothing says how far pairs are apart it has no interval. */
static void what_is_another_pair_s_is_told(void **state)
{
    (void)state;
    const double large = 1 << 30;
    for (int pairs = 1; pairs <= 2; pairs++) {
        struct fixture f = begin();
        sizes(f.values, f.numa[3], f.gpu[0], 9000, 28.3);
        if (pairs == 2)
            sizes(f.values, f.numa[1], f.gpu[2], 9200, 24.0);
        rate(f.values, f.numa[0], f.gpu[0], "", 28.2);
        rate(f.values, f.numa[0], f.gpu[1], "", 20.0);
        struct snapshot *snap = nodes_snapshot(f.graph, f.values);
        struct transfer own = {.sizes = SOURCE_NOMINAL}, like = own, start = own;
        assert_true(find(snap, f.numa[3], f.gpu[0], &own) &&
                    find(snap, f.numa[0], f.gpu[0], &like) &&
                    find(snap, f.numa[0], f.gpu[1], &start));
        assert_true(like.sizes == SOURCE_SIMILAR_PAIR && like.curve != NULL &&
                    start.sizes == SOURCE_SIMILAR_PAIR && start.curve == NULL &&
                    own.sizes == SOURCE_MEASURED);
        assert_true(!lacks_own(&own, 4096, 4096) && lacks_own(&like, 4096, 4096) &&
                    lacks_own(&start, 4096, 4096));
        assert_true(!lacks_own(&like, large, large) && !lacks_own(&start, large, large) &&
                    lacks_own(&like, large, 65536));
        assert_true(!isnan(transfer_called(&own, 4096).high_ns) &&
                    isnan(transfer_called(&start, 4096).high_ns) &&
                    isnan(transfer_called(&like, 4096).high_ns) == (pairs == 1));
        assert_true(isnan(transfer_call_half_ns(&start, 4096)) &&
                    isnan(transfer_call_half_ns(&like, 4096)) == (pairs == 1) &&
                    !isnan(transfer_call_half_ns(&start, large)));
        /* Its own rate is known to be another than that of the curve: the interval has both. */
        struct estimate alike = transfer_called(&like, large), its = transfer_called(&own, large);
        assert_true(alike.low_ns <= large / 28.2 && alike.high_ns >= large / 28.2 &&
                    alike.high_ns - alike.low_ns > its.high_ns - its.low_ns);
        snapshot_unref(snap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gpu_s_own_goes_first_then_the_closest_rate),
        cmocka_unit_test(what_is_another_pair_s_is_told),
        cmocka_unit_test(another_model_is_not_alike),
        cmocka_unit_test(a_small_transfer_costs_what_starting_its_like_does),
        cmocka_unit_test(a_way_of_known_sizes_stays),
        cmocka_unit_test(what_few_bytes_take_is_its_own),
        cmocka_unit_test(calls_apart_are_in_the_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
