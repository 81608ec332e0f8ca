#include "cost/resource_make.h"

#include <math.h>
#include <stdlib.h>

#include "cost/link_switches.h"
#include "cost/resource_elsewhere.h"
#include "cost/resource_hive.h"
#include "cost/resource_rate.h"
#include "cost/resource_seen.h"
#include "cost/resource_structure_inner.h"
#include "cost/way_seen.h"

#define NONE UINT16_MAX

/* While it is made. */
struct making {
    struct resource_structure *structure;
    const struct graph *graph;
    const struct values *values;
    const struct sets *sets;
    uint16_t *link[3];     /* by link: its item out, in, and both of one between packages; NONE */
    uint16_t *port[3];     /* by module: out, in, both */
    uint16_t *memory[3];   /* by NUMA node: read, write, both */
    uint16_t *switched[2]; /* by gpu with links to several switches: out, in */
    /* by level and by gpu or nic behind one that several gpus share: out, in, both */
    uint16_t *pcie_port[PCI_PORT_LEVELS][3];
    uint16_t *host_link[3]; /* by gpu: out, in, both; for transfers with gpus through the host */
    uint16_t *number;       /* room for those */
    struct link_switches *switches;
    struct resource_elsewhere elsewhere;
};

/* ---- what there is ---- */

static uint16_t add(struct making *making, enum resource_part part,
                    enum resource_direction direction, place_id place, place_id other,
                    double bytes_per_s)
{
    struct resource_structure *structure = making->structure;
    struct resource_nominal *item = &structure->item[structure->count];
    *item = (struct resource_nominal){
        .role = {.part = part, .direction = direction, .place = place, .other = other},
        .bytes_per_s = bytes_per_s};
    resource_role_name(making->graph, &item->role, item->name, sizeof item->name);
    return (uint16_t)structure->count++;
}

static uint16_t add_link(struct making *making, const struct link *link, int way)
{
    if (way == 2)
        return link->kind == LINK_SMP
                   ? add(making, RESOURCE_LINK, RESOURCE_BOTH, link->from, link->to, 0)
                   : NONE;
    bool is_bare = link->kind == LINK_SMP && !(link->nominal_bytes_per_s > 0);
    const struct value *cores = is_bare ? resource_rate_cores(making->graph, making->values,
                                                              way == 0 ? link->from : link->to,
                                                              way == 0 ? link->to : link->from)
                                        : NULL;
    double rate = cores != NULL ? cores->value : link->nominal_bytes_per_s,
           own = rate > 0 ? resource_rate_one_memory(making->graph, making->values, link) : 0;
    bool is_memory = own > rate;
    rate = fmax(rate, own);
    if ((!(rate > 0) && link->kind != LINK_SMP) || link->kind == LINK_NETWORK ||
        link->state == LINK_DOWN)
        return NONE;
    uint16_t item = add(making, RESOURCE_LINK, way == 0 ? RESOURCE_OUT : RESOURCE_IN, link->from,
                        link->to, rate);
    making->structure->item[item].cores = cores;
    making->structure->item[item].is_memory = is_memory;
    return item;
}

static uint16_t add_port(struct making *making, enum resource_direction direction, place_id place,
                         size_t level, double rate)
{
    uint16_t number = add(making, RESOURCE_PCIE_PORT, direction, place, PLACE_NONE, rate);
    struct resource_nominal *item = &making->structure->item[number];
    item->role.level = level;
    resource_role_name(making->graph, &item->role, item->name, sizeof item->name);
    return number;
}

/* The lowest gpu behind it stands for a port. */
static void add_pcie_port(struct making *making, place_id place)
{
    const struct graph *graph = making->graph;
    static const enum resource_direction directions[] = {RESOURCE_OUT, RESOURCE_IN, RESOURCE_BOTH};
    enum place_kind kind = graph_place(graph, place)->kind;
    for (size_t level = 0; level < PCI_PORT_LEVELS; level++) {
        uint16_t **port = making->pcie_port[level];
        place_id first = kind == PLACE_GPU || kind == PLACE_NIC
                             ? resource_role_pcie_port(graph, place, level)
                             : PLACE_NONE;
        bool is_wider;
        for (int way = 0; way < 3; way++) {
            double rate = first == place && way < 2
                              ? resource_rate_pcie_port(graph, place, level, &is_wider)
                              : 0;
            port[way][place] = first == PLACE_NONE ? NONE
                               : first < place
                                   ? port[way][first]
                                   : add_port(making, directions[way], place, level, rate);
        }
    }
}

