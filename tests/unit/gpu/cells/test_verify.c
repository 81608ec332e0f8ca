#include "unit/gpu/gpu_fake.h"

#include <unistd.h>

#include "gpu/cells/cells.h"
#include "gpu/timing/bidirectional.h"

/* A run whose records go into a pipe. */
struct rig {
    struct fake *fake;
    struct gpu_run *run;
    struct gpu_report report;
    struct probe_out out;
    int pipe[2];
};

static void begin(struct rig *rig, int devices)
{
    *rig = (struct rig){.fake = fake_new(devices), .run = calloc(1, sizeof *rig->run)};
    assert_non_null(rig->run);
    assert_int_equal(pipe(rig->pipe), 0);
    rig->out = (struct probe_out){.fd = rig->pipe[1], .gate = PTHREAD_MUTEX_INITIALIZER};
    rig->report.out = &rig->out;
    rig->run->node = &rig->fake->node;
    rig->run->report = &rig->report;
    rig->run->selection.profile = GPU_QUICK;
    for (int i = 0; i < PROBE_METRIC_COUNT; i++)
        rig->run->selection.metrics[i] = true;
    /* where the pages of this machine may lie is none of this test's */
    rig->fake->node.numa_count = 0;
    struct gpu_err err = {0};
    assert_true(gpu_trial_new(&rig->fake->node, &rig->run->trial, &err));
    assert_true(gpu_buffers_new(&rig->fake->node, (size_t)64 << 20, (size_t)1 << 30,
                                &rig->run->buffers, &err.why));
    rig->run->bidirectional =
        (struct gpu_bidirectional){.trial = rig->run->trial, .buffers = rig->run->buffers};
}

static void end(struct rig *rig)
{
    gpu_buffers_free(rig->run->buffers);
    gpu_trial_free(rig->run->trial);
    free(rig->run);
    free(rig->fake);
    close(rig->pipe[0]);
}

static size_t measure_all(struct rig *rig, gpu_list list)
{
    struct gpu_cells cells = {0};
    assert_true(list(rig->run, &cells));
    for (size_t i = 0; i < cells.count; i++)
        assert_true(cells.item[i].measure(rig->run, &cells.item[i], INT64_C(60000000000)));
    size_t count = cells.count;
    gpu_cells_done(&cells);
    return count;
}

