#include "unit/gpu/gpu_fake.h"

#include "gpu/timing/rate.h"

static struct gpu_flow flow_of(int device, uint64_t span)
{
    struct gpu_op op = {.device = device,
                        .operation = GPU_OPERATION_COPY,
                        .to = 0x1000,
                        .from = 0x2000,
                        .to_device = device,
                        .from_device = -1};
    return (struct gpu_flow){.op = op, .span = span};
}

static struct gpu_trial *begin(struct fake *fake)
{
    struct gpu_trial *trial = NULL;
    struct gpu_err err = {0};
    if (!gpu_trial_new(&fake->node, &trial, &err))
        fail_msg("%s", err.why.text);
    return trial;
}

static void end(struct fake *fake, struct gpu_trial *trial)
{
    gpu_trial_free(trial);
    free(fake);
}

static void as_many_blocks_as_bytes_need(void **state)
{
    (void)state;
    struct fake *fake = fake_new(1);
    struct gpu_trial *trial = begin(fake);
    static const struct {
        uint64_t bytes;
        unsigned grid, launched;
    } cases[] = {{16, 0, 1},
                 {16384, 0, 1},
                 {16384 + 16, 0, 2},
                 {UINT64_C(1) << 30, 0, 65536},
                 {UINT64_C(1) << 30, 132, 132}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gpu_flow flow = flow_of(0, UINT64_C(1) << 30);
        struct gpu_err err = {0};
        flow.count = 1;
        flow.op.mechanism = GPU_BY_KERNEL;
        flow.op.operation = GPU_OPERATION_READ;
        flow.op.to = flow.op.from = 0; /* nothing is moved */
        flow.op.bytes = cases[i].bytes;
        flow.op.shape = (struct gpu_shape){.block = 256, .grid = cases[i].grid, .unroll = 4};
        assert_true(gpu_trial_run(trial, &flow, 1, &err));
        assert_int_equal(fake->grid, cases[i].launched);
    }
    end(fake, trial);
}

/* Whatever starting, timing and launching cost, and however many operations a leg needs. */
static void a_rate_has_no_overhead_in_it(void **state)
{
    (void)state;
    struct fake *fake = fake_new(1);
    struct gpu_trial *trial = begin(fake);
    static const uint64_t spans[] = {UINT64_C(1) << 30, UINT64_C(4) << 20};
    for (size_t i = 0; i < 2; i++) {
        struct gpu_flow flow = flow_of(0, spans[i]);
        struct probe_summary rate, sum;
        struct gpu_err err = {0};
        /* small copies move nothing onto itself */
        flow.op.to = flow.op.from = (gpu_address)(uintptr_t)fake->events;
        assert_true(gpu_rate_concurrent(&(struct gpu_legs){trial, GPU_RATE_LEG_NS, 0, 1000000000},
                                        &flow, 1, &rate, &sum, &err));
        assert_float_equal(rate.value / 50e9, 1, 1e-6);
        assert_float_equal(sum.value / 50e9, 1, 1e-6);
        assert_int_equal(rate.n, PROBE_STATS_MIN);
        assert_true(rate.low <= rate.value && rate.value <= rate.high);
    }
    assert_int_equal(fake->released_early, 0);
    end(fake, trial);
}

/* Else the slower one would be measured alone for a while. */
static void flows_end_together(void **state)
{
    (void)state;
    struct fake *fake = fake_new(2);
    struct gpu_trial *trial = begin(fake);
    fake->rate[0] = 10;
    fake->rate[1] = 400;
    struct gpu_flow flows[] = {flow_of(0, UINT64_C(1) << 30), flow_of(1, UINT64_C(1) << 30)};
    flows[0].op.to = flows[0].op.from = flows[1].op.to = flows[1].op.from =
        (gpu_address)(uintptr_t)fake->events;
    struct probe_summary rates[2], sum;
    struct gpu_err err = {0};
    assert_true(gpu_rate_concurrent(&(struct gpu_legs){trial, 300e3, 0, 1000000000}, flows, 2,
                                    rates, &sum, &err));
    assert_float_equal(rates[0].value / 10e9, 1, 1e-6);
    assert_float_equal(rates[1].value / 400e9, 1, 1e-6);
    assert_float_equal(sum.value / 410e9, 1, 1e-6);
    assert_float_equal(flows[0].ns / flows[1].ns, 1, 0.02);
    assert_true(flows[1].op.bytes > 30 * flows[0].op.bytes);
    end(fake, trial);
}

/* Copies of one device in sequence: together they have the rate of one alone, and neither has all
 * of it. */
