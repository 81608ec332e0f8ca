/* Bandwidths and latencies that hwloc's memory attributes (HMAT of the firmware) state. */
#include "discover/backend_hwloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "discover/backend_hwloc_measured.h"
#include "discover/backend_hwloc_old.h"

#define MATRICES_MAX   64
#define INITIATORS_MAX 256

struct reading {
    hwloc_topology_t topology;
    const struct cpuset *allowed;
    struct draft *draft;
    place_id (*place_of)(void *arg, struct hwloc_obj *obj);
    void *arg;
    bool is_ours; /* berth exported the topology */
};

struct cpuset backend_hwloc_cpuset(hwloc_const_bitmap_t bitmap, const struct cpuset *allowed)
{
    struct cpuset set = {0};
    if (bitmap != NULL)
        for (unsigned i = 0; i < CPUSET_MAX / 64; i++)
            set.word[i] = hwloc_bitmap_to_ith_ulong(bitmap, i);
    cpuset_and(&set, allowed);
    return set;
}

static place_id place_of(struct reading *values, struct hwloc_obj *obj)
{
    return values->place_of(values->arg, obj);
}

static struct hwloc_obj *next_numa(struct reading *values, struct hwloc_obj *previous)
{
    return hwloc_get_next_obj_by_type(values->topology, HWLOC_OBJ_NUMANODE, previous);
}

/* True when berth set any part of it in its export. ret_source is the source of all of it; nominal
 * where there are several. */
static bool is_noted(struct hwloc_obj *obj, const char *part, enum value_source *ret_source)
{
    char key[80];
    enum value_source source = VALUE_NOMINAL;
    snprintf(key, sizeof key, BACKEND_HWLOC_SOURCE_INFO "%s", part);
    const char *name = hwloc_obj_get_info_by_name(obj, key);
    bool is_one = name != NULL && value_source_parse(name, &source);
    *ret_source = is_one ? source : VALUE_NOMINAL;
    return name != NULL && (!is_one || source != VALUE_NOMINAL);
}

static void add_numa_distances(struct reading *values, const struct hwloc_distances_s *distances)
{
    unsigned n = distances->nbobjs;
    double local = (double)distances->values[0];
    for (unsigned i = 1; i < n; i++)
        local = fmin(local, (double)distances->values[i * n + i]);
    /* hwloc scales values of the first format */
    double scale = local > 10 ? 10 / local : 1;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++)
            draft_value(values->draft, METRIC_NUMA_DISTANCE, place_of(values, distances->objs[i]),
                        place_of(values, distances->objs[j]), "",
                        (double)distances->values[i * n + j] * scale);
}

/* Returns the bandwidth of one NVLink in each direction; NVML and hwloc give the sum over all of a
 * pair. */
static double nvlink_megabytes_per_s(struct draft *draft, place_id a, place_id b)
{
    const char *model = draft_place(draft, draft_place(draft, a)->kind == PLACE_GPU ? a : b)->model;
    if (model == NULL)
        return 25000;
    if (strstr(model, "P100") != NULL)
        return 20000; /* NVLink 1 */
    return strstr(model, "B100") != NULL || strstr(model, "B200") != NULL ||
                   strstr(model, "B300") != NULL
               ? 50000
               : 25000;
}

static void add_nvlinks(struct reading *values, const struct hwloc_distances_s *distances)
{
    unsigned n = distances->nbobjs;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i + 1; j < n; j++) { /* the diagonal is 0 or 1000000 and means nothing */
            double there = (double)distances->values[i * n + j],
                   back = (double)distances->values[j * n + i];
            place_id from = place_of(values, distances->objs[i]),
                     to = place_of(values, distances->objs[j]);
            if (fmax(there, back) <= 0 || from == PLACE_NONE || to == PLACE_NONE)
                continue;
            double each = nvlink_megabytes_per_s(values->draft, from, to),
                   width = fmax(there, back) / each;
            if (there != back)
                draft_disagree(values->draft,
                               "hwloc gives an NVLink %.0f MB/s one way and %.0f MB/s the other; "
                               "kept is the larger.",
                               there, back);
            draft_link(values->draft, from, to, LINK_NVLINK,
                       width == floor(width) && width < 1000 ? (int32_t)width : 0,
                       fmax(there, back) * 1e6, LINK_UP, DRAFT_HWLOC);
        }
}

