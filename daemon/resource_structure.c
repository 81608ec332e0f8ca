#include "resource_structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apu.h"
#include "values.h"
#include "way_seen.h"

#define NONE UINT16_MAX
/* What goes one way is held up by what is for that way: of both ways together so much more counts as what was seen, so that what measuring is uncertain by makes that no limit of them. */
#define SAME_WAY 1.05

struct resource_pair {
    double bytes_per_s;
    uint32_t unstated;
    const struct value *cores;
    uint16_t use[RESOURCE_STRUCTURE_USES];
    uint8_t use_count;
    bool several;
    bool is_guess; /* it has one of several ways over gpus; over several switches bytes go at once */
};

unsigned resource_kind_of(enum metric metric)
{
    switch (metric) {
    case METRIC_HOST_GPU_COPY_ENGINE:
    case METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT: return RESOURCE_HOST_ENGINE;
    case METRIC_HOST_GPU_KERNEL:
    case METRIC_HOST_GPU_KERNEL_CONCURRENT: return RESOURCE_HOST_KERNEL;
    case METRIC_GPU_GPU_COPY_ENGINE:
    case METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT: return RESOURCE_PEER_ENGINE;
    case METRIC_GPU_GPU_KERNEL:
    case METRIC_GPU_GPU_KERNEL_CONCURRENT: return RESOURCE_PEER_KERNEL;
    default: return 0;
    }
}

unsigned resource_kind_index(unsigned kind)
{
    unsigned index = 0;
    while (index + 1 < RESOURCE_KINDS && kind != 1u << index)
        index++;
    return index;
}

/* What goes through at once. */
struct load {
    unsigned users, ways; /* ways: bits of directions, of what is both */
    double bytes_per_s;
};

/* While it is made. */
struct making {
    struct resource_structure *structure;
    const struct graph *graph;
    const struct values *values;
    const struct sets *sets;
    uint16_t *link[3];    /* by link: its item out, in, and both of one between packages; NONE */
    uint16_t *port[3];    /* by module: out, in, both */
    uint16_t *memory[3];  /* by NUMA node: read, write, both */
    uint16_t *number;     /* room for those */
    struct load *load;    /* by item: of one set */
};

/* ---- what there is ---- */

static uint16_t add(struct making *making, enum resource_part part, enum resource_direction direction, place_id place, place_id other, double bytes_per_s)
{
    struct resource_structure *structure = making->structure;
    struct resource_nominal *item = &structure->item[structure->count];
    *item = (struct resource_nominal){.role = {part, direction, place, other}, .bytes_per_s = bytes_per_s};
    resource_role_name(making->graph, &item->role, item->name, sizeof item->name);
    return (uint16_t)structure->count++;
}

/* The highest known rate at which anybody reads, writes or copies in a memory ("" any of them), however many do; 0 none. */
static double memory_rate(const struct values *values, place_id memory, const char *how)
{
    const struct value *v;
    double most = 0;
    for (size_t left = values_range(values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v); left > 0; left--, v++) {
        char text[16];
        const char *its = axes_get(v->metric, values_axes(values, v), "how", text, sizeof text);
        if (v->to == memory && v->why_not == NULL && v->value > most && its != NULL && (*how == '\0' || strcmp(its, how) == 0))
            most = v->value;
    }
    return most;
}

/* What a gpu streams in the memory that it has in common with a processor, else what firmware says of that; what cores were seen to get of it says nothing of the gpu. 0 not known. */
static double one_rate(const struct values *values, place_id gpu, place_id numa)
{
    double most = fmax(memory_rate(values, gpu, "read"), memory_rate(values, gpu, "copy"));
    const struct value *stream = values_find(values, METRIC_GPU_STREAM, gpu, gpu, ""), *stated = values_find(values, METRIC_MEMORY_BANDWIDTH, numa, numa, "");
    return most > 0 ? most : stream != NULL && stream->value > 0 ? stream->value : stated != NULL && stated->source == VALUE_NOMINAL ? stated->value : 0;
}

/* What it carries of both directions together: what was seen of either, or of copies, which read and write. Of a memory that a gpu has in common with a processor what a copy within it
 * gets at most, as that uses it twice. 0 not known. */
static double both_rate(const struct making *making, place_id memory)
{
    place_id gpu = apu_at(making->graph, memory);
    return gpu == PLACE_NONE ? memory_rate(making->values, memory, "") : one_rate(making->values, gpu, memory) / 2;
}

