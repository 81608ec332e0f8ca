#include "unit/node/built_nodes.h"

#include "cost/derive.h"
#include "cost/iteration.h"
#include "cost/matrix.h"
#include "discover/discover.h"
#include "node/transfer.h"
#include "plan/route/route.h"

#define GB 1e9

struct fixture {
    struct graph *graph;
    struct snapshot *snap;
    struct transfer transfer[4];
};

static place_id gpu(const struct fixture *f, int n) { return nodes_place(f->graph, PLACE_GPU, n); }
static place_id numa(const struct fixture *f, int n)
{
    return nodes_place(f->graph, PLACE_NUMA, n);
}

static void together(struct sets *sets, place_id a, place_id b, place_id to, double each)
{
    struct set_flow flow[] = {{.from = a,
                               .to = to,
                               .axes = (char *)"",
                               .bytes_per_s = each * GB,
                               .low = each * 0.99 * GB,
                               .high = each * 1.01 * GB},
                              {.from = b,
                               .to = to,
                               .axes = (char *)"",
                               .bytes_per_s = each * GB,
                               .low = each * 0.99 * GB,
                               .high = each * 1.01 * GB}};
    struct set set = {.metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                      .flow = flow,
                      .flow_count = b == PLACE_NONE ? 1 : 2};
    assert_true(sets_add(sets, &set));
}

/* Gpus 4 and 5 are of one module and get 20 GB/s together, 20 each alone; 4 and 2 are of two and
 * get 20 each. */
static struct fixture begin(void)
{
    struct fixture f = {.graph = nodes_mi250x()};
    struct values *values = values_new();
    struct sets *sets = sets_new();
    assert_true(values != NULL && sets != NULL);
    for (int g = 0; g < 8; g++)
        nodes_value(values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, gpu(&f, g), numa(&f, 0),
                    "", 20 * GB, 19 * GB, 21 * GB);
    char axes[TRANSFER_AXES_MAX];
    transfer_overhead_axes(METRIC_HOST_GPU_COPY_ENGINE, "", TRANSFER_QUEUE, axes, sizeof axes);
    nodes_value(values, METRIC_TRANSFER_OVERHEAD, VALUE_MEASURED, gpu(&f, 5), numa(&f, 0), axes,
                10000, 10000, 10000);
    for (int g = 0; g < 8; g++)
        together(sets, gpu(&f, g), PLACE_NONE, numa(&f, 0), 20);
    for (int m = 0; m < 4; m++)
        together(sets, gpu(&f, 2 * m), gpu(&f, 2 * m + 1), numa(&f, 0), 10);
    together(sets, gpu(&f, 2), gpu(&f, 4), numa(&f, 0), 20);
    f.snap = nodes_snapshot_of(f.graph, values, sets);
    for (int i = 0; i < 4; i++)
        f.transfer[i] = matrix_find(f.snap->derived.matrix, gpu(&f, (int[]){4, 5, 2, 6}[i]),
                                    numa(&f, 0), MECHANISM_COPY_ENGINE)
                            ->alone;
    return f;
}

static void end(struct fixture *f) { snapshot_unref(f->snap); }

static struct flow flow_of(const struct snapshot *snap, const struct transfer *transfer,
                           double bytes, double begin_ns)
{
    struct flow flow = iteration_queued(
        usage_find(snap->derived.usage, transfer->from, transfer->to, transfer->by), transfer,
        bytes);
    flow.begin_ns = begin_ns;
    return flow;
}

static void run(const struct snapshot *snap, struct flow *flows, size_t count)
{
    struct iteration *iteration = iteration_new(snap->derived.usage, count);
    assert_non_null(iteration);
    iteration_run(iteration, flows, count, ITERATION_EXPECTED);
    iteration_free(iteration);
}

/* The first has the port to itself until then; what the other takes counts from when it begins. */
static void one_that_begins_later_shares_what_is_left(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct flow port[] = {flow_of(f.snap, &f.transfer[0], GB, 0),
                          flow_of(f.snap, &f.transfer[1], GB, 25e6)};
    run(f.snap, port, 2);
    assert_within(port[0].end_ns, 75e6, 1e-6);
    assert_within(port[1].end_ns, 25e6 + 10e3 + 75e6, 1e-6);
    port[1].begin_ns = 60e6; /* the first has ended */
    run(f.snap, port, 2);
    assert_within(port[0].end_ns, 50e6, 1e-6);
    assert_within(port[1].end_ns, 60e6 + 10e3 + 50e6, 1e-6);
    assert_null(port[1].shared);
    end(&f);
}

/* Four H200 at a switch: runs show what copies out of one gpu get together, with the host as well;
 * what is stated of its ports limits no number of them. */
static void what_runs_show_goes_before_what_is_stated(void **state)
{
    (void)state;
    struct discovery found = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_folder("tests/nodes/h200x4", &found, &err), BERTH_OK);
    struct snapshot *snap = snapshot_new(found.graph, found.values, NULL, 0, 0, 1);
    assert_non_null(snap);
    snap->sets = found.sets;
    assert_true(derive_costs(snap));
    place_id gpu0 = nodes_place(found.graph, PLACE_GPU, 0),
             gpu2 = nodes_place(found.graph, PLACE_GPU, 2),
             numa0 = nodes_place(found.graph, PLACE_NUMA, 0);
    const place_id ends[][2] = {{gpu2, gpu0}, {gpu2, numa0}, {numa0, gpu0}};
    struct transfer transfer[3];
    struct flow flows[3];
    for (int i = 0; i < 3; i++) {
        transfer[i] =
            matrix_find(snap->derived.matrix, ends[i][0], ends[i][1], MECHANISM_COPY_ENGINE)->alone;
        flows[i] = flow_of(snap, &transfer[i], i == 0 ? 0.9 * GB : 0.1 * GB, 0);
    }
    run(snap, flows, 3);
    for (int i = 0; i < 3; i++)
        assert_true(flows[i].shared == NULL || !limits_is_stated(flows[i].shared));
    snapshot_unref(snap);
    graph_unref(found.graph);
}