/* Adds a matrix that berth exported: measured or published values. */
static void add_ours(struct reading *values, const struct hwloc_distances_s *distances,
                     const char *name)
{
#define X(name, metric, kind, unit) {name, metric, unit},
    static const struct {
        const char *name;
        enum metric metric;
        double unit;
    } matrices[] = {BACKEND_HWLOC_MATRICES(X)};
#undef X
    enum value_source source;
    is_noted(hwloc_get_root_obj(values->topology), name, &source);
    unsigned n = distances->nbobjs;
    for (size_t m = 0; m < sizeof matrices / sizeof matrices[0]; m++)
        for (size_t cell = 0; strcmp(matrices[m].name, name) == 0 && cell < (size_t)n * n; cell++)
            if (distances->values[cell] > 0 && distances->objs[cell / n] != NULL &&
                distances->objs[cell % n] != NULL)
                draft_value_from(values->draft, source, matrices[m].metric,
                                 place_of(values, distances->objs[cell / n]),
                                 place_of(values, distances->objs[cell % n]), "",
                                 (double)distances->values[cell] * matrices[m].unit);
}

static void add_matrices(struct reading *values)
{
    struct hwloc_distances_s *matrix[MATRICES_MAX];
    unsigned count = MATRICES_MAX;
    if (hwloc_distances_get(values->topology, &count, matrix, 0, 0) != 0)
        return;
    for (unsigned i = 0; i < count && i < MATRICES_MAX; i++) {
        const char *name = hwloc_distances_get_name(values->topology, matrix[i]);
        bool all_numa =
            matrix[i]->nbobjs > 0 && (matrix[i]->kind & HWLOC_DISTANCES_KIND_MEANS_LATENCY) != 0;
        for (unsigned k = 0; k < matrix[i]->nbobjs; k++)
            all_numa = all_numa && matrix[i]->objs[k] != NULL &&
                       matrix[i]->objs[k]->type == HWLOC_OBJ_NUMANODE;
        /* XGMIBandwidth and XGMIHops of hwloc's rsmi backend are constants on every machine. */
        if (all_numa && (name == NULL || strcmp(name, "NUMALatency") == 0))
            add_numa_distances(values, matrix[i]);
        else if (name != NULL && strcmp(name, "NVLinkBandwidth") == 0)
            add_nvlinks(values, matrix[i]);
        else if (name != NULL && values->is_ours)
            add_ours(values, matrix[i], name);
        hwloc_distances_release(values->topology, matrix[i]);
    }
}

/* Returns the place of a kind with exactly these cpus. */
static place_id with_cpus(const struct reading *values, enum place_kind kind,
                          const struct cpuset *cpus)
{
    const struct graph *graph = values->draft->graph;
    place_id place = graph_next(graph, kind, 0);
    while (place != PLACE_NONE &&
           (graph->places[place].cpus == NULL || !cpuset_equal(graph->places[place].cpus, cpus)))
        place = graph_next(graph, kind, place + 1);
    return place;
}

static struct cpuset cpus_of(const struct reading *values, const struct hwloc_location *location)
{
    return backend_hwloc_cpuset(location->type == HWLOC_LOCATION_TYPE_CPUSET
                                    ? location->location.cpuset
                                    : location->location.object->cpuset,
                                values->allowed);
}

/* Returns the NUMA node or llc with exactly these cpus, else the NUMA node around them. */
static place_id initiator(const struct reading *values, const struct hwloc_location *location)
{
    const struct graph *graph = values->draft->graph;
    struct cpuset cpus = cpus_of(values, location);
    if (cpuset_is_empty(&cpus))
        return PLACE_NONE;
    place_id place = with_cpus(values, PLACE_NUMA, &cpus);
    if (place == PLACE_NONE)
        place = with_cpus(values, PLACE_LLC, &cpus);
    for (place_id around = graph_next(graph, PLACE_NUMA, 0);
         place == PLACE_NONE && around != PLACE_NONE;
         around = graph_next(graph, PLACE_NUMA, around + 1))
        if (graph->places[around].cpus != NULL &&
            cpuset_contains(graph->places[around].cpus, &cpus))
            place = around;
    return place;
}