/* What one gpu of the module has to the host, and how many gpus it has. */
static double module_link(const struct graph *graph, place_id module, size_t *ret_gpus)
{
    double most = 0;
    *ret_gpus = 0;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE; g = graph_next(graph, PLACE_GPU, g + 1))
        *ret_gpus += graph_place(graph, g)->parent == module;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        const struct place *a = graph_place(graph, link->from), *b = graph_place(graph, link->to);
        bool there = a->kind == PLACE_NUMA && b->kind == PLACE_GPU && b->parent == module, back = b->kind == PLACE_NUMA && a->kind == PLACE_GPU && a->parent == module;
        if ((there || back) && link->nominal_bytes_per_s > most)
            most = link->nominal_bytes_per_s;
    }
    return most;
}

static bool is_in(const struct graph *graph, place_id memory, place_id package)
{
    return graph_place(graph, memory)->kind == PLACE_NUMA && graph_place(graph, memory)->parent == package;
}

/* The most that cores of one package are known to get of the other's memory in that direction; NULL nothing is known. */
static const struct value *by_cores(const struct making *making, place_id from, place_id to)
{
    const struct value *v, *most = NULL;
    for (size_t left = values_range(making->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v); left > 0; left--, v++) {
        const char *axes = values_axes(making->values, v);
        bool is_read = axes[0] == '\0', is_write = strcmp(axes, "how=write") == 0;
        if (v->why_not != NULL || !(v->value > 0) || (most != NULL && v->value <= most->value) || (!is_read && !is_write))
            continue;
        if (is_in(making->graph, is_read ? v->to : v->from, from) && is_in(making->graph, is_read ? v->from : v->to, to))
            most = v;
    }
    return most;
}

/* A copy within the memory that a gpu has in common with its cores goes over no link, however narrow the one that joins them is said to be; 0: it joins others. */
static double one_memory_rate(const struct making *making, const struct link *link)
{
    const struct graph *graph = making->graph;
    place_id numa = graph_place(graph, link->from)->kind == PLACE_NUMA ? link->from : link->to, gpu = numa == link->from ? link->to : link->from;
    return graph_place(graph, numa)->kind == PLACE_NUMA && apu_at(graph, numa) == gpu ? both_rate(making, numa) : 0;
}

static uint16_t add_link(struct making *making, const struct link *link, int way)
{
    if (way == 2)
        return link->kind == LINK_SMP ? add(making, RESOURCE_LINK, RESOURCE_BOTH, link->from, link->to, 0) : NONE;
    bool is_bare = link->kind == LINK_SMP && !(link->nominal_bytes_per_s > 0);
    const struct value *cores = is_bare ? by_cores(making, way == 0 ? link->from : link->to, way == 0 ? link->to : link->from) : NULL;
    double rate = cores != NULL ? cores->value : link->nominal_bytes_per_s, own = rate > 0 ? one_memory_rate(making, link) : 0;
    rate = fmax(rate, own);
    if (!(rate > 0) || link->kind == LINK_NETWORK || link->state == LINK_DOWN)
        return NONE;
    uint16_t item = add(making, RESOURCE_LINK, way == 0 ? RESOURCE_OUT : RESOURCE_IN, link->from, link->to, rate);
    making->structure->item[item].cores = cores;
    return item;
}

static void add_all(struct making *making)
{
    const struct graph *graph = making->graph;
    for (size_t i = 0; i < graph->link_count; i++) {
        for (int way = 0; way < 3; way++)
            making->link[way][i] = add_link(making, &graph->links[i], way);
    }
    for (place_id p = 0; p < (place_id)graph->place_count; p++) {
        size_t gpus = 0;
        double rate = graph_place(graph, p)->kind == PLACE_MODULE ? module_link(graph, p, &gpus) : 0;
        for (int way = 0; way < 3; way++) {
            static const enum resource_direction directions[] = {RESOURCE_OUT, RESOURCE_IN, RESOURCE_BOTH};
            static const char *const how[] = {"read", "write"};
            making->port[way][p] = gpus > 1 ? add(making, RESOURCE_HOST_PORT, directions[way], p, PLACE_NONE, way < 2 ? rate : 0) : NONE;
            making->memory[way][p] = NONE;
            if (graph_place(graph, p)->kind == PLACE_NUMA)
                making->memory[way][p] = add(making, RESOURCE_MEMORY, directions[way], p, PLACE_NONE, way < 2 ? memory_rate(making->values, p, how[way]) : both_rate(making, p));
        }
    }
}

/* ---- who uses what ---- */

