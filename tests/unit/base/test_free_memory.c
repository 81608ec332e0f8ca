#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/free_memory.h"
#include "unit/base/tree_root.h"

static int64_t fixed_now_s(void *state)
{
    return (int64_t)(*(uint64_t *)state / 1000000000u) + 1790000000;
}
static uint64_t fixed_mono_ns(void *state) { return *(uint64_t *)state; }

static void nodes_are_read_at_most_ten_times_a_second(void **state)
{
    (void)state;
    uint64_t now_ns = 5;
    struct clock clock = {fixed_now_s, fixed_mono_ns, &now_ns};
    struct files io = {root};
    struct free_memory *memory = NULL;
    struct berth_err err = {0};
    tree_put(root, "/sys/devices/system/node/node0/meminfo",
             "Node 0 MemTotal:  1000 kB\nNode 0 MemFree:  123 kB\nNode 0 MemUsed: 1 kB\n");
    tree_put(root, "/sys/devices/system/node/node12/meminfo",
             "\nNode 12 MemTotal:  1000 kB\nNode 12 MemFree:  7 kB\n");
    tree_put(root, "/sys/devices/system/node/node3/meminfo", "Node 3 MemFree: many kB\n");
    tree_put(root, "/sys/devices/system/node/node4x/meminfo", "Node 4 MemFree: 1 kB\n");
    tree_put(root, "/sys/devices/system/node/online", "0,3,12\n");
    assert_int_equal(free_memory_new(&io, &clock, &memory, &err), BERTH_OK);

    struct free_memory_view view = free_memory_read(memory);
    assert_int_equal(view.count, 3);
    assert_int_equal(free_memory_of(&view, 0), 123 * 1024);
    assert_int_equal(free_memory_of(&view, 12), 7 * 1024);
    assert_int_equal(free_memory_of(&view, 3), -1);
    assert_int_equal(free_memory_of(&view, 4), -1);
    assert_int_equal(view.at_s, 1790000000);

    tree_put(root, "/sys/devices/system/node/node0/meminfo", "Node 0 MemFree:  99 kB\n");
    now_ns += FREE_MEMORY_EVERY_MS * 1000000 - 1;
    view = free_memory_read(memory);
    assert_int_equal(free_memory_of(&view, 0), 123 * 1024);
    now_ns += 2000000001;
    view = free_memory_read(memory);
    assert_int_equal(free_memory_of(&view, 0), 99 * 1024);
    assert_int_equal(view.at_s, 1790000002);
    free_memory_free(memory);
}

#define NODE(number, total)                                                                        \
    "Node " #number " MemTotal:  " #total " kB\nNode " #number " MemFree:  100 kB\nNode " #number  \
    " MemUsed:  7 kB\n"                                                                            \
    "Node " #number " Active:  900 kB\nNode " #number " Inactive:  800 kB\nNode " #number          \
    " Active(anon):  700 kB\n"                                                                     \
    "Node " #number " Inactive(anon):  600 kB\nNode " #number                                      \
    " Active(file):  20 kB\nNode " #number " Inactive(file):  3 kB\n"                              \
    "Node " #number " KReclaimable:  500 kB\nNode " #number " Slab:  400 kB\nNode " #number        \
    " SReclaimable:  4000 kB\n"

static void caches_that_can_be_dropped_count_as_free(void **state)
{
    (void)state;
    uint64_t now_ns = 5;
    struct clock clock = {fixed_now_s, fixed_mono_ns, &now_ns};
    struct files io = {root};
    struct free_memory *memory = NULL;
    struct berth_err err = {0};
    tree_put(root, "/proc/meminfo",
             "MemTotal:  9000 kB\nMemFree:  900 kB\nMemAvailable:  4500 kB\n");
    tree_put(root, "/sys/devices/system/node/node0/meminfo", NODE(0, 6000));
    tree_put(root, "/sys/devices/system/node/node1/meminfo", NODE(1, 3000));
    assert_int_equal(free_memory_new(&io, &clock, &memory, &err), BERTH_OK);
    struct free_memory_view view = free_memory_read(memory);
    assert_int_equal(free_memory_of(&view, 0), 4123 * 1024);
    assert_int_equal(free_memory_of(&view, 1), 4123 * 1024);
    free_memory_free(memory);
}

