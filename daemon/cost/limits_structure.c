/* Parts of a node that transfers may share, and the parts on the path between each two places. */
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
/* A GPU pair's rate clearly above that of a link: runs count as reproduced within as much. */
#define CLEARLY (1 + POLICY_SIMILAR)

struct builder {
    struct limits *limits;
    const struct graph *graph;
    const struct values *values;
    const struct sets *sets;
    struct link_paths *paths;
    /* by place and part: the place of the part that it belongs to; PLACE_NONE none */
    place_id (*member)[LIMIT_PARTS];
    uint16_t (*of_place)[LIMIT_PARTS][4]; /* the limits of a place: out, in, both, through */
    uint16_t (*of_link)[3];
    bool has_hives; /* a hive has several GPUs */
    size_t switch_count;
    double *switched; /* by place and number of the switch: rate of a GPU's NVLinks to it */
    double *rate;     /* by slots: highest rate carried */
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
    return most > 0 ? most / 2 : 0;
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

/* The value with the highest rate of one package's cores in the other's memory, in that direction;
 * NULL none. */
static const struct value *rate_of_cores(const struct builder *b, place_id from, place_id to)
{
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

/* The widest stated link between a GPU and a NUMA node. */
static double rate_to_host(const struct graph *graph, place_id gpu)
{
    double most = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if ((link->from == gpu && is_kind(graph, link->to, PLACE_NUMA)) ||
            (link->to == gpu && is_kind(graph, link->from, PLACE_NUMA)))
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

/* ---- parts ---- */

static void name_limit(const struct graph *graph, struct limit *limit)
{
    static const char *const directions[] = {":out", ":in", "", ":through"};
    static const char *const of_memory[] = {":read", ":write", "", ""};
    static const char *const parts[LIMIT_PARTS] = {[LIMIT_LINK] = ":link",
                                                   [LIMIT_HOST_LINK] = ":host-link",
                                                   [LIMIT_HOST_PORT] = ":host-port",
                                                   [LIMIT_PCIE_PORT] = ":pcie-port",
                                                   [LIMIT_PCIE_PORT2] = ":pcie-port2",
                                                   [LIMIT_PCIE_PORT3] = ":pcie-port3",
                                                   [LIMIT_GPU_PORT] = ":gpu-port",
                                                   [LIMIT_MEMORY] = ":memory",
                                                   [LIMIT_HIVE] = ":hive",
                                                   [LIMIT_SWITCH_PORT] = ":switch-port"};
    const struct limit_role *role = &limit->role;
    const char *place = graph_place(graph, role->place)->name,
               *direction = (role->part == LIMIT_MEMORY ? of_memory : directions)[role->direction];
    bool is_link = role->part == LIMIT_LINK;
    if (parts[role->part] == NULL) /* "gpu3:in", "gpu3:port" */
        snprintf(limit->name, sizeof limit->name, "%s%s", place,
                 role->direction == LIMIT_BOTH ? ":port" : direction);
    else
        snprintf(limit->name, sizeof limit->name, "%s%s%s%s%s", place, is_link ? "-" : "",
                 is_link ? graph_place(graph, role->other)->name : "", parts[role->part],
                 direction);
}

static uint16_t add(struct builder *b, struct limit_role role, double bytes_per_s,
                    enum limit_source source)
{
    uint16_t at = limits_add(b->limits);
    if (at == NONE) {
        b->failed = true;
        return NONE;
    }
    struct limit *limit = &b->limits->item[at];
    limit->has_role = true;
    limit->role = role;
    limit->source = source;
    limit->step[0].bytes_per_s = bytes_per_s;
    name_limit(b->graph, limit);
    return at;
}

/* All directions of a part: each with a stated rate, and both. */
static void add_part(struct builder *b, enum limit_part part, place_id place, double bytes_per_s,
                     enum limit_source source)
{
    for (int way = LIMIT_OUT; way <= LIMIT_BOTH; way++)
        b->of_place[place][part][way] =
            add(b, (struct limit_role){part, (enum limit_direction)way, place, PLACE_NONE},
                way < LIMIT_BOTH ? bytes_per_s : 0, source);
}

static bool joins_gpus(const struct graph *graph, const struct link *link)
{
    return is_kind(graph, link->from, PLACE_GPU) && is_kind(graph, link->to, PLACE_GPU);
}

static void add_link(struct builder *b, size_t number)
{
    const struct link *link = &b->graph->links[number];
    bool is_smp = link->kind == LINK_SMP;
    for (int back = 0; back < 2; back++) {
        place_id from = back ? link->to : link->from, to = back ? link->from : link->to;
        const struct value *cores =
            is_smp && !(link->nominal_bytes_per_s > 0) ? rate_of_cores(b, from, to) : NULL;
        double rate = cores != NULL ? cores->value : link->nominal_bytes_per_s,
               common = rate > 0 ? rate_common(b, link) : 0;
        if ((!(rate > 0) && !is_smp) || link->kind == LINK_NETWORK || link->state == LINK_DOWN)
            continue;
        uint16_t at = add(
            b, (struct limit_role){LIMIT_LINK, back ? LIMIT_IN : LIMIT_OUT, link->from, link->to},
            fmax(rate, common),
            common > rate   ? LIMIT_COMMON
            : cores != NULL ? LIMIT_CORES
                            : LIMIT_STATED);
        b->of_link[number][back] = at;
        if (at != NONE)
            b->limits->item[at].cores = cores;
    }
    if (is_smp || joins_gpus(b->graph, link))
        b->of_link[number][LIMIT_BOTH] = add(
            b, (struct limit_role){LIMIT_LINK, LIMIT_BOTH, link->from, link->to}, 0, LIMIT_STATED);
}

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

/* A part that members share, with the rate of one that fills it where nothing is stated. */
static void add_shared(struct builder *b, enum limit_part part, place_id place)
{
    const struct graph *graph = b->graph;
    enum limit_source source = LIMIT_STATED;
    bool is_of_one = part == LIMIT_HOST_LINK || part == LIMIT_GPU || part == LIMIT_MEMORY;
    size_t members = 0;
    double widest = 0, rate = 0;
    for (place_id p = 0; p < (place_id)graph->place_count; p++)
        if (b->member[p][part] == place) {
            members += !is_kind(graph, p, PLACE_NIC);
            widest = fmax(widest, rate_to_host(graph, p));
        }
    if (part == LIMIT_HOST_PORT)
        rate = widest;
    if (limits_is_pcie_port(part) && members > 1)
        rate = rate_of_pcie_port(graph, place, part - LIMIT_PCIE_PORT, widest, &source);
    if (part == LIMIT_SWITCH_PORT && members > 0)
        rate = rate_over_switches(b, place, place, &members);
    if (members < (is_of_one ? 1 : 2))
        return;
    add_part(b, part, place, rate, source);
    for (int way = LIMIT_OUT; way <= LIMIT_BOTH && part == LIMIT_MEMORY && !b->failed; way++)
        b->limits->item[b->of_place[place][part][way]].step[0].bytes_per_s =
            way == LIMIT_BOTH
                ? rate_of_memory_both(graph, b->values, place)
                : rate_of_memory(b->values, place, way == LIMIT_OUT ? "read" : "write");
}

/* Where several parts explain the same runs the first counts: the most particular come first. */
static void add_all(struct builder *b)
{
    static const enum limit_part parts[] = {
        LIMIT_GPU,      LIMIT_HOST_PORT, LIMIT_PCIE_PORT, LIMIT_PCIE_PORT2, LIMIT_PCIE_PORT3,
        LIMIT_GPU_PORT, LIMIT_MEMORY,    LIMIT_PACKAGE,   LIMIT_HIVE,       LIMIT_SWITCH_PORT};
    const struct graph *graph = b->graph;
    for (size_t i = 0; i < graph->link_count; i++)
        if (joins_gpus(graph, &graph->links[i]))
            add_link(b, i);
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);)
        add_shared(b, LIMIT_HOST_LINK, gpu);
    for (size_t i = 0; i < graph->link_count; i++)
        if (!joins_gpus(graph, &graph->links[i]))
            add_link(b, i);
    for (place_id at = PLACE_NONE; each(graph, PLACE_SWITCH, &at);)
        b->of_place[at][LIMIT_SWITCH][LIMIT_THROUGH] = add(
            b, (struct limit_role){LIMIT_SWITCH, LIMIT_THROUGH, at, PLACE_NONE}, 0, LIMIT_STATED);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (place_id p = 0; p < (place_id)graph->place_count; p++)
            if (is_kind(graph, p, PLACE_GPU) || is_kind(graph, p, PLACE_NUMA) ||
                is_kind(graph, p, PLACE_MODULE) || is_kind(graph, p, PLACE_PACKAGE))
                add_shared(b, parts[i], p);
}

/* ---- members ---- */

static bool is_joined(const struct graph *graph, place_id place)
{
    return is_kind(graph, place, PLACE_GPU) || is_kind(graph, place, PLACE_SWITCH);
}

/* Hives: the lower number of both ends of a link, until nothing changes; GPUs come before
 * switches. Where there is only one hive it is no part. */
static void find_hives(struct builder *b)
{
    const struct graph *graph = b->graph;
    place_id first = graph_next(graph, PLACE_GPU, 0);
    bool is_split = false;
    for (place_id p = 0; p < (place_id)graph->place_count; p++)
        b->member[p][LIMIT_HIVE] = is_joined(graph, p) ? p : PLACE_NONE;
    for (bool moves = true; moves;) {
        moves = false;
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            place_id *x = &b->member[link->from][LIMIT_HIVE], *y = &b->member[link->to][LIMIT_HIVE];
            if (link->kind == LINK_PCIE || link->state == LINK_DOWN ||
                !is_joined(graph, link->from) || !is_joined(graph, link->to) || *x == *y)
                continue;
            *x = *y = *x < *y ? *x : *y;
            moves = true;
        }
    }
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);) {
        b->has_hives |= b->member[gpu][LIMIT_HIVE] != gpu;
        is_split |= b->member[gpu][LIMIT_HIVE] != b->member[first][LIMIT_HIVE];
    }
    for (place_id p = 0; p < (place_id)graph->place_count; p++)
        if (!is_split || !is_kind(graph, p, PLACE_GPU))
            b->member[p][LIMIT_HIVE] = PLACE_NONE;
}

