/* Concurrent transfers on recorded nodes without measurements of them: predictions from
 * structure. */
#include "cost/evidence.h"
#include "unit/cost/together.h"

#include "cost/limits.h"
#include "discover/discover.h"
#include "node/reasons.h"

#define GB 1e9

struct fixture {
    struct snapshot *snap;
    struct together together;
    size_t gpu[8], numa[8]; /* indices of the table by number */
};

static struct fixture begin(const char *folder, enum copy_by by)
{
    struct fixture f = {0};
    struct discovery found = {0};
    struct berth_err err = {0};
    if (discover_folder(folder, &found, &err) != BERTH_OK)
        fail_msg("%s: %s", folder, err.detail);
    f.snap = snapshot_new(found.graph, found.values, NULL, 0, 0, 1);
    assert_non_null(f.snap);
    f.snap->sets = found.sets;
    assert_true(derive_costs(f.snap));
    place_id places[64];
    size_t count = 0;
    for (place_id p = 0; p < (place_id)found.graph->place_count; p++) {
        const struct place *place = graph_place(found.graph, p);
        if (place->kind != PLACE_GPU && place->kind != PLACE_NUMA && place->kind != PLACE_NIC)
            continue;
        if (place->kind != PLACE_NIC && place->number < 8)
            (place->kind == PLACE_GPU ? f.gpu : f.numa)[place->number] = count;
        places[count++] = p;
    }
    f.together = together_begin(f.snap, places, count, by);
    graph_unref(found.graph);
    return f;
}

static void end(struct fixture *f)
{
    together_end(&f->together);
    snapshot_unref(f->snap);
}

static double ring(struct fixture *f, const int gpus[4])
{
    struct asked flows[4];
    for (int i = 0; i < 4; i++)
        flows[i] = (struct asked){f->gpu[gpus[i]], f->gpu[gpus[(i + 1) % 4]], GB, 0};
    return together_ns(&f->together, flows, 4);
}

/* Widest ways: 1-0-6-7 and 3-2-4-5, with two links at the narrowest place; every other ring of four
 * has a single link in it. */
static void a_ring_of_kernels_belongs_where_links_are_wide(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/mi250x", COPY_BY_KERNEL);
    double in_order = ring(&f, (int[]){0, 1, 2, 3}), first = ring(&f, (int[]){0, 1, 7, 6}),
           second = ring(&f, (int[]){2, 3, 5, 4});
    /* three quarters of what the one link is said to carry */
    assert_within(in_order, GB / 37.5e9 * 1e9, 1e-6);
    assert_within(first, in_order / 2, 1e-6);
    assert_within(second, in_order / 2, 1e-6);
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++)
            for (int c = 0; c < 8; c++)
                for (int d = 0; d < 8; d++)
                    if (a != b && a != c && a != d && b != c && b != d && c != d)
                        assert_true(ring(&f, (int[]){a, b, c, d}) >= first * (1 - 1e-9));
    /* 1 to 7 and 0 to 6 both go from 0 to 6. */
    const struct asked flows[] = {{f.gpu[1], f.gpu[7], GB, 0}, {f.gpu[0], f.gpu[6], GB, 0}};
    struct prediction both = together_predict(&f.together, flows, 2);
    assert_within(both.time.time_ns, 20e6, 1e-6);
    assert_non_null(together_shared(&f.together, &both));
    assert_string_equal(together_shared(&f.together, &both)->name, "gpu0-gpu6:link:out");
    assert_true(limits_is_stated(together_shared(&f.together, &both)) &&
                both.time.source == SOURCE_NOMINAL);
    assert_true(isnan(both.time.low_ns) && isnan(both.time.high_ns));
    end(&f);
}

/* From gpu0 to gpu3 over gpu1 or gpu2, nobody knows which: a set of such transfers does not say
 * what one of those links carries. */
