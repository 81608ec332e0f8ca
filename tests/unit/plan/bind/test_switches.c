/* Bind on a node like a DGX-2 of which nothing was measured: two processors with eight gpus each,
 * and six switches on either side, to each of which a gpu has a link. What goes between the two
 * sides nobody says. */
#include "unit/plan/bind/bind_answer.h"

#define GB       1e9
#define MB       INT64_C(1000000)
#define GPUS     16
#define SWITCHES 6
#define NVLINK   (25 * GB)
#define PCIE     (16 * GB)

static struct fixture begin(void)
{
    struct graph *graph = nodes_cpu(&(struct shape){2, 1, 1, 8, 1, INT64_C(512) << 30});
    place_id nvswitch[2 * SWITCHES];
    for (int s = 0; s < 2 * SWITCHES; s++)
        nvswitch[s] = nodes_add(graph, PLACE_SWITCH, s, 0, PLACE_NONE, NULL);
    for (int g = 0; g < GPUS; g++) {
        int side = g / (GPUS / 2);
        place_id at = nodes_place(graph, PLACE_NUMA, side);
        struct cpuset cpus = *graph_place(graph, at)->cpus;
        place_id gpu = nodes_add(graph, PLACE_GPU, g, at, at, &cpus);
        nodes_join(graph, at, gpu, LINK_PCIE, PCIE);
        for (int s = 0; s < SWITCHES; s++)
            nodes_join(graph, gpu, nvswitch[side * SWITCHES + s], LINK_NVLINK, NVLINK);
    }
    return fixture_of(nodes_snapshot(graph, NULL));
}

struct wanted {
    int64_t tasks, each;
    enum traffic_pattern pattern;
    int64_t bytes, host_bytes;
    bool in_rank_order;
};

static void bind(struct fixture *f, struct wanted wanted)
{
    struct traffic_request request = {.tasks = wanted.tasks,
                                      .pattern = wanted.pattern,
                                      .bytes = wanted.bytes,
                                      .host_bytes = wanted.host_bytes};
    struct traffic traffic = {0};
    struct berth_err err = {0};
    plan_bind_done(&f->answer);
    assert_int_equal(plan_traffic(&request, &traffic, &err), BERTH_OK);
    struct bind_request bind = {.tasks = wanted.tasks,
                                .gpus_per_task = wanted.each,
                                .allowed = &f->allowed,
                                .traffic = &traffic,
                                .in_rank_order = wanted.in_rank_order};
    if (plan_bind(f->snap, &bind, &f->answer, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    plan_traffic_done(&traffic);
}

/* However many gpus there are to choose from. */
static void assert_proven(struct fixture *f, struct wanted wanted, double time_ns,
                          const char *bottleneck)
{
    bind(f, wanted);
    assert_float_equal(f->answer.predicted.time_ns, time_ns, 1e-3 * time_ns);
    assert_string_equal(f->answer.bottleneck, bottleneck);
    assert_true(f->answer.is_proven && f->answer.gap == 0);
    assert_false(lines_with(&f->answer.warnings, "alone decided"));
}

static void all_links_to_switches_count(void **state)
{
    (void)state;
    struct fixture f = begin();
    assert_proven(&f,
                  (struct wanted){.tasks = 4, .each = 1, .pattern = TRAFFIC_RING, .bytes = 64 * MB},
                  64e6 / (0.83 * SWITCHES * NVLINK) * 1e9, "");
    assert_proven(
        &f, (struct wanted){.tasks = 8, .each = 1, .pattern = TRAFFIC_ALLTOALL, .bytes = 64 * MB},
        7 * 64e6 / (SWITCHES * NVLINK) * 1e9, "gpu0:switch-port:out");
    const struct reason *shared = reason_with(&f.answer.warnings, REASON_LIMIT_SHARED_NOMINAL);
    assert_true(shared != NULL && strcmp(shared->subject[0], "gpu0:switch-port:out") == 0 &&
                shared->number[1] == 150e9 && shared->number[2] == 124.5e9);
    assert_false(lines_with(&f.answer.warnings, "several paths"));
    bind(&f, (struct wanted){.tasks = 4, .each = 2, .pattern = TRAFFIC_ALLTOALL, .bytes = 64 * MB});
    assert_float_equal(f.answer.predicted.time_ns, 6 * 16e6 / (SWITCHES * NVLINK) * 1e9, 1e3);
    end(&f);
}

/* What goes to the host is in the bound, by whichever mechanism gpus copy, and also where a task
 * has several gpus. */
static void the_bound_has_what_goes_to_the_host(void **state)
{
    (void)state;
    struct fixture f = begin();
    assert_proven(
        &f,
        (struct wanted){
            .tasks = 2, .each = 1, .pattern = TRAFFIC_RING, .bytes = 64000, .host_bytes = 64 * MB},
        64e6 / (0.88 * PCIE) * 1e9, "");
    assert_proven(&f,
                  (struct wanted){.tasks = 8,
                                  .each = 1,
                                  .pattern = TRAFFIC_ALLTOALL,
                                  .bytes = 64000,
                                  .host_bytes = 64 * MB},
                  64e6 / (0.88 * PCIE) * 1e9, "");
    assert_proven(
        &f,
        (struct wanted){
            .tasks = 2, .each = 4, .pattern = TRAFFIC_RING, .bytes = 64000, .host_bytes = 64 * MB},
        16e6 / (0.88 * PCIE) * 1e9, "");
    end(&f);
}

/* The first nine gpus in order leave one task on both sides, of which nothing is known; the next
 * ones do not. */
static void in_rank_order_no_task_is_torn(void **state)
{
    (void)state;
    struct fixture f = begin();
    assert_proven(
        &f, (struct wanted){.tasks = 3, .each = 3, .host_bytes = 900 * MB, .in_rank_order = true},
        300e6 / (0.88 * PCIE) * 1e9, "");
    assert_true(isnan(f.answer.baseline.time_ns));
    for (size_t t = 0; t < 3; t++)
        assert_int_equal(graph_place(f.snap->graph, f.answer.task[t].gpus[0])->numa,
                         graph_place(f.snap->graph, f.answer.task[t].gpus[2])->numa);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_links_to_switches_count),
        cmocka_unit_test(the_bound_has_what_goes_to_the_host),
        cmocka_unit_test(in_rank_order_no_task_is_torn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