/* Two kernels from one gpu to another get together what an engine gets, and so does one of each;
 * two copies by engine what one gets. */
static void kernels_of_a_pair_share_its_engines_rate(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    place_id from = nodes_place(graph, PLACE_GPU, 0), to = nodes_place(graph, PLACE_GPU, 1);
    nodes_value(values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, from, to, "", 30 * GB, 29 * GB,
                31 * GB);
    nodes_value(values, METRIC_GPU_GPU_KERNEL, VALUE_MEASURED, from, to, "", 20 * GB, 19 * GB,
                21 * GB);
    struct snapshot *snap = nodes_snapshot_of(graph, values, NULL);
    const enum mechanism by[][2] = {{MECHANISM_KERNEL, MECHANISM_KERNEL},
                                    {MECHANISM_KERNEL, MECHANISM_COPY_ENGINE},
                                    {MECHANISM_COPY_ENGINE, MECHANISM_COPY_ENGINE}};
    for (size_t i = 0; i < 3; i++) {
        struct flow flows[2];
        for (size_t k = 0; k < 2; k++)
            flows[k] = iteration_flow(usage_find(snap->derived.usage, from, to, by[i][k]), 3 * GB);
        run(snap, flows, 2);
        assert_within(fmax(flows[0].end_ns, flows[1].end_ns), 200e6, 1e-6);
    }
    snapshot_unref(snap);
}

static void launching_is_half_of_what_a_call_costs_more(void **state)
{
    (void)state;
    struct transfer transfer = {
        .t0_queue_ns = 4000, .t0_call_ns = 10000, .bytes_per_s = GB, .slowdown = 1};
    assert_within(transfer_launch_ns(&transfer), 3000, 1e-6);
    transfer.t0_call_ns = 20000;
    assert_within(transfer_launch_ns(&transfer), 4000, 1e-6);
    transfer.t0_call_ns = NAN;
    assert_within(transfer_launch_ns(&transfer), 4000, 1e-6);
    transfer.t0_queue_ns = NAN;
    assert_within(transfer_launch_ns(&transfer), 0, 1e-6);
}

static void nothing_is_faster_than_alone(void **state)
{
    (void)state;
    struct fixture f = begin();
    for (int mask = 1; mask < 16; mask++) {
        struct flow flows[4];
        double bytes[4], alone_ns[4];
        size_t count = 0;
        for (int i = 0; i < 4; i++)
            if (mask & 1 << i) {
                bytes[count] = (i + 1) * 1e7;
                alone_ns[count] = transfer_queued_ns(&f.transfer[i], bytes[count]);
                flows[count] = flow_of(f.snap, &f.transfer[i], bytes[count], 0);
                count++;
            }
        run(f.snap, flows, count);
        for (size_t i = 0; i < count; i++)
            assert_true(flows[i].end_ns >= alone_ns[i] * (1 - 1e-12));
    }
    struct flow large[] = {flow_of(f.snap, &f.transfer[0], 0x1p62, 0),
                           flow_of(f.snap, &f.transfer[1], 0x1p62, 0),
                           flow_of(f.snap, &f.transfer[2], 0, 0)};
    run(f.snap, large, 3);
    assert_within(large[0].end_ns, 0x1p63 / 20, 1e-6);
    assert_within(large[2].end_ns, 0, 1e-6);
    end(&f);
}

static void a_route_weighs_what_moves_meanwhile(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct allowed allowed = {.given = true};
    struct route_answer answer;
    struct berth_err err = {0};
    const struct route_transfer others[] = {{gpu(&f, 4), numa(&f, 0), 1000000000},
                                            {gpu(&f, 2), numa(&f, 0), 1000000000}};
    struct route_request request = {
        .from = gpu(&f, 5), .to = numa(&f, 0), .bytes = 1000000000, .allowed = &allowed};
    assert_int_equal(plan_route(f.snap, &request, &answer, &err), BERTH_OK);
    assert_within(answer.option[0].predicted.time_ns, 50e6 + 10e3, 1e-6);
    assert_null(answer.option[0].shared);
    plan_route_done(&answer);
    request.concurrent = others;
    request.concurrent_count = 2;
    assert_int_equal(plan_route(f.snap, &request, &answer, &err), BERTH_OK);
    assert_true(answer.option[0].predicted.time_ns > 99e6 &&
                answer.option[0].predicted.time_ns < 100.1e6);
    assert_non_null(answer.option[0].shared);
    assert_int_equal(answer.crossover_count, 0);
    plan_route_done(&answer);
    const struct route_transfer nowhere[] = {{numa(&f, 0), numa(&f, 1), 1}};
    request.concurrent = nowhere;
    request.concurrent_count = 1;
    assert_int_equal(plan_route(f.snap, &request, &answer, &err), BERTH_INVALID_PARAMETER);
    assert_string_equal(err.arg[0].text, "concurrent[0].to");
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_begins_later_shares_what_is_left),
        cmocka_unit_test(what_runs_show_goes_before_what_is_stated),
        cmocka_unit_test(kernels_of_a_pair_share_its_engines_rate),
        cmocka_unit_test(launching_is_half_of_what_a_call_costs_more),
        cmocka_unit_test(nothing_is_faster_than_alone),
        cmocka_unit_test(a_route_weighs_what_moves_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
