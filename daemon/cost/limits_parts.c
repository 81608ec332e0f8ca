/* The parts of a node that transfers may share, and those on the path between each two places. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits_inner.h"
#include "cost/path_inference.h"
#include "cost/policy.h"
#include "node/gpu.h"
#include "node/pci.h"

#define NONE      UINT16_MAX
#define PATHS_MAX 16

/* Transfers by their path: between GPUs over their links, over the host, or, without stated rates,
 * over it as far as is known; with the host. */
enum { BY_LINKS = 1, OVER_HOST = 2, UNSTATED = 4, WITH_HOST = 8, THROUGH_PORTS = 14, ANY = 15 };

/* Parts by the places that they belong to; links are on paths. */
static const struct {
    const char *name;
    unsigned users; /* the transfers from and to a place that use its part */
    bool is_of_one; /* else several places share it */
} table[LIMIT_PARTS] = {
    [LIMIT_LINK] = {":link", 0, false},
    [LIMIT_HOST_LINK] = {":host-link", THROUGH_PORTS, true},
    [LIMIT_HOST_PORT] = {":host-port", OVER_HOST | WITH_HOST, false},
    [LIMIT_PCIE_PORT] = {":pcie-port", THROUGH_PORTS, false},
    [LIMIT_PCIE_PORT2] = {":pcie-port2", THROUGH_PORTS, false},
    [LIMIT_PCIE_PORT3] = {":pcie-port3", THROUGH_PORTS, false},
    [LIMIT_SWITCH_PORT] = {":switch-port", 0, true},
    [LIMIT_MEMORY] = {":memory", ANY, true},
    [LIMIT_GPU] = {NULL, ANY, true}, /* "gpu3:in", "gpu3:port" */
    [LIMIT_GPU_PORT] = {":gpu-port", THROUGH_PORTS, false},
    [LIMIT_HIVE] = {":hive", THROUGH_PORTS, false},
};

struct builder {
    struct limits *limits;
    const struct graph *graph;
    const struct values *values;
    const struct sets *sets;
    struct link_paths *paths;
    /* by place: the place whose part it uses; PLACE_NONE none */
    place_id (*member)[LIMIT_PARTS];
    uint16_t (*of_place)[LIMIT_PARTS][3]; /* limits of a place, by direction */
    uint16_t (*of_link)[3];
    size_t switch_count;
    double *switched; /* by place and number of the switch: rate of a GPU's NVLinks to it */
    place_id end[LIMITS_PLACES_MAX + 1]; /* by slot */
    bool failed;
};

static bool is_kind(const struct graph *graph, place_id place, enum place_kind kind)
{
    return place != PLACE_NONE && graph_place(graph, place)->kind == kind;
}

/* Steps to the next place of a kind, from PLACE_NONE to the first. False after the last. */
static bool each(const struct graph *graph, enum place_kind kind, place_id *place)
{
    *place = graph_next(graph, kind, *place == PLACE_NONE ? 0 : *place + 1);
    return *place != PLACE_NONE;
}

static bool joins_gpus(const struct graph *graph, const struct link *link)
{
    return is_kind(graph, link->from, PLACE_GPU) && is_kind(graph, link->to, PLACE_GPU);
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
static double rate_common(const struct builder *b, const struct link *link)
{
    bool is_from = is_kind(b->graph, link->from, PLACE_NUMA);
    place_id numa = is_from ? link->from : link->to, gpu = is_from ? link->to : link->from;
    return is_kind(b->graph, numa, PLACE_NUMA) && gpu_apu_at(b->graph, numa) == gpu
               ? rate_of_memory_both(b->graph, b->values, numa)
               : 0;
}

/* The value with the highest rate of one package's cores in the other's memory, in the direction of
 * a link without a stated rate; NULL none. */
static const struct value *rate_of_cores(const struct builder *b, const struct link *link,
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
            (is_read || is_write) && is_kind(b->graph, source, PLACE_NUMA) &&
            is_kind(b->graph, end, PLACE_NUMA) && graph_place(b->graph, source)->parent == from &&
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
        if ((link->from == place && is_kind(graph, link->to, PLACE_NUMA)) ||
            (link->to == place && is_kind(graph, link->from, PLACE_NUMA)))
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

/* The rate between two GPUs over all switches that both have links to, and how many these are. */
static double rate_over_switches(const struct builder *b, place_id from, place_id to,
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
static void find_hives(struct builder *b)
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

static void find_members(struct builder *b)
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
            if (is_kind(graph, place->parent, PLACE_MODULE))
                member[LIMIT_HOST_PORT] = place->parent;
        }
        for (size_t level = 0; level < PCI_PORT_LEVELS && (is_gpu || place->kind == PLACE_NIC);
             level++)
            member[LIMIT_PCIE_PORT + level] = limits_pcie_port(graph, p, level);
        if (place->kind == PLACE_NUMA)
            member[LIMIT_MEMORY] = p;
    }
}

