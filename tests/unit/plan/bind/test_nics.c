/* Variables that choose a task's nics: of which devices they are, and where none would surely be
 * right. */
#include "unit/plan/bind/bind_answer.h"

#include <string.h>

#include "plan/bind/launcher_options.h"
#include "plan/bind/nics.h"

#define NICS 4

struct nic {
    const char *fabric, *verbs, *state, *ports; /* NULL: not known */
};

/* A node of two NUMA nodes with two nics each, and a gpu where gpus says so. */
static struct graph *node_of(const struct nic nics[NICS], int gpus)
{
    struct graph *graph = nodes_cpu(&(struct shape){1, 2, 1, 4, 1, INT64_C(128) << 30});
    for (int i = 0; i < NICS; i++) {
        place_id at = nodes_place(graph, PLACE_NUMA, i / 2);
        struct cpuset cpus = *graph_place(graph, at)->cpus;
        place_id nic = nodes_add(graph, PLACE_NIC, i, at, at, &cpus);
        struct place *place = &graph->places[nic];
        assert_true(nics[i].fabric == NULL || place_set_detail(place, "fabric", nics[i].fabric));
        assert_true(nics[i].verbs == NULL || place_set_detail(place, "verbs", nics[i].verbs));
        assert_true(nics[i].state == NULL || place_set_detail(place, "port_state", nics[i].state));
        assert_true(nics[i].ports == NULL || place_set_detail(place, "ports", nics[i].ports));
    }
    for (int g = 0; g < gpus; g++) {
        place_id at = nodes_place(graph, PLACE_NUMA, g);
        struct cpuset cpus = *graph_place(graph, at)->cpus;
        nodes_add(graph, PLACE_GPU, g, at, at, &cpus);
    }
    return graph;
}

static void assert_text(char *text, const char *expected, const char *of)
{
    if ((text == NULL) != (expected == NULL) || (text != NULL && strcmp(text, expected) != 0))
        fail_msg("%s: %s is not %s", of, text != NULL ? text : "none",
                 expected != NULL ? expected : "none");
    free(text);
}