static struct resource_pair *pair_of(const struct resource_structure *structure, place_id from, place_id to)
{
    uint16_t a = structure->slot != NULL ? structure->slot[from] : NONE, b = structure->slot != NULL ? structure->slot[to] : NONE;
    return a == NONE || b == NONE ? NULL : &structure->pair[a * structure->slot_count + b];
}

static void use(struct resource_pair *pair, uint16_t item)
{
    if (item != NONE && pair->use_count < RESOURCE_STRUCTURE_USES)
        pair->use[pair->use_count++] = item;
}

/* The port that the end of a transfer with the host goes through. */
static void use_port(const struct making *making, struct resource_pair *pair, place_id gpu, place_id other, int way)
{
    const struct place *place = graph_place(making->graph, gpu);
    if (place->kind != PLACE_GPU || graph_place(making->graph, other)->kind == PLACE_GPU || place->parent == PLACE_NONE)
        return;
    use(pair, making->port[way][place->parent]);
    use(pair, making->port[2][place->parent]);
}

/* The way's width: of links between packages that do not say theirs, what cores get over them. */
static void fill_width(const struct making *making, const struct link_path *path, struct resource_pair *pair)
{
    pair->bytes_per_s = path->bytes_per_s;
    for (size_t i = 0; path->unstated != LINK_PATH_STATED && i < path->step_count; i++) {
        uint32_t number = path->step[i].link;
        const struct link *link = &making->graph->links[number];
        uint16_t item = making->link[path->step[i].back][number];
        if (link->kind != LINK_SMP || link->nominal_bytes_per_s > 0)
            continue;
        if (item == NONE) {
            *pair = (struct resource_pair){.unstated = number};
            return;
        }
        if (making->structure->item[item].bytes_per_s < pair->bytes_per_s) {
            pair->bytes_per_s = making->structure->item[item].bytes_per_s;
            pair->cores = making->structure->item[item].cores;
        }
    }
}

static void fill_pair(const struct making *making, place_id from, place_id to)
{
    struct resource_pair *pair = pair_of(making->structure, from, to);
    struct link_path path;
    pair->unstated = LINK_PATH_STATED;
    if (from == to)
        return;
    if (way_seen_find(making->structure->paths, making->graph, making->values, making->sets, from, to, &path)) {
        fill_width(making, &path, pair);
        pair->several = path.is_one_of_several;
        for (size_t i = 0; i < path.step_count; i++) {
            pair->is_guess |= path.is_one_of_several && making->graph->links[path.step[i].link].kind == LINK_XGMI;
            use(pair, making->link[path.step[i].back][path.step[i].link]);
            use(pair, making->link[2][path.step[i].link]);
        }
    }
    use_port(making, pair, from, to, 0);
    use_port(making, pair, to, from, 1);
    use(pair, making->memory[0][from]);
    use(pair, making->memory[2][from]);
    use(pair, making->memory[1][to]);
    use(pair, making->memory[2][to]);
}

static bool is_end(const struct graph *graph, place_id place)
{
    enum place_kind kind = graph_place(graph, place)->kind;
    return kind == PLACE_GPU || kind == PLACE_NUMA || kind == PLACE_NIC;
}

static bool fill_pairs(const struct making *making)
{
    struct resource_structure *structure = making->structure;
    place_id ends[RESOURCE_PLACES_MAX];
    size_t count = 0;
    for (place_id p = 0; p < (place_id)making->graph->place_count; p++) {
        structure->slot[p] = NONE;
        if (!is_end(making->graph, p))
            continue;
        if (count < RESOURCE_PLACES_MAX) {
            ends[count] = p;
            structure->slot[p] = (uint16_t)count;
        }
        count++;
    }
    if (count > RESOURCE_PLACES_MAX) {
        for (size_t i = 0; i < RESOURCE_PLACES_MAX; i++)
            structure->slot[ends[i]] = NONE;
        return true;
    }
    structure->slot_count = count;
    structure->pair = calloc(count * count + 1, sizeof *structure->pair);
    if (structure->pair == NULL)
        return false;
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++)
            fill_pair(making, ends[a], ends[b]);
    return true;
}

/* ---- what was measured ---- */

static void raise_capacity(struct resource_nominal *item, double bytes_per_s)
{
    if (item->bytes_per_s > 0 && item->bytes_per_s < bytes_per_s)
        item->bytes_per_s = bytes_per_s;
}

/* What one transfer alone fills as far as it goes: a module's port, all that a gpu has to a switch. */
static bool is_filled_by_one(const struct graph *graph, const struct resource_role *role)
{
    bool is_link = role->part == RESOURCE_LINK && graph_place(graph, role->place)->kind != graph_place(graph, role->other)->kind;
    return role->part == RESOURCE_HOST_PORT || (is_link && (graph_place(graph, role->place)->kind == PLACE_SWITCH || graph_place(graph, role->other)->kind == PLACE_SWITCH));
}