static void what_waits_is_not_what_runs_together(void **state)
{
    (void)state;
    struct fake *fake = fake_new(2);
    struct gpu_trial *trial = begin(fake);
    fake->in_turn = true;
    fake->rate[0] = 400;
    fake->rate[1] = 300;
    struct gpu_flow flows[] = {flow_of(0, UINT64_C(1) << 30), flow_of(0, UINT64_C(1) << 30),
                               flow_of(1, UINT64_C(1) << 30)};
    for (size_t i = 0; i < 3; i++)
        flows[i].op.to = flows[i].op.from = (gpu_address)(uintptr_t)fake->events;
    struct probe_summary rates[3], sum;
    struct gpu_err err = {0};
    if (!gpu_rate_concurrent(&(struct gpu_legs){trial, GPU_RATE_LEG_NS, 0, 1000000000}, flows, 3,
                             rates, &sum, &err))
        fail_msg("%s", err.why.text);
    assert_float_equal(rates[0].value / 200e9, 1, 0.001);
    assert_float_equal(rates[1].value / 200e9, 1, 0.001);
    assert_float_equal(rates[2].value / 300e9, 1, 0.001);
    assert_float_equal(sum.value / 700e9, 1, 0.001);
    end(fake, trial);
}

/* Copies that several devices drive are sequential as well where their source device does one after
 * the other, like an H200's to the engines of its peers. Otherwise the first would have the full
 * rate and the others some, with a sum above the real one. */
static void what_leaves_one_device_in_turn_is_its_rate(void **state)
{
    (void)state;
    struct fake *fake = fake_new(4);
    struct gpu_trial *trial = begin(fake);
    fake->sends_in_turn = true;
    struct gpu_flow flows[3];
    for (int i = 0; i < 3; i++) {
        fake->rate[i] = 400;
        flows[i] = flow_of(i, UINT64_C(1) << 30);
        flows[i].op.from_device = 3;
        flows[i].op.to = flows[i].op.from = (gpu_address)(uintptr_t)fake->events;
    }
    struct probe_summary rates[3], sum;
    struct gpu_err err = {0};
    if (!gpu_rate_concurrent(&(struct gpu_legs){trial, GPU_RATE_LEG_NS, 0, 1000000000}, flows, 3,
                             rates, &sum, &err))
        fail_msg("%s", err.why.text);
    for (int i = 0; i < 3; i++)
        assert_float_equal(rates[i].value / 133.33e9, 1, 0.02);
    assert_float_equal(sum.value / 400e9, 1, 0.02);
    /* A concurrent copy keeps its own rate, even a small one. */
    fake->sends_in_turn = false;
    fake->rate[1] = 20;
    assert_true(gpu_rate_concurrent(&(struct gpu_legs){trial, GPU_RATE_LEG_NS, 0, 1000000000},
                                    flows, 2, rates, &sum, &err));
    assert_float_equal(rates[0].value / 400e9, 1, 0.001);
    assert_float_equal(rates[1].value / 20e9, 1, 0.001);
    end(fake, trial);
}

/* An end that is seen in steps, of 1.5 % of a leg, makes single rates uncertain by half of that and
 * all together neither higher nor lower. */
static void steps_make_no_rate_better(void **state)
{
    (void)state;
    double sum = 0;
    enum { RATES = 40 };
    for (int i = 0; i < RATES; i++) {
        struct fake *fake = fake_new(1);
        struct gpu_trial *trial = begin(fake);
        struct gpu_flow flow = flow_of(0, UINT64_C(1) << 30);
        flow.op.to = flow.op.from = (gpu_address)(uintptr_t)fake->events;
        fake->step_ns = 9300;
        fake->rate[0] = 380 + i;
        struct probe_summary rate;
        struct gpu_err err = {0};
        assert_true(gpu_rate_concurrent(&(struct gpu_legs){trial, 600e3, 0, 1000000000}, &flow, 1,
                                        &rate, NULL, &err));
        double off = rate.value / (fake->rate[0] * 1e9) - 1;
        if (fabs(off) > 0.01)
            fail_msg("%.0f GB/s come out as %.1f", fake->rate[0], rate.value / 1e9);
        sum += off;
        end(fake, trial);
    }
    assert_true(fabs(sum / RATES) < 0.003);
}

/* No cache holds the copied bytes. */
static void no_leg_is_smaller_than_asked_for(void **state)
{
    (void)state;
    struct fake *fake = fake_new(1);
    struct gpu_trial *trial = begin(fake);
    struct gpu_flow flow = flow_of(0, UINT64_C(512) << 20);
    flow.op.to = flow.op.from = (gpu_address)(uintptr_t)fake->events;
    struct probe_summary rate;
    struct gpu_err err = {0};
    assert_true(gpu_rate_concurrent(
        &(struct gpu_legs){trial, GPU_RATE_LEG_NS, UINT64_C(200) << 20, 1000000000}, &flow, 1,
        &rate, NULL, &err));
    assert_true(flow.op.bytes * flow.count >= UINT64_C(200) << 20);
    assert_float_equal(rate.value / 50e9, 1, 1e-6);
    end(fake, trial);
}