static void find_members(struct builder *b)
{
    const struct graph *graph = b->graph;
    size_t number = 0;
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
        if (place->kind == PLACE_NUMA) {
            member[LIMIT_MEMORY] = p;
            if (is_kind(graph, place->parent, PLACE_PACKAGE))
                member[LIMIT_PACKAGE] = place->parent;
        }
    }
    for (place_id at = PLACE_NONE; each(graph, PLACE_SWITCH, &at); number++)
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            place_id gpu = link->from == at ? link->to : link->to == at ? link->from : PLACE_NONE;
            if (is_kind(graph, gpu, PLACE_GPU) && link->kind == LINK_NVLINK &&
                link->state != LINK_DOWN)
                b->switched[gpu * b->switch_count + number] += link->nominal_bytes_per_s;
        }
}

/* ---- hidden links ---- */

static double *rate_between(const struct builder *b, place_id from, place_id to)
{
    uint16_t x = b->limits->slot[from], y = b->limits->slot[to];
    return x == NONE || y == NONE ? NULL : &b->rate[x * b->limits->slot_count + y];
}

static void note_rate(void *state, place_id from, place_id to, double bytes_per_s, bool is_copy)
{
    (void)is_copy;
    double *most = rate_between(state, from, to);
    if (most != NULL)
        *most = fmax(*most, bytes_per_s);
}

