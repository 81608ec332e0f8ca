/* The core allocator: valid whatever is asked, and by default as many cores as all tasks find next
 * to their GPUs at once. */
#include "unit/plan/bind/bind_answer.h"

#include "plan/bind/core_allocator.h"
#include "unit/base/random.h"

static const struct allowed any = {.given = true};

/* Two packages of two NUMA nodes of two L3s of four cores, with GPUs in random places. */
static struct graph *random_node(uint64_t *seed, int gpus)
{
    struct graph *graph = nodes_cpu(&(struct shape){2, 2, 2, 4, 1, INT64_C(1) << 34});
    for (int g = 0; g < gpus; g++) {
        static const enum place_kind kinds[] = {PLACE_LLC, PLACE_NUMA, PLACE_PACKAGE};
        enum place_kind kind = kinds[random_next(seed) % 3];
        place_id at = nodes_place(graph, kind, (int)(random_next(seed) % graph_count(graph, kind)));
        struct cpuset cpus = *graph_place(graph, at)->cpus;
        nodes_add(graph, PLACE_GPU, g, at, locality_numa(graph, at), &cpus);
    }
    return graph;
}

/* Hall's condition: each set of tasks is next to enough cores for so many each. */
static bool fits(const struct bind_cores *cores, size_t tasks, const bool *near, int64_t each)
{
    for (unsigned set = 1; set < 1U << tasks; set++) {
        int64_t wanted = 0, there = 0;
        for (size_t t = 0; t < tasks; t++)
            wanted += set >> t & 1 ? each : 0;
        for (size_t g = 0; g < cores->group_count; g++) {
            bool is_near = false;
            for (size_t t = 0; t < tasks; t++)
                is_near = is_near || ((set >> t & 1) && near[t * cores->group_count + g]);
            there += is_near ? cores->group[g].cores : 0;
        }
        if (wanted > there)
            return false;
    }
    return true;
}

/* Flags the groups of usable cores nearest to a GPU. */
static void find_near(const struct snapshot *snap, const struct bind_cores *cores, place_id gpu,
                      bool *ret)
{
    double *far = calloc(cores->group_count, sizeof *far), least = INFINITY;
    struct evidence uncited = {0};
    assert_non_null(far);
    plan_bind_cores_far(snap, cores, &gpu, 1, &uncited, far);
    evidence_done(&uncited);
    for (size_t g = 0; g < cores->group_count; g++)
        least = cores->group[g].cores > 0 && far[g] < least ? far[g] : least;
    for (size_t g = 0; g < cores->group_count; g++)
        ret[g] = cores->group[g].cores > 0 && far[g] == least;
    free(far);
}

/* Whether tasks have only cores of flagged groups. */
static bool are_near(const struct bind_cores *cores, const struct bind_task *task, size_t tasks,
                     const bool *near)
{
    for (size_t t = 0; t < tasks; t++)
        for (size_t i = 0; i < cores->count; i++)
            if (cpuset_intersects(&cores->core[i].use, &task[t].cpus) &&
                !near[t * cores->group_count + cores->core[i].group])
                return false;
    return true;
}

/* With one core more some task has a farther one. In 19 of 20 random nodes there is no better
 * allocation, either. */
static void as_many_cores_as_all_tasks_find(void **state)
{
    (void)state;
    uint64_t seed = 5;
    unsigned unequal = 0, is_most = 0;
    for (int round = 0; round < 500; round++) {
        enum { TASKS = 5 };
        struct snapshot *snap = nodes_snapshot(random_node(&seed, TASKS), NULL);
        struct cpuset allowed;
        locality_cpus(snap->graph, &allowed);
        for (unsigned c = 0; c < 32; c++)
            if (random_next(&seed) % 4 == 0)
                cpuset_remove(&allowed, c);
        struct bind_cores cores;
        struct berth_err err = {0};
        assert_int_equal(plan_bind_cores_init(snap->graph, &allowed, 0, &cores, &err), BERTH_OK);
        place_id gpus[TASKS];
        struct bind_answer found = {.task = calloc(TASKS, sizeof *found.task)};
        bool *near = calloc(TASKS * cores.group_count, sizeof *near);
        assert_true(near != NULL && found.task != NULL);
        for (int t = 0; t < TASKS; t++) {
            gpus[t] = nodes_place(snap->graph, PLACE_GPU, t);
            found.task[t].gpus = &gpus[t];
            find_near(snap, &cores, gpus[t], near + (size_t)t * cores.group_count);
        }
        struct core_request request = {.tasks = TASKS, .gpus_per_task = 1, .allowed = &any};
        assert_int_equal(plan_bind_allocate(snap, &cores, &request, &found, &err), BERTH_OK);
        int64_t each = found.cores_per_task;
        assert_true(each == 1 || fits(&cores, TASKS, near, each));
        is_most += !fits(&cores, TASKS, near, each + 1);
        assert_true(each == 1 || are_near(&cores, found.task, TASKS, near));
        size_t short_tasks = subjects_of(&found.warnings, REASON_CORES_SCARCE);
        assert_true(short_tasks < TASKS);
        unequal += short_tasks > 0;
        request.cores_per_task = each + 1;
        if ((size_t)request.cores_per_task * TASKS <= cores.count) {
            assert_int_equal(plan_bind_allocate(snap, &cores, &request, &found, &err), BERTH_OK);
            assert_false(are_near(&cores, found.task, TASKS, near));
        }
        plan_bind_done(&found);
        free(near);
        plan_bind_cores_done(&cores);
        snapshot_unref(snap);
    }
    assert_true(unequal > 100 && is_most > 470);
}

