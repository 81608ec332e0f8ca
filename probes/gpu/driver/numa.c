/* NUMA nodes and their cores that this process may use, from the kernel's files. */
#include "gpu/driver/node.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "common/cpu_list.h"
#include "common/file.h"

static bool read_allowed(const char *root, struct cpu_list *ret_list)
{
    static const char key[] = "\nMems_allowed_list:";
    char text[8192];
    if (!probe_file_text(root, text, sizeof text, "/proc/self/status"))
        return false;
    char *line = strstr(text, key);
    if (line == NULL)
        return false;
    line += sizeof key - 1;
    line += strspn(line, " \t");
    line[strcspn(line, "\n")] = '\0';
    return cpu_list_parse(line, ret_list);
}

int gpu_numa_list(const char *root, int *ret_numbers, int max)
{
    char text[4096];
    struct cpu_list with_memory = {0}, allowed;
    if (!probe_file_text(root, text, sizeof text, "/sys/devices/system/node/has_memory") ||
        !cpu_list_parse(text, &with_memory))
        cpu_list_add(&with_memory, 0);
    bool all = !read_allowed(root, &allowed);
    int count = 0;
    for (int node = cpu_list_next(&with_memory, 0); node >= 0 && count < max;
         node = cpu_list_next(&with_memory, node + 1))
        if (all || cpu_list_has(&allowed, node))
            ret_numbers[count++] = node;
    if (count == 0)
        ret_numbers[count++] = 0;
    return count;
}

int gpu_numa_cores(const char *root, int numa, int *ret_cpus, int max)
{
    char text[4096];
    struct cpu_list cpus, siblings;
    cpu_set_t allowed;
    if (!probe_file_text(root, text, sizeof text, "/sys/devices/system/node/node%d/cpulist",
                         numa) ||
        !cpu_list_parse(text, &cpus) || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 0;
    struct cpu_list taken = {0};
    int count = 0;
    for (int cpu = cpu_list_next(&cpus, 0); cpu >= 0 && count < max;
         cpu = cpu_list_next(&cpus, cpu + 1)) {
        if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed) || cpu_list_has(&taken, cpu))
            continue;
        ret_cpus[count++] = cpu;
        if (probe_file_text(root, text, sizeof text,
                            "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu) &&
            cpu_list_parse(text, &siblings))
            for (int other = cpu_list_next(&siblings, 0); other >= 0;
                 other = cpu_list_next(&siblings, other + 1))
                cpu_list_add(&taken, other);
    }
    return count;
}
