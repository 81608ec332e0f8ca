#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/free_memory.h"
#include "cpu/memory.h"
#include "cpu/topology.h"
#include "cpu_machine.h"

static struct cpu_list list(const char *text)
{
    struct cpu_list numbers;
    assert_true(cpu_list_parse(text, &numbers));
    return numbers;
}

static void read_ok(const char *root, const char *cpus, const char *memory,
                    struct cpu_topology *ret_topology)
{
    struct cpu_list allowed = list(cpus), nodes = list(memory ? memory : "");
    struct probe_why why = {0};
    if (!cpu_topology_read(root, &allowed, memory ? &nodes : NULL, ret_topology, &why))
        fail_msg("%s", why.text);
}

static void lists(void **state)
{
    (void)state;
    struct cpu_list numbers = list(" 0-2,7,64-65 \n");
    int expected[] = {0, 1, 2, 7, 64, 65}, at = 0;
    for (int n = cpu_list_next(&numbers, 0); n >= 0; n = cpu_list_next(&numbers, n + 1))
        assert_int_equal(n, expected[at++]);
    assert_int_equal(at, 6);
    numbers = list("");
    assert_int_equal(cpu_list_next(&numbers, 0), -1);
    numbers = list("4095");
    assert_int_equal(cpu_list_next(&numbers, 0), 4095);
    static const char *const bad[] = {"4096", "3-1", "a",    "1,",
                                      "1-",   "-1",  "1 2",  "99999999999999999999",
                                      "1,,2", "0x1", "1-2-3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (cpu_list_parse(bad[i], &numbers))
            fail_msg("\"%s\" was taken for a list", bad[i]);
    assert_true(cpu_list_has(&numbers, 4095)); /* untouched */
}

static void regular(void **state)
{
    (void)state;
    char *root = machine_regular(16, 2, 4, 8);
    struct cpu_topology topology;
    read_ok(root, "0-31", NULL, &topology);
    assert_int_equal(topology.core_count, 16);
    assert_int_equal(topology.llc_count, 4);
    assert_int_equal(topology.numa_count, 2);
    assert_int_equal(topology.cores[9].number, 9);
    assert_int_equal(topology.cores[9].pu, 9);
    assert_int_equal(topology.cores[9].sibling, 25);
    assert_int_equal(topology.cores[9].threads, 2);
    assert_int_equal(topology.l2_bytes, 1 << 20);
    assert_int_equal(topology.cores[9].llc, 2);
    assert_int_equal(topology.cores[9].numa, 1);
    assert_int_equal(topology.llcs[3].bytes, 16 << 20);
    assert_int_equal(topology.llcs[3].numa, 1);
    assert_int_equal(topology.llcs[3].cores, 4);
    assert_int_equal(topology.numas[1].llcs, 2);
    assert_int_equal(topology.numas[1].cores, 8);
    assert_int_equal(topology.numas[1].memory_bytes, INT64_C(1) << 30);
    assert_true(topology.numas[0].allowed && topology.numas[1].allowed);
    static const char *const here[] = {"core0", "core15", "llc0", "llc3", "numa1"};
    static const char *const nowhere[] = {"core16", "llc4",   "numa2",  "gpu0", "pu0", "machine0",
                                          "core",   "core01", "core1x", "",     "0"};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        assert_true(cpu_topology_has(&topology, here[i]));
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        assert_false(cpu_topology_has(&topology, nowhere[i]));
    cpu_topology_done(&topology);
    machine_free(root);
}

/* A cpuset: numbers stay those of the whole node, and the left out cpus are counted. */
static void restricted(void **state)
{
    (void)state;
    char *root = machine_regular(16, 2, 4, 8);
    struct cpu_topology topology;
    read_ok(root, "5,9,21,25,26", "1", &topology);
    assert_int_equal(topology.core_count, 3);
    assert_int_equal(topology.cores[0].number, 5);
    assert_int_equal(topology.cores[0].pu, 5);
    assert_int_equal(topology.cores[2].number, 10); /* only its second pu */
    assert_int_equal(topology.cores[2].pu, 26);
    assert_int_equal(topology.cores[0].sibling, 21);
    assert_int_equal(topology.cores[2].sibling, -1); /* the other may not be used */
    assert_int_equal(topology.cores[2].threads, 2);
    assert_int_equal(topology.cores[2].llc, 2);
    assert_int_equal(topology.llc_count, 4);
    assert_int_equal(topology.llcs[0].cores, 0);
    assert_false(cpu_topology_has(&topology, "llc0"));
    assert_true(cpu_topology_has(&topology, "core5") && !cpu_topology_has(&topology, "core4"));
    assert_int_equal(topology.llcs[2].cores, 2);
    assert_int_equal(topology.llcs[2].other_cores, 2);
    assert_int_equal(topology.numas[1].llcs, 1);
    assert_int_equal(topology.numas[0].other_cores, 7);
    assert_false(topology.numas[0].allowed);
    assert_true(topology.numas[1].allowed);
    cpu_topology_done(&topology);
    machine_free(root);
}

static void offline_and_memory_only(void **state)
{
    (void)state;
    char *root = machine_regular(8, 1, 4, 4);
    machine_put(root, "0-2,4-7\n", "/sys/devices/system/cpu/online");
    machine_put(root, "0-1,4,6\n", "/sys/devices/system/node/online");
    machine_put(root, "\n", "/sys/devices/system/node/node4/cpulist"); /* memory without CPUs */
    machine_put(root, "Node 4 MemTotal: 2048 kB\n", "/sys/devices/system/node/node4/meminfo");
    machine_put(root, "\n", "/sys/devices/system/node/node6/cpulist"); /* neither */
    machine_put(root, "Node 6 MemTotal: 0 kB\n", "/sys/devices/system/node/node6/meminfo");
    struct cpu_topology topology;
    read_ok(root, "0-7", NULL, &topology);
    assert_int_equal(topology.core_count, 7);
    assert_int_equal(topology.cores[3].number, 4);
    assert_int_equal(topology.numa_count, 3);
    assert_int_equal(topology.numas[2].number, 4);
    assert_int_equal(topology.numas[2].cores, 0);
    assert_int_equal(topology.numas[2].memory_bytes, 2048 * 1024);
    cpu_topology_done(&topology);
    machine_free(root);
}

/* No caches, no NUMA nodes, no topology files: the least a container shows. */
static void bare(void **state)
{
    (void)state;
    char *root = machine_new();
    machine_put(root, "0-1\n", "/sys/devices/system/cpu/online");
    machine_put(root, "MemTotal:  262144 kB\nMemAvailable:  131072 kB\n", "/proc/meminfo");
    struct cpu_topology topology;
    read_ok(root, "0-1", NULL, &topology);
    assert_int_equal(topology.core_count, 2);
    assert_int_equal(topology.cores[1].llc, -1);
    assert_int_equal(topology.cores[1].sibling, -1);
    assert_int_equal(topology.cores[1].threads, 1);
    assert_int_equal(topology.l2_bytes, -1);
    assert_int_equal(topology.cores[1].numa, 0);
    assert_int_equal(topology.llc_count, 0);
    assert_int_equal(topology.numa_count, 1);
    assert_false(topology.has_numa);
    assert_int_equal(topology.numas[0].memory_bytes, 262144 * 1024);
    cpu_topology_done(&topology);
    machine_free(root);
}

static void wrong(void **state)
{
    (void)state;
    struct cpu_list all = list("0-31");
    struct cpu_topology topology = {.core_count = 77};
    struct probe_why why = {0};
    char *root = machine_new();
    assert_false(cpu_topology_read(root, &all, NULL, &topology, &why));
    assert_non_null(strstr(why.text, "cpu/online"));
    machine_put(root, "rubbish", "/sys/devices/system/cpu/online");
    assert_false(cpu_topology_read(root, &all, NULL, &topology, &why));
    machine_put(root, "0-1", "/sys/devices/system/cpu/online");
    machine_put(root, "0-9999999", "/sys/devices/system/node/online");
    assert_false(cpu_topology_read(root, &all, NULL, &topology, &why));
    assert_int_equal(topology.core_count, 77); /* untouched */
    machine_free(root);

    root = machine_regular(4, 1, 4, 4);
    struct cpu_list none = list("40");
    assert_false(cpu_topology_read(root, &none, NULL, &topology, &why));
    assert_non_null(strstr(why.text, "online"));
    /* Files that lie: siblings above themselves, a cache shared by nobody, a negative size. */
    machine_put(root, "3\n", "/sys/devices/system/cpu/cpu0/topology/core_cpus_list");
    machine_put(root, "\n", "/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list");
    machine_put(root, "-5K\n", "/sys/devices/system/cpu/cpu1/cache/index3/size");
    assert_true(cpu_topology_read(root, &all, NULL, &topology, &why));
    assert_int_equal(topology.cores[0].number, 0);
    cpu_topology_done(&topology);
    machine_free(root);
}

static void memory_limits(void **state)
{
    (void)state;
    const int64_t mib = 1 << 20;
    char *root = machine_regular(4, 1, 4, 4);
    struct cpu_numa numa = {.number = 0};
    machine_put(root, "MemTotal: 4194304 kB\nMemAvailable: 2097152 kB\n", "/proc/meminfo");
    /* the node's 512 MiB free */
    assert_int_equal(probe_room_bytes(root, numa.number, 1), 256 * mib);
    assert_int_equal(probe_room_bytes(root, numa.number, 8), 128 * mib); /* an eighth of 2 GiB */
    machine_put(root, "0::/a/b\n", "/proc/self/cgroup");
    machine_put(root, "max\n", "/sys/fs/cgroup/a/b/memory.max");
    machine_put(root, "104857600\n", "/sys/fs/cgroup/a/memory.max"); /* 100 MiB in the parent */
    machine_put(root, "20971520\n", "/sys/fs/cgroup/a/memory.current");
    assert_int_equal(probe_room_bytes(root, numa.number, 1), 40 * mib);
    machine_put(root, "209715200\n", "/sys/fs/cgroup/a/memory.current"); /* over its limit */
    assert_int_equal(probe_room_bytes(root, numa.number, 1), 0);
    machine_put(root, "8:memory:/job\n4:cpuset:/a\n", "/proc/self/cgroup"); /* version 1 */
    machine_put(root, "67108864\n", "/sys/fs/cgroup/memory/job/memory.limit_in_bytes");
    machine_put(root, "0\n", "/sys/fs/cgroup/memory/job/memory.usage_in_bytes");
    assert_int_equal(probe_room_bytes(root, numa.number, 1), 32 * mib);
    machine_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),         cmocka_unit_test(regular),
        cmocka_unit_test(restricted),    cmocka_unit_test(offline_and_memory_only),
        cmocka_unit_test(bare),          cmocka_unit_test(wrong),
        cmocka_unit_test(memory_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
