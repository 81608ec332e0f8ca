/* On whole nodes: Bind, Allocate and Route give one price for one transfer, wherever they are asked
 * for the same one. */
#include "node/allowed.h"
#include "node/locality.h"
#include "unit/plan/route/route_nodes.h"

#include "discover/discover.h"
#include "plan/alloc/alloc.h"
#include "plan/bind/bind.h"

#define BYTES (INT64_C(1) << 30)
#define NEAR  0.01
/* two measurements of the same: what both directions of a pair get, and the sets that these are in
 */
#define AT_ONCE 0.02

static const char *const nodes[] = {
    "tests/nodes/mi250x", "tests/nodes/gh200-quad", "tests/nodes/mi300a",     "tests/nodes/h200x1",
    "tests/nodes/h200x2", "tests/nodes/h200x4",     "tests/nodes/h200x4-hand"};
#define NODES (sizeof nodes / sizeof *nodes)

/* Directly and by that mechanism, or by links alone, which are as wide for both; NAN Route has no
 * such. */
static double route_ns(struct fixture *f, place_id from, place_id to, enum mechanism by, bool both)
{
    if (ask(f, (struct route_request){.from = from, .to = to, .bytes = BYTES, .both = both}) !=
        BERTH_OK)
        return NAN;
    for (size_t i = 0; i < f->answer.count; i++) {
        const struct route_option *option = &f->answer.option[i];
        if (route_is_direct(option) &&
            (option->part[0].hop[0].by == by ||
             (f->answer.count == 1 && option->part[0].hop[0].value == NULL)))
            return option->predicted.time_ns;
    }
    return NAN;
}

/* Until both directions have ended, which are begun at once. */
static double both_ns(struct fixture *f, place_id a, place_id b, enum mechanism by)
{
    double there_ns = route_ns(f, a, b, by, true), back_ns = route_ns(f, b, a, by, true);
    return isnan(there_ns) || isnan(back_ns) ? NAN : fmax(there_ns, back_ns);
}

/* A step of tasks on just these gpus, with cores and memory of that NUMA node; NAN no price. */
static double bind_ns(struct fixture *f, struct traffic_request asked, enum copy_by by,
                      const place_id *gpus, place_id numa)
{
    struct bind_answer answer = {0};
    struct traffic flows;
    struct allowed allowed = {.given = true,
                              .gpus = calloc(f->graph->place_count, sizeof(bool)),
                              .memory = calloc(f->graph->place_count, sizeof(bool)),
                              .cpus = *graph_place(f->graph, numa)->cpus};
    assert_true(allowed.gpus != NULL && allowed.memory != NULL);
    for (int64_t g = 0; g < asked.tasks; g++)
        allowed.gpus[gpus[g]] = true;
    allowed.memory[numa] = true;
    assert_int_equal(plan_traffic(&asked, &flows, &f->err), BERTH_OK);
    struct bind_request request = {.tasks = asked.tasks,
                                   .gpus_per_task = 1,
                                   .cores_per_task = 1,
                                   .traffic = &flows,
                                   .by = by,
                                   .allowed = &allowed};
    assert_int_equal(plan_bind(f->snap, &request, &answer, &f->err), BERTH_OK);
    double time_ns = answer.predicted.time_ns;
    plan_bind_done(&answer);
    plan_traffic_done(&flows);
    allowed_done(&allowed);
    return time_ns;
}

static bool is_by_what_only_reads(const struct fixture *f, const struct alloc_answer *answer,
                                  const struct alloc_option *option)
{
    for (size_t i = option->why; i < option->why + option->why_count; i++) {
        const struct value *v = answer->evidence.item[i];
        if (v != NULL && (v->metric == METRIC_MEMORY_BANDWIDTH ||
                          strstr(values_axes(f->snap->values, v), "operation=") != NULL))
            return true;
    }
    return false;
}

/* A gpu that reads or writes a buffer of that kind in that memory once. NAN: no price, or one that
 * was measured of reading or writing alone, which is no copy. */
static double alloc_ns(struct fixture *f, place_id by, place_id memory, enum memkind kind,
                       bool writes)
{
    struct alloc_answer answer = {0};
    struct alloc_access access = {
        .by = by, .reads_bytes = writes ? 0 : BYTES, .writes_bytes = writes ? BYTES : 0};
    struct alloc_request request = {.bytes = BYTES,
                                    .access = &access,
                                    .access_count = 1,
                                    .kinds = 1u << kind,
                                    .allowed = &f->allowed};
    double time_ns = NAN;
    if (plan_alloc(f->snap, &request, &answer, &f->err) != BERTH_OK)
        return NAN;
    for (size_t i = 0; i < answer.count; i++)
        if (answer.option[i].place.memory == memory &&
            !is_by_what_only_reads(f, &answer, &answer.option[i]))
            time_ns = answer.option[i].part[0].time_ns;
    plan_alloc_done(&answer);
    return time_ns;
}

