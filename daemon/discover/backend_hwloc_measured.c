#include "discover/backend_hwloc_measured.h"

#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discover/backend_hwloc.h"
#include "discover/backend_hwloc_old.h"

#define MIB 1048576.0

/* A topology to which values are being attached. */
struct attach {
    hwloc_topology_t topology;
    const struct snapshot *snap;
    const struct graph *graph;
    struct hwloc_obj **object; /* by place: its NUMA node or PCI device, NULL none */
    bool out_of_memory;
};

static const struct value *measured_value(const struct attach *attach, enum metric metric,
                                          place_id from, place_id to, const char *axes)
{
    const struct value *value = values_find(attach->snap->values, metric, from, to, axes);
    return value != NULL && value->source != VALUE_NOMINAL && isfinite(value->value) &&
                   value->value > 0
               ? value
               : NULL;
}

/* Returns the PCI device of a gpu. Slices and partitions of a gpu share one PCI device: none of
 * them is that device. */
static struct hwloc_obj *gpu_object(const struct attach *attach, place_id gpu)
{
    const char *pci = attach->graph->places[gpu].pci;
    size_t same = 0;
    for (place_id other = graph_next(attach->graph, PLACE_GPU, 0);
         pci != NULL && other != PLACE_NONE;
         other = graph_next(attach->graph, PLACE_GPU, other + 1))
        same += attach->graph->places[other].pci != NULL &&
                strcmp(attach->graph->places[other].pci, pci) == 0;
    return same == 1 ? hwloc_get_pcidev_by_busidstring(attach->topology, pci) : NULL;
}

static bool find_objects(struct attach *attach)
{
    const struct graph *graph = attach->graph;
    attach->object = calloc(graph->place_count, sizeof(struct hwloc_obj *));
    for (place_id place = 0; attach->object != NULL && (size_t)place < graph->place_count;
         place++) {
        if (graph->places[place].kind == PLACE_NUMA)
            attach->object[place] = hwloc_get_numanode_obj_by_os_index(
                attach->topology, (unsigned)graph->places[place].number);
        else if (graph->places[place].kind == PLACE_GPU)
            attach->object[place] = gpu_object(attach, place);
    }
    return attach->object != NULL;
}

/* Notes the source of a value as an info. A second, different source makes it "mixed". */
static void note_source(struct attach *attach, struct hwloc_obj *obj, const char *part,
                        enum value_source source)
{
    char key[80];
    snprintf(key, sizeof key, BACKEND_HWLOC_SOURCE_INFO "%s", part);
    const char *name = value_source_name(source);
    for (unsigned i = 0; i < obj->infos_count; i++)
        if (strcmp(obj->infos[i].name, key) == 0) {
            char *copy = strcmp(obj->infos[i].value, name) != 0 ? strdup("mixed") : NULL;
            if (copy != NULL) {
                free(obj->infos[i].value);
                obj->infos[i].value = copy;
            }
            return;
        }
    if (hwloc_obj_add_info(obj, key, name) != 0)
        attach->out_of_memory = true;
}

struct attribute {
    hwloc_memattr_id_t id;
    const char *name;
    double unit; /* in the metric's */
};

static const struct attribute bandwidth = {HWLOC_MEMATTR_ID_BANDWIDTH, "Bandwidth", MIB},
                              read_bandwidth = {HWLOC_MEMATTR_ID_READ_BANDWIDTH, "ReadBandwidth",
                                                MIB},
                              write_bandwidth = {HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, "WriteBandwidth",
                                                 MIB},
                              latency = {HWLOC_MEMATTR_ID_LATENCY, "Latency", 1},
                              read_latency = {HWLOC_MEMATTR_ID_READ_LATENCY, "ReadLatency", 1};

