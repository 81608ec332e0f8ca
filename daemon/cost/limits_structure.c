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

#define NONE UINT16_MAX
/* A GPU pair's rate clearly above that of a link: runs count as reproduced within as much. */
#define CLEARLY (1 + POLICY_SIMILAR)

/* Links of one GPU to one switch. */
struct attachment {
    bool is_joined;
    double nvlink_bytes_per_s;
};

struct builder {
    struct limits *limits;
    const struct graph *graph;
    const struct values *values;
    const struct sets *sets;
    struct link_paths *paths;
    place_id *hive; /* by place: the lowest GPU of its hive; PLACE_NONE no GPU */
    bool has_hives; /* some has several GPUs */
    bool is_split;  /* GPUs are of several hives */
    size_t switch_count;
    struct attachment *attached; /* by place and number of the switch */
    double *rate;                /* by slots: highest rate seen */
    uint16_t (*of_link)[3];      /* by link: out, in, both */
    /* by place: out, in, both, through; PCIe ports of further levels last */
    uint16_t (*of_place)[LIMIT_PARTS + PCI_PORT_LEVELS][4];
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

double limits_rate_memory(const struct values *values, place_id memory, const char *operation)
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
double limits_rate_memory_both(const struct graph *graph, const struct values *values,
                               place_id memory)
{
    place_id gpu = gpu_apu_at(graph, memory);
    if (gpu == PLACE_NONE)
        return limits_rate_memory(values, memory, "");
    double most =
        fmax(limits_rate_memory(values, gpu, "read"), limits_rate_memory(values, gpu, "copy"));
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
               ? limits_rate_memory_both(b->graph, b->values, numa)
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

/* Stated rate of a PCIe port, if more than that of any GPU's link behind it, whose rate is often
 * stated too low while it is idle; else the latter. */
static double rate_of_pcie_port(const struct graph *graph, place_id gpu, size_t level,
                                enum limit_source *ret)
{
    char key[PCI_PORT_KEY];
    const char *text =
        place_detail(graph_place(graph, gpu), pci_port_key(level, "_bytes_per_s", key));
    double stated = text != NULL ? strtod(text, NULL) : 0, most = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        place_id end = is_kind(graph, link->from, PLACE_GPU) ? link->from : link->to;
        if (link->kind == LINK_PCIE && link->nominal_bytes_per_s > most &&
            is_kind(graph, end, PLACE_GPU) && limits_pcie_port(graph, end, level) == gpu)
            most = link->nominal_bytes_per_s;
    }
    bool is_wider = isfinite(stated) && stated > most * 1.01;
    *ret = is_wider ? LIMIT_STATED : LIMIT_MEMBER;
    return is_wider ? stated : most;
}

/* The widest stated link between a GPU of the module and the host; ret_gpus: of how many. */
static double rate_of_module(const struct graph *graph, place_id module, size_t *ret_gpus)
{
    double most = 0;
    *ret_gpus = 0;
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);)
        *ret_gpus += graph_place(graph, gpu)->parent == module;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        bool is_from = is_kind(graph, link->from, PLACE_GPU);
        place_id gpu = is_from ? link->from : link->to, host = is_from ? link->to : link->from;
        if (is_kind(graph, gpu, PLACE_GPU) && is_kind(graph, host, PLACE_NUMA) &&
            graph_place(graph, gpu)->parent == module)
            most = fmax(most, link->nominal_bytes_per_s);
    }
    return most;
}

/* ---- parts ---- */

