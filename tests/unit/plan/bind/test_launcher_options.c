#include "node/allowed.h"
#include "unit/plan/bind/bind_answer.h"

#include "node/gpu.h"
#include "node/reasons.h"
#include "plan/bind/launcher_options.h"
#include "plan/bind/visible.h"

static void assert_slurm(struct fixture *f, const char *expected)
{
    char *text = NULL;
    struct berth_err err = {0};
    size_t before = f->answer.warnings.count;
    assert_int_equal(launcher_options(LAUNCHER_SLURM, f->snap, &f->allowed, &f->answer, NULL,
                                      &f->answer.warnings, &text, &err),
                     BERTH_OK);
    if (expected != NULL)
        assert_string_equal(text, expected);
    else
        assert_null(text);
    assert_int_equal(f->answer.warnings.count, before + (expected == NULL));
    free(text);
}

static void slurm_is_for_the_whole_node_only(void **state)
{
    (void)state;
    const struct bind_request one = {
        .tasks = 1, .gpus_per_task = 1, .cores_per_task = 2, .threads_per_core = 1};
    const struct {
        const char *cpus, *expected;
    } cases[] = {
        {NULL, "--cpu-bind=mask_cpu:0x3000000000000 --gpu-bind=map_gpu:0"},
        /* one core of the node is the system's */
        {"1-63", "--cpu-bind=mask_cpu:0x3000000000000 --gpu-bind=map_gpu:0"},
        {"2-7,10-15,18-23,26-31,34-39,42-47,50-55,58-63",
         "--cpu-bind=mask_cpu:0xc000000000000 --gpu-bind=map_gpu:0"},
        {"0-31", NULL}, /* half of the node */
        {"48-63", NULL},
        {"1-15,18-63", NULL}, /* one core of an llc, two of another: nobody's rule */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f = answer_over(nodes_mi250x(), cases[i].cpus, one);
        assert_slurm(&f, cases[i].expected);
        if (i == 0) { /* a part of the gpus is a part of the node */
            f.allowed.gpus = calloc(f.snap->graph->place_count, sizeof *f.allowed.gpus);
            f.allowed.gpus[f.answer.task[0].gpus[0]] = true;
            assert_slurm(&f, NULL);
        }
        end(&f);
    }
}

static void gpus_count_by_minor(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    for (int g = 0; g < 8; g++)
        graph->places[nodes_place(graph, PLACE_GPU, g)].minor = 10 - g;
    struct fixture f = answer_over(
        graph, NULL,
        (struct bind_request){
            .tasks = 4, .gpus_per_task = 2, .cores_per_task = 1, .threads_per_core = 1});
    assert_slurm(&f, "--cpu-bind=mask_cpu:0x1000000000000,0x10000,0x1,0x100000000 "
                     "--gpu-bind=mask_gpu:0xc0,0x30,0xc,0x3");
    end(&f);

    graph = nodes_mi250x();
    graph->places[nodes_place(graph, PLACE_GPU, 3)].minor = -1;
    f = answer_over(
        graph, NULL,
        (struct bind_request){
            .tasks = 4, .gpus_per_task = 2, .cores_per_task = 1, .threads_per_core = 1});
    assert_slurm(&f, "--cpu-bind=mask_cpu:0x1000000000000,0x10000,0x1,0x100000000 "
                     "--gpu-bind=mask_gpu:0x3,0xc,0x30,0xc0");
    end(&f);
}

static void assert_flux(struct graph *take_graph, const char *cpus, int tasks, int gpus,
                        const char *expected)
{
    struct fixture f = answer_over(
        take_graph, cpus,
        (struct bind_request){
            .tasks = tasks, .gpus_per_task = gpus, .cores_per_task = 1, .threads_per_core = 1});
    char *text = NULL;
    struct berth_err err = {0};
    assert_int_equal(launcher_options(LAUNCHER_FLUX, f.snap, &f.allowed, &f.answer, NULL,
                                      &f.answer.warnings, &text, &err),
                     BERTH_OK);
    if (expected != NULL)
        assert_string_equal(text, expected);
    else
        assert_null(text);
    free(text);
    end(&f);
}