static void devices_are_named_that_are_surely_right(void **state)
{
    (void)state;
    static const struct {
        struct nic nic[NICS];
        const char *ucx[2], *nccl, *cray; /* of a task on each NUMA node */
        enum reason_code why;             /* of the second; REASON_CODES none */
    } cases[] = {
        {{{"infiniband", "mlx5_0", "active", NULL},
          {"infiniband", "mlx5_1", "active", NULL},
          {"infiniband", "ibp1s0", "active", NULL},
          {"infiniband", "mlx5_3", "1", NULL}},
         {"mlx5_0:1,mlx5_1:1", "ibp1s0:1"},
         "=mlx5_0,mlx5_1,ibp1s0",
         NULL,
         REASON_CODES},
        {{{"infiniband", "mlx5_0", "active", NULL},
          {"infiniband", "mlx5_1", "1", NULL},
          {"infiniband", "mlx5_2", "1", NULL},
          {"infiniband", "mlx5_3", NULL, NULL}},
         {"mlx5_0:1", NULL},
         "=mlx5_0",
         NULL,
         REASON_NIC_NO_PORT},
        {{{"infiniband", "mlx4_0", "active", NULL},
          {"ethernet", NULL, NULL, NULL},
          {"infiniband", "mlx4_1", "active", "2"},
          {"ethernet", NULL, NULL, NULL}},
         {"mlx4_0:1", NULL},
         "=mlx4_0,mlx4_1",
         NULL,
         REASON_NIC_NO_PORT},
        /* RoCE by its name; a node with a fabric leaves Ethernet aside */
        {{{"ethernet", "mlx5_0", "active", NULL},
          {"ethernet", NULL, NULL, NULL},
          {"ethernet", "rocep1s0", "active", NULL},
          {"ethernet", NULL, NULL, NULL}},
         {"mlx5_0:1", "rocep1s0:1"},
         "=mlx5_0,rocep1s0",
         NULL,
         REASON_CODES},
        /* neither: EFA, iWARP, Omni-Path; names that no device has */
        {{{"ethernet", "rdmap197s0", "active", NULL},
          {"ethernet", "iwp1s0", "active", NULL},
          {"omnipath", "hfi1_0", "active", NULL},
          {"infiniband", "a,b:2", "active", NULL}},
         {NULL, NULL},
         NULL,
         NULL,
         REASON_CODES},
        /* one gpu has none next to it: the others' would be farther than what it might use */
        {{{"infiniband", "mlx5_0", "active", NULL},
          {"infiniband", "mlx5_1", "active", NULL},
          {"infiniband", NULL, NULL, NULL},
          {"infiniband", NULL, NULL, NULL}},
         {"mlx5_0:1,mlx5_1:1", NULL},
         NULL,
         NULL,
         REASON_CODES},
        {{{"slingshot", NULL, NULL, NULL},
          {"ethernet", NULL, NULL, NULL},
          {"slingshot", NULL, NULL, NULL},
          {"slingshot", NULL, NULL, NULL}},
         {NULL, NULL},
         NULL,
         "MPICH_OFI_NIC_POLICY=NUMA",
         REASON_CODES},
        {{{"slingshot", NULL, NULL, NULL},
          {"ethernet", NULL, NULL, NULL},
          {"ethernet", NULL, NULL, NULL},
          {"ethernet", NULL, NULL, NULL}},
         {NULL, NULL},
         NULL,
         NULL,
         REASON_CODES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = answer_over(
            node_of(cases[i].nic, 2), NULL,
            (struct bind_request){.tasks = 2, .gpus_per_task = 1, .in_rank_order = true});
        const struct graph *graph = f.snap->graph;
        struct berth_err err = {0};
        struct reasons warnings = {0};
        char *text = NULL, of[32];
        snprintf(of, sizeof of, "case %zu", i);
        for (size_t t = 0; t < 2; t++) {
            const struct bind_task *task = &f.answer.task[t];
            assert_int_equal(
                nics_ucx(graph, f.answer.nic + task->nics, task->nic_count, &warnings, &text, &err),
                BERTH_OK);
            assert_text(text, cases[i].ucx[t], of);
            assert_true(t == 1 || warnings.count == 0);
        }
        assert_int_equal(warnings.count, cases[i].why != REASON_CODES);
        if (cases[i].why != REASON_CODES) {
            assert_int_equal(warnings.item[0].code, cases[i].why);
            assert_string_equal(warnings.item[0].subject[0], "nic2");
        }
        assert_int_equal(nics_nccl(f.snap, &text, &err), BERTH_OK);
        assert_text(text, cases[i].nccl, of);
        assert_int_equal(launcher_options(LAUNCHER_CRAY_MPICH, f.snap, &f.allowed, &f.answer, NULL,
                                          &warnings, &text, &err),
                         BERTH_OK);
        assert_text(text, cases[i].cray, of);
        end(&f);
    }
}

/* Without gpus nothing of NCCL runs; a task whose cores are of two NUMA nodes is in none. */
static void tasks_without_gpus(void **state)
{
    (void)state;
    const struct nic infiniband = {"infiniband", "mlx5_0", "active", NULL},
                     slingshot = {"slingshot", NULL, NULL, NULL};
    struct berth_err err = {0};
    char *text = NULL;
    struct fixture f =
        answer_over(node_of((struct nic[NICS]){infiniband, infiniband, infiniband, infiniband}, 0),
                    NULL, (struct bind_request){.tasks = 2});
    assert_int_equal(nics_nccl(f.snap, &text, &err), BERTH_OK);
    assert_text(text, NULL, "without gpus");
    end(&f);
    for (int tasks = 1; tasks <= 2; tasks++) {
        f = answer_over(node_of((struct nic[NICS]){slingshot, slingshot, slingshot, slingshot}, 0),
                        NULL, (struct bind_request){.tasks = tasks});
        assert_int_equal(launcher_options(LAUNCHER_CRAY_MPICH, f.snap, &f.allowed, &f.answer, NULL,
                                          &f.answer.warnings, &text, &err),
                         BERTH_OK);
        assert_text(text, tasks == 2 ? "MPICH_OFI_NIC_POLICY=NUMA" : NULL, "of all cores");
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(devices_are_named_that_are_surely_right),
                                       cmocka_unit_test(tasks_without_gpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