/* True when two GPUs exchange more than the link to the host on their path carries, and copies
 * with the host bear that link's rate out: the bytes go over links that nobody reports, as in a
 * virtual machine. */
static bool is_hidden(const struct builder *b, place_id from, place_id to,
                      const struct link_path *path)
{
    const double *own = rate_between(b, from, to);
    for (size_t i = 0; own != NULL && i < path->step_count; i++) {
        const struct link *link = &b->graph->links[path->step[i].link];
        bool is_from = is_kind(b->graph, link->from, PLACE_GPU);
        place_id gpu = is_from ? link->from : link->to, host = is_from ? link->to : link->from;
        double most = link->nominal_bytes_per_s * CLEARLY, with_host = 0;
        if (!is_kind(b->graph, gpu, PLACE_GPU) || !is_kind(b->graph, host, PLACE_NUMA) ||
            !(*own > most) || !(most > 0))
            continue;
        for (place_id numa = PLACE_NONE; each(b->graph, PLACE_NUMA, &numa);) {
            bool is_out = is_from != path->step[i].back;
            const double *its = is_out ? rate_between(b, gpu, numa) : rate_between(b, numa, gpu);
            with_host = its != NULL ? fmax(with_host, *its) : with_host;
        }
        if (with_host > 0 && with_host <= most)
            return true;
    }
    return false;
}