/* Gives KFD nodes to the gpus, by which ROCr counts them. */
static struct graph *with_kfd_nodes(struct graph *graph, int first, int step)
{
    for (int g = 0; g < 8; g++) {
        char node[8];
        snprintf(node, sizeof node, "%d", first + g * step);
        place_set_detail(&graph->places[nodes_place(graph, PLACE_GPU, g)], "kfd_node", node);
    }
    return graph;
}

static void flux_counts_gpus_as_runtimes_do(void **state)
{
    (void)state;
    assert_flux(with_kfd_nodes(nodes_mi250x(), 4, 1), NULL, 4, 2,
                "-o cpu-affinity=map:0x1000000000000;0x10000;0x1;0x100000000 "
                "-o gpu-affinity=map:0x3;0xc;0x30;0xc0");
    assert_flux(with_kfd_nodes(nodes_mi250x(), 20, -1), NULL, 4, 2,
                "-o cpu-affinity=map:0x1000000000000;0x10000;0x1;0x100000000 "
                "-o gpu-affinity=map:0xc0;0x30;0xc;0x3");
    /* a part of the node will do: Flux counts all cpus */
    assert_flux(with_kfd_nodes(nodes_mi250x(), 4, 1), "48-63", 1, 1,
                "-o cpu-affinity=map:0x1000000000000 -o gpu-affinity=map:0");
    assert_flux(nodes_cpu(&(struct shape){2, 1, 1, 4, 1, INT64_C(1) << 34}), NULL, 2, 0,
                "-o cpu-affinity=map:0x1;0x10");
    assert_flux(nodes_mi250x(), NULL, 4, 2, NULL); /* no order is known */
    struct graph *graph = with_kfd_nodes(nodes_mi250x(), 4, 1);
    place_set_detail(&graph->places[nodes_place(graph, PLACE_GPU, 7)], "vendor", "nvidia");
    assert_flux(graph, NULL, 1, 1, NULL); /* two runtimes, one variable */
}

static void lines_for_other_launchers(void **state)
{
    (void)state;
    struct fixture f =
        answer_over(nodes_cpu(&(struct shape){2, 1, 1, 4, 2, INT64_C(1) << 34}), NULL,
                    (struct bind_request){.tasks = 2, .gpus_per_task = 0, .cores_per_task = 2});
    const int64_t ranks[] = {6, 7};
    char *text = NULL;
    struct berth_err err = {0};
    assert_int_equal(launcher_options(LAUNCHER_RANKFILE, f.snap, &f.allowed, &f.answer, ranks,
                                      &f.answer.warnings, &text, &err),
                     BERTH_OK);
    assert_string_equal(text, "rank 6=localhost slot=0-1\nrank 7=localhost slot=4-5\n");
    free(text);
    assert_int_equal(launcher_options(LAUNCHER_OMP_PLACES, f.snap, &f.allowed, &f.answer, NULL,
                                      &f.answer.warnings, &text, &err),
                     BERTH_OK);
    assert_string_equal(text, "{0,8},{1,9}\n{4,12},{5,13}\n");
    free(text);
    assert_int_equal(launcher_options(LAUNCHER_NUMACTL, f.snap, &f.allowed, &f.answer, NULL,
                                      &f.answer.warnings, &text, &err),
                     BERTH_OK);
    assert_string_equal(text, "numactl --physcpubind=0-1,8-9 --preferred=0\nnumactl "
                              "--physcpubind=4-5,12-13 --preferred=1\n");
    free(text);
    end(&f);
}

/* Cores are dealt out to the packages in turn, as some firmware numbers them: hwloc counts package
 * by package. */