static void a_single_memory_has_what_the_kernel_estimates(void **state)
{
    (void)state;
    uint64_t now_ns = 5;
    struct clock clock = {fixed_now_s, fixed_mono_ns, &now_ns};
    struct files io = {root};
    struct free_memory *memory = NULL;
    struct berth_err err = {0};
    tree_put(root, "/sys/devices/system/node/node0/meminfo",
             "Node 0 MemTotal:  0 kB\nNode 0 MemFree:  0 kB\n");
    tree_put(root, "/sys/devices/system/node/node1/meminfo", NODE(1, 3000));
    /* without /proc/meminfo the node's own file does */
    assert_int_equal(free_memory_new(&io, &clock, &memory, &err), BERTH_OK);
    struct free_memory_view view = free_memory_read(memory);
    assert_int_equal(free_memory_of(&view, 1), 4123 * 1024);
    free_memory_free(memory);

    tree_put(
        root, "/proc/meminfo",
        "MemTotal:  9000 kB\nMemFree:  900 kB\nMemAvailable:  4500 kB\nActive(file):  50 kB\n");
    assert_int_equal(free_memory_new(&io, &clock, &memory, &err), BERTH_OK);
    view = free_memory_read(memory);
    assert_int_equal(view.count, 2);
    assert_int_equal(free_memory_of(&view, 0), 0);
    assert_int_equal(free_memory_of(&view, 1), 4500 * 1024);
    /* an old kernel */
    tree_put(root, "/proc/meminfo",
             "MemTotal:  9000 kB\nMemFree:  900 kB\nActive(file):  50 kB\nInactive(file):  much\n");
    now_ns += FREE_MEMORY_EVERY_MS * 1000000;
    view = free_memory_read(memory);
    assert_int_equal(free_memory_of(&view, 1), 950 * 1024);
    free_memory_free(memory);
}

static void without_nodes_the_machine_is_node_0(void **state)
{
    (void)state;
    struct clock clock = clock_system();
    struct files io = {root};
    struct free_memory *memory = NULL;
    struct berth_err err = {0};
    assert_int_equal(free_memory_new(&io, &clock, &memory, &err), BERTH_ABSENT);
    assert_null(memory);
    tree_put(root, "/proc/meminfo",
             "MemTotal:  2000 kB\nMemFree:   1500 kB\nMemAvailable: 1800 kB\n");
    err = (struct berth_err){0};
    assert_int_equal(free_memory_new(&io, &clock, &memory, &err), BERTH_OK);
    struct free_memory_view view = free_memory_read(memory);
    assert_int_equal(free_memory_of(&view, 0), 1800 * 1024);
    free_memory_free(memory);
}

static void a_recorded_node_has_none(void **state)
{
    (void)state;
    struct free_memory_view view = free_memory_read(NULL);
    assert_int_equal(free_memory_of(&view, 0), -1);
    free_memory_free(NULL);
}

static void this_machine_has_some(void **state)
{
    (void)state;
    struct clock clock = clock_system();
    struct files io = {""};
    struct free_memory *memory = NULL;
    struct berth_err err = {0};
    assert_int_equal(free_memory_new(&io, &clock, &memory, &err), BERTH_OK);
    struct free_memory_view view = free_memory_read(memory);
    assert_true(view.count > 0 && view.node[0].free_bytes > 0);
    free_memory_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_are_read_at_most_ten_times_a_second, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(caches_that_can_be_dropped_count_as_free, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(a_single_memory_has_what_the_kernel_estimates, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(without_nodes_the_machine_is_node_0, make_root,
                                        remove_root),
        cmocka_unit_test(a_recorded_node_has_none),
        cmocka_unit_test(this_machine_has_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