struct tally {
    size_t compared, apart;
};

static void compare(struct tally *tally, const char *node, const char *what,
                    const struct fixture *f, place_id from, place_id to, double a, double b,
                    double near)
{
    if (isnan(a) || isnan(b))
        return;
    tally->compared++;
    if (fabs(a / b - 1) <= near)
        return;
    tally->apart++;
    print_message("%s: %s, %s to %s: %.4g against %.4g ms\n", node, what,
                  graph_place(f->graph, from)->name, graph_place(f->graph, to)->name, a / 1e6,
                  b / 1e6);
}

static void bind_and_route(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (size_t n = 0; n < NODES; n++) {
        struct fixture f = on(nodes[n]);
        for (place_id a = graph_next(f.graph, PLACE_GPU, 0); a != PLACE_NONE;
             a = graph_next(f.graph, PLACE_GPU, a + 1)) {
            for (place_id m = graph_next(f.graph, PLACE_NUMA, 0); m != PLACE_NONE;
                 m = graph_next(f.graph, PLACE_NUMA, m + 1)) {
                /* by what is faster, whatever peers do */
                struct traffic_request host = {.tasks = 1, .bytes = -1, .host_bytes = BYTES};
                if (graph_place(f.graph, m)->cpus != NULL &&
                    !cpuset_is_empty(graph_place(f.graph, m)->cpus))
                    compare(&tally, nodes[n], "with the host", &f, m, a,
                            bind_ns(&f, host, COPY_BY_ENGINE, &a, m),
                            fmin(both_ns(&f, m, a, MECHANISM_COPY_ENGINE),
                                 both_ns(&f, m, a, MECHANISM_KERNEL)),
                            AT_ONCE);
            }
            for (place_id b = graph_next(f.graph, PLACE_GPU, a + 1); b != PLACE_NONE;
                 b = graph_next(f.graph, PLACE_GPU, b + 1))
                for (int by = 0; by < 2; by++) {
                    struct traffic_request peers = {
                        .tasks = 2, .pattern = TRAFFIC_PAIRS, .bytes = BYTES};
                    double step_ns =
                        bind_ns(&f, peers, by == MECHANISM_KERNEL ? COPY_BY_KERNEL : COPY_BY_ENGINE,
                                (place_id[]){a, b}, locality_numa(f.graph, a));
                    compare(&tally, nodes[n], by == MECHANISM_KERNEL ? "peers, by kernel" : "peers",
                            &f, a, b, step_ns, both_ns(&f, a, b, (enum mechanism)by), AT_ONCE);
                }
        }
        end(&f);
    }
    assert_int_equal(tally.apart, 0);
    assert_true(tally.compared > 100);
}

static void allocate_and_route(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (size_t n = 0; n < NODES; n++) {
        struct fixture f = on(nodes[n]);
        for (place_id g = graph_next(f.graph, PLACE_GPU, 0); g != PLACE_NONE;
             g = graph_next(f.graph, PLACE_GPU, g + 1))
            for (int writes = 0; writes < 2; writes++) {
                for (place_id m = graph_next(f.graph, PLACE_NUMA, 0); m != PLACE_NONE;
                     m = graph_next(f.graph, PLACE_NUMA, m + 1)) {
                    double route =
                        route_ns(&f, writes ? g : m, writes ? m : g, MECHANISM_KERNEL, false);
                    compare(&tally, nodes[n], writes ? "written" : "read", &f, m, g,
                            alloc_ns(&f, g, m, MEMKIND_PINNED, writes), route, NEAR);
                }
                for (place_id p = graph_next(f.graph, PLACE_GPU, 0); p != PLACE_NONE;
                     p = graph_next(f.graph, PLACE_GPU, p + 1)) {
                    double route = p != g ? route_ns(&f, writes ? g : p, writes ? p : g,
                                                     MECHANISM_KERNEL, false)
                                          : NAN;
                    compare(&tally, nodes[n], writes ? "peer written" : "peer read", &f, p, g,
                            alloc_ns(&f, g, p, MEMKIND_DEVICE, writes), route, NEAR);
                }
            }
        end(&f);
    }
    assert_int_equal(tally.apart, 0);
    assert_true(tally.compared > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind_and_route),
        cmocka_unit_test(allocate_and_route),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
