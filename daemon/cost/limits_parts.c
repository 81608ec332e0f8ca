/* The parts of a node that transfers may share, with their stated rates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits_inner.h"
#include "cost/policy.h"
#include "node/gpu.h"
#include "node/pci.h"

#define NONE UINT16_MAX

/* Parts by the places that they belong to. */
static const struct {
    const char *name;
    bool is_of_one; /* else several places share it */
} table[LIMIT_PARTS] = {
    [LIMIT_LINK] = {":link", false},
    [LIMIT_HOST_LINK] = {":host-link", true},
    [LIMIT_HOST_PORT] = {":host-port", false},
    [LIMIT_PCIE_PORT] = {":pcie-port", false},
    [LIMIT_PCIE_PORT2] = {":pcie-port2", false},
    [LIMIT_PCIE_PORT3] = {":pcie-port3", false},
    [LIMIT_SWITCH_PORT] = {":switch-port", true},
    [LIMIT_MEMORY] = {":memory", true},
    [LIMIT_GPU] = {NULL, true}, /* "gpu3:in", "gpu3:port" */
    [LIMIT_GPU_PORT] = {":gpu-port", false},
    [LIMIT_HIVE] = {":hive", false},
};

/* Steps to the next place of a kind, from PLACE_NONE to the first. False after the last. */
static bool each(const struct graph *graph, enum place_kind kind, place_id *place)
{
    *place = graph_next(graph, kind, *place == PLACE_NONE ? 0 : *place + 1);
    return *place != PLACE_NONE;
}

/* ---- stated rates ---- */

static double rate_of_memory(const struct values *values, place_id memory, const char *operation)
{
    const struct value *v;
    double most = 0;
    for (size_t left = values_range(values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v); left > 0;
         left--, v++) {
        char text[16];
        const char *its =
            axes_get(v->metric, values_axes(values, v), "operation", text, sizeof text);
        if (v->to == memory && v->why_not == NULL && v->value > most && its != NULL &&
            (*operation == '\0' || strcmp(its, operation) == 0))
            most = v->value;
    }
    return most;
}

/* Of a memory that a GPU has in common with a processor: half of the GPU's own rate, or of the
 * stated one, as copies within it read and write. */
static double rate_of_memory_both(const struct graph *graph, const struct values *values,
                                  place_id memory)
{
    place_id gpu = gpu_apu_at(graph, memory);
    if (gpu == PLACE_NONE)
        return rate_of_memory(values, memory, "");
    double most = fmax(rate_of_memory(values, gpu, "read"), rate_of_memory(values, gpu, "copy"));
    const struct value *stream = values_find(values, METRIC_GPU_STREAM, gpu, gpu, ""),
                       *stated = values_find(values, METRIC_MEMORY_BANDWIDTH, memory, memory, "");
    if (!(most > 0) && stream != NULL)
        most = stream->value;
    if (!(most > 0) && stated != NULL && stated->source == VALUE_NOMINAL)
        most = stated->value;
    return most / 2;
}

/* The rate of both directions between a GPU and cores that have one memory. */
static double rate_common(const struct limits_builder *b, const struct link *link)
{
    bool is_from = graph_is(b->graph, link->from, PLACE_NUMA);
    place_id numa = is_from ? link->from : link->to, gpu = is_from ? link->to : link->from;
    return graph_is(b->graph, numa, PLACE_NUMA) && gpu_apu_at(b->graph, numa) == gpu
               ? rate_of_memory_both(b->graph, b->values, numa)
               : 0;
}

const struct value *limits_rate_of_cores(const struct limits_builder *b, const struct link *link,
                                         bool back)
{
    place_id from = back ? link->to : link->from, to = back ? link->from : link->to;
    const struct value *v, *most = NULL;
    for (size_t left = values_range(b->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v); left > 0;
         left--, v++) {
        const char *axes = values_axes(b->values, v);
        bool is_read = axes[0] == '\0', is_write = strcmp(axes, "operation=write") == 0;
        place_id source = is_read ? v->to : v->from, end = is_read ? v->from : v->to;
        if (v->why_not == NULL && v->value > (most != NULL ? most->value : 0) &&
            (is_read || is_write) && graph_is(b->graph, source, PLACE_NUMA) &&
            graph_is(b->graph, end, PLACE_NUMA) && graph_place(b->graph, source)->parent == from &&
            graph_place(b->graph, end)->parent == to)
            most = v;
    }
    return most;
}

/* The widest stated link between a place and a NUMA node. */
static double rate_to_host(const struct graph *graph, place_id place)
{
    double most = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if ((link->from == place && graph_is(graph, link->to, PLACE_NUMA)) ||
            (link->to == place && graph_is(graph, link->from, PLACE_NUMA)))
            most = fmax(most, link->nominal_bytes_per_s);
    }
    return most;
}

