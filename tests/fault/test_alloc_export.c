/* Every allocation of an export fails once: there is an error or the whole text, never a crash, and
 * nothing stays behind. What hwloc itself does without memory is not ours to say: its format is
 * left out. */
#include <time.h>

#include "export/export.h"
#include "fault_answer.h"

enum { MACHINE, PACKAGE, NUMA, GPU0, GPU1, NIC, PLACES };

static struct snapshot *make_snapshot(const void *question)
{
    (void)question;
    struct graph *graph = graph_new();
    struct values *values = values_new();
    struct cpuset cpus = {0};
    cpuset_add(&cpus, 0);
    cpuset_add(&cpus, 33);
    graph_add_place(graph, PLACE_MACHINE, 0);
    graph_add_place(graph, PLACE_PACKAGE, 0);
    graph_add_place(graph, PLACE_NUMA, 0);
    graph_add_place(graph, PLACE_GPU, 0);
    graph_add_place(graph, PLACE_GPU, 1);
    graph_add_place(graph, PLACE_NIC, 0);
    assert_true(place_set_text(&graph->name, "n"));
    for (int i = PACKAGE; i < PLACES; i++) {
        struct place *place = &graph->places[i];
        const char *const address[] = {
            [GPU0] = "0000:01:00.0", [GPU1] = "0000:02:00.0", [NIC] = "0000:03:00.0"};
        place->parent = MACHINE;
        place->numa = i <= NUMA ? PLACE_NONE : NUMA;
        assert_true(place_set_cpus(place, &cpus));
        assert_true(i <= NUMA || place_set_text(&place->pci, address[i]));
        assert_true(place->kind != PLACE_GPU || (place_set_detail(place, "vendor", "nvidia") &&
                                                 place_set_text(&place->model, "NVIDIA H200")));
        place->minor = i - GPU0;
    }
    graph_add_link(graph, GPU0, GPU1, LINK_NVLINK)->width = 18;
    struct value v = {.metric = METRIC_GPU_GPU_COPY_ENGINE,
                      .source = VALUE_MEASURED,
                      .from = GPU0,
                      .to = GPU1,
                      .n = 9,
                      .value = 3 * GB,
                      .low = 2 * GB,
                      .high = 4 * GB};
    assert_true(values_add(values, &v, "", NULL));
    return fault_snapshot(graph, values, NULL);
}

/* question: the format. */
static enum berth_code ask(struct snapshot *snap, const void *question, struct berth_err *err)
{
    static const struct {
        enum export_format format;
        const char *has;
    } wanted[] = {
        {EXPORT_NCCL, "<nvlink target=\"0000:02:00.0\" count=\"18\"/>"},
        {EXPORT_GRES,
         "Name=gpu Type=h200 File=/dev/nvidia1 Flags=nvidia_gpu_env Cores=0-1 Links=18,-1"},
        {EXPORT_DOT, "gpu0 -- gpu1 [label=\"nvlink x18\\n3 GB/s measured\""},
        {EXPORT_PROMETHEUS, "berth_bandwidth_bytes_per_second{metric=\"gpu_gpu_copy_engine\",from="
                            "\"gpu0\",to=\"gpu1\",source=\"measured\"} 3e+09\n"},
        {EXPORT_NFD, "# +expiry-time=1970-01-01T00:15:01Z\n"},
        {EXPORT_DRA, "\"resource.kubernetes.io/pciBusID\":{\"string\":\"0000:02:00.0\"}"}};
    unsigned core[] = {0, 33};
    const struct hwloc_view view = {.core = core, .core_count = 2};
    const struct assessment assessment = {.verdict = VERDICT_HEALTHY};
    const struct export_input input = {
        .snap = snap, .view = &view, .assessment = &assessment, .now_s = 1};
    enum export_format format = *(const enum export_format *)question;
    struct print text = {0};
    enum berth_code code = export_write(format, &input, &text, err);
    print_bytes(&text, "", 1);
    if (code == BERTH_OK && text.failed)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the test's own end");
    for (size_t i = 0; code == BERTH_OK && i < sizeof wanted / sizeof wanted[0]; i++)
        if (wanted[i].format == format && strstr(text.data, wanted[i].has) == NULL)
            fail_msg("%s is not in %s", wanted[i].has, text.data);
    print_done(&text);
    return code;
}

static void exports_survive(void **state)
{
    (void)state;
    tzset(); /* the C library keeps what it allocates for the first time of day */
    static const enum export_format formats[] = {EXPORT_NCCL,       EXPORT_GRES, EXPORT_DOT,
                                                 EXPORT_PROMETHEUS, EXPORT_NFD,  EXPORT_DRA};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        fault_each_place(make_snapshot, ask, &formats[i], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exports_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