static void name_limit(const struct graph *graph, struct limit *limit)
{
    static const char *const directions[] = {":out", ":in", "", ":through"};
    static const char *const of_memory[] = {":read", ":write", "", ""};
    static const char *const parts[LIMIT_PARTS] = {
        [LIMIT_LINK] = ":link",           [LIMIT_HOST_LINK] = ":host-link",
        [LIMIT_HOST_PORT] = ":host-port", [LIMIT_PCIE_PORT] = ":pcie-port",
        [LIMIT_GPU_PORT] = ":gpu-port",   [LIMIT_MEMORY] = ":memory",
        [LIMIT_HIVE] = ":hive",           [LIMIT_SWITCH_PORT] = ":switch-port"};
    static const char *const levels[PCI_PORT_LEVELS] = {"", "2", "3"};
    const struct limit_role *role = &limit->role;
    const char *place = graph_place(graph, role->place)->name,
               *direction = (role->part == LIMIT_MEMORY ? of_memory : directions)[role->direction];
    bool is_link = role->part == LIMIT_LINK;
    if (parts[role->part] == NULL) /* "gpu3:in", "gpu3:port" */
        snprintf(limit->name, sizeof limit->name, "%s%s", place,
                 role->direction == LIMIT_BOTH ? ":port" : direction);
    else
        snprintf(limit->name, sizeof limit->name, "%s%s%s%s%s%s", place, is_link ? "-" : "",
                 is_link ? graph_place(graph, role->other)->name : "", parts[role->part],
                 levels[role->level], direction);
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
static void add_part(struct builder *b, enum limit_part part, place_id place, size_t level,
                     double bytes_per_s, enum limit_source source)
{
    uint16_t *of = b->of_place[place][level == 0 ? part : LIMIT_PARTS + level - 1];
    for (int way = LIMIT_OUT; way <= LIMIT_BOTH; way++)
        of[way] =
            add(b, (struct limit_role){part, (enum limit_direction)way, place, PLACE_NONE, level},
                way < LIMIT_BOTH ? bytes_per_s : 0, source);
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
            b,
            (struct limit_role){LIMIT_LINK, back ? LIMIT_IN : LIMIT_OUT, link->from, link->to, 0},
            fmax(rate, common),
            common > rate   ? LIMIT_COMMON
            : cores != NULL ? LIMIT_CORES
                            : LIMIT_STATED);
        b->of_link[number][back] = at;
        if (at != NONE)
            b->limits->item[at].cores = cores;
    }
    if (is_smp)
        b->of_link[number][2] =
            add(b, (struct limit_role){LIMIT_LINK, LIMIT_BOTH, link->from, link->to, 0}, 0,
                LIMIT_STATED);
}

static bool joins_gpus(const struct graph *graph, const struct link *link)
{
    return is_kind(graph, link->from, PLACE_GPU) && is_kind(graph, link->to, PLACE_GPU);
}

static size_t children(const struct graph *graph, place_id parent, enum place_kind kind)
{
    size_t count = 0;
    for (place_id place = PLACE_NONE; each(graph, kind, &place);)
        count += graph_place(graph, place)->parent == parent;
    return count;
}

/* Several GPUs are at the NUMA node, not all in one module. */
static bool has_gpu_port(const struct graph *graph, place_id numa)
{
    place_id first = PLACE_NONE;
    bool has = false;
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);) {
        const struct place *its = graph_place(graph, gpu);
        if (its->numa != numa)
            continue;
        has = has || (first != PLACE_NONE && (its->parent != graph_place(graph, first)->parent ||
                                              !is_kind(graph, its->parent, PLACE_MODULE)));
        first = first == PLACE_NONE ? gpu : first;
    }
    return has;
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

static double switch_rate(const struct builder *b, place_id from, place_id to, size_t *ret_paths)
{
    double sum = 0;
    *ret_paths = 0;
    for (size_t s = 0; s < b->switch_count; s++) {
        double its = fmin(b->attached[from * b->switch_count + s].nvlink_bytes_per_s,
                          b->attached[to * b->switch_count + s].nvlink_bytes_per_s);
        sum += its;
        *ret_paths += its > 0;
    }
    return sum;
}

static void add_ports_of_switches(struct builder *b)
{
    for (place_id gpu = PLACE_NONE; each(b->graph, PLACE_GPU, &gpu);) {
        size_t paths;
        double rate = switch_rate(b, gpu, gpu, &paths);
        if (paths > 1)
            add_part(b, LIMIT_SWITCH_PORT, gpu, 0, rate, LIMIT_STATED);
    }
}