/* Stated rate of a PCIe port, unless its widest GPU has as much: idle ports state too little. */
static double rate_of_pcie_port(const struct graph *graph, place_id gpu, size_t level,
                                double widest, enum limit_source *ret)
{
    char key[PCI_PORT_KEY];
    const char *text =
        place_detail(graph_place(graph, gpu), pci_port_key(level, "_bytes_per_s", key));
    double stated = text != NULL ? strtod(text, NULL) : 0;
    bool is_wider = isfinite(stated) && stated > widest * (1 + POLICY_SAME);
    *ret = is_wider ? LIMIT_STATED : LIMIT_MEMBER;
    return is_wider ? stated : widest;
}

double limits_rate_over_switches(const struct limits_builder *b, place_id from, place_id to,
                                 size_t *ret_switches)
{
    double sum = 0;
    *ret_switches = 0;
    for (size_t s = 0; s < b->switch_count; s++) {
        double its =
            fmin(b->switched[from * b->switch_count + s], b->switched[to * b->switch_count + s]);
        sum += its;
        *ret_switches += its > 0;
    }
    return sum;
}

/* ---- members ---- */

place_id limits_pcie_port(const struct graph *graph, place_id place, size_t level)
{
    char key[PCI_PORT_KEY];
    const char *port = place_detail(graph_place(graph, place), pci_port_key(level, "", key));
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);) {
        const char *its = place_detail(graph_place(graph, gpu), key);
        if (port == NULL || (its != NULL && strcmp(its, port) == 0))
            return port != NULL ? gpu : PLACE_NONE;
    }
    return PLACE_NONE;
}

/* A hive is named by the lowest GPU that links between GPUs join. Where there is only one it is no
 * part. */
static void find_hives(struct limits_builder *b)
{
    struct link_path path;
    bool is_split = false;
    for (place_id gpu = PLACE_NONE; each(b->graph, PLACE_GPU, &gpu);) {
        place_id low = graph_next(b->graph, PLACE_GPU, 0);
        while (low != gpu && (!link_path_find(b->paths, low, gpu, &path) || path.over_host))
            low = graph_next(b->graph, PLACE_GPU, low + 1);
        is_split |= low != graph_next(b->graph, PLACE_GPU, 0);
        b->member[gpu][LIMIT_HIVE] = low;
    }
    for (place_id gpu = PLACE_NONE; !is_split && each(b->graph, PLACE_GPU, &gpu);)
        b->member[gpu][LIMIT_HIVE] = PLACE_NONE;
}

static void find_members(struct limits_builder *b)
{
    const struct graph *graph = b->graph;
    memset(b->member, 0xff, graph->place_count * sizeof *b->member);
    find_hives(b);
    for (place_id p = 0; p < (place_id)graph->place_count; p++) {
        const struct place *place = graph_place(graph, p);
        place_id *member = b->member[p];
        bool is_gpu = place->kind == PLACE_GPU;
        if (is_gpu) {
            member[LIMIT_GPU] = member[LIMIT_HOST_LINK] = member[LIMIT_SWITCH_PORT] = p;
            member[LIMIT_GPU_PORT] = place->numa;
            if (graph_is(graph, place->parent, PLACE_MODULE))
                member[LIMIT_HOST_PORT] = place->parent;
        }
        for (size_t level = 0; level < PCI_PORT_LEVELS && (is_gpu || place->kind == PLACE_NIC);
             level++)
            member[LIMIT_PCIE_PORT + level] = limits_pcie_port(graph, p, level);
        if (place->kind == PLACE_NUMA)
            member[LIMIT_MEMORY] = p;
    }
}

static void find_switched(struct limits_builder *b)
{
    const struct graph *graph = b->graph;
    size_t number = 0;
    for (place_id at = PLACE_NONE; each(graph, PLACE_SWITCH, &at); number++)
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            place_id gpu = link->from == at ? link->to : link->to == at ? link->from : PLACE_NONE;
            if (graph_is(graph, gpu, PLACE_GPU) && link->kind == LINK_NVLINK &&
                link->state != LINK_DOWN)
                b->switched[gpu * b->switch_count + number] += link->nominal_bytes_per_s;
        }
}

/* ---- parts ---- */

static void name_limit(const struct graph *graph, struct limit *limit)
{
    static const char *const directions[] = {":out", ":in", ""};
    static const char *const of_memory[] = {":read", ":write", ""};
    const struct limit_role *role = &limit->role;
    const char *place = graph_place(graph, role->place)->name, *name = table[role->part].name,
               *direction = (role->part == LIMIT_MEMORY ? of_memory : directions)[role->direction];
    if (role->part == LIMIT_LINK)
        snprintf(limit->name, sizeof limit->name, "%s-%s%s%s", place,
                 graph_place(graph, role->other)->name, name, direction);
    else
        snprintf(limit->name, sizeof limit->name, "%s%s%s", place,
                 name != NULL                    ? name
                 : role->direction == LIMIT_BOTH ? ":port"
                                                 : "",
                 direction);
}

