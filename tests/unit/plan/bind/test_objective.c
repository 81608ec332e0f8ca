/* Bounds of a search beside prices: never more than any choice takes, and exact for transfers with
 * the host. */
#include "unit/base/random.h"
#include "unit/plan/node_folder.h"

#include "plan/bind/objective.h"

#define GPUS  8
#define TASKS 12

struct priced {
    struct traffic traffic;
    struct bind_price *price;
    place_id gpu[GPUS], numa[GPUS], nic[GPUS];
    double apart[GPUS * GPUS];
    size_t gpus;
    struct bind_objective objective; /* of begin alone */
};

static void begin_only(struct priced *priced, struct snapshot *snap,
                       const struct traffic_request *wanted, enum copy_by by)
{
    struct berth_err err = {0};
    *priced = (struct priced){0};
    for (place_id g = graph_next(snap->graph, PLACE_GPU, 0); g != PLACE_NONE && priced->gpus < GPUS;
         g = graph_next(snap->graph, PLACE_GPU, g + 1)) {
        priced->gpu[priced->gpus] = g;
        priced->numa[priced->gpus] = graph_place(snap->graph, g)->numa;
        priced->nic[priced->gpus++] = PLACE_NONE;
    }
    assert_int_equal(plan_traffic(wanted, &priced->traffic, &err), BERTH_OK);
    struct bind_price_request request = {.traffic = &priced->traffic,
                                         .by = by,
                                         .tasks = (size_t)wanted->tasks,
                                         .each = 1,
                                         .gpu = priced->gpu,
                                         .memory = priced->numa,
                                         .nic = priced->nic,
                                         .gpu_count = priced->gpus,
                                         .apart = priced->apart};
    assert_int_equal(plan_bind_price_new(snap, &request, &priced->price, &err), BERTH_OK);
}

static void begin(struct priced *priced, struct snapshot *snap,
                  const struct traffic_request *wanted, enum copy_by by)
{
    begin_only(priced, snap, wanted, by);
    assert_true(plan_bind_objective_init(&priced->objective, priced->price));
}

static void done(struct priced *priced)
{
    plan_bind_objective_done(&priced->objective);
    plan_bind_price_free(priced->price);
    plan_traffic_done(&priced->traffic);
}

/* What is certain of that choice by its arcs. */
static double certain_ns(const struct priced *priced, const uint16_t *slot)
{
    const struct bind_price *price = priced->price;
    const struct bind_objective *objective = &priced->objective;
    size_t n = price->request.gpu_count, resources = price->snap->derived.usage->limit_count;
    double *load_ns = calloc(resources + 1, sizeof *load_ns), most_ns = 0;
    assert_non_null(load_ns);
    for (size_t r = 0; r < resources; r++)
        load_ns[r] = objective->start_ns[r];
    for (size_t f = 0; f < price->flow_count; f++) {
        const struct search_flow *flow = &price->flow[f];
        size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
        const struct search_arc *arc = &objective->arc[(flow->kind * n + from) * n + to];
        most_ns = fmax(most_ns, arc->alone_ns + flow->turn * arc->launch_ns);
        for (uint32_t u = 0; u < arc->use_count; u++)
            most_ns = fmax(most_ns, load_ns[objective->use[arc->use + u].resource] +=
                                    objective->use[arc->use + u].ns);
    }
    free(load_ns);
    return most_ns;
}

static double price_ns(struct bind_price *price, const uint16_t *slot)
{
    struct search_cost cost = plan_bind_price_search(price, slot);
    assert_true(cost.lack == 0);
    return cost.time_ns;
}

static void shuffle(uint16_t *slot, size_t gpus, uint64_t *seed)
{
    for (size_t i = 0; i < gpus; i++) {
        size_t other = random_next(seed) % (i + 1);
        slot[i] = (uint16_t)i;
        uint16_t its = slot[other];
        slot[other] = (uint16_t)i;
        slot[i] = its;
    }
}