/* That is as wide as what went through it, where anything did; all is at least so wide. */
static void look_at_values(const struct making *making, bool ports)
{
    static const enum metric metrics[] = {METRIC_HOST_GPU_COPY_ENGINE, METRIC_HOST_GPU_KERNEL, METRIC_GPU_GPU_COPY_ENGINE, METRIC_GPU_GPU_KERNEL};
    struct resource_structure *structure = making->structure;
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        const struct value *v;
        for (size_t left = values_range(making->values, metrics[m], PLACE_NONE, &v); left > 0; left--, v++) {
            const struct resource_pair *pair = values_is_one_way(making->values, v) ? pair_of(structure, v->from, v->to) : NULL;
            const struct resource_pair *back = !ports && values_stands_for_back(making->values, v) ? pair_of(structure, v->to, v->from) : NULL;
            for (size_t i = 0; back != NULL && i < back->use_count; i++)
                raise_capacity(&structure->item[back->use[i]], v->value);
            for (size_t i = 0; pair != NULL && i < pair->use_count; i++) {
                struct resource_nominal *item = &structure->item[pair->use[i]];
                if (ports && is_filled_by_one(making->graph, &item->role))
                    item->bytes_per_s = 1;
                else if (!ports && (item->role.direction != RESOURCE_BOTH || strstr(values_axes(making->values, v), "how=") == NULL)) /* what only reads is no copy */
                    raise_capacity(item, v->value);
            }
        }
    }
}

static uint16_t port_used(const struct resource_structure *structure, const struct resource_pair *pair)
{
    for (size_t u = 0; pair != NULL && u < pair->use_count; u++)
        if (structure->item[pair->use[u]].role.part == RESOURCE_HOST_PORT)
            return pair->use[u];
    return NONE;
}

/* Whether one before it in the set goes through the same port, either way, and then the same part: what both get the port decides, and says nothing of how many that part carries. */
static bool is_behind_port(const struct making *making, const struct set *set, size_t flow, uint16_t item)
{
    const struct resource_structure *structure = making->structure;
    uint16_t port = port_used(structure, pair_of(structure, set->flow[flow].from, set->flow[flow].to));
    bool found = false;
    for (size_t i = 0; i < flow && port != NONE && !found; i++) {
        const struct resource_pair *pair = pair_of(structure, set->flow[i].from, set->flow[i].to);
        uint16_t its = port_used(structure, pair);
        for (size_t u = 0; its != NONE && structure->item[its].role.place == structure->item[port].role.place && u < pair->use_count && !found; u++)
            found = pair->use[u] == item;
    }
    return found;
}

/* Whether it is not known that the pair's transfers go through that: a link of one of several ways. */
static bool is_guess(const struct resource_structure *structure, const struct resource_pair *pair, uint16_t item)
{
    return pair->is_guess && structure->item[item].role.part == RESOURCE_LINK;
}

static void look_at_set(const struct making *making, const struct set *set)
{
    struct resource_structure *structure = making->structure;
    unsigned kind = resource_kind_of(set->metric);
    for (size_t i = 0; i < structure->count; i++)
        making->load[i] = (struct load){0};
    for (size_t i = 0; i < set->flow_count; i++) {
        const struct resource_pair *pair = pair_of(structure, set->flow[i].from, set->flow[i].to);
        for (size_t u = 0; pair != NULL && u < pair->use_count; u++) {
            struct load *load = &making->load[pair->use[u]];
            if (is_guess(structure, pair, pair->use[u]))
                continue;
            load->users += structure->item[pair->use[u]].role.part != RESOURCE_MEMORY || !is_behind_port(making, set, i, pair->use[u]);
            if (u > 0 && structure->item[pair->use[u]].role.direction == RESOURCE_BOTH)
                load->ways |= 1u << structure->item[pair->use[u - 1]].role.direction; /* what is both follows the way that is gone */
            load->bytes_per_s += set->flow[i].bytes_per_s;
        }
    }
    for (size_t i = 0; i < structure->count; i++) {
        bool is_both = structure->item[i].role.direction == RESOURCE_BOTH, there_and_back = (making->load[i].ways & (making->load[i].ways - 1)) != 0;
        raise_capacity(&structure->item[i], making->load[i].bytes_per_s * (is_both && !there_and_back ? SAME_WAY : 1));
        if (making->load[i].users < 2 || (is_both && !there_and_back))
            continue;
        unsigned *most = &structure->item[i].together[resource_kind_index(kind)];
        *most = making->load[i].users > *most ? making->load[i].users : *most;
    }
}

