/* From files of a made sysfs to counters, and from two readings to findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "discover/counter_files.h"
#include "discover/draft.h"
#include "health/assessment.h"
#include "unit/base/tree.h"

#define NIC     "/sys/bus/pci/devices/0000:c1:00.0/"
#define GPU     "/sys/bus/pci/devices/0000:c2:00.0/"
#define START_S 1790000000

struct fixture {
    char root[TREE_SIZE];
    struct files io;
    struct graph *graph;
    struct counters counters;
};

static void put(const struct fixture *f, const char *path, const char *text)
{
    tree_put(f->root, path, text);
}

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct draft draft;
    struct berth_err err = {0};
    struct values *values = NULL;
    assert_non_null(f);
    tree_make(f->root);
    f->io.root = f->root;
    assert_true(draft_init(&draft));
    draft_add(&draft, PLACE_NUMA, 0, DRAFT_HWLOC);
    draft_pci(&draft, draft_add(&draft, PLACE_NIC, 0, DRAFT_HWLOC), 0xc100);
    draft_pci(&draft, draft_add(&draft, PLACE_GPU, 0, DRAFT_HWLOC), 0xc200);
    assert_int_equal(draft_finish(&draft, "test", ORIGIN_LIVE, &f->graph, &values, &err), BERTH_OK);
    values_free(values);
    put(f, "/proc/sys/kernel/random/boot_id", "one\n");
    put(f, GPU "aer_dev_correctable", "RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 3\n");
    put(f, GPU "aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0\n");
    put(f, GPU "aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 0\n");
    put(f, NIC "net/eth0/statistics/rx_errors", "5\n");
    put(f, NIC "net/eth0/statistics/tx_errors", "6\n");
    put(f, NIC "net/eth0/carrier_up_count", "1\n");
    put(f, NIC "net/eth0/carrier_down_count", "0\n");
    put(f, NIC "net/eth0/carrier", "1\n");
    put(f, NIC "infiniband/mlx5_0/ports/1/counters/symbol_error", "7\n");
    put(f, NIC "infiniband/mlx5_0/ports/1/counters/link_downed", "0\n");
    put(f, NIC "infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    put(f, NIC "infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n");
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    counters_done(&f->counters);
    graph_unref(f->graph);
    tree_remove(f->root);
    free(f);
    return 0;
}

static void read_at(struct fixture *f, int64_t now_s)
{
    assert_true(counter_files_read(&f->io, f->graph, now_s, &f->counters));
}

static int64_t value_of(const struct fixture *f, const char *at, enum counter counter)
{
    for (size_t i = 0; i < f->counters.count; i++)
        if (f->counters.value[i].counter == counter && strcmp(f->counters.value[i].at, at) == 0)
            return f->counters.value[i].value;
    return -1;
}

/* Writes the findings as "code place text" lines; the caller frees them. */
static char *findings_of(struct fixture *f)
{
    static const struct health_limits limits;
    struct berth_err err = {0};
    struct assessment assessment;
    struct snapshot *snap = snapshot_new(f->graph, values_new(), NULL, 0, 0, 1);
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_true(counters_copy(&f->counters, &snap->counters));
    assert_int_equal(health_assess(snap, NULL, &limits, &assessment, &err), BERTH_OK);
    for (size_t i = 0; i < assessment.count; i++)
        fprintf(file, "%s %s %s\n", assessment.finding[i].code, assessment.finding[i].place,
                assessment.finding[i].text);
    fclose(file);
    assessment_done(&assessment);
    snapshot_unref(snap);
    return text;
}

static void expect(struct fixture *f, const char *findings)
{
    char *text = findings_of(f);
    assert_string_equal(text, findings);
    free(text);
}

static void files_become_counters_and_the_first_reading_is_no_finding(void **state)
{
    struct fixture *f = *state;
    read_at(f, START_S);
    assert_int_equal(value_of(f, "0000:c2:00.0", COUNTER_AER_CORRECTABLE), 3);
    assert_int_equal(value_of(f, "0000:c1:00.0", COUNTER_NIC_ERRORS), 11);
    assert_int_equal(value_of(f, "0000:c1:00.0", COUNTER_NIC_SYMBOL_ERRORS), 7);
    assert_int_equal(value_of(f, "0000:c1:00.0", COUNTER_NIC_DOWN), 0);
    assert_int_equal(f->counters.garbage, 0);
    expect(f, "");
}