static void add_all(struct making *making)
{
    static const enum resource_direction directions[] = {RESOURCE_OUT, RESOURCE_IN, RESOURCE_BOTH};
    const struct graph *graph = making->graph;
    for (size_t i = 0; i < graph->link_count; i++) {
        for (int way = 0; way < 3; way++)
            making->link[way][i] = add_link(making, &graph->links[i], way);
    }
    for (place_id p = 0; p < (place_id)graph->place_count; p++) {
        size_t gpus = 0;
        double switched = link_switches_port(making->switches, p);
        add_pcie_port(making, p);
        for (int way = 0; way < 2; way++)
            making->switched[way][p] =
                switched > 0 ? add(making, RESOURCE_SWITCH_PORT,
                                   way == 0 ? RESOURCE_OUT : RESOURCE_IN, p, PLACE_NONE, switched)
                             : NONE;
        for (int way = 0; way < 3; way++)
            making->host_link[way][p] =
                graph_place(graph, p)->kind == PLACE_GPU
                    ? add(making, RESOURCE_HOST_LINK, directions[way], p, PLACE_NONE, 0)
                    : NONE;
        double rate =
            graph_place(graph, p)->kind == PLACE_MODULE ? resource_rate_module(graph, p, &gpus) : 0;
        for (int way = 0; way < 3; way++) {
            static const char *const how[] = {"read", "write"};
            making->port[way][p] = gpus > 1 ? add(making, RESOURCE_HOST_PORT, directions[way], p,
                                                  PLACE_NONE, way < 2 ? rate : 0)
                                            : NONE;
            making->memory[way][p] = NONE;
            if (graph_place(graph, p)->kind == PLACE_NUMA)
                making->memory[way][p] =
                    add(making, RESOURCE_MEMORY, directions[way], p, PLACE_NONE,
                        way < 2 ? resource_rate_memory(making->values, p, how[way])
                                : resource_rate_both(making->graph, making->values, p));
        }
    }
}

/* ---- who uses what ---- */

static void use(struct resource_pair *pair, uint16_t item)
{
    if (item != NONE && pair->use_count < RESOURCE_STRUCTURE_USES)
        pair->use[pair->use_count++] = item;
}

/* The port that the end of a transfer with the host, or through it, goes through. */
static void use_port(const struct making *making, struct resource_pair *pair, place_id gpu, int way)
{
    const struct place *place = graph_place(making->graph, gpu);
    if (place->kind != PLACE_GPU || place->parent == PLACE_NONE)
        return;
    use(pair, making->port[way][place->parent]);
    use(pair, making->port[2][place->parent]);
}

/* The first of the links that say the least; LINK_PATH_STATED none does. */
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

/* The PCIe ports that the ends of a transfer go through, but those that both are behind, which pass
 * on among them. */
static void use_pcie_ports(const struct making *making, place_id from, place_id to,
                           const struct link_path *path, struct resource_pair *pair)
{
    const place_id end[] = {from, to};
    const struct link *links = making->graph->links;
    for (size_t n = 0; n < 2 * PCI_PORT_LEVELS; n++) {
        size_t way = n % 2, step = way == 0 || path == NULL ? 0 : path->step_count - 1;
        uint16_t *const *port = making->pcie_port[n / 2];
        bool is_inside = port[0][from] != NONE && port[0][from] == port[0][to];
        if (is_inside || (path != NULL && links[path->step[step].link].kind != LINK_PCIE))
            continue;
        use(pair, port[way][end[way]]);
        use(pair, port[2][end[way]]);
    }
}

