#include "resource_structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "link_switches.h"
#include "resource_elsewhere.h"
#include "resource_rate.h"
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
    unsigned flows;       /* of the set; users are fewer where one port decides what several get */
    size_t last;          /* of these */
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
    uint16_t *switched[2]; /* by gpu with links to several switches: out, in */
    uint16_t *number;     /* room for those */
    struct link_switches *switches;
    struct resource_elsewhere elsewhere;
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

static uint16_t add_link(struct making *making, const struct link *link, int way)
{
    if (way == 2)
        return link->kind == LINK_SMP ? add(making, RESOURCE_LINK, RESOURCE_BOTH, link->from, link->to, 0) : NONE;
    bool is_bare = link->kind == LINK_SMP && !(link->nominal_bytes_per_s > 0);
    const struct value *cores = is_bare ? resource_rate_cores(making->graph, making->values, way == 0 ? link->from : link->to, way == 0 ? link->to : link->from) : NULL;
    double rate = cores != NULL ? cores->value : link->nominal_bytes_per_s, own = rate > 0 ? resource_rate_one_memory(making->graph, making->values, link) : 0;
    bool is_memory = own > rate;
    rate = fmax(rate, own);
    if (!(rate > 0) || link->kind == LINK_NETWORK || link->state == LINK_DOWN)
        return NONE;
    uint16_t item = add(making, RESOURCE_LINK, way == 0 ? RESOURCE_OUT : RESOURCE_IN, link->from, link->to, rate);
    making->structure->item[item].cores = cores;
    making->structure->item[item].is_memory = is_memory;
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
        double switched = link_switches_port(making->switches, p);
        for (int way = 0; way < 2; way++)
            making->switched[way][p] = switched > 0 ? add(making, RESOURCE_SWITCH_PORT, way == 0 ? RESOURCE_OUT : RESOURCE_IN, p, PLACE_NONE, switched) : NONE;
        double rate = graph_place(graph, p)->kind == PLACE_MODULE ? resource_rate_module(graph, p, &gpus) : 0;
        for (int way = 0; way < 3; way++) {
            static const enum resource_direction directions[] = {RESOURCE_OUT, RESOURCE_IN, RESOURCE_BOTH};
            static const char *const how[] = {"read", "write"};
            making->port[way][p] = gpus > 1 ? add(making, RESOURCE_HOST_PORT, directions[way], p, PLACE_NONE, way < 2 ? rate : 0) : NONE;
            making->memory[way][p] = NONE;
            if (graph_place(graph, p)->kind == PLACE_NUMA)
                making->memory[way][p] = add(making, RESOURCE_MEMORY, directions[way], p, PLACE_NONE, way < 2 ? resource_rate_memory(making->values, p, how[way]) : resource_rate_both(making->graph, making->values, p));
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

static void use_switches(const struct making *making, place_id from, place_id to, struct resource_pair *pair)
{
    use(pair, making->switched[0][from]);
    use(pair, making->switched[1][to]);
}

/* Over several switches bytes go at once, unless one way of another sort is wider than all these. */
static bool goes_over_switches(const struct making *making, place_id from, place_id to, const struct link_path *path, struct resource_pair *pair)
{
    size_t ways;
    double rate = link_switches_between(making->switches, from, to, &ways);
    if (ways < 2 || rate < path->bytes_per_s)
        return false;
    *pair = (struct resource_pair){.bytes_per_s = rate, .unstated = LINK_PATH_STATED};
    use_switches(making, from, to, pair);
    return true;
}

/* One way, which is known or counts as the one. */
static void use_path(const struct making *making, place_id from, place_id to, const struct link_path *path, struct resource_pair *pair)
{
    fill_width(making, path, pair);
    pair->several = path->is_one_of_several;
    if (resource_elsewhere_has(&making->elsewhere, making->graph, from, to))
        return;
    for (size_t i = 0; i < path->step_count; i++) {
        pair->is_guess |= path->is_one_of_several && making->graph->links[path->step[i].link].kind == LINK_XGMI;
        use(pair, making->link[path->step[i].back][path->step[i].link]);
        use(pair, making->link[2][path->step[i].link]);
    }
    if (path->step_count == 2 && making->graph->links[path->step[0].link].kind == LINK_NVLINK) /* over the one switch that both have, beside what goes over others */
        use_switches(making, from, to, pair);
}

static void fill_pair(const struct making *making, place_id from, place_id to)
{
    struct resource_pair *pair = pair_of(making->structure, from, to);
    struct link_path path;
    pair->unstated = LINK_PATH_STATED;
    if (from == to)
        return;
    if (way_seen_find(making->structure->paths, making->graph, making->values, making->sets, from, to, &path) && !goes_over_switches(making, from, to, &path, pair))
        use_path(making, from, to, &path, pair);
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

static void raise_capacity(struct resource_nominal *item, double bytes_per_s, unsigned transfers, place_id from, place_id to)
{
    if (!(item->bytes_per_s > 0) || item->bytes_per_s >= bytes_per_s)
        return;
    item->bytes_per_s = bytes_per_s;
    item->seen = transfers;
    item->seen_from = from;
    item->seen_to = to;
}

/* What one transfer alone fills as far as it goes: a module's port, all that a gpu has to a switch. */
static bool is_filled_by_one(const struct graph *graph, const struct resource_role *role)
{
    bool is_link = role->part == RESOURCE_LINK && graph_place(graph, role->place)->kind != graph_place(graph, role->other)->kind;
    return role->part == RESOURCE_HOST_PORT || role->part == RESOURCE_SWITCH_PORT || (is_link && (graph_place(graph, role->place)->kind == PLACE_SWITCH || graph_place(graph, role->other)->kind == PLACE_SWITCH));
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
                raise_capacity(&structure->item[back->use[i]], v->value, 1, v->from, v->to);
            for (size_t i = 0; pair != NULL && i < pair->use_count; i++) {
                struct resource_nominal *item = &structure->item[pair->use[i]];
                bool is_both = item->role.direction == RESOURCE_BOTH; /* of which one direction tells nothing */
                if (ports && !is_both && is_filled_by_one(making->graph, &item->role))
                    item->bytes_per_s = 1;
                else if (!ports && (item->role.direction != RESOURCE_BOTH || strstr(values_axes(making->values, v), "how=") == NULL)) /* what only reads is no copy */
                    raise_capacity(item, v->value, 1, v->from, v->to);
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
            load->last = i;
            load->flows++;
        }
    }
    for (size_t i = 0; i < structure->count; i++) {
        bool is_both = structure->item[i].role.direction == RESOURCE_BOTH, there_and_back = (making->load[i].ways & (making->load[i].ways - 1)) != 0;
        raise_capacity(&structure->item[i], making->load[i].bytes_per_s * (is_both && !there_and_back ? SAME_WAY : 1), making->load[i].flows, set->flow[making->load[i].last].from, set->flow[making->load[i].last].to);
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
    size_t items = 3 * making->graph->link_count + 8 * making->graph->place_count;
    structure->paths = link_paths_new(making->graph);
    making->switches = link_switches_new(making->graph);
    structure->item = calloc(items + 1, sizeof *structure->item);
    structure->slot = calloc(making->graph->place_count + 1, sizeof *structure->slot);
    making->load = calloc(items + 1, sizeof *making->load);
    making->number = calloc(items + 1, sizeof *making->number);
    if (structure->paths == NULL || making->switches == NULL || structure->item == NULL || structure->slot == NULL || making->load == NULL || making->number == NULL)
        return false;
    for (size_t way = 0; way < 3; way++) {
        making->link[way] = making->number + way * making->graph->link_count;
        making->port[way] = making->number + 3 * making->graph->link_count + way * making->graph->place_count;
        making->memory[way] = making->number + 3 * making->graph->link_count + (3 + way) * making->graph->place_count;
    }
    for (size_t way = 0; way < 2; way++)
        making->switched[way] = making->number + 3 * making->graph->link_count + (6 + way) * making->graph->place_count;
    if (items >= NONE) {
        for (size_t p = 0; p < making->graph->place_count; p++)
            structure->slot[p] = NONE;
        return true;
    }
    add_all(making);
    if (!resource_elsewhere_find(making->graph, making->values, making->sets, structure->paths, &making->elsewhere) || !fill_pairs(making))
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
    link_switches_free(making.switches);
    resource_elsewhere_done(&making.elsewhere);
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
    if (role->part != RESOURCE_SWITCH_PORT && (role->part != RESOURCE_LINK || role->direction == RESOURCE_BOTH))
        return resource_role_has(graph, role, from, to);
    const struct resource_pair *pair = pair_of(structure, from, to);
    for (size_t i = 0; pair != NULL && i < pair->use_count; i++) {
        const struct resource_role *its = &structure->item[pair->use[i]].role;
        if (its->part == role->part && its->direction == role->direction && its->place == role->place && its->other == role->other)
            return true;
    }
    return false;
}