static void a_rise_is_judged_by_the_hour_and_clears(void **state)
{
    struct fixture *f = *state;
    read_at(f, START_S);
    put(f, GPU "aer_dev_correctable", "TOTAL_ERR_COR 103\n");
    read_at(f, START_S + 600);
    expect(f, "");
    put(f, GPU "aer_dev_correctable", "TOTAL_ERR_COR 104\n");
    read_at(f, START_S + 1200);
    expect(f, "pcie-errors gpu0 101 PCIe errors corrected in 20 minutes, 104 since its driver was "
              "loaded\n");
    for (int64_t s = START_S + 1800; s <= START_S + 9000; s += 600)
        read_at(f, s);
    expect(f, "");
    put(f, GPU "aer_dev_fatal", "TOTAL_ERR_FATAL 1\n");
    read_at(f, START_S + 9600);
    expect(f,
           "pcie-errors gpu0 1 fatal PCIe errors in 100 minutes, 1 since its driver was loaded\n");
}

static void facts_of_a_driver_count_at_their_time(void **state)
{
    struct fixture *f = *state;
    struct place *machine = &f->graph->places[0],
                 *gpu = &f->graph->places[graph_find(f->graph, "gpu0")];
    assert_true(place_set_detail(machine, "facts_at_s", "1790000000"));
    assert_true(place_set_detail(gpu, "nvlink_recoveries", "1"));
    read_at(f, START_S + 60);
    read_at(f, START_S + 7200);
    expect(f, "");
    assert_true(place_set_detail(machine, "facts_at_s", "1790003600"));
    assert_true(place_set_detail(gpu, "nvlink_recoveries", "3"));
    read_at(f, START_S + 7800);
    expect(f, "link-errors gpu0 2 recoveries of an NVLink in 60 minutes, 3 since its driver was "
              "loaded\n");
}

static void a_counter_that_fell_and_another_boot_begin_anew(void **state)
{
    struct fixture *f = *state;
    put(f, GPU "aer_dev_fatal", "TOTAL_ERR_FATAL 9\n");
    read_at(f, START_S);
    put(f, GPU "aer_dev_fatal", "TOTAL_ERR_FATAL 2\n");
    read_at(f, START_S + 600);
    expect(f, "");
    put(f, "/proc/sys/kernel/random/boot_id", "two\n");
    put(f, GPU "aer_dev_fatal", "TOTAL_ERR_FATAL 5\n");
    read_at(f, START_S + 1200);
    expect(f, "");
    assert_int_equal(value_of(f, "0000:c2:00.0", COUNTER_AER_FATAL), 5);
}

static void a_nic_that_lost_its_link_is_down_until_it_is_back(void **state)
{
    struct fixture *f = *state;
    read_at(f, START_S);
    put(f, NIC "net/eth0/carrier", "0\n");
    put(f, NIC "net/eth0/carrier_down_count", "1\n");
    read_at(f, START_S + 600);
    expect(f, "nic-down nic0 1 of its links lost and not back\n");
    put(f, NIC "net/eth0/carrier", "1\n");
    put(f, NIC "infiniband/mlx5_0/ports/1/counters/link_downed", "1\n");
    read_at(f, START_S + 1200);
    expect(f,
           "nic-errors nic0 2 losses of the link in 20 minutes, 2 since its driver was loaded\n");
}

static void a_nic_with_fewer_lanes_than_both_ends_have_is_narrow(void **state)
{
    /* Links are left out of the made tree: the port above a device is its folder's parent. */
    static const char port[] = "/sys/bus/pci/devices/max_link_width";
    struct fixture *f = *state;
    put(f, NIC "current_link_width", "8\n");
    put(f, NIC "max_link_width", "16\n");
    read_at(f, START_S);
    expect(f, "");
    put(f, port, "16\n");
    read_at(f, START_S + 600);
    expect(f, "pcie-narrow nic0 8 of its PCIe lanes not in use\n");
    put(f, port, "8\n");
    read_at(f, START_S + 1200);
    expect(f, "");
    put(f, port, "16\n");
    put(f, NIC "current_link_width", "16\n");
    read_at(f, START_S + 1800);
    expect(f, "");
    /* a small card in a large slot, and widths that the kernel does not know */
    static const struct {
        const char *now, *own, *above;
        int64_t missing;
    } widths[] = {{"8\n", "8\n", "16\n", 0},     {"16\n", "8\n", "8\n", 0},
                  {"1\n", "16\n", "4\n", 3},     {"0\n", "16\n", "16\n", -1},
                  {"255\n", "16\n", "16\n", -1}, {"8\n", "255\n", "255\n", -1},
                  {"8\n", "0\n", "16\n", -1},    {"8\n", "16\n", "0\n", -1}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        put(f, NIC "current_link_width", widths[i].now);
        put(f, NIC "max_link_width", widths[i].own);
        put(f, port, widths[i].above);
        counters_done(&f->counters);
        read_at(f, START_S + 2400);
        assert_int_equal(value_of(f, "0000:c1:00.0", COUNTER_NIC_LANES), widths[i].missing);
    }
}

