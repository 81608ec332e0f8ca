#include "cpu/topology.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"

#define LIST_TEXT 16384 /* longer than the list of every second CPU of CPU_LIST_MAX */

static bool read_list(const char *root, struct cpu_list *ret_list, const char *directory,
                      int number, const char *file)
{
    char text[LIST_TEXT];
    return probe_file_text(root, text, sizeof text, "/sys/devices/system/%s%d/%s", directory,
                           number, file) &&
           cpu_list_parse(text, ret_list);
}

/* The lowest pu of the core that pu belongs to. core_cpus_list is the newer name (Linux 5.3). */
static int core_number(const char *root, int pu)
{
    struct cpu_list siblings;
    if (!read_list(root, &siblings, "cpu/cpu", pu, "topology/core_cpus_list") &&
        !read_list(root, &siblings, "cpu/cpu", pu, "topology/thread_siblings_list"))
        return pu;
    int lowest = cpu_list_next(&siblings, 0);
    return lowest >= 0 && lowest <= pu ? lowest : pu;
}

/* The cache of the highest level: its lowest pu, -1 when there is none, and its size. *l2_bytes
 * grows to the size of level 2. */
static int llc_of(const char *root, int pu, int64_t *ret_bytes, int64_t *l2_bytes)
{
    int64_t best = 0;
    int lowest = -1;
    for (int index = 0; index < 16; index++) {
        char type[32], size[32];
        int64_t level =
            probe_file_number(root, "/sys/devices/system/cpu/cpu%d/cache/index%d/level", pu, index);
        if (level < 0 ||
            !probe_file_text(root, type, sizeof type,
                             "/sys/devices/system/cpu/cpu%d/cache/index%d/type", pu, index))
            break;
        char name[64];
        snprintf(name, sizeof name, "cache/index%d/shared_cpu_list", index);
        struct cpu_list shared;
        if (level <= best || strcmp(type, "Instruction") == 0 ||
            !read_list(root, &shared, "cpu/cpu", pu, name))
            continue;
        best = level;
        lowest = cpu_list_next(&shared, 0);
        *ret_bytes = -1;
        if (!probe_file_text(root, size, sizeof size,
                             "/sys/devices/system/cpu/cpu%d/cache/index%d/size", pu, index))
            continue;
        char *unit;
        long long number = strtoll(size, &unit, 10);
        int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
        if (number > 0 && number < INT64_MAX >> 30)
            *ret_bytes = (int64_t)number << shift;
        if (level == 2 && *ret_bytes > *l2_bytes)
            *l2_bytes = *ret_bytes;
    }
    return lowest;
}

static bool grow(void **array, int count, size_t size, struct probe_why *why)
{
    /* Grows by doubling: only when count is 0 or a power of two. */
    if ((count & (count - 1)) != 0)
        return true;
    void *larger = realloc(*array, (count == 0 ? 1 : (size_t)count * 2) * size);
    if (larger == NULL)
        return probe_why_set(why, "out of memory");
    *array = larger;
    return true;
}

static bool add_numa(struct cpu_topology *topology, const struct cpu_numa *numa,
                     struct probe_why *why)
{
    void *array = topology->numas;
    if (!grow(&array, topology->numa_count, sizeof *numa, why))
        return false;
    topology->numas = array;
    topology->numas[topology->numa_count++] = *numa;
    return true;
}

/* Nodes with memory or CPUs; numa_of maps a pu to an index. */
static bool read_numas(const char *root, const struct cpu_list *online,
                       const struct cpu_list *memory, struct cpu_topology *topology, int *numa_of,
                       struct probe_why *why)
{
    char text[LIST_TEXT];
    struct cpu_list nodes;
    topology->has_numa =
        probe_file_text(root, text, sizeof text, "/sys/devices/system/node/online");
    if (!topology->has_numa) {
        struct cpu_numa all = {.allowed = true};
        if (probe_file_text(root, text, sizeof text, "/proc/meminfo"))
            all.memory_bytes = probe_file_kilobytes(text, "MemTotal");
        for (int pu = cpu_list_next(online, 0); pu >= 0; pu = cpu_list_next(online, pu + 1))
            numa_of[pu] = 0;
        return add_numa(topology, &all, why);
    }
    if (!cpu_list_parse(text, &nodes))
        return probe_why_set(why, "/sys/devices/system/node/online is not a list of nodes");
    for (int node = cpu_list_next(&nodes, 0); node >= 0; node = cpu_list_next(&nodes, node + 1)) {
        struct cpu_list cpus;
        if (!read_list(root, &cpus, "node/node", node, "cpulist"))
            continue;
        struct cpu_numa numa = {.number = node,
                                .allowed = memory == NULL || cpu_list_has(memory, node)};
        if (probe_file_text(root, text, sizeof text, "/sys/devices/system/node/node%d/meminfo",
                            node))
            numa.memory_bytes = probe_file_kilobytes(text, "MemTotal");
        if (numa.memory_bytes < 0)
            numa.memory_bytes = 0;
        if (numa.memory_bytes == 0 && cpu_list_next(&cpus, 0) < 0)
            continue;
        for (int pu = cpu_list_next(&cpus, 0); pu >= 0; pu = cpu_list_next(&cpus, pu + 1))
            numa_of[pu] = topology->numa_count;
        if (!add_numa(topology, &numa, why))
            return false;
    }
    return topology->numa_count > 0 || probe_why_set(why, "no NUMA node has memory");
}