static void set_attribute(struct attach *attach, const struct attribute *attribute, place_id from,
                          place_id memory, double value, enum value_source source)
{
    const struct place *place = &attach->graph->places[from];
    struct hwloc_obj *node = attach->object[memory];
    struct hwloc_location location = {.type = HWLOC_LOCATION_TYPE_CPUSET};
    hwloc_uint64_t number = (hwloc_uint64_t)llround(value / attribute->unit);
    if (node == NULL || number == 0 || attribute->id == BACKEND_HWLOC_NO_ATTRIBUTE)
        return;
    if (place->kind == PLACE_GPU) {
        location.type = HWLOC_LOCATION_TYPE_OBJECT;
        location.location.object = attach->object[from];
        if (location.location.object == NULL)
            return;
    } else {
        hwloc_bitmap_t cpus =
            place->cpus == NULL || cpuset_is_empty(place->cpus) ? NULL : hwloc_bitmap_alloc();
        if (cpus == NULL)
            return;
        for (int c = cpuset_next(place->cpus, 0); c >= 0;
             c = cpuset_next(place->cpus, (unsigned)c + 1))
            hwloc_bitmap_set(cpus, (unsigned)c);
        location.location.cpuset = cpus;
    }
    if (hwloc_memattr_set_value(attach->topology, attribute->id, node, &location, 0, number) != 0)
        attach->out_of_memory = true;
    else
        note_source(attach, node, attribute->name, source);
    if (location.type == HWLOC_LOCATION_TYPE_CPUSET)
        hwloc_bitmap_free(location.location.cpuset);
}

/* Values from a place to a memory; NULL where there is none. */
struct bandwidths {
    const struct value *read, *write;
};

static struct bandwidths bandwidth_of(const struct attach *attach, place_id from, place_id memory)
{
    /* kernels of a gpu in the host's memory are named by the direction of the bytes */
    if (attach->graph->places[from].kind == PLACE_GPU)
        return (struct bandwidths){
            measured_value(attach, METRIC_HOST_GPU_KERNEL, memory, from, "operation=read"),
            measured_value(attach, METRIC_HOST_GPU_KERNEL, from, memory, "operation=write")};
    return (struct bandwidths){
        measured_value(attach, METRIC_MEMORY_BANDWIDTH, from, memory, ""),
        measured_value(attach, METRIC_MEMORY_BANDWIDTH, from, memory, "operation=write")};
}

static void set_bandwidth(struct attach *attach, place_id from, place_id memory)
{
    struct bandwidths bandwidths = bandwidth_of(attach, from, memory);
    const struct value *read = bandwidths.read, *write = bandwidths.write;
    if (read != NULL)
        set_attribute(attach, &read_bandwidth, from, memory, read->value, read->source);
    if (write != NULL)
        set_attribute(attach, &write_bandwidth, from, memory, write->value, write->source);
    if (read != NULL && write != NULL) {
        set_attribute(attach, &bandwidth, from, memory, (read->value + write->value) / 2,
                      read->source);
        set_attribute(attach, &bandwidth, from, memory, (read->value + write->value) / 2,
                      write->source);
    } else if (read != NULL || write != NULL) {
        const struct value *only = read != NULL ? read : write;
        set_attribute(attach, &bandwidth, from, memory, only->value, only->source);
    }
}

static void set_latency(struct attach *attach, place_id from, place_id memory, double value,
                        enum value_source source)
{
    set_attribute(attach, &read_latency, from, memory, value, source);
    set_attribute(attach, &latency, from, memory, value, source);
}

/* True when inner has bandwidth to every memory to which around has. hwloc uses the first initiator
 * that contains the requested cpus. Otherwise, memories without values of inner would be compared
 * by the values of other cpus. */
static bool covers(const struct attach *attach, place_id inner, place_id around)
{
    const struct graph *graph = attach->graph;
    for (place_id memory = graph_next(graph, PLACE_NUMA, 0); memory != PLACE_NONE;
         memory = graph_next(graph, PLACE_NUMA, memory + 1)) {
        struct bandwidths own = bandwidth_of(attach, inner, memory),
                          its = bandwidth_of(attach, around, memory);
        if ((its.read != NULL && own.read == NULL) || (its.write != NULL && own.write == NULL))
            return false;
    }
    return true;
}