static void hostile_texts_are_one_finding(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"-1\n", "99999999999999999999999\n", "1e9\n", "",
                                        "12 apples\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put(f, NIC "net/eth0/statistics/rx_errors", texts[i]);
        put(f, NIC "net/eth0/statistics/tx_errors", texts[i]);
        read_at(f, START_S + (int64_t)i);
        assert_int_equal(f->counters.garbage, 2);
        assert_int_equal(value_of(f, "0000:c1:00.0", COUNTER_NIC_ERRORS), -1);
    }
    put(f, GPU "aer_dev_fatal", "\n");
    read_at(f, START_S + 9);
    char *text = findings_of(f);
    assert_string_equal(text,
                        "counter-garbage machine0 3 records of errors are not read; the first: "
                        "/sys/bus/pci/devices/0000:c2:00.0/aer_dev_fatal says \"\"\n");
    free(text);
}

static void the_text_keeps_everything_and_refuses_the_rest(void **state)
{
    struct fixture *f = *state;
    struct counters again;
    read_at(f, START_S);
    put(f, GPU "aer_dev_fatal", "TOTAL_ERR_FATAL 4\n");
    read_at(f, START_S + 60);
    char *text = counters_print(&f->counters), *twice;
    counters_parse(text, &again);
    assert_int_equal(again.garbage, 0);
    assert_non_null(twice = counters_print(&again));
    assert_string_equal(twice, text);
    counters_done(&again);
    free(text);
    free(twice);
    counters_parse(
        "{\"record\":\"counter\",\"at\":\"0000:c1:00.0\",\"counter\":\"aer_fatal\",\"value\":-1,"
        "\"at_s\":1,\"before\":0,\"before_at_s\":1}\nnonsense\n"
        "{\"record\":\"counter\",\"at\":\"nic0\",\"counter\":\"aer_fatal\",\"value\":1,"
        "\"at_s\":1,\"before\":0,\"before_at_s\":1}\n",
        &again);
    assert_int_equal(again.garbage, 3);
    assert_int_equal(again.count, 0);
    counters_done(&again);
}

static void absent_devices_take_no_room_and_too_many_counters_are_a_finding(void **state)
{
    struct fixture *f = *state;
    struct counter_value other = {.counter = COUNTER_NIC_DOWN, .at_s = START_S};
    read_at(f, START_S);
    size_t count = f->counters.count;
    for (const char *const *at = (const char *const[]){"0000:99:00.0", "0000:c2:00.0", NULL};
         *at != NULL; at++) {
        snprintf(other.at, sizeof other.at, "%s", *at);
        f->counters.value = realloc(f->counters.value, COUNTERS_MAX * sizeof *f->counters.value);
        assert_non_null(f->counters.value);
        for (size_t i = 0; i < COUNTERS_MAX; i++)
            f->counters.value[i] = other;
        f->counters.count = COUNTERS_MAX;
        read_at(f, START_S + 60);
        bool is_there = at[1] == NULL; /* the second device is the node's GPU */
        assert_int_equal(f->counters.count, is_there ? COUNTERS_MAX : count);
        assert_int_equal(f->counters.garbage > 0, is_there);
    }
    assert_non_null(strstr(f->counters.first_garbage, "more than 4096 counters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_become_counters_and_the_first_reading_is_no_finding,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_rise_is_judged_by_the_hour_and_clears, begin, end),
        cmocka_unit_test_setup_teardown(facts_of_a_driver_count_at_their_time, begin, end),
        cmocka_unit_test_setup_teardown(a_counter_that_fell_and_another_boot_begin_anew, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_nic_that_lost_its_link_is_down_until_it_is_back, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_nic_with_fewer_lanes_than_both_ends_have_is_narrow, begin,
                                        end),
        cmocka_unit_test_setup_teardown(hostile_texts_are_one_finding, begin, end),
        cmocka_unit_test_setup_teardown(the_text_keeps_everything_and_refuses_the_rest, begin, end),
        cmocka_unit_test_setup_teardown(
            absent_devices_take_no_room_and_too_many_counters_are_a_finding, begin, end),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