/* ---- pairs ---- */

static void use(struct limits_pair *pair, uint16_t item)
{
    if (item != NONE && pair->use_count < LIMITS_USES_MAX &&
        !limits_pair_has(pair, pair->use_count, item))
        pair->use[pair->use_count++] = item;
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
        uint16_t item = b->of_link[number][path->step[i].back];
        double rate = item != NONE ? b->limits->item[item].step[0].bytes_per_s : 0;
        if (!(rate > 0)) {
            pair->bytes_per_s = 0;
            pair->cores = NULL;
            pair->unstated = number;
            return;
        }
        if (rate < pair->bytes_per_s) {
            pair->bytes_per_s = rate;
            pair->cores = b->limits->item[item].cores;
        }
    }
}

/* The links of a path; or, where two GPUs have several switches in common, all of these at once. */
static void use_path(const struct builder *b, place_id from, place_id to,
                     const struct link_path *path, bool is_hidden, struct limits_pair *pair)
{
    size_t switches;
    double rate = rate_over_switches(b, from, to, &switches);
    bool is_spread = switches > 1 && rate >= path->bytes_per_s;
    fill_rate(b, path, pair);
    pair->several = path->is_one_of_several && !is_spread;
    pair->bytes_per_s = is_spread ? rate : pair->bytes_per_s;
    for (size_t i = 0; i < path->step_count && !is_spread && !is_hidden; i++) {
        const uint16_t *of = b->of_link[path->step[i].link];
        use(pair, of[path->step[i].back]);
        if (!joins_gpus(b->graph, &b->graph->links[path->step[i].link]))
            use(pair, of[LIMIT_BOTH]);
    }
    if (switches > 0 && !is_hidden) {
        use(pair, b->of_place[from][LIMIT_SWITCH_PORT][LIMIT_OUT]);
        use(pair, b->of_place[to][LIMIT_SWITCH_PORT][LIMIT_IN]);
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
                !limits_pair_has(pair, pair->use_count, item))
                pair->other[pair->other_count++] = item;
        }
}