/* Two tasks of 12 cores on a package of two NUMA nodes, each next to one: each has its own whole,
 * and the rest from further ones. */
static void tasks_take_their_numa_nodes_in_turn(void **state)
{
    (void)state;
    struct graph *graph = nodes_cpu(&(struct shape){1, 4, 2, 4, 1, INT64_C(1) << 34});
    for (int g = 0; g < 2; g++) {
        place_id at = nodes_place(graph, PLACE_NUMA, g);
        struct cpuset cpus = *graph_place(graph, at)->cpus;
        nodes_add(graph, PLACE_GPU, g, at, at, &cpus);
    }
    struct fixture f = answer_over(
        graph, NULL, (struct bind_request){.tasks = 2, .gpus_per_task = 1, .cores_per_task = 12});
    for (int t = 0; t < 2; t++) {
        struct cpuset own = *graph_place(f.snap->graph, nodes_place(f.graph, PLACE_NUMA, t))->cpus;
        assert_true(cpuset_contains(&f.answer.task[t].cpus, &own));
    }
    end(&f);
}

/* Two tasks without GPUs have a package each, four a NUMA node each, in the order of cores. */
static void tasks_without_gpus_spread_over_packages_first(void **state)
{
    (void)state;
    static const struct shape two_packages = {2, 2, 2, 4, 1, INT64_C(1) << 34};
    for (int tasks = 2; tasks <= 4; tasks += 2) {
        struct fixture f = answer_over(nodes_cpu(&two_packages), NULL,
                                       (struct bind_request){.tasks = tasks, .cores_per_task = 2});
        for (int t = 0; t < tasks; t++)
            assert_int_equal(cpuset_next(&f.answer.task[t].cpus, 0), t * 32 / tasks);
        end(&f);
    }
}

/* Three tasks of four cores on an L3 of eight and one of four: those that exchange bytes share. */
static void a_family_has_one_l3(void **state)
{
    (void)state;
    struct snapshot *snap =
        nodes_snapshot(nodes_cpu(&(struct shape){1, 1, 2, 8, 1, INT64_C(1) << 34}), NULL);
    struct cpuset allowed;
    struct bind_cores cores;
    struct berth_err err = {0};
    locality_cpus(snap->graph, &allowed);
    for (unsigned c = 0; c < 4; c++)
        cpuset_remove(&allowed, c);
    assert_int_equal(plan_bind_cores_init(snap->graph, &allowed, 0, &cores, &err), BERTH_OK);
    const size_t family[] = {0, 1, 0};
    struct core_request request = {
        .tasks = 3, .cores_per_task = 4, .family = family, .allowed = &any};
    struct bind_answer found = {.task = calloc(3, sizeof *found.task)};
    assert_non_null(found.task);
    assert_int_equal(plan_bind_allocate(snap, &cores, &request, &found, &err), BERTH_OK);
    assert_int_equal(cpuset_next(&found.task[0].cpus, 0), 8);
    assert_int_equal(cpuset_next(&found.task[2].cpus, 0), 12);
    assert_int_equal(cpuset_next(&found.task[1].cpus, 0), 4);
    plan_bind_done(&found);
    plan_bind_cores_done(&cores);
    snapshot_unref(snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_cores_as_all_tasks_find),
        cmocka_unit_test(tasks_take_their_numa_nodes_in_turn),
        cmocka_unit_test(tasks_without_gpus_spread_over_packages_first),
        cmocka_unit_test(a_family_has_one_l3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