/* The way's width: of links between packages that do not say theirs, what cores get over them. */
static void fill_width(const struct making *making, const struct link_path *path,
                       struct resource_pair *pair)
{
    pair->bytes_per_s = path->bytes_per_s;
    pair->narrowest = narrowest_of(making->graph, path);
    for (size_t i = 0; path->unstated != LINK_PATH_STATED && i < path->step_count; i++) {
        uint32_t number = path->step[i].link;
        const struct link *link = &making->graph->links[number];
        uint16_t item = making->link[path->step[i].back][number];
        if (link->kind != LINK_SMP || link->nominal_bytes_per_s > 0)
            continue;
        if (item == NONE || !(making->structure->item[item].bytes_per_s > 0)) {
            *pair = (struct resource_pair){.unstated = number, .narrowest = LINK_PATH_STATED};
            return;
        }
        if (making->structure->item[item].bytes_per_s < pair->bytes_per_s) {
            pair->bytes_per_s = making->structure->item[item].bytes_per_s;
            pair->cores = making->structure->item[item].cores;
        }
    }
}

static void use_switches(const struct making *making, place_id from, place_id to,
                         struct resource_pair *pair)
{
    use(pair, making->switched[0][from]);
    use(pair, making->switched[1][to]);
}

/* Over several switches bytes go at once, unless one way of another sort is wider than all these.
 */
static bool goes_over_switches(const struct making *making, place_id from, place_id to,
                               const struct link_path *path, struct resource_pair *pair)
{
    size_t ways;
    double rate = link_switches_between(making->switches, from, to, &ways);
    if (ways < 2 || rate < path->bytes_per_s)
        return false;
    *pair = (struct resource_pair){.bytes_per_s = rate,
                                   .unstated = LINK_PATH_STATED,
                                   .narrowest = narrowest_of(making->graph, path)};
    use_switches(making, from, to, pair);
    return true;
}

/* One way, which is known or counts as the one. */
static void use_path(const struct making *making, place_id from, place_id to,
                     const struct link_path *path, struct resource_pair *pair)
{
    fill_width(making, path, pair);
    pair->several = path->is_one_of_several;
    if (resource_elsewhere_has(&making->elsewhere, making->graph, from, to))
        return;
    for (size_t i = 0; i < path->step_count; i++) {
        pair->is_guess |=
            path->is_one_of_several && making->graph->links[path->step[i].link].kind == LINK_XGMI;
        use(pair, making->link[path->step[i].back][path->step[i].link]);
        use(pair, making->link[2][path->step[i].link]);
    }
    /* over the one switch that both have, beside what goes over others */
    if (path->step_count == 2 && making->graph->links[path->step[0].link].kind == LINK_NVLINK)
        use_switches(making, from, to, pair);
}

static bool is_of_host(const struct graph *graph, place_id place)
{
    return graph_place(graph, place)->kind == PLACE_NUMA ||
           graph_place(graph, place)->kind == PLACE_PACKAGE;
}

static bool are_of_one_module(const struct graph *graph, place_id a, place_id b)
{
    place_id module = graph_place(graph, a)->parent;
    return module != PLACE_NONE && module == graph_place(graph, b)->parent &&
           graph_place(graph, module)->kind == PLACE_MODULE;
}

static bool passes_host(const struct graph *graph, const struct link_path *path)
{
    bool passes = false;
    for (size_t i = 0; i < path->step_count; i++)
        passes = passes || is_of_host(graph, graph->links[path->step[i].link].from) ||
                 is_of_host(graph, graph->links[path->step[i].link].to);
    return passes;
}

/* The package of the NUMA node that a gpu is next to; without packages that node. */
static place_id side_of(const struct graph *graph, place_id gpu)
{
    place_id numa = graph_place(graph, gpu)->numa,
             package = numa != PLACE_NONE ? graph_place(graph, numa)->parent : PLACE_NONE;
    return package != PLACE_NONE && graph_place(graph, package)->kind == PLACE_PACKAGE ? package
                                                                                       : numa;
}

/* Through the host, though not all links there say what they carry: what joins both packages is on
 * the way. */
static void use_crossing(const struct making *making, place_id from, place_id to,
                         struct resource_pair *pair)
{
    place_id a = side_of(making->graph, from), b = side_of(making->graph, to);
    for (size_t i = 0; a != b && i < making->graph->link_count; i++) {
        const struct link *link = &making->graph->links[i];
        bool there = link->from == a && link->to == b, back = link->from == b && link->to == a;
        if (link->kind == LINK_SMP && (there || back)) {
            use(pair, making->link[back][i]);
            use(pair, making->link[2][i]);
        }
    }
}

