/* Launch order of tasks' transfers, and the definition of a begun one. */
#include "unit/node/built_nodes.h"

#include "discover/discover.h"
#include "plan/bind/price.h"

struct priced {
    struct snapshot *snap;
    struct traffic traffic;
    struct bind_price *price;
    place_id gpu[8], numa[8], nic[8];
    double apart[64];
};

static void price(struct priced *priced, struct snapshot *snap,
                  const struct traffic_request *wanted, enum copy_by by)
{
    struct berth_err err = {0};
    *priced = (struct priced){.snap = snap};
    size_t count = 0;
    for (place_id g = graph_next(snap->graph, PLACE_GPU, 0); g != PLACE_NONE && count < 8;
         g = graph_next(snap->graph, PLACE_GPU, g + 1), count++) {
        priced->gpu[count] = g;
        priced->numa[count] = graph_place(snap->graph, g)->numa;
        priced->nic[count] = PLACE_NONE;
    }
    assert_int_equal(plan_traffic(wanted, &priced->traffic, &err), BERTH_OK);
    struct bind_price_request request = {.traffic = &priced->traffic,
                                         .by = by,
                                         .tasks = (size_t)wanted->tasks,
                                         .each = 1,
                                         .gpu = priced->gpu,
                                         .memory = priced->numa,
                                         .nic = priced->nic,
                                         .gpu_count = count,
                                         .apart = priced->apart};
    assert_int_equal(plan_bind_price_new(snap, &request, &priced->price, &err), BERTH_OK);
}

/* How many its task begins before it, of the flow from one task to another or the host (-1). */
static unsigned turn_of(const struct priced *priced, const uint16_t *slot, int from, int to)
{
    const struct bind_price *price = priced->price;
    plan_bind_price_search(priced->price, slot);
    for (size_t f = 0; f < price->flow_count; f++)
        if (price->flow[f].from == from && price->flow[f].to == to)
            return price->turn[f];
    fail_msg("no flow from %d to %d", from, to);
    return 0;
}

static void done(struct priced *priced)
{
    plan_bind_price_free(priced->price);
    plan_traffic_done(&priced->traffic);
}

static void what_stays_on_one_gpu_is_not_launched(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct values *values = values_new();
    assert_non_null(values);
    struct snapshot *snap = nodes_snapshot(graph, values);
    struct priced priced;
    price(&priced, snap,
          &(struct traffic_request){
              .tasks = 3, .pattern = TRAFFIC_ALLTOALL, .bytes = 1 << 20, .host_bytes = 1 << 20},
          COPY_BEST);
    const uint16_t apart[] = {0, 1, 2}, shared[] = {0, 0, 2};
    assert_int_equal(turn_of(&priced, apart, 0, 1), 0);
    assert_int_equal(turn_of(&priced, apart, 0, 2), 1);
    assert_int_equal(turn_of(&priced, apart, 0, -1), 2); /* with the host after those */
    assert_int_equal(turn_of(&priced, shared, 0, 2), 0);
    assert_int_equal(turn_of(&priced, shared, 0, -1), 1);
    assert_int_equal(turn_of(&priced, shared, 1, 2), 0);
    assert_int_equal(turn_of(&priced, shared, 2, 1), 1);
    done(&priced);
    snapshot_unref(snap);
}

static void a_task_begins_with_the_next_one(void **state)
{
    (void)state;
    struct discovery found = {0};
    struct berth_err err = {0};
    assert_int_equal(discover_folder("tests/nodes/h200x4", &found, &err), BERTH_OK);
    struct snapshot *snap = snapshot_new(found.graph, found.values, NULL, 0, 0, 1);
    assert_true(snap != NULL && derive_costs(snap));
    const uint16_t slot[] = {0, 1, 2, 3};
    struct priced priced;
    price(&priced, snap,
          &(struct traffic_request){.tasks = 4, .pattern = TRAFFIC_ALLTOALL, .bytes = 1 << 24},
          COPY_BY_ENGINE);
    for (int task = 0; task < 4; task++)
        for (int next = 1; next < 4; next++)
            assert_int_equal(turn_of(&priced, slot, task, (task + next) % 4), next - 1);
    done(&priced);
    snapshot_unref(snap);
    graph_unref(found.graph);
    sets_free(found.sets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stays_on_one_gpu_is_not_launched),
        cmocka_unit_test(a_task_begins_with_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