/* The index of the llc whose lowest pu is first; pus come in ascending order, so a new one gets the
 * next number. */
static bool find_llc(struct cpu_topology *topology, int *llc_at, int first, int64_t bytes, int numa,
                     int *ret_llc, struct probe_why *why)
{
    if (llc_at[first] < 0) {
        void *array = topology->llcs;
        if (!grow(&array, topology->llc_count, sizeof *topology->llcs, why))
            return false;
        topology->llcs = array;
        topology->llcs[topology->llc_count] =
            (struct cpu_llc){.number = topology->llc_count, .bytes = bytes, .numa = numa};
        llc_at[first] = topology->llc_count++;
    }
    *ret_llc = llc_at[first];
    return true;
}

struct maps {
    int numa_of[CPU_LIST_MAX];             /* pu to index */
    int llc_at[CPU_LIST_MAX];              /* lowest pu to index */
    struct cpu_core core_of[CPU_LIST_MAX]; /* by core number; pu -1: none of its pus may be used */
    bool seen[CPU_LIST_MAX];               /* core numbers that exist */
};

/* Lists the usable cores, ascending, and counts all. */
static bool list_cores(struct cpu_topology *topology, const struct maps *maps,
                       struct probe_why *why)
{
    for (int number = 0; number < CPU_LIST_MAX; number++) {
        const struct cpu_core *core = &maps->core_of[number];
        if (!maps->seen[number])
            continue;
        struct cpu_llc *llc = core->llc < 0 ? NULL : &topology->llcs[core->llc];
        struct cpu_numa *numa = core->numa < 0 ? NULL : &topology->numas[core->numa];
        if (llc != NULL)
            llc->spans |= llc->numa != core->numa;
        if (core->pu < 0) {
            if (llc != NULL)
                llc->other_cores++;
            if (numa != NULL)
                numa->other_cores++;
            continue;
        }
        if (numa != NULL)
            numa->cores++;
        if (llc != NULL)
            llc->cores++;
        void *array = topology->cores;
        if (!grow(&array, topology->core_count, sizeof *core, why))
            return false;
        topology->cores = array;
        topology->cores[topology->core_count++] = *core;
    }
    for (int i = 0; i < topology->llc_count; i++) {
        const struct cpu_llc *llc = &topology->llcs[i];
        if (llc->cores > 0 && llc->numa >= 0 && !llc->spans)
            topology->numas[llc->numa].llcs++;
    }
    return topology->core_count > 0 ||
           probe_why_set(why, "none of the CPUs that may be used is online");
}

static bool read_all(const char *root, const struct cpu_list *cpus, const struct cpu_list *memory,
                     struct maps *maps, struct cpu_topology *topology, struct probe_why *why)
{
    char text[LIST_TEXT];
    struct cpu_list online;
    if (!probe_file_text(root, text, sizeof text, "/sys/devices/system/cpu/online") ||
        !cpu_list_parse(text, &online))
        return probe_why_set(
            why, "cannot read the list of CPUs at %.100s/sys/devices/system/cpu/online", root);
    if (!read_numas(root, &online, memory, topology, maps->numa_of, why))
        return false;
    for (int pu = cpu_list_next(&online, 0); pu >= 0; pu = cpu_list_next(&online, pu + 1)) {
        struct cpu_core core = {.number = core_number(root, pu),
                                .pu = -1,
                                .sibling = -1,
                                .llc = -1,
                                .numa = maps->numa_of[pu]};
        int64_t bytes = -1;
        int first = llc_of(root, pu, &bytes, &topology->l2_bytes);
        if (first >= 0 &&
            !find_llc(topology, maps->llc_at, first, bytes, core.numa, &core.llc, why))
            return false;
        struct cpu_core *known = &maps->core_of[core.number];
        if (!maps->seen[core.number])
            *known = core;
        maps->seen[core.number] = true;
        known->threads++;
        if (!cpu_list_has(cpus, pu))
            continue;
        if (known->pu < 0)
            known->pu = pu;
        else if (known->sibling < 0)
            known->sibling = pu;
    }
    return list_cores(topology, maps, why);
}