/* Whether links between gpus are told at all: where none is, some may be hidden. */
static bool has_hives(const struct graph *graph, const place_id *hive)
{
    bool has = false;
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE && !has;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        has = hive[gpu] != gpu;
    return has;
}

static void fill_pair(const struct making *making, place_id from, place_id to)
{
    struct resource_pair *pair = resource_structure_pair(making->structure, from, to);
    const struct graph *graph = making->graph;
    struct link_path path;
    pair->unstated = LINK_PATH_STATED;
    if (from == to)
        return;
    bool found = way_seen_find(making->structure->paths, graph, making->values, making->sets, from,
                               to, &path),
         are_peers = graph_place(graph, from)->kind == PLACE_GPU &&
                     graph_place(graph, to)->kind == PLACE_GPU;
    if (found && !goes_over_switches(making, from, to, &path, pair))
        use_path(making, from, to, &path, pair);
    pair->over_host = are_peers && (!found || passes_host(graph, &path)) &&
                      !are_of_one_module(graph, from, to) &&
                      !resource_elsewhere_has(&making->elsewhere, graph, from, to);
    if (pair->over_host && (found || has_hives(graph, making->structure->hive))) {
        use(pair, making->host_link[0][from]);
        use(pair, making->host_link[2][from]);
        use(pair, making->host_link[1][to]);
        use(pair, making->host_link[2][to]);
    }
    if (pair->over_host && !found)
        use_crossing(making, from, to, pair);
    if (!are_peers || pair->over_host)
        use_pcie_ports(making, from, to, found ? &path : NULL, pair);
    if (!are_peers || (pair->over_host && found)) {
        use_port(making, pair, from, 0);
        use_port(making, pair, to, 1);
    }
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

/* ---- all of it ---- */

static bool fill(struct making *making)
{
    struct resource_structure *structure = making->structure;
    size_t items =
        3 * making->graph->link_count + (11 + 3 * PCI_PORT_LEVELS) * making->graph->place_count;
    structure->graph = making->graph;
    structure->paths = link_paths_new(making->graph);
    structure->hive = resource_hive_find(making->graph);
    making->switches = link_switches_new(making->graph);
    structure->item = calloc(items + 1, sizeof *structure->item);
    structure->slot = calloc(making->graph->place_count + 1, sizeof *structure->slot);
    making->number = calloc(items + 1, sizeof *making->number);
    if (structure->paths == NULL || structure->hive == NULL || making->switches == NULL ||
        structure->item == NULL || structure->slot == NULL || making->number == NULL)
        return false;
    for (size_t way = 0; way < 3; way++) {
        making->link[way] = making->number + way * making->graph->link_count;
        making->port[way] =
            making->number + 3 * making->graph->link_count + way * making->graph->place_count;
        making->memory[way] =
            making->number + 3 * making->graph->link_count + (3 + way) * making->graph->place_count;
        making->host_link[way] =
            making->number + 3 * making->graph->link_count + (8 + way) * making->graph->place_count;
        for (size_t level = 0; level < PCI_PORT_LEVELS; level++)
            making->pcie_port[level][way] = making->number + 3 * making->graph->link_count +
                                            (11 + 3 * level + way) * making->graph->place_count;
    }
    for (size_t way = 0; way < 2; way++) {
        making->switched[way] =
            making->number + 3 * making->graph->link_count + (6 + way) * making->graph->place_count;
    }
    if (items >= NONE) {
        for (size_t p = 0; p < making->graph->place_count; p++)
            structure->slot[p] = NONE;
        return true;
    }
    add_all(making);
    if (!resource_elsewhere_find(making->graph, making->values, making->sets, structure->paths,
                                 &making->elsewhere) ||
        !fill_pairs(making))
        return false;
    return resource_seen(structure, making->graph, making->values, making->sets);
}

struct resource_structure *resource_make(const struct graph *graph, const struct values *values,
                                         const struct sets *sets)
{
    struct making making = {.structure = calloc(1, sizeof *making.structure),
                            .graph = graph,
                            .values = values,
                            .sets = sets};
    bool ok = making.structure != NULL && fill(&making);
    free(making.number);
    link_switches_free(making.switches);
    resource_elsewhere_done(&making.elsewhere);
    if (ok)
        return making.structure;
    resource_structure_free(making.structure);
    return NULL;
}