static void a_rank_file_counts_as_hwloc_does(void **state)
{
    (void)state;
    struct graph *graph = graph_new();
    nodes_add(graph, PLACE_MACHINE, 0, PLACE_NONE, PLACE_NONE, NULL);
    for (int p = 0; p < 2; p++) {
        struct cpuset all = {0};
        for (unsigned c = 0; c < 4; c++)
            cpuset_add(&all, 2 * c + (unsigned)p);
        place_id package = nodes_add(graph, PLACE_PACKAGE, p, 0, PLACE_NONE, &all);
        place_id numa = nodes_add(graph, PLACE_NUMA, p, package, PLACE_NONE, &all);
        for (int c = 0; c < 4; c++) {
            struct cpuset one = {0};
            cpuset_add(&one, (unsigned)(2 * c + p));
            nodes_add(graph, PLACE_CORE, 2 * c + p, numa, numa, &one);
        }
    }
    struct fixture f = answer_over(
        graph, NULL, (struct bind_request){.tasks = 2, .gpus_per_task = 0, .cores_per_task = 3});
    char *text = NULL;
    struct berth_err err = {0};
    assert_int_equal(launcher_options(LAUNCHER_RANKFILE, f.snap, &f.allowed, &f.answer, NULL,
                                      &f.answer.warnings, &text, &err),
                     BERTH_OK);
    assert_string_equal(text, "rank 0=localhost slot=0-2\nrank 1=localhost slot=4-6\n");
    free(text);
    end(&f);
}

static struct visible visible_of(const struct graph *graph, const place_id *gpus, size_t count,
                                 struct reasons *warnings)
{
    struct visible visible = {0};
    struct allowed allowed = {.given = true};
    struct berth_err err = {0};
    assert_int_equal(visible_make(graph, &allowed, gpus, count, warnings, &visible, &err),
                     BERTH_OK);
    return visible;
}

static void amd_gpus_by_uuid_or_by_index(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    struct reasons warnings = {0};
    place_id two[] = {nodes_place(graph, PLACE_GPU, 3), nodes_place(graph, PLACE_GPU, 0)};
    /* as hwloc writes it: no "GPU-", no leading zeros */
    place_set_text(&graph->places[two[0]].uuid, "ce888172edb11f");
    struct visible visible = visible_of(graph, two, 2, &warnings);
    assert_string_equal(visible.rocr, "GPU-00ce888172edb11f,GPU-000000001a2b3c00");
    assert_null(visible.cuda);
    assert_string_equal(visible.unset[0], "HIP_VISIBLE_DEVICES");
    assert_string_equal(visible.unset[1], "GPU_DEVICE_ORDINAL");
    assert_string_equal(visible.unset[2], "CUDA_VISIBLE_DEVICES");
    assert_null(visible.unset[3]);
    visible_done(&visible);
    assert_int_equal(warnings.count, 0);

    /* partitions share a uuid: the index in ROCr's order, which is that of KFD nodes */
    place_set_text(&graph->places[nodes_place(graph, PLACE_GPU, 1)].uuid, "GPU-000000001a2b3c00");
    visible = visible_of(graph, two, 2, &warnings);
    assert_null(visible.rocr);
    assert_int_equal(warnings.count, 1);
    visible_done(&visible);
    with_kfd_nodes(graph, 20, -1);
    visible = visible_of(graph, two, 2, &warnings);
    assert_string_equal(visible.rocr, "GPU-00ce888172edb11f,7");
    visible_done(&visible);
    graph_unref(graph);
}

static void nvidia_gpus_and_others(void **state)
{
    (void)state;
    struct graph *graph = nodes_cpu(&(struct shape){1, 1, 1, 2, 1, INT64_C(1) << 34});
    struct reasons warnings = {0};
    place_id gpus[3];
    for (int g = 0; g < 3; g++)
        gpus[g] = nodes_add(graph, PLACE_GPU, g, 0, PLACE_NONE, NULL);
    place_set_text(&graph->places[gpus[0]].uuid, "GPU-d3977428-7a30-086b-2e20-5c1eeed647c6");
    place_set_text(&graph->places[gpus[1]].uuid, "MIG-d3977428-7a30-086b-2e20-5c1eeed647c7");
    place_set_detail(&graph->places[gpus[2]], "vendor", "intel");
    struct visible visible = visible_of(graph, gpus, 2, &warnings);
    assert_string_equal(
        visible.cuda,
        "GPU-d3977428-7a30-086b-2e20-5c1eeed647c6,MIG-d3977428-7a30-086b-2e20-5c1eeed647c7");
    assert_null(visible.rocr);
    assert_null(visible.unset[0]);
    visible_done(&visible);
    assert_int_equal(warnings.count, 0);
    visible = visible_of(graph, gpus + 2, 1, &warnings);
    assert_true(visible.cuda == NULL && visible.rocr == NULL);
    visible_done(&visible);
    assert_int_equal(warnings.count, 1);
    graph_unref(graph);
}