bool cpu_topology_read(const char *root, const struct cpu_list *cpus, const struct cpu_list *memory,
                       struct cpu_topology *ret_topology, struct probe_why *why)
{
    struct cpu_topology topology = {.l2_bytes = -1};
    struct maps *maps = calloc(1, sizeof *maps);
    if (maps == NULL)
        return probe_why_set(why, "out of memory");
    for (int i = 0; i < CPU_LIST_MAX; i++)
        maps->numa_of[i] = maps->llc_at[i] = -1;
    bool ok = read_all(root, cpus, memory, maps, &topology, why);
    free(maps);
    if (ok)
        *ret_topology = topology;
    else
        cpu_topology_done(&topology);
    return ok;
}

void cpu_topology_done(struct cpu_topology *topology)
{
    free(topology->cores);
    free(topology->llcs);
    free(topology->numas);
    *topology = (struct cpu_topology){0};
}

bool cpu_topology_allowed(struct cpu_list *ret_cpus, struct cpu_list *ret_memory,
                          bool *ret_memory_known, struct probe_why *why)
{
    struct cpu_list cpus = {0}, memory = {0};
    cpu_set_t *set = CPU_ALLOC(CPU_LIST_MAX);
    size_t size = CPU_ALLOC_SIZE(CPU_LIST_MAX);
    if (set == NULL)
        return probe_why_set(why, "out of memory");
    CPU_ZERO_S(size, set);
    bool ok = sched_getaffinity(0, size, set) == 0;
    for (int pu = 0; ok && pu < CPU_LIST_MAX; pu++)
        if (CPU_ISSET_S((size_t)pu, size, set))
            cpu_list_add(&cpus, pu);
    CPU_FREE(set);
    if (!ok)
        return probe_why_set(why, "cannot ask which CPUs may be used: %s", strerror(errno));

    static const char key[] = "Mems_allowed_list:";
    char text[LIST_TEXT];
    bool known = false;
    if (probe_file_text("", text, sizeof text, "/proc/self/status")) {
        char *line = strstr(text, key);
        if (line != NULL) {
            line += strlen(key);
            line[strcspn(line, "\n")] = '\0';
            known = cpu_list_parse(line, &memory);
        }
    }
    *ret_cpus = cpus;
    *ret_memory = memory;
    *ret_memory_known = known;
    return true;
}

static bool is_named(const char *name, const char *kind, int number)
{
    char own[24];
    snprintf(own, sizeof own, "%s%d", kind, number);
    return strcmp(name, own) == 0;
}

bool cpu_topology_has(const struct cpu_topology *topology, const char *name)
{
    bool found = false;
    for (int i = 0; i < topology->core_count; i++)
        found |= is_named(name, "core", topology->cores[i].number);
    for (int i = 0; i < topology->llc_count; i++)
        found |= topology->llcs[i].cores > 0 && is_named(name, "llc", topology->llcs[i].number);
    for (int i = 0; i < topology->numa_count; i++)
        found |= is_named(name, "numa", topology->numas[i].number);
    return found;
}

struct names {
    char *text;
    size_t size, used;
    const char *kind;
    int first, last; /* bounds of the current range; first -1: none */
};

static void end_range(struct names *names)
{
    const char *comma = names->used > 0 ? ", " : "";
    if (names->first >= 0 && names->used < names->size && names->first < names->last)
        names->used += (size_t)snprintf(names->text + names->used, names->size - names->used,
                                        "%s%s%d-%d", comma, names->kind, names->first, names->last);
    else if (names->first >= 0 && names->used < names->size)
        names->used += (size_t)snprintf(names->text + names->used, names->size - names->used,
                                        "%s%s%d", comma, names->kind, names->first);
    names->first = -1;
}

static void add_name(struct names *names, const char *kind, int number)
{
    if (names->first < 0 || kind != names->kind || number != names->last + 1) {
        end_range(names);
        names->first = number;
    }
    names->kind = kind;
    names->last = number;
}

void cpu_topology_names(const struct cpu_topology *topology, char *ret_text, size_t size)
{
    static const char *const kinds[] = {"core", "llc", "numa"};
    struct names names = {.text = ret_text, .size = size, .kind = kinds[0], .first = -1};
    ret_text[0] = '\0';
    for (int i = 0; i < topology->core_count; i++)
        add_name(&names, kinds[0], topology->cores[i].number);
    for (int i = 0; i < topology->llc_count; i++)
        if (topology->llcs[i].cores > 0)
            add_name(&names, kinds[1], topology->llcs[i].number);
    for (int i = 0; i < topology->numa_count; i++)
        add_name(&names, kinds[2], topology->numas[i].number);
    end_range(&names);
}