/* ---- all of it ---- */

static bool fill(struct making *making)
{
    struct resource_structure *structure = making->structure;
    size_t items = 3 * making->graph->link_count + 6 * making->graph->place_count;
    structure->paths = link_paths_new(making->graph);
    structure->item = calloc(items + 1, sizeof *structure->item);
    structure->slot = calloc(making->graph->place_count + 1, sizeof *structure->slot);
    making->load = calloc(items + 1, sizeof *making->load);
    making->number = calloc(items + 1, sizeof *making->number);
    if (structure->paths == NULL || structure->item == NULL || structure->slot == NULL || making->load == NULL || making->number == NULL)
        return false;
    for (size_t way = 0; way < 3; way++) {
        making->link[way] = making->number + way * making->graph->link_count;
        making->port[way] = making->number + 3 * making->graph->link_count + way * making->graph->place_count;
        making->memory[way] = making->number + 3 * making->graph->link_count + (3 + way) * making->graph->place_count;
    }
    if (items >= NONE) {
        for (size_t p = 0; p < making->graph->place_count; p++)
            structure->slot[p] = NONE;
        return true;
    }
    add_all(making);
    if (!fill_pairs(making))
        return false;
    look_at_values(making, true);
    look_at_values(making, false);
    for (size_t s = 0; making->sets != NULL && s < making->sets->count; s++)
        if (resource_kind_of(making->sets->item[s].metric) != 0)
            look_at_set(making, &making->sets->item[s]);
    return true;
}

struct resource_structure *resource_structure_new(const struct graph *graph, const struct values *values, const struct sets *sets)
{
    struct making making = {.structure = calloc(1, sizeof *making.structure), .graph = graph, .values = values, .sets = sets};
    bool ok = making.structure != NULL && fill(&making);
    free(making.load);
    free(making.number);
    if (ok)
        return making.structure;
    resource_structure_free(making.structure);
    return NULL;
}

void resource_structure_free(struct resource_structure *structure)
{
    if (structure == NULL)
        return;
    link_paths_free(structure->paths);
    free(structure->item);
    free(structure->pair);
    free(structure->slot);
    free(structure);
}

/* ---- what is asked ---- */

size_t resource_structure_uses(const struct resource_structure *structure, place_id from, place_id to, uint16_t ret_use[RESOURCE_STRUCTURE_USES])
{
    const struct resource_pair *pair = pair_of(structure, from, to);
    for (size_t i = 0; pair != NULL && i < pair->use_count; i++)
        ret_use[i] = pair->use[i];
    return pair != NULL ? pair->use_count : 0;
}

double resource_structure_width(const struct resource_structure *structure, place_id from, place_id to, bool *ret_several)
{
    const struct resource_pair *pair = pair_of(structure, from, to);
    if (ret_several != NULL)
        *ret_several = pair != NULL && pair->several;
    return pair != NULL ? pair->bytes_per_s : 0;
}

const struct value *resource_structure_cores(const struct resource_structure *structure, place_id from, place_id to)
{
    const struct resource_pair *pair = pair_of(structure, from, to);
    return pair != NULL ? pair->cores : NULL;
}

uint32_t resource_structure_unstated(const struct resource_structure *structure, place_id from, place_id to)
{
    const struct resource_pair *pair = pair_of(structure, from, to);
    return pair != NULL ? pair->unstated : LINK_PATH_STATED;
}

struct resource_nominal *resource_structure_find(const struct resource_structure *structure, const struct resource_role *role)
{
    for (size_t i = 0; i < structure->count; i++) {
        const struct resource_role *its = &structure->item[i].role;
        if (its->part == role->part && its->direction == role->direction && its->place == role->place && its->other == role->other)
            return &structure->item[i];
    }
    return NULL;
}

bool resource_structure_has(const struct resource_structure *structure, const struct graph *graph, const struct resource_role *role, place_id from, place_id to)
{
    if (role->part != RESOURCE_LINK || role->direction == RESOURCE_BOTH)
        return resource_role_has(graph, role, from, to);
    const struct resource_pair *pair = pair_of(structure, from, to);
    for (size_t i = 0; pair != NULL && i < pair->use_count; i++) {
        const struct resource_role *its = &structure->item[pair->use[i]].role;
        if (its->part == RESOURCE_LINK && its->direction == role->direction && its->place == role->place && its->other == role->other)
            return true;
    }
    return false;
}