static void times_are_those_of_a_queue(void **state)
{
    (void)state;
    struct fake *fake = fake_new(1);
    struct gpu_trial *trial = begin(fake);
    struct gpu_flow flow = flow_of(0, UINT64_C(1) << 30);
    static char memory[1 << 23];
    flow.op.to = flow.op.from = (gpu_address)(uintptr_t)memory;
    struct probe_sample samples[] = {{.bytes = 16},      {.bytes = 4096},    {.bytes = 65536},
                                     {.bytes = 1 << 20}, {.bytes = 4 << 20}, {.bytes = 16 << 20},
                                     {.bytes = 64 << 20}};
    struct probe_random random = {1};
    struct gpu_err err = {0};
    size_t count = 7;
    assert_true(gpu_rate_times(&(struct gpu_timing){trial, NULL, &random, 10000000}, &flow.op,
                               UINT64_C(1) << 22, samples, &count, &err));
    /* 16 MiB take more than 0.15 ms, and nothing larger is waited for */
    assert_int_equal(count, 6);
    for (size_t i = 0; i < count; i++) {
        assert_float_equal(samples[i].ns.value / (FAKE_OP_NS + (double)samples[i].bytes / 50), 1,
                           1e-6);
        assert_true(samples[i].ns.n >= PROBE_STATS_MIN);
    }
    end(fake, trial);
}

/* However few operations the first look leads to. */
static void a_slow_first_look_leaves_no_trace(void **state)
{
    (void)state;
    struct fake *fake = fake_new(1);
    struct gpu_trial *trial = begin(fake);
    struct gpu_flow flow = flow_of(0, UINT64_C(1) << 30);
    char *memory = calloc(1, UINT64_C(1) << 22); /* the fake device moves the bytes */
    assert_non_null(memory);
    flow.op.to = flow.op.from = (gpu_address)(uintptr_t)memory;
    struct probe_sample sample = {.bytes = 16};
    struct probe_random random = {1};
    struct gpu_err err = {0};
    size_t count = 1;
    fake->hiccup_ns = 1e6;
    assert_true(gpu_rate_times(&(struct gpu_timing){trial, NULL, &random, 1000000000}, &flow.op,
                               UINT64_C(1) << 22, &sample, &count, &err));
    assert_float_equal(sample.ns.value / (FAKE_OP_NS + 16.0 / 50), 1, 1e-6);
    free(memory);
    end(fake, trial);
}

static void failures_are_told(void **state)
{
    (void)state;
    struct fake *fake = fake_new(1);
    struct gpu_trial *trial = begin(fake);
    struct gpu_flow flow = flow_of(0, UINT64_C(1) << 30);
    flow.op.to = flow.op.from = (gpu_address)(uintptr_t)fake->events;
    struct probe_summary rate = {.n = 77};
    struct gpu_err err = {0};
    fake->fail_copy = 719;
    int waits = fake->streams[0][0].waits;
    assert_false(gpu_rate_concurrent(&(struct gpu_legs){trial, GPU_RATE_LEG_NS, 0, 1000000}, &flow,
                                     1, &rate, NULL, &err));
    assert_int_equal(err.fault, gpu_api_fault(719));
    assert_string_equal(err.why.text, "0000:01:00.0: transfer: launch failed");
    assert_int_equal(fake->streams[0][0].waits, waits + 1); /* waits for the enqueued copy */
    assert_int_equal(rate.n, 77);
    fake->fail_copy = 0;
    fake->timeless = true;
    assert_false(gpu_rate_concurrent(&(struct gpu_legs){trial, GPU_RATE_LEG_NS, 0, 1000000}, &flow,
                                     1, &rate, NULL, &err));
    assert_non_null(strstr(err.why.text, "more bytes do not take more time: "));
    assert_non_null(strstr(err.why.text, "iB in "));
    struct gpu_flow many[GPU_STREAMS + 1];
    for (int i = 0; i <= GPU_STREAMS; i++)
        many[i] = flow;
    assert_false(gpu_trial_run(trial, many, GPU_STREAMS + 1, &err));
    assert_string_equal(err.why.text, "0000:01:00.0: too many flows at once");
    end(fake, trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_blocks_as_bytes_need),
        cmocka_unit_test(a_rate_has_no_overhead_in_it),
        cmocka_unit_test(flows_end_together),
        cmocka_unit_test(what_waits_is_not_what_runs_together),
        cmocka_unit_test(what_leaves_one_device_in_turn_is_its_rate),
        cmocka_unit_test(steps_make_no_rate_better),
        cmocka_unit_test(no_leg_is_smaller_than_asked_for),
        cmocka_unit_test(times_are_those_of_a_queue),
        cmocka_unit_test(a_slow_first_look_leaves_no_trace),
        cmocka_unit_test(failures_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