/* Where several parts explain the same runs, the first counts: the most particular come first. */
static void add_all(struct builder *b)
{
    const struct graph *graph = b->graph;
    enum limit_source source;
    for (size_t i = 0; i < graph->link_count; i++)
        if (joins_gpus(graph, &graph->links[i]))
            add_link(b, i);
    for (size_t i = 0; i < graph->link_count; i++)
        if (joins_gpus(graph, &graph->links[i]) && b->of_link[i][2] == NONE)
            b->of_link[i][2] = add(b,
                                   (struct limit_role){LIMIT_LINK, LIMIT_BOTH, graph->links[i].from,
                                                       graph->links[i].to, 0},
                                   0, LIMIT_STATED);
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);)
        add_part(b, LIMIT_HOST_LINK, gpu, 0, 0, LIMIT_STATED);
    for (size_t i = 0; i < graph->link_count; i++)
        if (!joins_gpus(graph, &graph->links[i]))
            add_link(b, i);
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);)
        add_part(b, LIMIT_GPU, gpu, 0, 0, LIMIT_STATED);
    for (place_id module = PLACE_NONE; each(graph, PLACE_MODULE, &module);) {
        size_t gpus;
        double rate = rate_of_module(graph, module, &gpus);
        if (gpus > 1)
            add_part(b, LIMIT_HOST_PORT, module, 0, rate, LIMIT_STATED);
    }
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);)
        for (size_t level = 0; level < PCI_PORT_LEVELS; level++)
            if (limits_pcie_port(graph, gpu, level) == gpu) {
                double rate = rate_of_pcie_port(graph, gpu, level, &source);
                add_part(b, LIMIT_PCIE_PORT, gpu, level, rate, source);
            }
    for (place_id numa = PLACE_NONE; each(graph, PLACE_NUMA, &numa);)
        if (has_gpu_port(graph, numa))
            add_part(b, LIMIT_GPU_PORT, numa, 0, 0, LIMIT_STATED);
    for (place_id at = PLACE_NONE; each(graph, PLACE_SWITCH, &at);) {
        add_part(b, LIMIT_SWITCH, at, 0, 0, LIMIT_STATED);
        b->of_place[at][LIMIT_SWITCH][LIMIT_THROUGH] =
            add(b, (struct limit_role){LIMIT_SWITCH, LIMIT_THROUGH, at, PLACE_NONE, 0}, 0,
                LIMIT_STATED);
    }
    for (place_id numa = PLACE_NONE; each(graph, PLACE_NUMA, &numa);) {
        add_part(b, LIMIT_MEMORY, numa, 0, 0, LIMIT_STATED);
        const uint16_t *of = b->of_place[numa][LIMIT_MEMORY];
        for (int way = LIMIT_OUT; way <= LIMIT_BOTH && of[way] != NONE; way++)
            b->limits->item[of[way]].step[0].bytes_per_s =
                way == LIMIT_BOTH
                    ? limits_rate_memory_both(graph, b->values, numa)
                    : limits_rate_memory(b->values, numa, way == LIMIT_OUT ? "read" : "write");
    }
    for (place_id package = PLACE_NONE; each(graph, PLACE_PACKAGE, &package);)
        if (children(graph, package, PLACE_NUMA) > 1)
            add_part(b, LIMIT_PACKAGE, package, 0, 0, LIMIT_STATED);
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);) {
        size_t members = 0;
        for (place_id other = PLACE_NONE; each(graph, PLACE_GPU, &other);)
            members += b->hive[other] == gpu;
        if (b->is_split && members > 1)
            add_part(b, LIMIT_HIVE, gpu, 0, 0, LIMIT_STATED);
    }
    add_ports_of_switches(b);
}

/* ---- hives and switches ---- */

static bool is_joined(const struct graph *graph, place_id place)
{
    return is_kind(graph, place, PLACE_GPU) || is_kind(graph, place, PLACE_SWITCH);
}

/* The lower number of both ends, until nothing changes; GPUs come before switches. */
static void find_hives(struct builder *b)
{
    const struct graph *graph = b->graph;
    place_id *hive = b->hive, first = graph_next(graph, PLACE_GPU, 0);
    for (place_id p = 0; p < (place_id)graph->place_count; p++)
        hive[p] = is_joined(graph, p) ? p : PLACE_NONE;
    for (bool moves = true; moves;) {
        moves = false;
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            place_id *x = &hive[link->from], *y = &hive[link->to];
            if (link->kind == LINK_PCIE || link->state == LINK_DOWN ||
                !is_joined(graph, link->from) || !is_joined(graph, link->to) || *x == *y)
                continue;
            *x = *y = *x < *y ? *x : *y;
            moves = true;
        }
    }
    for (place_id gpu = PLACE_NONE; each(graph, PLACE_GPU, &gpu);) {
        b->has_hives = b->has_hives || hive[gpu] != gpu;
        b->is_split = b->is_split || hive[gpu] != hive[first];
    }
}

