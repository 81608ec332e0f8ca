/* Writes small sysfs trees below a temporary directory, for tests of the CPU probe. Include after
 * cmocka.h. */
#pragma once
#include "cpu/topology.h"
#include "unit/base/tree.h"

static inline char *machine_new(void)
{
    char *root = malloc(TREE_SIZE);
    assert_non_null(root);
    tree_make(root);
    return root;
}

static inline void machine_free(char *root)
{
    tree_remove(root);
    free(root);
}

/* Makes the directories too. */
static inline void machine_put(const char *root, const char *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline void machine_put(const char *root, const char *text, const char *format, ...)
{
    char path[512];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    tree_put(root, path, text);
}

/* Cores with the pus core and core + cores (with threads 2), llcs of per_llc cores, nodes of
 * per_node cores with 1 GiB each. */
static inline char *machine_regular(int cores, int threads, int per_llc, int per_node)
{
    char *root = machine_new();
    char text[128], file[64];
    snprintf(text, sizeof text, "0-%d\n", cores * threads - 1);
    machine_put(root, text, "/sys/devices/system/cpu/online");
    snprintf(text, sizeof text, "0-%d\n", cores / per_node - 1);
    machine_put(root, text, "/sys/devices/system/node/online");
    for (int pu = 0; pu < cores * threads; pu++) {
        int core = pu % cores, first = core / per_llc * per_llc;
        snprintf(text, sizeof text, threads == 2 ? "%d,%d\n" : "%d\n", core, core + cores);
        machine_put(root, text, "/sys/devices/system/cpu/cpu%d/topology/core_cpus_list", pu);
        for (int index = 0; index < 4; index++) {
            snprintf(file, sizeof file, "/sys/devices/system/cpu/cpu%d/cache/index%d", pu, index);
            machine_put(root, (const char *[]){"1\n", "1\n", "2\n", "3\n"}[index], "%s/level",
                        file);
            machine_put(
                root, (const char *[]){"Data\n", "Instruction\n", "Unified\n", "Unified\n"}[index],
                "%s/type", file);
            machine_put(root, (const char *[]){"32K\n", "32K\n", "1024K\n", "16M\n"}[index],
                        "%s/size", file);
            if (index == 3)
                snprintf(text, sizeof text, threads == 2 ? "%d-%d,%d-%d\n" : "%d-%d\n", first,
                         first + per_llc - 1, first + cores, first + cores + per_llc - 1);
            machine_put(root, text, "%s/shared_cpu_list", file);
        }
    }
    for (int node = 0; node < cores / per_node; node++) {
        int first = node * per_node, last = first + per_node - 1;
        snprintf(text, sizeof text, threads == 2 ? "%d-%d,%d-%d\n" : "%d-%d\n", first, last,
                 first + cores, last + cores);
        machine_put(root, text, "/sys/devices/system/node/node%d/cpulist", node);
        snprintf(text, sizeof text, "Node %d MemTotal: 1048576 kB\nNode %d MemFree: 524288 kB\n",
                 node, node);
        machine_put(root, text, "/sys/devices/system/node/node%d/meminfo", node);
    }
    return root;
}

/* Reads the topology of this machine, as far as this process may use it. */
static inline void topology_here(struct cpu_topology *ret_topology)
{
    struct cpu_list cpus, memory;
    bool known;
    struct probe_why why = {0};
    assert_true(cpu_topology_allowed(&cpus, &memory, &known, &why));
    if (!cpu_topology_read("", &cpus, known ? &memory : NULL, ret_topology, &why))
        fail_msg("%s", why.text);
}
