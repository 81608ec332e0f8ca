/* A limit of both directions between two packages is derived from pairs across it. */
#include "unit/plan/alloc/alloc_nodes.h"

#include "cost/limits.h"

/* Each gpu with the memories of both packages, one way and both: GB/s. */
struct rates {
    double near, near_both, far, far_both, other_far_both; /* other: of gpu1; 0 not measured */
};

static void take(struct fixture *f, const struct rates *rates)
{
    struct link *link = graph_add_link(f->graph, graph_place(f->graph, f->numa[0])->parent,
                                       graph_place(f->graph, f->numa[1])->parent, LINK_SMP);
    assert_non_null(link);
    for (int n = 0; n < 2; n++)
        assert_non_null(graph_add_link(f->graph, graph_place(f->graph, f->numa[n])->parent,
                                       f->numa[n], LINK_MEMBUS));
    for (size_t i = 0; i < f->graph->link_count; i++)
        f->graph->links[i].nominal_bytes_per_s = 100 * GB;
    for (int g = 0; g < 2; g++)
        for (int n = 0; n < 2; n++) {
            double one = g == n ? rates->near : rates->far, together = g == n ? rates->near_both
                                                                       : g == 0
                                                                           ? rates->far_both
                                                                           : rates->other_far_both;
            measured(f, METRIC_HOST_GPU_COPY_ENGINE, f->numa[n], f->gpu[g], "", one * GB);
            measured(f, METRIC_HOST_GPU_COPY_ENGINE, f->gpu[g], f->numa[n], "", one * GB);
            if (together > 0)
                measured(f, METRIC_HOST_GPU_COPY_ENGINE, f->gpu[g], f->numa[n], "direction=both",
                         together * GB);
        }
}

/* What both directions of the link between the packages carry; 0: nothing is known to be shared.
 * with_set: a set has transfers that meet there. */
static double between(const struct rates *rates, bool with_set)
{
    struct fixture f = begin(SUPERCHIP);
    take(&f, rates);
    values_finish(f.values);
    struct sets *sets = sets_new();
    struct set_flow flows[] = {{f.numa[0], f.gpu[1], "", 90 * GB, NAN, NAN},
                               {f.gpu[1], f.numa[0], "", 90 * GB, NAN, NAN}};
    if (with_set)
        assert_true(sets_add(sets, &(struct set){METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT,
                                                 VALUE_MEASURED, 0, flows, 2}));
    struct limits *limits = limits_new(f.graph, sets, f.values);
    assert_non_null(limits);
    const struct limit_role role = {LIMIT_LINK, LIMIT_BOTH, graph_place(f.graph, f.numa[0])->parent,
                                    graph_place(f.graph, f.numa[1])->parent, 0};
    const struct limit *link = limits_find(limits, &role);
    assert_string_equal(link->name, "package0-package1:link");
    assert_true(limits_uses(limits, link, f.numa[0], f.gpu[1], ""));
    assert_false(limits_uses(limits, link, f.numa[0], f.gpu[0], ""));
    double found = link->step[0].bytes_per_s;
    limits_free(limits);
    sets_free(sets);
    values_free(f.values);
    graph_unref(f.graph);
    return found;
}

static void the_most_that_a_pair_gets_both_ways_is_what_all_share(void **state)
{
    (void)state;
    assert_near(between(&(struct rates){300, 450, 90, 100, 0}, false), 100 * GB);
    assert_near(between(&(struct rates){300, 450, 90, 100, 110}, false), 110 * GB);
}

/* It may be the gpu's own port; nobody knows what its port carries; some pair loses nothing; or
 * sets say it. */
static void elsewhere_both_directions_share_nothing(void **state)
{
    (void)state;
    assert_near(between(&(struct rates){300, 101, 90, 100, 0}, false), 0);
    assert_near(between(&(struct rates){300, 0, 90, 100, 0}, false), 0);
    assert_near(between(&(struct rates){300, 450, 90, 100, 175}, false), 0);
    assert_near(between(&(struct rates){300, 450, 90, 175, 100}, false), 0);
    assert_near(between(&(struct rates){300, 450, 90, 0, 0}, false), 0);
    assert_near(between(&(struct rates){300, 450, 90, 100, 0}, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_that_a_pair_gets_both_ways_is_what_all_share),
        cmocka_unit_test(elsewhere_both_directions_share_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