/* So many tasks on each gpu, or one less. */
static void deal(uint16_t *slot, size_t tasks, size_t gpus, uint64_t *seed)
{
    uint16_t order[GPUS];
    shuffle(order, gpus, seed);
    for (size_t t = 0; t < tasks; t++)
        slot[t] = order[t % gpus];
    for (size_t t = tasks; t > 1; t--) {
        size_t other = random_next(seed) % t;
        uint16_t at = slot[t - 1];
        slot[t - 1] = slot[other];
        slot[other] = at;
    }
}

static const char *const folders[] = {"tests/nodes/mi250x", "tests/nodes/h200x4",
                                      "tests/nodes/mi300a", "tests/nodes/gh200-quad"};

static void no_choice_takes_less_than_is_certain_of_it(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (size_t f = 0; f < 4; f++) {
        struct snapshot *snap = folder_snapshot(folders[f]);
        size_t gpus = graph_count(snap->graph, PLACE_GPU);
        for (int round = 0; round < 60; round++) {
            struct traffic_exact exact[24];
            struct priced priced;
            size_t tasks = 2 + random_next(&seed) % (gpus - 1), count = 1 + random_next(&seed) % 24;
            for (size_t i = 0; i < count; i++) {
                int64_t from = (int64_t)(random_next(&seed) % tasks),
                        to = (int64_t)(random_next(&seed) % tasks);
                exact[i] = (struct traffic_exact){from, from == to ? (to + 1) % (int64_t)tasks : to,
                                                  (int64_t)1 << (10 + random_next(&seed) % 18)};
            }
            const struct traffic_request wanted = {
                .tasks = (int64_t)tasks,
                .bytes = -1,
                .host_bytes = round % 2 ? (int64_t)1 << (10 + random_next(&seed) % 18) : 0,
                .exact = exact,
                .exact_count = count};
            begin(&priced, snap, &wanted, (enum copy_by)(round % 3));
            for (int choice = 0; choice < 20; choice++) {
                uint16_t slot[GPUS];
                shuffle(slot, gpus, &seed);
                double ns = price_ns(priced.price, slot);
                assert_true(certain_ns(&priced, slot) <= ns * (1 + 1e-9));
            }
            done(&priced);
        }
        snapshot_unref(snap);
    }
}

/* The best of all choices, one after the other; share: so many tasks on a gpu, or one less. */
static double least_of(struct priced *priced, uint16_t *slot, size_t task, unsigned *used,
                       unsigned share)
{
    double least = INFINITY;
    unsigned missing = 0;
    for (size_t s = 0; s < priced->gpus; s++)
        missing += used[s] + 1 < share ? share - 1 - used[s] : 0;
    if (missing > priced->price->request.tasks - task)
        return INFINITY;
    if (task == priced->price->request.tasks)
        return price_ns(priced->price, slot);
    for (size_t s = 0; s < priced->gpus; s++)
        if (used[s] < share) {
            slot[task] = (uint16_t)s;
            used[s]++;
            least = fmin(least, least_of(priced, slot, task + 1, used, share));
            used[s]--;
        }
    return least;
}

static double least_ns(struct priced *priced, uint16_t *slot)
{
    return least_of(priced, slot, 0, (unsigned[GPUS]){0}, 1);
}

/* Several tasks on a gpu, whose transfers between the same two places go in turns: what is certain
 * of a choice stays below; the best that it finds is the best that
 * there is. */