static void what_may_go_another_way_says_nothing_of_a_link(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/mi250x", COPY_BY_KERNEL);
    const struct graph *graph = f.snap->graph;
    place_id gpu[4];
    for (int g = 0; g < 4; g++) {
        gpu[g] = nodes_place(graph, PLACE_GPU, g);
    }
    for (int known = 0; known < 2; known++) {
        /* 1 to 3 has one way only; a second transfer over that link is seen, or may be. */
        struct set_flow flow[] = {{.from = gpu[1],
                                   .to = gpu[3],
                                   .axes = (char *)"",
                                   .bytes_per_s = 45 * GB,
                                   .low = 44 * GB,
                                   .high = 46 * GB},
                                  {.from = known ? gpu[1] : gpu[0],
                                   .to = gpu[3],
                                   .axes = (char *)"",
                                   .bytes_per_s = 45 * GB,
                                   .low = 44 * GB,
                                   .high = 46 * GB}};
        struct sets *sets = sets_new();
        assert_non_null(sets);
        assert_true(sets_add(sets, &(struct set){.metric = METRIC_GPU_GPU_KERNEL_CONCURRENT,
                                                 .flow = flow,
                                                 .flow_count = 2}));
        struct limits *limits = limits_new(graph, sets, f.snap->values);
        assert_non_null(limits);
        const struct limit *link = NULL;
        for (size_t i = 0; i < limits->count; i++)
            link =
                strcmp(limits->item[i].name, "gpu1-gpu3:link:out") == 0 ? &limits->item[i] : link;
        assert_non_null(link);
        assert_within(link->step[0].bytes_per_s, known ? 90 * GB : 50 * GB, 1e-6);
        assert_int_equal(link->apart[transfer_kind_index(TRANSFER_PEER_KERNEL)], known ? 2 : 0);
        limits_free(limits);
        sets_free(sets);
    }
    end(&f);
}

static double host_copies(struct fixture *f, const int gpus[4], struct prediction *ret_whole)
{
    struct asked flows[4];
    for (int i = 0; i < 4; i++) {
        size_t numa = f->numa[(const int[]){3, 1, 0, 2}[gpus[i] / 2]];
        flows[i] = (struct asked){numa, f->gpu[gpus[i]], 2.83 * GB, 0};
    }
    *ret_whole = together_predict(&f->together, flows, 4);
    return ret_whole->time.time_ns;
}

/* One gpu of a module gets 28.3 GB/s from its memory, as published; what two get nobody says: one
 * port carries what one gets. */
static void those_of_a_module_share_its_port(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/mi250x", COPY_BY_ENGINE);
    struct prediction whole;
    assert_within(host_copies(&f, (int[]){0, 2, 4, 6}, &whole), 100e6, 1e-6);
    assert_null(together_shared(&f.together, &whole));
    assert_within(host_copies(&f, (int[]){0, 1, 2, 3}, &whole), 200e6, 1e-6);
    assert_non_null(together_shared(&f.together, &whole));
    assert_true(limits_is_stated(together_shared(&f.together, &whole)));
    assert_string_equal(together_shared(&f.together, &whole)->name + 7, ":host-port:in");
    const struct asked flows[] = {{f.numa[3], f.gpu[0], GB, 0}, {f.numa[3], f.gpu[1], GB, 0}};
    struct evidence evidence = {0};
    together_why(&f.together, flows, 2, &evidence);
    assert_int_equal(evidence.count, 2);
    evidence_done(&evidence);
    end(&f);
}

/* Nothing says that both directions share the 28.3 GB/s of one: the memory's peak, 51.2 GB/s, is
 * what both have. */
static void both_directions_do_not_share_what_one_gets(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/mi250x", COPY_BY_ENGINE);
    const struct asked flows[] = {{f.numa[3], f.gpu[0], GB, 0}, {f.gpu[0], f.numa[3], GB, 0}};
    assert_within(together_ns(&f.together, flows, 1), GB / 28.3, 1e-6);
    assert_within(together_ns(&f.together, flows, 2), 2 * GB / 51.2, 1e-6);
    end(&f);
}

/* Copies by engine as published, 50 GB/s at most: on the wide ways each is as fast alone as
 * together. */
static void engines_do_not_fill_wide_links(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/mi250x", COPY_BY_ENGINE);
    assert_within(ring(&f, (int[]){0, 1, 7, 6}), 20e6, 1e-6);
    assert_within(ring(&f, (int[]){0, 1, 2, 3}), GB / 37.5e9 * 1e9, 1e-6);
    const struct asked flows[] = {
        {f.gpu[1], f.gpu[7], GB, 0}, {f.gpu[0], f.gpu[6], GB, 0}, {f.gpu[1], f.gpu[6], GB, 0}};
    assert_within(together_ns(&f.together, flows, 2), 20e6, 1e-6);
    assert_within(together_ns(&f.together, flows, 3), 30e6, 1e-6);
    end(&f);
}