static void gpus_without_uuids_by_pci_address_where_that_is_sure(void **state)
{
    (void)state;
    static const char *const pci[] = {"0019:01:00.0", "0009:01:00.0", "10009:01:00.0"};
    struct graph *graph = nodes_cpu(&(struct shape){1, 1, 1, 2, 1, INT64_C(1) << 34});
    struct reasons warnings = {0};
    place_id gpus[3];
    for (int g = 0; g < 3; g++) {
        gpus[g] = nodes_add(graph, PLACE_GPU, g, 0, PLACE_NONE, NULL);
        place_set_text(&graph->places[gpus[g]].pci, pci[g]);
        place_set_detail(&graph->places[gpus[g]], "vendor", "nvidia");
    }
    struct visible visible = visible_of(graph, (place_id[]){gpus[2], gpus[0]}, 2, &warnings);
    assert_string_equal(visible.cuda, "2,1");
    assert_string_equal(visible.cuda_order, "PCI_BUS_ID");
    assert_int_equal(warnings.count, 0);
    visible_done(&visible);
    /* The first of all is not allowed: nobody knows whether it is hidden and not counted. */
    struct allowed allowed = {.given = true, .gpus = calloc(graph->place_count, sizeof(bool))};
    struct berth_err err = {0};
    assert_non_null(allowed.gpus);
    allowed.gpus[gpus[0]] = allowed.gpus[gpus[2]] = true;
    assert_int_equal(visible_make(graph, &allowed, gpus, 1, &warnings, &visible, &err), BERTH_OK);
    assert_true(visible.cuda == NULL && visible.cuda_order == NULL && warnings.count == 1 &&
                warnings.item[0].code == REASON_VISIBLE_UNSET &&
                strcmp(warnings.item[0].subject[0], "gpu0") == 0);
    allowed.gpus[gpus[1]] = true;
    allowed.gpus[gpus[2]] = false; /* one behind does not matter */
    assert_int_equal(visible_make(graph, &allowed, gpus, 1, &warnings, &visible, &err), BERTH_OK);
    assert_string_equal(visible.cuda, "1");
    visible_done(&visible);
    allowed_done(&allowed);
    /* A slice counts otherwise. */
    place_set_detail(&graph->places[gpus[2]], "partition", "mig");
    visible = visible_of(graph, gpus, 1, &warnings);
    assert_null(visible.cuda);
    graph_unref(graph);
}

static void vendors(void **state)
{
    (void)state;
    const struct {
        char *detail, *uuid, *model;
        enum gpu_vendor vendor;
    } cases[] = {
        {"amd", NULL, NULL, VENDOR_AMD},
        {"nvidia", "GPU-00ce888172edb11f", NULL, VENDOR_NVIDIA},
        {NULL, "GPU-00ce888172edb11f", NULL, VENDOR_AMD},
        {NULL, "GPU-d3977428-7a30-086b-2e20-5c1eeed647c6", NULL, VENDOR_NVIDIA},
        {NULL, NULL, "Tesla V100-SXM2-32GB", VENDOR_NVIDIA},
        {NULL, NULL, "AMD Instinct MI210", VENDOR_AMD},
        {NULL, NULL, NULL, VENDOR_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct detail detail = {"vendor", cases[i].detail};
        struct place gpu = {.kind = PLACE_GPU,
                            .uuid = cases[i].uuid,
                            .model = cases[i].model,
                            .details = &detail,
                            .detail_count = cases[i].detail != NULL};
        assert_int_equal(gpu_vendor(&gpu), cases[i].vendor);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_is_for_the_whole_node_only),
        cmocka_unit_test(gpus_count_by_minor),
        cmocka_unit_test(flux_counts_gpus_as_runtimes_do),
        cmocka_unit_test(lines_for_other_launchers),
        cmocka_unit_test(a_rank_file_counts_as_hwloc_does),
        cmocka_unit_test(amd_gpus_by_uuid_or_by_index),
        cmocka_unit_test(nvidia_gpus_and_others),
        cmocka_unit_test(gpus_without_uuids_by_pci_address_where_that_is_sure),
        cmocka_unit_test(vendors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