static void nor_where_tasks_share_a_gpu(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (size_t f = 0; f < 4; f++) {
        struct snapshot *snap = folder_snapshot(folders[f]);
        size_t gpus = graph_count(snap->graph, PLACE_GPU);
        for (int round = 0; round < 48; round++) {
            struct traffic_exact exact[24];
            struct priced priced;
            struct berth_err err = {0};
            uint16_t slot[TASKS];
            double far[GPUS] = {0}, best_ns = INFINITY;
            size_t tasks = gpus + 1 + random_next(&seed) % (TASKS - gpus),
                   count = 1 + random_next(&seed) % 24;
            for (size_t i = 0; i < count; i++) {
                int64_t from = (int64_t)(random_next(&seed) % tasks),
                        to = (int64_t)(random_next(&seed) % tasks);
                exact[i] = (struct traffic_exact){from, from == to ? (to + 1) % (int64_t)tasks : to,
                                                  (int64_t)1 << (10 + random_next(&seed) % 18)};
            }
            const struct traffic_request wanted = {
                .tasks = (int64_t)tasks,
                .bytes = -1,
                .host_bytes = round % 2 ? (int64_t)1 << (10 + random_next(&seed) % 18) : 0,
                .exact = exact,
                .exact_count = round % 4 == 3 ? 0 : count};
            begin(&priced, snap, &wanted, (enum copy_by)(round % 3));
            for (int choice = 0; choice < 40; choice++) {
                deal(slot, tasks, gpus, &seed);
                double ns = price_ns(priced.price, slot);
                best_ns = fmin(best_ns, ns);
                assert_true(certain_ns(&priced, slot) <= ns * (1 + 1e-9));
            }
            if (tasks <= 6)
                best_ns = least_of(&priced, slot, 0, (unsigned[GPUS]){0}, 2);
            done(&priced);
            struct bind_objective_choice choice = {.far = far};
            struct search_result found;
            begin_only(&priced, snap, &wanted, (enum copy_by)(round % 3));
            assert_int_equal(plan_bind_objective_search(priced.price, &choice, slot, &found, &err),
                             BERTH_OK);
            double found_ns = price_ns(priced.price, slot);
            assert_true(found.bound_ns <= best_ns * (1 + 1e-9) &&
                        found.bound_ns <= found_ns * (1 + 1e-9));
            assert_true(tasks > 6 || gpus > 4 || !found.is_proven ||
                        found_ns <= best_ns * (1 + fmax(found.settled, 0) + 1e-9));
            done(&priced);
        }
        snapshot_unref(snap);
    }
}

/* The search finds the best of all choices for transfers with the host, and proves it. */
static void assert_spread(struct snapshot *snap, const struct traffic_request *wanted)
{
    struct priced priced;
    uint16_t slot[GPUS];
    double far[GPUS] = {0};
    struct bind_objective_choice choice = {.far = far};
    struct search_result found;
    struct berth_err err = {0};
    begin(&priced, snap, wanted, COPY_BEST);
    double least = least_ns(&priced, slot);
    done(&priced);
    begin_only(&priced, snap, wanted, COPY_BEST);
    assert_int_equal(plan_bind_objective_search(priced.price, &choice, slot, &found, &err),
                     BERTH_OK);
    assert_true(found.is_proven && found.bound_ns <= least * (1 + 1e-9) &&
                found.bound_ns >= least / 1.01 &&
                price_ns(priced.price, slot) <= least * 1.01 * (1 + found.settled));
    done(&priced);
}

static void what_goes_to_the_host_is_spread_as_well_as_it_can_be(void **state)
{
    (void)state;
    for (size_t f = 0; f < 4; f++) {
        struct snapshot *snap = folder_snapshot(folders[f]);
        int64_t gpus = (int64_t)graph_count(snap->graph, PLACE_GPU), most = gpus < 5 ? gpus : 5;
        for (int64_t tasks = 1; tasks <= most; tasks++)
            assert_spread(snap, &(struct traffic_request){
                                    .tasks = tasks, .bytes = -1, .host_bytes = 64 << 20});
        /* the first two begin with something else */
        for (int64_t tasks = 3; tasks <= most; tasks++) {
            const struct traffic_exact exact[] = {{0, 1, 1024}, {1, 0, 1024}, {0, 2, 1024}};
            assert_spread(snap, &(struct traffic_request){.tasks = tasks,
                                                          .bytes = -1,
                                                          .host_bytes = 64 << 20,
                                                          .exact = exact,
                                                          .exact_count = 3});
        }
        snapshot_unref(snap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_choice_takes_less_than_is_certain_of_it),
        cmocka_unit_test(nor_where_tasks_share_a_gpu),
        cmocka_unit_test(what_goes_to_the_host_is_spread_as_well_as_it_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