static void find_switched(struct builder *b)
{
    const struct graph *graph = b->graph;
    size_t number = 0;
    for (place_id at = PLACE_NONE; each(graph, PLACE_SWITCH, &at); number++)
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            place_id gpu = link->from == at ? link->to : link->to == at ? link->from : PLACE_NONE;
            if (is_kind(graph, gpu, PLACE_GPU) && link->kind == LINK_NVLINK &&
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

static uint16_t add(struct builder *b, struct limit_role role, double bytes_per_s,
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

static void add_link(struct builder *b, size_t number)
{
    const struct link *link = &b->graph->links[number];
    bool is_smp = link->kind == LINK_SMP;
    for (int back = 0; back < 2; back++) {
        const struct value *cores =
            is_smp && !(link->nominal_bytes_per_s > 0) ? rate_of_cores(b, link, back) : NULL;
        double rate = cores != NULL ? cores->value : link->nominal_bytes_per_s;
        if ((!(rate > 0) && !is_smp) || link->kind == LINK_NETWORK || link->state == LINK_DOWN)
            continue;
        b->of_link[number][back] = add(
            b, (struct limit_role){LIMIT_LINK, back ? LIMIT_IN : LIMIT_OUT, link->from, link->to},
            rate > 0 ? fmax(rate, rate_common(b, link)) : 0, LIMIT_STATED);
    }
    if (is_smp || joins_gpus(b->graph, link))
        b->of_link[number][LIMIT_BOTH] = add(
            b, (struct limit_role){LIMIT_LINK, LIMIT_BOTH, link->from, link->to}, 0, LIMIT_STATED);
}

/* The rate of a part in one direction, or both; 0 not stated. */
static double rate_of_part(const struct builder *b, enum limit_part part, place_id place, int way,
                           double widest, enum limit_source *ret_source)
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
        return rate_over_switches(b, place, place, &switches);
    return part == LIMIT_HOST_PORT && way != LIMIT_BOTH ? widest : 0;
}

static void add_part(struct builder *b, enum limit_part part, place_id place)
{
    size_t members = 0, switches;
    double widest = 0;
    for (place_id p = 0; p < (place_id)b->graph->place_count; p++)
        if (b->member[p][part] == place) {
            members += !is_kind(b->graph, p, PLACE_NIC);
            widest = fmax(widest, rate_to_host(b->graph, p));
        }
    if (members < (table[part].is_of_one ? 1 : 2))
        return;
    if (part == LIMIT_SWITCH_PORT && (rate_over_switches(b, place, place, &switches), switches < 2))
        return;
    for (int way = LIMIT_OUT; way <= LIMIT_BOTH; way++) {
        enum limit_source source;
        double rate = rate_of_part(b, part, place, way, widest, &source);
        b->of_place[place][part][way] =
            add(b, (struct limit_role){part, (enum limit_direction)way, place, PLACE_NONE}, rate,
                source);
    }
}

static void add_parts(struct builder *b, enum limit_part part)
{
    for (place_id p = 0; p < (place_id)b->graph->place_count; p++)
        add_part(b, part, p);
}

/* Where several parts explain the same runs the first counts: the most particular come first. */
static void add_all(struct builder *b)
{
    static const enum limit_part parts[] = {LIMIT_GPU,        LIMIT_HOST_PORT,  LIMIT_PCIE_PORT,
                                            LIMIT_PCIE_PORT2, LIMIT_PCIE_PORT3, LIMIT_GPU_PORT,
                                            LIMIT_MEMORY,     LIMIT_HIVE,       LIMIT_SWITCH_PORT};
    const struct graph *graph = b->graph;
    for (size_t i = 0; i < graph->link_count; i++)
        if (joins_gpus(graph, &graph->links[i]))
            add_link(b, i);
    add_parts(b, LIMIT_HOST_LINK);
    for (size_t i = 0; i < graph->link_count; i++)
        if (!joins_gpus(graph, &graph->links[i]))
            add_link(b, i);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        add_parts(b, parts[i]);
}

/* ---- pairs ---- */

static void use(struct limits_pair *pair, uint16_t item)
{
    if (item != NONE && pair->part_count < LIMITS_USES_MAX &&
        !limits_pair_has(pair, pair->part_count, item))
        pair->use[pair->part_count++] = item;
    pair->use_count = pair->part_count;
}

/* One direction, and both of the same part behind it. */
static void use_both(struct limits_pair *pair, const uint16_t *of, int way)
{
    use(pair, of[way]);
    use(pair, of[LIMIT_BOTH]);
}

/* The parts of the ends, unless both ends belong to the same one. */
static void use_ends(const struct builder *b, struct limits_pair *pair, enum limit_part part,
                     place_id from, place_id to)
{
    place_id out = from != PLACE_NONE ? b->member[from][part] : PLACE_NONE,
             in = to != PLACE_NONE ? b->member[to][part] : PLACE_NONE;
    if (out != PLACE_NONE && out != in)
        use_both(pair, b->of_place[out][part], LIMIT_OUT);
    if (in != PLACE_NONE && out != in)
        use_both(pair, b->of_place[in][part], LIMIT_IN);
}

/* True when two GPUs exchange more than the link to the host on their path carries, and copies
 * with the host bear that link's rate out: the bytes go over links that nobody reports, as in a
 * virtual machine. */
static bool is_hidden(const struct builder *b, const struct limits_pair *pair,
                      const struct link_path *path)
{
    for (size_t i = 0; i < path->step_count; i++) {
        const struct link *link = &b->graph->links[path->step[i].link];
        bool is_from = is_kind(b->graph, link->from, PLACE_GPU);
        place_id gpu = is_from ? link->from : link->to, host = is_from ? link->to : link->from;
        double most = link->nominal_bytes_per_s * (1 + POLICY_SIMILAR), with_host = 0;
        if (!is_kind(b->graph, gpu, PLACE_GPU) || !is_kind(b->graph, host, PLACE_NUMA) ||
            !(pair->alone > most) || !(most > 0))
            continue;
        for (place_id numa = PLACE_NONE; each(b->graph, PLACE_NUMA, &numa);) {
            bool is_out = is_from != path->step[i].back;
            with_host = fmax(
                with_host, limits_pair(b->limits, is_out ? gpu : numa, is_out ? numa : gpu)->alone);
        }
        if (with_host > 0 && with_host <= most)
            return true;
    }
    return false;
}

/* Links between packages without a stated rate count with the rate of cores over them. */
static void fill_rate(const struct builder *b, const struct link_path *path,
                      struct limits_pair *pair)
{
    double stated = INFINITY;
    pair->bytes_per_s = path->bytes_per_s;
    for (size_t i = 0; i < path->step_count; i++) {
        uint32_t number = path->step[i].link;
        const struct link *link = &b->graph->links[number];
        if (link->nominal_bytes_per_s > 0 && link->nominal_bytes_per_s < stated) {
            stated = link->nominal_bytes_per_s;
            pair->narrowest = number;
        }
        if (link->kind != LINK_SMP || link->nominal_bytes_per_s > 0)
            continue;
        const struct value *cores = rate_of_cores(b, link, path->step[i].back);
        if (cores == NULL) {
            pair->bytes_per_s = 0;
            pair->cores = NULL;
            pair->unstated = number;
            return;
        }
        if (cores->value < pair->bytes_per_s) {
            pair->bytes_per_s = cores->value;
            pair->cores = cores;
        }
    }
}

/* Links of other paths that the driver may choose as well. */
static void use_other_paths(const struct builder *b, place_id from, place_id to,
                            struct limits_pair *pair)
{
    struct link_path path[PATHS_MAX];
    size_t count = link_path_all(b->paths, from, to, path, PATHS_MAX);
    for (size_t p = 0; p < count; p++)
        for (size_t i = 0; i < path[p].step_count; i++) {
            uint16_t item = b->of_link[path[p].step[i].link][path[p].step[i].back];
            if (item != NONE && pair->other_count < LIMITS_OTHERS_MAX &&
                !limits_pair_has(pair, pair->part_count, item))
                pair->other[pair->other_count++] = item;
        }
}

/* The links of a path; or, where two GPUs have several switches in common, all of these at once. */
static void use_path(const struct builder *b, const struct link_path *path,
                     struct limits_pair *pair)
{
    size_t switches;
    double rate = rate_over_switches(b, path->from, path->to, &switches);
    bool is_spread = switches > 1 && rate >= path->bytes_per_s;
    for (size_t i = 0; i < path->step_count && !is_spread; i++) {
        const uint16_t *of = b->of_link[path->step[i].link];
        use(pair, of[path->step[i].back]);
        if (!joins_gpus(b->graph, &b->graph->links[path->step[i].link]))
            use(pair, of[LIMIT_BOTH]);
    }
    if (switches > 0) {
        use(pair, b->of_place[path->from][LIMIT_SWITCH_PORT][LIMIT_OUT]);
        use(pair, b->of_place[path->to][LIMIT_SWITCH_PORT][LIMIT_IN]);
    }
    pair->bytes_per_s = is_spread ? rate : pair->bytes_per_s;
    pair->several = path->is_one_of_several && !is_spread;
    if (pair->several)
        use_other_paths(b, path->from, path->to, pair);
}

/* The package next to a GPU; without packages the NUMA node. */
static place_id package_of(const struct graph *graph, place_id gpu)
{
    place_id numa = graph_place(graph, gpu)->numa,
             package = numa != PLACE_NONE ? graph_place(graph, numa)->parent : PLACE_NONE;
    return is_kind(graph, package, PLACE_PACKAGE) ? package : numa;
}

/* True for a GPU and memory of its package: all between are its ports. */
static bool is_in_package(const struct graph *graph, place_id from, place_id to)
{
    place_id gpu = is_kind(graph, from, PLACE_GPU) ? from : to, numa = gpu == from ? to : from;
    return is_kind(graph, gpu, PLACE_GPU) && is_kind(graph, numa, PLACE_NUMA) &&
           graph_place(graph, numa)->parent == package_of(graph, gpu);
}

/* The link between the packages of GPUs that exchange bytes through the host over links without a
 * stated rate. */
static void use_crossing(const struct builder *b, place_id from, place_id to,
                         struct limits_pair *pair)
{
    place_id x = package_of(b->graph, from), y = package_of(b->graph, to);
    for (size_t i = 0; x != y && i < b->graph->link_count; i++) {
        const struct link *link = &b->graph->links[i];
        bool there = link->from == x && link->to == y, back = link->from == y && link->to == x;
        if (link->kind == LINK_SMP && (there || back))
            use_both(pair, b->of_link[i], back);
    }
}

/* Where bytes of a memory leave for a GPU: from the GPU that has it in common with its cores. */
static place_id owner_of(const struct graph *graph, place_id memory, place_id other)
{
    place_id apu = is_kind(graph, memory, PLACE_NUMA) && is_kind(graph, other, PLACE_GPU)
                       ? gpu_apu_at(graph, memory)
                       : PLACE_NONE;
    return apu != PLACE_NONE && apu != other && gpu_is_apu(graph_place(graph, other)) ? apu
                                                                                      : memory;
}

static void fill_pair(const struct builder *b, place_id from, place_id to)
{
    struct limits_pair *pair = limits_pair_of(b->limits, from, to);
    const struct graph *graph = b->graph;
    struct link_path path;
    pair->unstated = pair->narrowest = LIMITS_NO_LINK;
    if (from == to) { /* cores in their own memory */
        use(pair, b->of_place[from][LIMIT_MEMORY][LIMIT_BOTH]);
        return;
    }
    bool are_peers = is_kind(graph, from, PLACE_GPU) && is_kind(graph, to, PLACE_GPU),
         found = path_inference_find(b->paths, graph, b->values, b->sets, owner_of(graph, from, to),
                                     owner_of(graph, to, from), &path),
         is_elsewhere = found && are_peers && is_hidden(b, pair, &path);
    place_id module = b->member[from][LIMIT_HOST_PORT];
    bool in_module = module != PLACE_NONE && module == b->member[to][LIMIT_HOST_PORT];
    pair->over_host = are_peers && (!found || path.over_host) && !is_elsewhere && !in_module;
    pair->is_known = found ? !is_elsewhere && !(are_peers && path.over_host)
                           : !are_peers && is_in_package(graph, from, to);
    if (found)
        fill_rate(b, &path, pair);
    if (found && !is_elsewhere)
        use_path(b, &path, pair);
    if (pair->over_host && !found)
        use_crossing(b, from, to, pair);
    unsigned by = !are_peers         ? WITH_HOST
                  : !pair->over_host ? BY_LINKS
                  : found            ? OVER_HOST
                                     : UNSTATED;
    const struct link *links = graph->links;
    bool out = !found || links[path.step[0].link].kind == LINK_PCIE,
         in = !found || links[path.step[path.step_count - 1].link].kind == LINK_PCIE;
    for (int part = 0; part < LIMIT_PARTS; part++)
        if ((table[part].users & by) != 0) {
            bool is_pcie = limits_is_pcie_port((enum limit_part)part);
            if (!is_pcie || b->member[from][part] != b->member[to][part])
                use_ends(b, pair, (enum limit_part)part, !is_pcie || out ? from : PLACE_NONE,
                         !is_pcie || in ? to : PLACE_NONE);
        }
}

/* A slot for each GPU, NUMA node and NIC, as far as there is room; and one for all other places, as
 * cores, which belong to no part. */
static void find_slots(struct builder *b)
{
    struct limits *limits = b->limits;
    for (place_id p = 0; p < (place_id)b->graph->place_count; p++) {
        bool is_end = is_kind(b->graph, p, PLACE_GPU) || is_kind(b->graph, p, PLACE_NUMA) ||
                      is_kind(b->graph, p, PLACE_NIC);
        limits->slot[p] = NONE;
        if (!is_end || limits->slot_count == LIMITS_PLACES_MAX)
            continue;
        limits->slot[p] = (uint16_t)limits->slot_count;
        b->end[limits->slot_count++] = p;
    }
    for (size_t p = 0; p < b->graph->place_count; p++)
        if (limits->slot[p] == NONE)
            limits->slot[p] = (uint16_t)limits->slot_count;
    b->end[limits->slot_count++] = 0; /* the machine */
}

static bool build(struct builder *b)
{
    struct limits *limits = b->limits;
    size_t places = b->graph->place_count;
    limits->graph = b->graph;
    limits->slot = calloc(places + 1, sizeof *limits->slot);
    b->switch_count = graph_count(b->graph, PLACE_SWITCH);
    b->paths = link_paths_new(b->graph);
    b->member = calloc(places + 1, sizeof *b->member);
    b->switched = calloc(places * b->switch_count + 1, sizeof *b->switched);
    b->of_link = calloc(b->graph->link_count + 1, sizeof *b->of_link);
    b->of_place = calloc(places + 1, sizeof *b->of_place);
    if (limits->slot == NULL || b->paths == NULL || b->member == NULL || b->switched == NULL ||
        b->of_link == NULL || b->of_place == NULL)
        return false;
    memset(b->of_link, 0xff, b->graph->link_count * sizeof *b->of_link);
    memset(b->of_place, 0xff, places * sizeof *b->of_place);
    find_slots(b);
    limits->pair = calloc(limits->slot_count * limits->slot_count + 1, sizeof *limits->pair);
    if (limits->pair == NULL)
        return false;
    limits_note_alone(limits, b->values, b->sets);
    find_members(b);
    find_switched(b);
    add_all(b);
    for (size_t from = 0; from < limits->slot_count; from++)
        for (size_t to = 0; to < limits->slot_count; to++)
            fill_pair(b, b->end[from], b->end[to]);
    for (size_t i = 0; i < b->graph->link_count && limits->slot_count > 0; i++) {
        const struct link *link = &b->graph->links[i];
        if (!joins_gpus(b->graph, link))
            continue;
        use(limits_pair_of(limits, link->from, link->to), b->of_link[i][LIMIT_BOTH]);
        use(limits_pair_of(limits, link->to, link->from), b->of_link[i][LIMIT_BOTH]);
    }
    return !b->failed;
}

struct limits *limits_parts(const struct graph *graph, const struct values *values,
                            const struct sets *sets)
{
    struct builder b = {
        .limits = calloc(1, sizeof *b.limits), .graph = graph, .values = values, .sets = sets};
    bool ok = b.limits != NULL && build(&b);
    link_paths_free(b.paths);
    free(b.member);
    free(b.switched);
    free(b.of_link);
    free(b.of_place);
    if (ok)
        return b.limits;
    limits_free(b.limits);
    return NULL;
}