/* The package next to a GPU; without packages the NUMA node. */
static place_id package_of(const struct graph *graph, place_id gpu)
{
    place_id numa = graph_place(graph, gpu)->numa,
             package = numa != PLACE_NONE ? graph_place(graph, numa)->parent : PLACE_NONE;
    return is_kind(graph, package, PLACE_PACKAGE) ? package : numa;
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

/* PCIe ports of the ends whose path begins, or ends, by PCIe. */
static void use_pcie_ports(const struct builder *b, place_id from, place_id to,
                           const struct link_path *path, struct limits_pair *pair)
{
    const struct link *links = b->graph->links;
    bool out = path == NULL || links[path->step[0].link].kind == LINK_PCIE,
         in = path == NULL || links[path->step[path->step_count - 1].link].kind == LINK_PCIE;
    for (int p = LIMIT_PCIE_PORT; p <= LIMIT_PCIE_PORT3; p++)
        if (b->member[from][p] != b->member[to][p])
            use_ends(b, pair, (enum limit_part)p, out ? from : PLACE_NONE, in ? to : PLACE_NONE);
}

/* Parts that only runs can show to limit the transfer. */
static void use_unsure(const struct builder *b, place_id from, place_id to,
                       struct limits_pair *pair)
{
    static const enum limit_part parts[] = {LIMIT_HOST_LINK, LIMIT_HOST_PORT, LIMIT_GPU_PORT,
                                            LIMIT_HIVE};
    const struct graph *graph = b->graph;
    bool is_with_host = is_kind(graph, from, PLACE_NUMA) || is_kind(graph, to, PLACE_NUMA);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && (is_with_host || pair->over_host); i++)
        use_ends(b, pair, parts[i], from, to);
    use_ends(b, pair, LIMIT_GPU, from, to);
    use_ends(b, pair, LIMIT_PACKAGE, from, to);
    size_t number = 0;
    for (place_id at = PLACE_NONE; each(graph, PLACE_SWITCH, &at); number++)
        if (b->switched[from * b->switch_count + number] > 0 &&
            b->switched[to * b->switch_count + number] > 0)
            use(pair, b->of_place[at][LIMIT_SWITCH][LIMIT_THROUGH]);
}

/* True for a GPU and memory of its package: all between are its ports. */
static bool is_in_package(const struct graph *graph, place_id from, place_id to)
{
    place_id gpu = is_kind(graph, from, PLACE_GPU) ? from : to, numa = gpu == from ? to : from;
    return is_kind(graph, gpu, PLACE_GPU) && is_kind(graph, numa, PLACE_NUMA) &&
           graph_place(graph, numa)->parent == package_of(graph, gpu);
}

static void fill_pair(const struct builder *b, place_id from, place_id to)
{
    struct limits_pair *pair = limits_pair_of(b->limits, from, to);
    const struct graph *graph = b->graph;
    struct link_path path;
    pair->unstated = pair->narrowest = LIMITS_NO_LINK;
    if (from == to) { /* cores in their own memory */
        use(pair, b->of_place[from][LIMIT_MEMORY][LIMIT_BOTH]);
        pair->part_count = pair->use_count;
        return;
    }
    bool are_peers = is_kind(graph, from, PLACE_GPU) && is_kind(graph, to, PLACE_GPU),
         found = path_inference_find(b->paths, graph, b->values, b->sets, from, to, &path),
         is_elsewhere = found && are_peers && is_hidden(b, from, to, &path);
    place_id module = b->member[from][LIMIT_HOST_PORT];
    pair->is_known = found ? !is_elsewhere && (!are_peers || !path.over_host)
                           : !are_peers && is_in_package(graph, from, to);
    if (found)
        use_path(b, from, to, &path, is_elsewhere, pair);
    if (pair->several && !is_elsewhere)
        use_other_paths(b, from, to, pair);
    pair->over_host = are_peers && (!found || path.over_host) && !is_elsewhere &&
                      (module == PLACE_NONE || module != b->member[to][LIMIT_HOST_PORT]);
    if (pair->over_host && (found || b->has_hives))
        use_ends(b, pair, LIMIT_HOST_LINK, from, to);
    if (pair->over_host && !found)
        use_crossing(b, from, to, pair);
    if (!are_peers || pair->over_host)
        use_pcie_ports(b, from, to, found ? &path : NULL, pair);
    if (!are_peers || (pair->over_host && found))
        use_ends(b, pair, LIMIT_HOST_PORT, from, to);
    use_ends(b, pair, LIMIT_MEMORY, from, to);
    pair->sure_count = pair->use_count;
    use_unsure(b, from, to, pair);
    pair->part_count = pair->use_count;
}