/* hwloc: bandwidth in MiB/s, latency in ns. Plain bandwidth holds for reads and for writes. */
static const struct attribute {
    hwloc_memattr_id_t id;
    const char *name;
    bool is_plain;
    enum metric metric;
    const char *axes;
    double unit;
} attributes[] = {
    {HWLOC_MEMATTR_ID_BANDWIDTH, "Bandwidth", true, METRIC_MEMORY_BANDWIDTH, "", 1048576},
    {HWLOC_MEMATTR_ID_BANDWIDTH, "Bandwidth", true, METRIC_MEMORY_BANDWIDTH, "operation=write",
     1048576},
    {HWLOC_MEMATTR_ID_READ_BANDWIDTH, "ReadBandwidth", false, METRIC_MEMORY_BANDWIDTH, "", 1048576},
    {HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, "WriteBandwidth", false, METRIC_MEMORY_BANDWIDTH,
     "operation=write", 1048576},
    {HWLOC_MEMATTR_ID_LATENCY, "Latency", true, METRIC_MEMORY_LATENCY, "", 1},
    {HWLOC_MEMATTR_ID_READ_LATENCY, "ReadLatency", false, METRIC_MEMORY_LATENCY, "", 1},
};

/* Adds an attribute that berth itself has set. The plain attributes are means of others, and so is
 * the latency of a NUMA node of several llcs. */
static void add_our_attribute(struct reading *values, const struct attribute *attribute,
                              const struct hwloc_location *from, struct hwloc_obj *node,
                              enum value_source source, double value)
{
    place_id memory = place_of(values, node);
    if (attribute->is_plain)
        return;
    if (from->type == HWLOC_LOCATION_TYPE_OBJECT) {
        place_id gpu = place_of(values, from->location.object);
        bool is_write = strcmp(attribute->axes, "operation=write") == 0;
        if (attribute->metric == METRIC_MEMORY_LATENCY)
            draft_value_from(values->draft, source, METRIC_MEMORY_LATENCY, gpu, memory, "", value);
        else
            draft_value_from(values->draft, source, METRIC_HOST_GPU_KERNEL, is_write ? gpu : memory,
                             is_write ? memory : gpu,
                             is_write ? "operation=write" : "operation=read", value);
        return;
    }
    struct cpuset cpus = cpus_of(values, from);
    place_id place = attribute->metric == METRIC_MEMORY_LATENCY
                         ? with_cpus(values, PLACE_LLC, &cpus)
                         : initiator(values, from);
    if (place == PLACE_NONE && attribute->metric == METRIC_MEMORY_BANDWIDTH)
        place = with_cpus(values, PLACE_PACKAGE, &cpus);
    draft_value_from(values->draft, source, attribute->metric, place, memory, attribute->axes,
                     value);
}

static void add_attribute(struct reading *values, const struct attribute *attribute,
                          struct hwloc_obj *node)
{
    struct hwloc_location from[INITIATORS_MAX];
    hwloc_uint64_t number[INITIATORS_MAX];
    unsigned count = INITIATORS_MAX;
    if (hwloc_memattr_get_initiators(values->topology, attribute->id, node, 0, &count, from,
                                     number) != 0)
        return;
    enum value_source source;
    bool is_ours = is_noted(node, attribute->name, &source) && values->is_ours;
    for (unsigned k = 0; k < count && k < INITIATORS_MAX; k++) {
        double value = (double)number[k] * attribute->unit;
        if (number[k] > 0 && is_ours)
            add_our_attribute(values, attribute, &from[k], node, source, value);
        else if (number[k] > 0)
            draft_value(values->draft, attribute->metric, initiator(values, &from[k]),
                        place_of(values, node), attribute->axes, value);
    }
}

static void add_memory_attributes(struct reading *values)
{
    for (struct hwloc_obj *node = NULL; (node = next_numa(values, node)) != NULL;)
        for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
            add_attribute(values, &attributes[i], node);
}

void backend_hwloc_values(hwloc_topology_t topology, const struct cpuset *allowed,
                          struct draft *draft,
                          place_id (*place_of_object)(void *arg, struct hwloc_obj *obj), void *arg)
{
    struct reading values = {topology, allowed, draft, place_of_object, arg, false};
    values.is_ours = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology),
                                                BACKEND_HWLOC_SNAPSHOT_INFO) != NULL;
    add_matrices(&values);
    add_memory_attributes(&values);
}