static bool has_bandwidth(const struct attach *attach, place_id from)
{
    const struct graph *graph = attach->graph;
    for (place_id memory = graph_next(graph, PLACE_NUMA, 0); memory != PLACE_NONE;
         memory = graph_next(graph, PLACE_NUMA, memory + 1)) {
        struct bandwidths bandwidths = bandwidth_of(attach, from, memory);
        if (bandwidths.read != NULL || bandwidths.write != NULL)
            return true;
    }
    return false;
}

/* True when a package can be an initiator beside those inside it; one with the same cpus replaces
 * it. */
static bool fits_around(const struct attach *attach, place_id package)
{
    static const enum place_kind inside[] = {PLACE_LLC, PLACE_NUMA};
    const struct graph *graph = attach->graph;
    const struct cpuset *cpus = graph->places[package].cpus;
    for (size_t k = 0; k < sizeof inside / sizeof inside[0]; k++)
        for (place_id inner = graph_next(graph, inside[k], 0); inner != PLACE_NONE;
             inner = graph_next(graph, inside[k], inner + 1)) {
            const struct cpuset *its = graph->places[inner].cpus;
            bool is_inside = cpus != NULL && its != NULL && cpuset_contains(cpus, its);
            if (is_inside && has_bandwidth(attach, inner) &&
                (cpuset_equal(cpus, its) || !covers(attach, inner, package)))
                return false;
        }
    return true;
}

static bool is_initiator_of_bandwidth(const struct attach *attach, place_id from)
{
    const struct place *place = &attach->graph->places[from];
    if (place->kind == PLACE_LLC)
        return place->numa != PLACE_NONE && covers(attach, from, place->numa);
    return place->kind != PLACE_PACKAGE || fits_around(attach, from);
}

/* Sets the mean over the llcs of a NUMA node, where each of them has a value. */
static void set_mean_latency(struct attach *attach, place_id numa, place_id memory)
{
    const struct graph *graph = attach->graph;
    double sum = 0;
    size_t count = 0;
    enum value_source source = VALUE_MEASURED;
    for (place_id llc = graph_next(graph, PLACE_LLC, 0); llc != PLACE_NONE;
         llc = graph_next(graph, PLACE_LLC, llc + 1)) {
        if (graph->places[llc].numa != numa)
            continue;
        const struct value *value = measured_value(attach, METRIC_MEMORY_LATENCY, llc, memory, "");
        if (value == NULL)
            return;
        sum += value->value;
        source = value->source;
        count++;
    }
    if (count > 0)
        set_latency(attach, numa, memory, sum / (double)count, source);
}

/* Adds the smaller ones first: of several initiators around the same cpus hwloc uses the first. */
static void add_attributes(struct attach *attach)
{
    static const enum place_kind kinds[] = {PLACE_LLC, PLACE_NUMA, PLACE_PACKAGE, PLACE_GPU};
    const struct graph *graph = attach->graph;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (place_id from = graph_next(graph, kinds[k], 0); from != PLACE_NONE;
             from = graph_next(graph, kinds[k], from + 1)) {
            bool has_bandwidth = is_initiator_of_bandwidth(attach, from);
            for (place_id memory = graph_next(graph, PLACE_NUMA, 0); memory != PLACE_NONE;
                 memory = graph_next(graph, PLACE_NUMA, memory + 1)) {
                const struct value *value =
                    kinds[k] != PLACE_PACKAGE
                        ? measured_value(attach, METRIC_MEMORY_LATENCY, from, memory, "")
                        : NULL;
                if (has_bandwidth)
                    set_bandwidth(attach, from, memory);
                if (value != NULL)
                    set_latency(attach, from, memory, value->value, value->source);
                else if (kinds[k] == PLACE_NUMA)
                    set_mean_latency(attach, from, memory);
            }
        }
}