static void find_attachments(struct builder *b)
{
    const struct graph *graph = b->graph;
    size_t number = 0;
    for (place_id at = PLACE_NONE; each(graph, PLACE_SWITCH, &at);) {
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            if (link->from != at && link->to != at)
                continue;
            place_id other = link->from == at ? link->to : link->from;
            struct attachment *its = &b->attached[other * b->switch_count + number];
            its->is_joined = true;
            if (link->kind == LINK_NVLINK && link->state != LINK_DOWN &&
                link->nominal_bytes_per_s > 0 && is_kind(graph, other, PLACE_GPU))
                its->nvlink_bytes_per_s += link->nominal_bytes_per_s;
        }
        number++;
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

/* A part at each end, unless both ends are the same. */
static void use_ends(const struct builder *b, struct limits_pair *pair, size_t part, place_id from,
                     place_id to)
{
    if (from == to)
        return;
    if (from != PLACE_NONE)
        use_both(pair, b->of_place[from][part], LIMIT_OUT);
    if (to != PLACE_NONE)
        use_both(pair, b->of_place[to][part], LIMIT_IN);
}

static uint32_t narrowest_of(const struct graph *graph, const struct link_path *path)
{
    uint32_t found = LINK_PATH_STATED;
    for (size_t i = path->step_count; i-- > 0;) {
        const struct link *link = &graph->links[path->step[i].link];
        if (link->nominal_bytes_per_s > 0 &&
            (found == LINK_PATH_STATED ||
             link->nominal_bytes_per_s <= graph->links[found].nominal_bytes_per_s))
            found = path->step[i].link;
    }
    return found;
}

/* Links between packages without a stated rate count with the rate of cores over them. */
static void fill_rate(const struct builder *b, const struct link_path *path,
                      struct limits_pair *pair)
{
    pair->bytes_per_s = path->bytes_per_s;
    pair->narrowest = narrowest_of(b->graph, path);
    for (size_t i = 0; path->unstated != LINK_PATH_STATED && i < path->step_count; i++) {
        uint32_t number = path->step[i].link;
        const struct link *link = &b->graph->links[number];
        uint16_t item = b->of_link[number][path->step[i].back];
        double rate = item != NONE ? b->limits->item[item].step[0].bytes_per_s : 0;
        if (link->kind != LINK_SMP || link->nominal_bytes_per_s > 0)
            continue;
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
                     const struct link_path *path, bool is_elsewhere, struct limits_pair *pair)
{
    size_t switches;
    double rate = switch_rate(b, from, to, &switches);
    if (switches > 1 && rate >= path->bytes_per_s) {
        pair->bytes_per_s = rate;
        pair->narrowest = narrowest_of(b->graph, path);
        use(pair, b->of_place[from][LIMIT_SWITCH_PORT][LIMIT_OUT]);
        use(pair, b->of_place[to][LIMIT_SWITCH_PORT][LIMIT_IN]);
        return;
    }
    fill_rate(b, path, pair);
    pair->several = path->is_one_of_several;
    for (size_t i = 0; i < path->step_count && !is_elsewhere; i++) {
        const struct link *link = &b->graph->links[path->step[i].link];
        pair->is_guess |= path->is_one_of_several && link->kind == LINK_XGMI;
        use(pair, b->of_link[path->step[i].link][path->step[i].back]);
        if (!joins_gpus(b->graph, link))
            use(pair, b->of_link[path->step[i].link][2]);
    }
    if (path->step_count == 2 && !is_elsewhere &&
        b->graph->links[path->step[0].link].kind == LINK_NVLINK) {
        use(pair, b->of_place[from][LIMIT_SWITCH_PORT][LIMIT_OUT]);
        use(pair, b->of_place[to][LIMIT_SWITCH_PORT][LIMIT_IN]);
    }
}

static bool passes_host(const struct graph *graph, const struct link_path *path)
{
    bool passes = false;
    for (size_t i = 0; i < path->step_count; i++) {
        const struct link *link = &graph->links[path->step[i].link];
        passes = passes || is_kind(graph, link->from, PLACE_NUMA) ||
                 is_kind(graph, link->from, PLACE_PACKAGE) ||
                 is_kind(graph, link->to, PLACE_NUMA) || is_kind(graph, link->to, PLACE_PACKAGE);
    }
    return passes;
}

static place_id module_of(const struct graph *graph, place_id gpu)
{
    place_id parent = graph_place(graph, gpu)->parent;
    return is_kind(graph, gpu, PLACE_GPU) && is_kind(graph, parent, PLACE_MODULE) ? parent
                                                                                  : PLACE_NONE;
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

/* PCIe ports of the ends, except those that both are behind. */
static void use_pcie_ports(const struct builder *b, place_id from, place_id to,
                           const struct link_path *path, struct limits_pair *pair)
{
    const place_id end[] = {from, to};
    for (size_t level = 0; level < PCI_PORT_LEVELS; level++) {
        place_id port[2];
        for (int way = 0; way < 2; way++)
            port[way] =
                is_kind(b->graph, end[way], PLACE_GPU) || is_kind(b->graph, end[way], PLACE_NIC)
                    ? limits_pcie_port(b->graph, end[way], level)
                    : PLACE_NONE;
        for (int way = 0; way < 2 && port[0] != port[1]; way++) {
            size_t step = way == 0 || path == NULL ? 0 : path->step_count - 1;
            if (port[way] == PLACE_NONE ||
                (path != NULL && b->graph->links[path->step[step].link].kind != LINK_PCIE))
                continue;
            use_both(pair,
                     b->of_place[port[way]][level == 0 ? LIMIT_PCIE_PORT : LIMIT_PARTS + level - 1],
                     way);
        }
    }
}

/* NVLink's switches do not lead to the host. */
static bool leads_to_host(const struct graph *graph, place_id at)
{
    bool leads = false;
    for (size_t i = 0; i < graph->link_count; i++)
        leads = leads || ((graph->links[i].from == at || graph->links[i].to == at) &&
                          graph->links[i].kind != LINK_NVLINK);
    return leads;
}

static void use_switches(const struct builder *b, place_id from, place_id to,
                         struct limits_pair *pair)
{
    size_t number = 0;
    for (place_id at = PLACE_NONE; each(b->graph, PLACE_SWITCH, &at);) {
        bool x = is_kind(b->graph, from, PLACE_GPU) &&
                 b->attached[from * b->switch_count + number].is_joined,
             y = is_kind(b->graph, to, PLACE_GPU) &&
                 b->attached[to * b->switch_count + number].is_joined;
        bool is_with_host = is_kind(b->graph, x ? to : from, PLACE_NUMA);
        number++;
        if (x && y)
            use(pair, b->of_place[at][LIMIT_SWITCH][LIMIT_THROUGH]);
        else if ((x || y) && (!is_with_host || leads_to_host(b->graph, at)))
            use_both(pair, b->of_place[at][LIMIT_SWITCH], x ? LIMIT_OUT : LIMIT_IN);
    }
}

/* Parts that only runs can show to limit the transfer. */
static void use_unsure(const struct builder *b, place_id from, place_id to,
                       struct limits_pair *pair)
{
    const struct graph *graph = b->graph;
    bool from_gpu = is_kind(graph, from, PLACE_GPU), to_gpu = is_kind(graph, to, PLACE_GPU),
         from_numa = is_kind(graph, from, PLACE_NUMA), to_numa = is_kind(graph, to, PLACE_NUMA);
    /* GPUs whose bytes go to the host */
    place_id out = from_gpu && (to_numa || pair->over_host) ? from : PLACE_NONE,
             in = to_gpu && (from_numa || pair->over_host) ? to : PLACE_NONE;
    use_ends(b, pair, LIMIT_HOST_LINK, out, in);
    use_ends(b, pair, LIMIT_GPU, from_gpu ? from : PLACE_NONE, to_gpu ? to : PLACE_NONE);
    use_ends(b, pair, LIMIT_HOST_PORT, out != PLACE_NONE ? module_of(graph, out) : PLACE_NONE,
             in != PLACE_NONE ? module_of(graph, in) : PLACE_NONE);
    use_ends(b, pair, LIMIT_GPU_PORT,
             out != PLACE_NONE ? graph_place(graph, out)->numa : PLACE_NONE,
             in != PLACE_NONE ? graph_place(graph, in)->numa : PLACE_NONE);
    use_switches(b, from, to, pair);
    use_ends(b, pair, LIMIT_PACKAGE, from_numa ? graph_place(graph, from)->parent : PLACE_NONE,
             to_numa ? graph_place(graph, to)->parent : PLACE_NONE);
    use_ends(b, pair, LIMIT_HIVE, out != PLACE_NONE ? b->hive[out] : PLACE_NONE,
             in != PLACE_NONE ? b->hive[in] : PLACE_NONE);
}

static void fill_pair(const struct builder *b, place_id from, place_id to)
{
    struct limits_pair *pair = limits_pair_of(b->limits, from, to);
    const struct graph *graph = b->graph;
    struct link_path path;
    pair->unstated = pair->narrowest = LINK_PATH_STATED;
    if (from == to) { /* cores in their own memory */
        use(pair, b->of_place[from][LIMIT_MEMORY][LIMIT_BOTH]);
        pair->part_count = pair->use_count;
        return;
    }
    bool are_peers = is_kind(graph, from, PLACE_GPU) && is_kind(graph, to, PLACE_GPU),
         found = path_inference_find(b->paths, graph, b->values, b->sets, from, to, &path),
         is_elsewhere = found && are_peers && is_hidden(b, from, to, &path),
         is_one_module = are_peers && module_of(graph, from) != PLACE_NONE &&
                         module_of(graph, from) == module_of(graph, to);
    if (found)
        use_path(b, from, to, &path, is_elsewhere, pair);
    pair->over_host =
        are_peers && (!found || passes_host(graph, &path)) && !is_one_module && !is_elsewhere;
    if (pair->over_host && (found || b->has_hives))
        use_ends(b, pair, LIMIT_HOST_LINK, from, to);
    if (pair->over_host && !found)
        use_crossing(b, from, to, pair);
    if (!are_peers || pair->over_host)
        use_pcie_ports(b, from, to, found ? &path : NULL, pair);
    if (!are_peers || (pair->over_host && found))
        use_ends(b, pair, LIMIT_HOST_PORT, module_of(graph, from), module_of(graph, to));
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
    for (place_id from = 0; from < (place_id)graph->place_count; from++)
        for (place_id to = 0; to < (place_id)graph->place_count; to++)
            if (limits->slot[from] != NONE && limits->slot[to] != NONE)
                fill_pair(b, from, to);
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

static void find_slots(struct builder *b)
{
    struct limits *limits = b->limits;
    for (place_id p = 0; p < (place_id)b->graph->place_count; p++) {
        bool is_end = is_kind(b->graph, p, PLACE_GPU) || is_kind(b->graph, p, PLACE_NUMA) ||
                      is_kind(b->graph, p, PLACE_NIC);
        limits->slot[p] = is_end ? (uint16_t)limits->slot_count++ : NONE;
    }
    if (limits->slot_count <= LIMITS_PLACES_MAX)
        return;
    limits->slot_count = 0;
    memset(limits->slot, 0xff, b->graph->place_count * sizeof *limits->slot);
}

static bool build(struct builder *b)
{
    size_t places = b->graph->place_count;
    b->limits->graph = b->graph;
    b->limits->slot = calloc(places + 1, sizeof *b->limits->slot);
    b->switch_count = graph_count(b->graph, PLACE_SWITCH);
    b->paths = link_paths_new(b->graph);
    b->hive = calloc(places + 1, sizeof *b->hive);
    b->attached = calloc(places * b->switch_count + 1, sizeof *b->attached);
    b->of_link = calloc(b->graph->link_count + 1, sizeof *b->of_link);
    b->of_place = calloc(places + 1, sizeof *b->of_place);
    if (b->limits->slot == NULL || b->paths == NULL || b->hive == NULL || b->attached == NULL ||
        b->of_link == NULL || b->of_place == NULL)
        return false;
    memset(b->of_link, 0xff, b->graph->link_count * sizeof *b->of_link);
    memset(b->of_place, 0xff, places * sizeof *b->of_place);
    find_slots(b);
    find_hives(b);
    find_attachments(b);
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
    free(b.hive);
    free(b.attached);
    free(b.rate);
    free(b.of_link);
    free(b.of_place);
    if (ok)
        return b.limits;
    limits_free(b.limits);
    return NULL;
}