/* Four H200 were measured together: reading the host's memory they do not disturb each other,
 * writing it they do. */
static void measurements_go_before_structure(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/h200x4-hand", COPY_BY_ENGINE);
    struct asked flows[4];
    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < 4; i++) {
            uint16_t gpu = f.gpu[i], numa = f.numa[0];
            flows[i] =
                way == 0 ? (struct asked){numa, gpu, GB, 0} : (struct asked){gpu, numa, GB, 0};
        }
        struct prediction whole = together_predict(&f.together, flows, 4);
        double rate = 4 * GB / whole.time.time_ns;
        if (way == 0) {
            assert_null(together_shared(&f.together, &whole));
            assert_true(rate > 0.97 * 220.5 && rate < 1.03 * 220.5);
        } else {
            assert_non_null(together_shared(&f.together, &whole));
            assert_string_equal(together_shared(&f.together, &whole)->name, "numa0:memory:write");
            assert_true(!limits_is_stated(together_shared(&f.together, &whole)) &&
                        rate > 0.97 * 164.5 && rate < 1.03 * 164.5);
            /* the recorded sets say no interval */
            assert_true(isnan(whole.time.low_ns) && isnan(whole.time.high_ns));
        }
        assert_int_equal(whole.time.source, SOURCE_MEASURED);
    }
    struct evidence evidence = {0};
    together_why(&f.together, flows, 4, &evidence);
    size_t sets = 0;
    for (size_t i = 0; i < evidence.count; i++)
        sets += evidence.set[i] != NULL && evidence.set[i]->flow_count >= 3;
    assert_true(sets > 0);
    evidence_done(&evidence);
    end(&f);
}

/* What a gpu has to the switch is no wider than what was seen to go over it, whatever is said of
 * it. */
static void one_transfer_fills_what_a_gpu_has_to_a_switch(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/h200x4", COPY_BEST);
    const struct limits *limits = f.snap->derived.limits;
    size_t links = 0;
    for (size_t i = 0; i < limits->count; i++) {
        const struct limit *item = &limits->item[i];
        if (!item->has_role || item->role.part != LIMIT_LINK ||
            graph_place(f.snap->graph, item->role.place)->kind != PLACE_GPU ||
            graph_place(f.snap->graph, item->role.other)->kind != PLACE_SWITCH)
            continue;
        assert_true(item->step[0].bytes_per_s > 360e9 && item->step[0].bytes_per_s < 440e9);
        links++;
    }
    assert_int_equal(links, 8);
    end(&f);
}

/* Gpus of different superchips meet at nothing; each has links of its own to each other. */
static void superchips_have_links_of_their_own(void **state)
{
    (void)state;
    struct fixture f = begin("tests/nodes/gh200-quad", COPY_BEST);
    const struct asked local = {f.numa[0], f.gpu[0], GB, 0};
    const struct asked all[] = {
        {f.gpu[0], f.gpu[1], GB, 0}, {f.gpu[0], f.gpu[2], GB, 0}, {f.gpu[0], f.gpu[3], GB, 0}};
    double alone = together_ns(&f.together, all, 1);
    assert_within(alone, GB / (0.83 * 150e9) * 1e9, 1e-6);
    assert_within(together_ns(&f.together, all, 3), alone, 1e-6);
    /* published of the gpu reading, less than the link's 450 */
    assert_within(together_ns(&f.together, &local, 1), GB / 418.5e9 * 1e9, 1e-6);
    /* of 418.5 and 378 GB/s, but the memory's peak is 500 */
    const struct asked there_and_back[] = {local, {local.to, local.from, GB, 0}};
    assert_within(together_ns(&f.together, there_and_back, 2), 2 * GB / 500e9 * 1e9, 1e-6);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_of_kernels_belongs_where_links_are_wide),
        cmocka_unit_test(what_may_go_another_way_says_nothing_of_a_link),
        cmocka_unit_test(those_of_a_module_share_its_port),
        cmocka_unit_test(both_directions_do_not_share_what_one_gets),
        cmocka_unit_test(engines_do_not_fill_wide_links),
        cmocka_unit_test(measurements_go_before_structure),
        cmocka_unit_test(one_transfer_fills_what_a_gpu_has_to_a_switch),
        cmocka_unit_test(superchips_have_links_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
