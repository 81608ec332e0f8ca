#include "unit/plan/bind/bind_answer.h"

#include "discover/discover.h"
#include "node/locality.h"
#include "node/reasons.h"
#include "plan/bind/launcher_options.h"

static void cores_away_from_their_gpu_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *cpus;
        int64_t tasks, cores;
        size_t away;
        double allowed; /* of 8 cores near */
        const char *first;
    } cases[] = {
        {NULL, 8, 8, 0, 0, NULL},
        {"1-7,9-15,17-23,25-31,33-39,41-47,49-55,57-63", 8, 7, 0, 0, NULL},
        {"0-47", 8, 4, 2, 0, "task 0"},
        {"0-47,56-63", 8, 4, 1, 0, "task 0"},
        {"0-51,56-63", 8, 5, 1, 4, "task 0"},
        {"0-3", 4, 1, 3, 0, "task 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = answer_over(nodes_mi250x(), cases[i].cpus,
                                       (struct bind_request){.tasks = cases[i].tasks,
                                                             .gpus_per_task = 1,
                                                             .cores_per_task = cases[i].cores});
        assert_int_equal(f.answer.warnings.count, cases[i].away > 0);
        assert_int_equal(subjects_of(&f.answer.warnings, REASON_CORES_AWAY), cases[i].away);
        assert_int_equal(subjects_of(&f.answer.reasons, REASON_CORES_NEAREST),
                         (size_t)cases[i].tasks - cases[i].away);
        const struct reason *away = reason_with(&f.answer.warnings, REASON_CORES_AWAY);
        if (away != NULL) {
            assert_string_equal(away->subject[0], cases[i].first);
            assert_true(away->number[0] == 8 && away->number[1] == cases[i].allowed &&
                        away->number[2] == 0);
        }
        end(&f);
    }
}

static void cores_that_other_tasks_have_are_told(void **state)
{
    (void)state;
    struct fixture f =
        answer_over(nodes_mi250x(), NULL,
                    (struct bind_request){
                        .tasks = 12, .gpus_per_task = 1, .cores_per_task = 5, .tasks_per_gpu = 2});
    const struct reason *away = reason_with(&f.answer.warnings, REASON_CORES_AWAY);
    assert_true(away != NULL && away->number[0] == 8 && away->number[1] == 8 &&
                away->number[2] == 5);
    assert_string_equal(away->text, "task 1 and task 5: some cores are away from "
                                    "the gpus; of 8 cores next to these 8 are allowed and 5 are "
                                    "other tasks'");
    end(&f);
}

/* gpu1 is a device that is cut: gpu8 and gpu9 are its slices. */
static struct graph *cut(void)
{
    struct graph *graph = nodes_mi250x();
    place_id device = nodes_place(graph, PLACE_GPU, 1), numa = graph_place(graph, device)->numa;
    struct cpuset cpus = *graph_place(graph, device)->cpus;
    for (int g = 8; g < 10; g++)
        nodes_add(graph, PLACE_GPU, g, numa, numa, &cpus);
    for (int g = 0; g < 10; g++) {
        struct place *gpu = &graph->places[nodes_place(graph, PLACE_GPU, g)];
        char pci[16], uuid[16];
        snprintf(pci, sizeof pci, "0000:%02d:00.0", g < 8 ? g : 1);
        snprintf(uuid, sizeof uuid, "%s-%d", g < 8 ? "GPU" : "MIG", g);
        free(gpu->pci);
        free(gpu->uuid);
        gpu->pci = strdup(pci);
        gpu->uuid = strdup(uuid);
    }
    return graph;
}

static void a_device_that_is_cut_is_no_place_beside_its_slices(void **state)
{
    (void)state;
    struct fixture f = answer_over(
        cut(), NULL,
        (struct bind_request){
            .tasks = 9, .gpus_per_task = 1, .cores_per_task = 4, .threads_per_core = 1});
    static const int expected[] = {0, 2, 3, 4, 5, 6, 7, 8, 9};
    char *slurm = NULL;
    struct berth_err err = {0};
    for (size_t t = 0; t < 9; t++)
        assert_int_equal(graph_place(f.snap->graph, f.answer.task[t].gpus[0])->number, expected[t]);
    assert_string_equal(f.answer.warnings.item[0].text,
                        "gpu1 is left out: it stopped answering, or is in MIG mode and no slice");
    assert_int_equal(f.answer.warnings.count, 1);
    /* nor does srun count it */
    assert_int_equal(launcher_options(LAUNCHER_SLURM, f.snap, &f.allowed, &f.answer, NULL,
                                      &f.answer.warnings, &slurm, &err),
                     BERTH_OK);
    assert_non_null(slurm);
    assert_non_null(strstr(slurm, "map_gpu:0,1,2,3,4,5,6,7,8"));
    free(slurm);
    struct bind_request request = {.tasks = 10, .gpus_per_task = 1, .allowed = &f.allowed};
    struct bind_answer none;
    assert_int_equal(plan_bind(f.snap, &request, &none, &err), BERTH_NOT_ENOUGH);
    assert_non_null(strstr(err.detail, "gpu1 is cut into slices"));
    end(&f);
}

/* What goes from one of four superchips to another is published of their cores: where it is not,
 * their own links say nothing of a way that leads over that. */