static uint16_t add(struct limits_builder *b, struct limit_role role, double bytes_per_s,
                    enum limit_source source)
{
    uint16_t at = limits_add(b->limits);
    b->failed |= at == NONE;
    if (at == NONE)
        return NONE;
    struct limit *limit = &b->limits->item[at];
    limit->has_role = true;
    limit->role = role;
    limit->source = source;
    limit->step[0].bytes_per_s = bytes_per_s;
    name_limit(b->graph, limit);
    return at;
}

static void add_link(struct limits_builder *b, size_t number)
{
    const struct link *link = &b->graph->links[number];
    bool is_smp = link->kind == LINK_SMP;
    for (int back = 0; back < 2; back++) {
        const struct value *cores =
            is_smp && !(link->nominal_bytes_per_s > 0) ? limits_rate_of_cores(b, link, back) : NULL;
        double rate = cores != NULL ? cores->value : link->nominal_bytes_per_s;
        if ((!(rate > 0) && !is_smp) || link->kind == LINK_NETWORK || link->state == LINK_DOWN)
            continue;
        b->of_link[number][back] = add(
            b, (struct limit_role){LIMIT_LINK, back ? LIMIT_IN : LIMIT_OUT, link->from, link->to},
            rate > 0 ? fmax(rate, rate_common(b, link)) : 0, LIMIT_STATED);
    }
    if (is_smp || graph_are_gpus(b->graph, link->from, link->to))
        b->of_link[number][LIMIT_BOTH] = add(
            b, (struct limit_role){LIMIT_LINK, LIMIT_BOTH, link->from, link->to}, 0, LIMIT_STATED);
}

/* The rate of a part in one direction, or both; 0 not stated. */
static double rate_of_part(const struct limits_builder *b, enum limit_part part, place_id place,
                           int way, double widest, enum limit_source *ret_source)
{
    size_t switches;
    *ret_source = LIMIT_STATED;
    if (part == LIMIT_MEMORY)
        return way == LIMIT_BOTH
                   ? rate_of_memory_both(b->graph, b->values, place)
                   : rate_of_memory(b->values, place, way == LIMIT_OUT ? "read" : "write");
    if (limits_is_pcie_port(part) && way != LIMIT_BOTH)
        return rate_of_pcie_port(b->graph, place, part - LIMIT_PCIE_PORT, widest, ret_source);
    if (part == LIMIT_SWITCH_PORT && way != LIMIT_BOTH)
        return limits_rate_over_switches(b, place, place, &switches);
    return part == LIMIT_HOST_PORT && way != LIMIT_BOTH ? widest : 0;
}

static void add_part(struct limits_builder *b, enum limit_part part, place_id place)
{
    size_t members = 0, switches;
    double widest = 0;
    for (place_id p = 0; p < (place_id)b->graph->place_count; p++)
        if (b->member[p][part] == place) {
            members += !graph_is(b->graph, p, PLACE_NIC);
            widest = fmax(widest, rate_to_host(b->graph, p));
        }
    if (members < (table[part].is_of_one ? 1 : 2))
        return;
    if (part == LIMIT_SWITCH_PORT &&
        (limits_rate_over_switches(b, place, place, &switches), switches < 2))
        return;
    for (int way = LIMIT_OUT; way <= LIMIT_BOTH; way++) {
        enum limit_source source;
        double rate = rate_of_part(b, part, place, way, widest, &source);
        b->of_place[place][part][way] =
            add(b, (struct limit_role){part, (enum limit_direction)way, place, PLACE_NONE}, rate,
                source);
    }
}

static void add_parts(struct limits_builder *b, enum limit_part part)
{
    for (place_id p = 0; p < (place_id)b->graph->place_count; p++)
        add_part(b, part, p);
}

/* Where several parts explain the same runs the first counts: the most particular come first. */
static void add_all(struct limits_builder *b)
{
    static const enum limit_part parts[] = {LIMIT_GPU,        LIMIT_HOST_PORT,  LIMIT_PCIE_PORT,
                                            LIMIT_PCIE_PORT2, LIMIT_PCIE_PORT3, LIMIT_GPU_PORT,
                                            LIMIT_MEMORY,     LIMIT_HIVE,       LIMIT_SWITCH_PORT};
    const struct graph *graph = b->graph;
    for (size_t i = 0; i < graph->link_count; i++)
        if (graph_are_gpus(graph, graph->links[i].from, graph->links[i].to))
            add_link(b, i);
    add_parts(b, LIMIT_HOST_LINK);
    for (size_t i = 0; i < graph->link_count; i++)
        if (!graph_are_gpus(graph, graph->links[i].from, graph->links[i].to))
            add_link(b, i);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        add_parts(b, parts[i]);
}

void limits_add_parts(struct limits_builder *b)
{
    find_members(b);
    find_switched(b);
    add_all(b);
}
