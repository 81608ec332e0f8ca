/* Gpus with unreported links: each has a PCIe link to the host, but copies between them exceed its
 * rate. */
#include "node/allowed.h"
#include "node/locality.h"
#include "unit/node/built_nodes.h"

#include <string.h>

#include "cost/limits.h"
#include "plan/bind/bind.h"

#define GB   1e9
#define GPUS 3

struct fixture {
    struct graph *graph;
    struct values *values;
    place_id numa, gpu[GPUS];
};

/* PCIe links that are said to carry 63 GB/s, and gpu0 gets peer_gb of gpu1. */
static struct fixture begin(double peer_gb)
{
    struct fixture f = {.graph = nodes_cpu(&(struct shape){1, 1, 2, 4, 1, INT64_C(128) << 30}),
                        .values = values_new()};
    f.numa = nodes_place(f.graph, PLACE_NUMA, 0);
    struct cpuset cpus = *graph_place(f.graph, f.numa)->cpus;
    assert_non_null(f.values);
    for (int g = 0; g < GPUS; g++) {
        f.gpu[g] = nodes_add(f.graph, PLACE_GPU, g, f.numa, f.numa, &cpus);
        struct link *link = graph_add_link(f.graph, f.numa, f.gpu[g], LINK_PCIE);
        assert_non_null(link);
        link->nominal_bytes_per_s = 63 * GB;
    }
    nodes_value(f.values, METRIC_GPU_GPU_COPY_ENGINE, VALUE_MEASURED, f.gpu[0], f.gpu[1], "",
                peer_gb * GB, peer_gb * GB, peer_gb * GB);
    return f;
}

static void host(struct fixture *f, double gb)
{
    for (int g = 0; g < 2; g++) {
        nodes_value(f->values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, f->numa, f->gpu[g], "",
                    gb * GB, gb * GB, gb * GB);
        nodes_value(f->values, METRIC_HOST_GPU_COPY_ENGINE, VALUE_MEASURED, f->gpu[g], f->numa, "",
                    gb * GB, gb * GB, gb * GB);
    }
}

/* Whether it uses links of the host, both or none. */
static bool uses_links(const struct limits *limits, place_id from, place_id to)
{
    uint16_t use[LIMITS_USES_MAX];
    size_t links = 0, count = limits_of(limits, TRANSFER_PEER_ENGINE, from, to, "", use);
    for (size_t i = 0; i < count; i++)
        links += limits->item[use[i]].role.part == LIMIT_LINK;
    assert_true(links == 0 || links == 2);
    return links > 0;
}

/* What the link from the host to gpu1 carries, with what copies with the host get; 0 not known.
 * Takes f. */
static double width(struct fixture *f, double host_gb, bool *ret_uses)
{
    if (host_gb > 0)
        host(f, host_gb);
    nodes_finish(f->graph);
    values_finish(f->values);
    struct limits *limits = limits_new(f->graph, NULL, f->values);
    assert_non_null(limits);
    const struct limit_role role = {LIMIT_LINK, LIMIT_OUT, f->numa, f->gpu[1]};
    const struct limit *item = limits_find(limits, &role);
    assert_non_null(item);
    double found = item->step[0].bytes_per_s;
    *ret_uses = uses_links(limits, f->gpu[0], f->gpu[1]);
    /* Of the other direction nothing is known, and this one stands for it; of other pairs nothing
     * is. */
    assert_int_equal(uses_links(limits, f->gpu[1], f->gpu[0]), *ret_uses);
    assert_true(uses_links(limits, f->gpu[0], f->gpu[2]) &&
                uses_links(limits, f->gpu[2], f->gpu[1]));
    if (found > 63 * GB && host_gb < 63)
        assert_int_equal(item->source, LIMIT_CARRIED);
    limits_free(limits);
    values_free(f->values);
    graph_unref(f->graph);
    return found / GB;
}

static void what_gets_more_than_a_link_carries_goes_elsewhere(void **state)
{
    (void)state;
    static const struct {
        double peer, host, width;
        bool uses;
    } cases[] = {
        {397, 55, 63, false},  {397, 63, 63, false},
        {397, 0, 397, true},   /* nothing bears out what the link is said to carry */
        {397, 100, 397, true}, /* it carries more than it is said to: nobody knows how much */
        {64, 55, 64, true},    /* no more than what is said of it is rounded by */
        {40, 55, 63, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = begin(cases[i].peer);
        bool uses;
        double found = width(&f, cases[i].host, &uses);
        if (uses != cases[i].uses || fabs(found - cases[i].width) > 1e-6)
            fail_msg("%g beside %g: %g, %d", cases[i].peer, cases[i].host, found, uses);
    }
}

/* gpu0 sends gpu1 while both copy from the host: that shares nothing, or, where nobody knows
 * better, what the first was seen to get. */
static void what_carries_more_than_it_states_is_shared_at_that(void **state)
{
    (void)state;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct fixture f = begin(397);
        struct allowed allowed = {.given = true};
        struct traffic_flow flow[] = {{.from = 0, .to = 1, .bytes = GB},
                                      {.from = TRAFFIC_HOST, .to = 0, .bytes = GB},
                                      {.from = TRAFFIC_HOST, .to = 1, .bytes = GB}};
        struct traffic traffic = {.flow = flow, .count = 3};
        struct bind_request request = {.tasks = 2,
                                       .gpus_per_task = 1,
                                       .allowed = &allowed,
                                       .traffic = &traffic,
                                       .by = COPY_BY_ENGINE,
                                       .in_rank_order = true};
        struct bind_answer answer = {0};
        struct berth_err err = {0};
        if (is_known)
            host(&f, 55);
        struct snapshot *snap = nodes_snapshot(f.graph, f.values);
        locality_cpus(f.graph, &allowed.cpus);
        assert_int_equal(plan_bind(snap, &request, &answer, &err), BERTH_OK);
        assert_true(graph_place(f.graph, answer.gpu[1])->number == 1);
        const struct reason *reason = reason_with(&answer.warnings, REASON_LIMIT_SHARED_NOMINAL);
        assert_int_equal(reason != NULL, !is_known);
        assert_true(reason == NULL || (strcmp(reason->subject[0], "numa0-gpu1:link:out") == 0 &&
                                       fabs(reason->number[1] - 397 * GB) < 1));
        plan_bind_done(&answer);
        allowed_done(&allowed);
        snapshot_unref(snap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_gets_more_than_a_link_carries_goes_elsewhere),
        cmocka_unit_test(what_carries_more_than_it_states_is_shared_at_that)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