static void what_crosses_packages_by_a_width_that_nobody_states_has_no_price(void **state)
{
    (void)state;
    struct traffic traffic = {0};
    struct berth_err err = {0};
    assert_int_equal(
        plan_traffic(&(struct traffic_request){.tasks = 2, .host_bytes = 1 << 30}, &traffic, &err),
        BERTH_OK);
    for (int turn = 0; turn < 4; turn++) {
        bool own = turn % 2 == 1, is_published = turn >= 2;
        struct discovery found = {0};
        assert_int_equal(discover_folder("tests/nodes/gh200-quad", &found, &err), BERTH_OK);
        if (!is_published) {
            values_free(found.values);
            found.values = values_new();
            assert_non_null(found.values);
            values_finish(found.values);
        }
        struct fixture f = {.snap = snapshot_new(found.graph, found.values, NULL, 0, 0, 1),
                            .allowed.given = true};
        assert_true(f.snap != NULL && derive_costs(f.snap));
        assert_int_equal(cpuset_parse(own ? "0-143" : "0-71", &f.allowed.cpus, &err), BERTH_OK);
        struct bind_request request = {.tasks = 2,
                                       .gpus_per_task = 1,
                                       .cores_per_task = 1,
                                       .allowed = &f.allowed,
                                       .traffic = &traffic};
        assert_int_equal(plan_bind(f.snap, &request, &f.answer, &err), BERTH_OK);
        assert_true(f.answer.predicted.time_ns > 0 && isnan(f.answer.predicted.high_ns));
        assert_int_equal(
            lines_with(&f.answer.warnings, "2 of the 4 transfers are not in the time") +
                lines_with(&f.answer.warnings,
                           "nothing says what goes between package0 and package1"),
            !own && !is_published ? 2 : 0);
        if (!own && is_published)
            assert_true(f.answer.predicted.time_ns > (1 << 30) / 100.1 &&
                        reason_with(&f.answer.warnings, REASON_TRANSFER_OTHERS) != NULL);
        end(&f);
        graph_unref(found.graph);
        sets_free(found.sets);
    }
    plan_traffic_done(&traffic);
}

static void several_kernels_of_a_gpu_are_told_to_share_it(void **state)
{
    (void)state;
    for (int several = 0; several < 2; several++) {
        struct traffic traffic = {0};
        struct berth_err err = {0};
        struct discovery found = {0};
        const struct traffic_request asked = {
            .tasks = 3, .pattern = several ? TRAFFIC_ALLTOALL : TRAFFIC_RING, .bytes = 1 << 26};
        assert_int_equal(plan_traffic(&asked, &traffic, &err), BERTH_OK);
        assert_int_equal(discover_folder("tests/nodes/mi250x", &found, &err), BERTH_OK);
        struct fixture f = {.snap = snapshot_new(found.graph, found.values, NULL, 0, 0, 1),
                            .allowed.given = true};
        assert_true(f.snap != NULL && derive_costs(f.snap));
        locality_cpus(found.graph, &f.allowed.cpus);
        struct bind_request request = {.tasks = 3,
                                       .gpus_per_task = 1,
                                       .cores_per_task = 1,
                                       .allowed = &f.allowed,
                                       .traffic = &traffic,
                                       .by = COPY_BY_KERNEL};
        assert_int_equal(plan_bind(f.snap, &request, &f.answer, &err), BERTH_OK);
        assert_int_equal(lines_with(&f.answer.reasons,
                                    "2 kernels of gpu0, gpu1 and gpu6 each copy at the same time"),
                         several);
        assert_int_equal(lines_with(&f.answer.reasons, "copy at the same time"), several);
        assert_int_equal(
            lines_with(&f.answer.reasons, "task t begins with that to t+1, then to t+2"), 0);
        end(&f);
        graph_unref(found.graph);
        sets_free(found.sets);
        plan_traffic_done(&traffic);
    }
}

/* The first gpu of two tasks that exchange, where all get 20 GB/s but gpu2 and gpu3 a little more.
 */
static int better_gpu(double more, double half)
{
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    struct traffic traffic = {0};
    struct berth_err err = {0};
    assert_non_null(values);
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++) {
            double rate = 20e9 * (a / 2 == 1 && b / 2 == 1 ? 1 + more : 1);
            if (a != b)
                nodes_value(values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED,
                            nodes_place(graph, PLACE_GPU, a), nodes_place(graph, PLACE_GPU, b), "",
                            rate, rate * (1 - half), rate * (1 + half));
        }
    struct fixture f = {.snap = nodes_snapshot(graph, values), .allowed.given = true};
    locality_cpus(f.snap->graph, &f.allowed.cpus);
    assert_int_equal(
        plan_traffic(
            &(struct traffic_request){.tasks = 2, .pattern = TRAFFIC_RING, .bytes = 1 << 30},
            &traffic, &err),
        BERTH_OK);
    struct bind_request request = {.tasks = 2,
                                   .gpus_per_task = 1,
                                   .cores_per_task = 1,
                                   .allowed = &f.allowed,
                                   .traffic = &traffic};
    assert_int_equal(plan_bind(f.snap, &request, &f.answer, &err), BERTH_OK);
    int number = graph_place(f.snap->graph, f.answer.task[0].gpus[0])->number;
    end(&f);
    plan_traffic_done(&traffic);
    return number;
}

static void what_is_within_the_intervals_is_no_better(void **state)
{
    (void)state;
    assert_int_equal(better_gpu(0.008, 0.0005), 0); /* certain, and little */
    assert_int_equal(better_gpu(0.008, 0.02), 0);
    assert_int_equal(better_gpu(0.06, 0.04), 0); /* much, and uncertain */
    assert_int_equal(better_gpu(0.06, 0.005), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_away_from_their_gpu_are_told),
        cmocka_unit_test(cores_that_other_tasks_have_are_told),
        cmocka_unit_test(a_device_that_is_cut_is_no_place_beside_its_slices),
        cmocka_unit_test(what_crosses_packages_by_a_width_that_nobody_states_has_no_price),
        cmocka_unit_test(several_kernels_of_a_gpu_are_told_to_share_it),
        cmocka_unit_test(what_is_within_the_intervals_is_no_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