static void said(struct rig *rig, char *text, size_t size)
{
    close(rig->pipe[1]);
    size_t used = 0;
    ssize_t got;
    while (used < size - 1 && (got = read(rig->pipe[0], text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
}

static void right_bytes_are_no_news(void **state)
{
    (void)state;
    for (int kernels = 0; kernels < 2; kernels++) {
        struct rig rig;
        char text[4096];
        begin(&rig, 3);
        for (int i = 0; i < 3 && !kernels; i++)
            memset(rig.fake->node.device[i].kernel, 0, sizeof rig.fake->node.device[i].kernel);
        assert_int_equal(measure_all(&rig, gpu_verify), 6 * 4);
        assert_int_equal(rig.report.paths,
                         /* without kernels the copy engine's are looked at all the same */
                         kernels ? 6 * 4 : 6 * 2);
        assert_int_equal(rig.report.wrong, 0);
        said(&rig, text, sizeof text);
        assert_string_equal(text, "");
        end(&rig);
    }
}

static void wrong_bytes_are_a_finding(void **state)
{
    (void)state;
    for (int kernels = 0; kernels < 2; kernels++) {
        struct rig rig;
        char text[4096];
        begin(&rig, 3);
        rig.fake->wrong_from = 2;
        rig.fake->wrong_to = 1;
        for (int i = 0; i < 3 && !kernels; i++)
            memset(rig.fake->node.device[i].kernel, 0, sizeof rig.fake->node.device[i].kernel);
        measure_all(&rig, gpu_verify);
        assert_int_equal(rig.report.wrong, 2); /* driven by either end */
        said(&rig, text, sizeof text);
        assert_string_equal(text, "{\"record\":\"finding\",\"code\":\"wrong-bytes\",\"from\":"
                                  "\"0000:03:00.0\",\"to\":\"0000:02:00.0\","
                                  "\"why\":\"1 of 32768 words of 8 bytes that the copy engine "
                                  "moved are wrong, the first at byte 56\"}\n"
                                  "{\"record\":\"finding\",\"code\":\"wrong-bytes\",\"from\":"
                                  "\"0000:03:00.0\",\"to\":\"0000:02:00.0\","
                                  "\"why\":\"1 of 32768 words of 8 bytes that the copy engine, "
                                  "driven by the target, moved are wrong, the first at "
                                  "byte 56\"}\n");
        end(&rig);
    }
}

static void words_are_compared(void **state)
{
    (void)state;
    uint64_t words[64], first = 99;
    for (uint64_t i = 0; i < 64; i++)
        words[i] = gpu_pattern(5, i);
    assert_int_equal(gpu_verify_compare(words, 64, 5, &first), 0);
    assert_int_equal(first, 99);
    words[63] ^= 1;
    words[40] = 0;
    assert_int_equal(gpu_verify_compare(words, 64, 5, &first), 2);
    assert_int_equal(first, 40);
    assert_int_equal(gpu_verify_compare(words, 64, 6, &first), 64);
}

/* A device that is lost ends the run. */
static void a_lost_device_ends_it(void **state)
{
    (void)state;
    struct rig rig;
    struct gpu_cells cells = {0};
    begin(&rig, 2);
    assert_true(gpu_verify(rig.run, &cells));
    rig.fake->fail_copy = 719;
    bool ended = false;
    for (size_t i = 0; i < cells.count && !ended; i++)
        ended = !cells.item[i].measure(rig.run, &cells.item[i], 1000000000);
    assert_true(ended);
    assert_non_null(strstr(rig.run->lost.text, "launch failed"));
    gpu_cells_done(&cells);
    close(rig.pipe[1]);
    end(&rig);
}

/* The fastest shape is found and goes to every device of the model. */
static void shapes_are_found(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig, 2);
    rig.fake->rate_of_unroll[12] = 60;
    rig.fake->rate_of_unroll[1] = 20;
    /* own memory and the peer's, by the first device alone */
    assert_int_equal(measure_all(&rig, gpu_cells_tune), 2);
    for (int i = 0; i < 2; i++) {
        const struct gpu_device *device = &rig.fake->node.device[i];
        assert_int_equal(device->read.unroll, 12);
        assert_int_equal(device->copy.unroll, 12);
        assert_int_equal(device->peer[GPU_OPERATION_WRITE].unroll, 12);
        assert_int_equal(device->peer[GPU_TUNE_PULL].unroll, 12);
        assert_int_equal(device->copy.block, 256); /* all are as fast, so the first of the list */
        assert_int_equal(device->copy.grid, 0);
        assert_int_equal(device->tuned, 1U << GPU_TUNE_OWN | 1U << GPU_TUNE_PEER);
    }
    /* they stay while their rates do, and are found anew when those have drifted */
    const struct gpu_device *device = &rig.fake->node.device[1];
    struct gpu_tuned rate = device->rate[GPU_TUNE_OWN][GPU_OPERATION_READ];
    assert_true(rate.low <= rate.rate && rate.rate <= rate.high && rate.next > 0);
    assert_true(device->tuned_at_s[GPU_TUNE_PEER] > 0);
    rig.fake->node.device[0].tuned_at_s[GPU_TUNE_OWN] = 1;
    assert_int_equal(measure_all(&rig, gpu_cells_tune), 2);
    assert_int_equal(rig.fake->node.device[0].tuned_at_s[GPU_TUNE_OWN], 1);
    /* what slows one look down is no drift: two kernels find the bytes, then each of the
     * repetitions has four */
    rig.fake->slow_kernels = 2 + 4 * GPU_CELLS_TUNE_TIMES;
    assert_int_equal(measure_all(&rig, gpu_cells_tune), 2);
    assert_int_equal(rig.fake->slow_kernels, 0);
    assert_int_equal(rig.fake->node.device[0].tuned_at_s[GPU_TUNE_OWN], 1);
    rig.fake->rate_of_unroll[12] = 30;
    rig.fake->rate_of_unroll[8] = 52;
    assert_int_equal(measure_all(&rig, gpu_cells_tune), 2);
    assert_true(rig.fake->node.device[0].tuned_at_s[GPU_TUNE_OWN] > 1);
    assert_int_equal(device->read.unroll, 8);
    assert_int_equal(device->peer[GPU_TUNE_PULL].unroll, 8);
    assert_true(device->rate[GPU_TUNE_OWN][GPU_OPERATION_READ].rate < 0.9 * rate.rate);
    /* without the time to try all, known shapes that no longer hold are kept */
    rig.fake->node.device[0].tuned = 0;
    rig.fake->rate_of_unroll[4] = 90;
    struct gpu_cells cells = {0};
    assert_true(gpu_cells_tune(rig.run, &cells));
    for (size_t i = 0; i < cells.count; i++)
        assert_true(cells.item[i].measure(rig.run, &cells.item[i], 10000000));
    gpu_cells_done(&cells);
    assert_int_equal(rig.fake->node.device[0].tuned, 0);
    assert_int_equal(device->read.unroll, 8);
    assert_int_equal(measure_all(&rig, gpu_cells_tune), 2);
    assert_int_equal(device->read.unroll, 4);
    close(rig.pipe[1]);
    end(&rig);
}

/* The sharing of a device by two kernels is measured once for a model. Here a small grid is as fast
 * as a large one, so an even share stays. A kernel alone on its device, or between devices, is
 * unchanged. */
static void kernels_of_both_directions_share(void **state)
{
    (void)state;
    struct rig rig;
    struct gpu_err err = {0};
    begin(&rig, 2);
    for (int i = 0; i < 2; i++)
        rig.fake->node.device[i].attribute[GPU_ATTRIBUTE_MULTIPROCESSORS] = 100;
    struct gpu_flow flows[4];
    for (int found = 0; found < 3; found++) {
        if (found == 1) {
            /* the fake's peer for the host */
            assert_true(gpu_bidirectional_measure(&rig.run->bidirectional, 0, 1, &err));
            assert_true(rig.run->bidirectional.device[1].is_known &&
                        rig.run->bidirectional.device[1].writes == 0);
        } else if (found == 2) {
            rig.run->bidirectional.device[1].writes = 0.25;
        }
        /* both ways at device 1, one way at 0, and a copy from 0 to 1 */
        for (int i = 0; i < 4; i++)
            flows[i].op = (struct gpu_op){.device = i < 2,
                                          .mechanism = GPU_BY_KERNEL,
                                          .operation = GPU_OPERATION_COPY,
                                          .from_device = i == 0 ? -1 : i < 2,
                                          .to_device = i == 1 || i == 2 ? -1 : 1,
                                          .shape = {512, 100, 12}};
        gpu_bidirectional_divide(&rig.run->bidirectional, flows, 4);
        assert_int_equal(flows[0].op.shape.grid, found == 2 ? 85 : 50);
        assert_int_equal(flows[0].op.shape.unroll, 12);
        assert_int_equal(flows[1].op.shape.grid, found == 2 ? 25 : 50);
        assert_int_equal(flows[1].op.shape.unroll, found == 2 ? 1 : 12);
        assert_int_equal(flows[2].op.shape.grid, 50); /* beside the other of its device */
    }
    assert_int_equal(gpu_bidirectional_best((const double[]){75, 79, 84, 90, 89.5}, 5), 3);
    /* as fast, and more even */
    assert_int_equal(gpu_bidirectional_best((const double[]){75, 79, 89.5, 90, 60}, 5), 2);
    assert_int_equal(gpu_bidirectional_best((const double[]){90, 10}, 2), 0);
    close(rig.pipe[1]);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_bytes_are_no_news),
        cmocka_unit_test(wrong_bytes_are_a_finding),
        cmocka_unit_test(words_are_compared),
        cmocka_unit_test(a_lost_device_ends_it),
        cmocka_unit_test(shapes_are_found),
        cmocka_unit_test(kernels_of_both_directions_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