static bool fill_pairs(struct builder *b)
{
    struct limits *limits = b->limits;
    const struct graph *graph = b->graph;
    b->rate = calloc(limits->slot_count * limits->slot_count + 1, sizeof *b->rate);
    limits->pair = calloc(limits->slot_count * limits->slot_count + 1, sizeof *limits->pair);
    if (b->rate == NULL || limits->pair == NULL)
        return false;
    limits_each_rate(b->values, b->sets, note_rate, b);
    for (size_t from = 0; from < limits->slot_count; from++)
        for (size_t to = 0; to < limits->slot_count; to++)
            fill_pair(b, b->end[from], b->end[to]);
    for (size_t i = 0; i < graph->link_count && limits->slot_count > 0; i++) {
        const struct link *link = &graph->links[i];
        for (int back = 0; joins_gpus(graph, link) && back < 2; back++) {
            struct limits_pair *pair =
                limits_pair_of(limits, back ? link->to : link->from, back ? link->from : link->to);
            use(pair, b->of_link[i][2]);
            pair->part_count = pair->use_count;
        }
    }
    return true;
}

/* A slot for each GPU, NUMA node and NIC, and one for all other places, as cores, which belong to
 * no part. */
static void find_slots(struct builder *b)
{
    struct limits *limits = b->limits;
    place_id other = PLACE_NONE;
    size_t count = 0;
    for (place_id p = 0; p < (place_id)b->graph->place_count; p++) {
        bool is_end = is_kind(b->graph, p, PLACE_GPU) || is_kind(b->graph, p, PLACE_NUMA) ||
                      is_kind(b->graph, p, PLACE_NIC);
        limits->slot[p] = is_end && count < LIMITS_PLACES_MAX ? (uint16_t)count : NONE;
        if (is_end && count < LIMITS_PLACES_MAX)
            b->end[count] = p;
        count += is_end;
        other = !is_end && other == PLACE_NONE ? p : other;
    }
    b->end[count < LIMITS_PLACES_MAX ? count : LIMITS_PLACES_MAX] = other;
    limits->slot_count = count > LIMITS_PLACES_MAX ? 0 : count + (other != PLACE_NONE);
    for (size_t p = 0; p < b->graph->place_count; p++)
        if (limits->slot_count == 0 || limits->slot[p] == NONE)
            limits->slot[p] = limits->slot_count == 0 ? NONE : (uint16_t)count;
}

static bool build(struct builder *b)
{
    size_t places = b->graph->place_count;
    b->limits->graph = b->graph;
    b->limits->slot = calloc(places + 1, sizeof *b->limits->slot);
    b->switch_count = graph_count(b->graph, PLACE_SWITCH);
    b->paths = link_paths_new(b->graph);
    b->member = calloc(places + 1, sizeof *b->member);
    b->switched = calloc(places * b->switch_count + 1, sizeof *b->switched);
    b->of_link = calloc(b->graph->link_count + 1, sizeof *b->of_link);
    b->of_place = calloc(places + 1, sizeof *b->of_place);
    if (b->limits->slot == NULL || b->paths == NULL || b->member == NULL || b->switched == NULL ||
        b->of_link == NULL || b->of_place == NULL)
        return false;
    memset(b->of_link, 0xff, b->graph->link_count * sizeof *b->of_link);
    memset(b->of_place, 0xff, places * sizeof *b->of_place);
    find_slots(b);
    find_members(b);
    add_all(b);
    return !b->failed && fill_pairs(b);
}

struct limits *limits_structure(const struct graph *graph, const struct values *values,
                                const struct sets *sets)
{
    struct builder b = {
        .limits = calloc(1, sizeof *b.limits), .graph = graph, .values = values, .sets = sets};
    bool ok = b.limits != NULL && build(&b);
    link_paths_free(b.paths);
    free(b.member);
    free(b.switched);
    free(b.rate);
    free(b.of_link);
    free(b.of_place);
    if (ok)
        return b.limits;
    limits_free(b.limits);
    return NULL;
}