/* Selects the places of a matrix: those with an object, less the ones with the most missing values,
 * until none is missing. */
static size_t choose_places(const struct attach *attach, enum metric metric, enum place_kind kind,
                            place_id *chosen)
{
    size_t count = 0;
    for (place_id place = graph_next(attach->graph, kind, 0); place != PLACE_NONE;
         place = graph_next(attach->graph, kind, place + 1))
        if (attach->object[place] != NULL)
            chosen[count++] = place;
    for (;;) {
        size_t worst = 0, most = 0;
        for (size_t i = 0; i < count; i++) {
            size_t missing = 0;
            for (size_t j = 0; j < count; j++)
                if (i != j)
                    missing += (measured_value(attach, metric, chosen[i], chosen[j], "") == NULL) +
                               (measured_value(attach, metric, chosen[j], chosen[i], "") == NULL);
            if (missing >= most && missing > 0) {
                worst = i;
                most = missing;
            }
        }
        if (most == 0)
            return count;
        memmove(&chosen[worst], &chosen[worst + 1], (--count - worst) * sizeof *chosen);
    }
}

/* Before hwloc 2.5 a matrix has no name that another program could ask for, so it is left out. */
static bool add_distances(hwloc_topology_t topology, const char *name, enum metric metric,
                          unsigned count, struct hwloc_obj **objects, hwloc_uint64_t *cell)
{
#if HWLOC_API_VERSION < 0x00020500
    (void)topology, (void)name, (void)metric, (void)count, (void)objects, (void)cell;
    return true;
#else
    unsigned long means = metric_info(metric)->higher_is_better
                              ? HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH
                              : HWLOC_DISTANCES_KIND_MEANS_LATENCY;
    hwloc_distances_add_handle_t handle =
        hwloc_distances_add_create(topology, name, HWLOC_DISTANCES_KIND_FROM_USER | means, 0);
    return handle != NULL &&
           hwloc_distances_add_values(topology, handle, count, objects, cell, 0) == 0 &&
           hwloc_distances_add_commit(topology, handle, 0) == 0;
#endif
}

static void add_matrix(struct attach *attach, const char *name, enum metric metric,
                       enum place_kind kind, double unit)
{
    size_t most = graph_count(attach->graph, kind);
    place_id *chosen = calloc(most + 1, sizeof *chosen);
    struct hwloc_obj **objects = calloc(most + 1, sizeof(struct hwloc_obj *));
    hwloc_uint64_t *cell = calloc(most * most + 1, sizeof *cell);
    size_t count = chosen != NULL && objects != NULL && cell != NULL
                       ? choose_places(attach, metric, kind, chosen)
                       : 0;
    attach->out_of_memory =
        attach->out_of_memory || chosen == NULL || objects == NULL || cell == NULL;
    struct hwloc_obj *root = hwloc_get_root_obj(attach->topology);
    for (size_t i = 0; i < count; i++) {
        objects[i] = attach->object[chosen[i]];
        for (size_t j = 0; j < count; j++) {
            const struct value *value = measured_value(attach, metric, chosen[i], chosen[j], "");
            cell[i * count + j] = value == NULL ? 0 : (hwloc_uint64_t)llround(value->value / unit);
            if (value != NULL && count > 1)
                note_source(attach, root, name, value->source);
        }
    }
    if (count > 1 && !add_distances(attach->topology, name, metric, (unsigned)count, objects, cell))
        attach->out_of_memory = true;
    free(cell);
    free(objects);
    free(chosen);
}

/* Removes the matrices and attributes that an earlier export left in the XML. */
static void remove_old(hwloc_topology_t topology)
{
#define X(name, metric, kind, unit) name,
    static const char *const names[] = {BACKEND_HWLOC_MATRICES(X)};
#undef X
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct hwloc_distances_s *matrix;
        unsigned count = 1;
        while (hwloc_distances_get_by_name(topology, names[i], &count, &matrix, 0) == 0 &&
               count > 0) {
            hwloc_distances_release_remove(topology, matrix);
            count = 1;
        }
    }
}

static void remove_info(struct hwloc_obj *obj, unsigned index)
{
    free(obj->infos[index].name);
    free(obj->infos[index].value);
    memmove(&obj->infos[index], &obj->infos[index + 1],
            (--obj->infos_count - index) * sizeof *obj->infos);
}

static void remove_old_infos(struct hwloc_obj *obj)
{
    for (unsigned i = obj->infos_count; i-- > 0;)
        if (strcmp(obj->infos[i].name, BACKEND_HWLOC_SNAPSHOT_INFO) == 0 ||
            strcmp(obj->infos[i].name, "BerthOrigin") == 0 ||
            strncmp(obj->infos[i].name, BACKEND_HWLOC_SOURCE_INFO,
                    strlen(BACKEND_HWLOC_SOURCE_INFO)) == 0)
            remove_info(obj, i);
}

/* Notes values in the XML as stated by firmware, unless berth exported them. */
static void note_stated(struct attach *attach, struct hwloc_obj *node)
{
    static const struct attribute *const all[] = {&bandwidth, &read_bandwidth, &write_bandwidth,
                                                  &latency, &read_latency};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        unsigned count = 0;
        if (hwloc_memattr_get_initiators(attach->topology, all[i]->id, node, 0, &count, NULL,
                                         NULL) == 0 &&
            count > 0)
            note_source(attach, node, all[i]->name, VALUE_NOMINAL);
    }
}

static void add_all(struct attach *attach)
{
    struct hwloc_obj *root = hwloc_get_root_obj(attach->topology);
    bool was_ours = hwloc_obj_get_info_by_name(root, BACKEND_HWLOC_SNAPSHOT_INFO) != NULL;
    remove_old(attach->topology);
    remove_old_infos(root);
    for (place_id numa = graph_next(attach->graph, PLACE_NUMA, 0); numa != PLACE_NONE;
         numa = graph_next(attach->graph, PLACE_NUMA, numa + 1)) {
        struct hwloc_obj *node = attach->object[numa];
        if (node != NULL && was_ours)
            remove_old_infos(node);
        else if (node != NULL)
            note_stated(attach, node);
    }
    attach->out_of_memory |=
        hwloc_obj_add_info(root, BACKEND_HWLOC_SNAPSHOT_INFO, attach->snap->id) != 0 ||
        hwloc_obj_add_info(root, "BerthOrigin", origin_name(snapshot_origin(attach->snap))) != 0;
    add_attributes(attach);
#define X(name, metric, kind, unit) add_matrix(attach, name, metric, kind, unit);
    BACKEND_HWLOC_MATRICES(X)
#undef X
}

enum berth_code backend_hwloc_measured(const char *xml, const char *name,
                                       const struct snapshot *snap, char **ret_xml,
                                       struct berth_err *err)
{
    struct attach attach = {.snap = snap, .graph = snap->graph};
    enum berth_code code = backend_hwloc_load(xml, name, NULL, &attach.topology, err);
    if (code != BERTH_OK)
        return code;
    char *buffer = NULL, *copy = NULL;
    int length = 0;
    if (find_objects(&attach)) {
        add_all(&attach);
        if (!attach.out_of_memory &&
            hwloc_topology_export_xmlbuffer(attach.topology, &buffer, &length, 0) == 0) {
            copy = strndup(buffer, (size_t)length);
            hwloc_free_xmlbuffer(attach.topology, buffer);
        }
    }
    free(attach.object);
    hwloc_topology_destroy(attach.topology);
    if (copy == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the XML of this node");
    *ret_xml = copy;
    return BERTH_OK;
}
