#include "node/graph.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

/* A name, address or uuid of a place. Names sort before addresses and uuids of equal text, so a
 * uuid "gpu0" hides no gpu0. */
struct alias {
    const char *text;
    bool is_name;
    place_id id;
};

/* Discovery puts places of one kind beside each other, so the span of a kind holds little else. */
struct graph_index {
    struct span {
        size_t first, end;
    } span[PLACE_KIND_COUNT];
    size_t count;
    struct alias alias[];
};

static const char *const kind_names[PLACE_KIND_COUNT] = {
    "machine", "package", "numa", "llc", "core", "pu", "module", "gpu", "nic", "switch"};
static const char *const link_names[LINK_KIND_COUNT] = {"xgmi", "nvlink", "c2c",    "pcie",
                                                        "smp",  "membus", "network"};
static const char *const state_names[LINK_STATE_COUNT] = {"up", "degraded", "down", "unknown"};
static const char *const origin_names[ORIGIN_COUNT] = {"live", "recorded", "reconstructed",
                                                       "standin"};

struct graph *graph_new(void)
{
    struct graph *graph = calloc(1, sizeof *graph);
    if (graph != NULL)
        graph->refs = 1;
    return graph;
}

const struct graph *graph_ref(const struct graph *graph)
{
    __atomic_add_fetch(&((struct graph *)graph)->refs, 1, __ATOMIC_RELAXED);
    return graph;
}

static void details_free(struct detail *details, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(details[i].key);
        free(details[i].value);
    }
    free(details);
}

static void strings_free(char **strings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(strings[i]);
    free(strings);
}

static void place_done(struct place *place)
{
    free(place->cpus);
    free(place->model);
    free(place->pci);
    free(place->uuid);
    free(place->render_node);
    details_free(place->details, place->detail_count);
}

void graph_unref(const struct graph *shared)
{
    struct graph *graph = (struct graph *)shared;
    if (graph == NULL || __atomic_sub_fetch(&graph->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(graph->name);
    for (size_t i = 0; i < graph->place_count; i++)
        place_done(&graph->places[i]);
    free(graph->places);
    free(graph->links);
    for (size_t i = 0; i < graph->resource_count; i++) {
        free(graph->resources[i].name);
        strings_free(graph->resources[i].users, graph->resources[i].user_count);
    }
    free(graph->resources);
    details_free(graph->software, graph->software_count);
    free(graph->facts);
    strings_free(graph->disagreements, graph->disagreement_count);
    free(graph->index);
    free(graph);
}

/* Copies a text as valid UTF-8 on one line. Texts of firmware and files may hold any bytes, but go
 * out as JSON and on terminals. */
static char *clean_copy(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        return NULL;
    text_clean(copy);
    return copy;
}

place_id graph_add_place(struct graph *graph, enum place_kind kind, int32_t number)
{
    assert(graph->index == NULL && (unsigned)kind < PLACE_KIND_COUNT);
    if (!grow_by_one(&graph->places, graph->place_count, sizeof *graph->places))
        return PLACE_NONE;
    place_id id = (place_id)graph->place_count++;
    struct place *place = &graph->places[id];
    *place = (struct place){.kind = kind,
                            .number = number,
                            .parent = PLACE_NONE,
                            .numa = PLACE_NONE,
                            .capacity_bytes = -1,
                            .minor = -1};
    snprintf(place->name, sizeof place->name, "%s%d", kind_names[kind], number);
    return id;
}

struct link *graph_add_link(struct graph *graph, place_id from, place_id to, enum link_kind kind)
{
    assert(graph->index == NULL && (unsigned)kind < LINK_KIND_COUNT);
    if (!grow_by_one(&graph->links, graph->link_count, sizeof *graph->links))
        return NULL;
    struct link *link = &graph->links[graph->link_count++];
    *link = (struct link){.from = from,
                          .to = to,
                          .kind = kind,
                          .nominal_bytes_per_s = __builtin_nan(""),
                          .state = LINK_UNKNOWN,
                          .source = ""};
    return link;
}

struct resource *graph_add_resource(struct graph *graph, const char *name)
{
    const double unknown = __builtin_nan("");
    if (!grow_by_one(&graph->resources, graph->resource_count, sizeof *graph->resources))
        return NULL;
    char *copy = clean_copy(name);
    if (copy == NULL)
        return NULL;
    struct resource *resource = &graph->resources[graph->resource_count++];
    *resource = (struct resource){
        .name = copy, .capacity_bytes_per_s = unknown, .low = unknown, .high = unknown};
    return resource;
}

static bool add_string(char ***strings, size_t *count, const char *text)
{
    if (!grow_by_one(strings, *count, sizeof **strings))
        return false;
    char *copy = clean_copy(text);
    if (copy == NULL)
        return false;
    (*strings)[(*count)++] = copy;
    return true;
}

bool graph_add_user(struct resource *resource, const char *place_name)
{
    return add_string(&resource->users, &resource->user_count, place_name);
}

bool graph_add_disagreement(struct graph *graph, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return add_string(&graph->disagreements, &graph->disagreement_count, text);
}

static bool set_detail(struct detail **details, size_t *count, const char *key, const char *value)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*details)[i].key, key) == 0)
            return place_set_text(&(*details)[i].value, value);
    if (!grow_by_one(details, *count, sizeof **details))
        return false;
    struct detail detail = {.key = clean_copy(key), .value = clean_copy(value)};
    if (detail.key == NULL || detail.value == NULL) {
        free(detail.key);
        free(detail.value);
        return false;
    }
    (*details)[(*count)++] = detail;
    return true;
}

bool graph_set_software(struct graph *graph, const char *key, const char *value)
{
    return set_detail(&graph->software, &graph->software_count, key, value);
}

bool place_set_detail(struct place *place, const char *key, const char *value)
{
    return set_detail(&place->details, &place->detail_count, key, value);
}

bool place_set_text(char **field, const char *value)
{
    char *copy = clean_copy(value);
    if (copy == NULL)
        return false;
    free(*field);
    *field = copy;
    return true;
}

bool place_set_cpus(struct place *place, const struct cpuset *cpus)
{
    if (place->cpus == NULL)
        place->cpus = malloc(sizeof *place->cpus);
    if (place->cpus == NULL)
        return false;
    *place->cpus = *cpus;
    return true;
}

static int compare_alias(const void *a, const void *b)
{
    const struct alias *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    if (order != 0)
        return order;
    if (x->is_name != y->is_name)
        return x->is_name ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static struct graph_index *index_new(const struct graph *graph)
{
    struct graph_index *index =
        malloc(sizeof *index + 3 * graph->place_count * sizeof index->alias[0]);
    if (index == NULL)
        return NULL;
    memset(index->span, 0, sizeof index->span);
    index->count = 0;
    for (size_t i = 0; i < graph->place_count; i++) {
        const struct place *place = &graph->places[i];
        struct span *span = &index->span[place->kind];
        if (span->end == 0)
            span->first = i;
        span->end = i + 1;
        index->alias[index->count++] = (struct alias){place->name, true, (place_id)i};
        if (place->kind != PLACE_GPU && place->kind != PLACE_NIC)
            continue;
        if (place->pci != NULL)
            index->alias[index->count++] = (struct alias){place->pci, false, (place_id)i};
        if (place->uuid != NULL)
            index->alias[index->count++] = (struct alias){place->uuid, false, (place_id)i};
    }
    qsort(index->alias, index->count, sizeof index->alias[0], compare_alias);
    return index;
}

static bool is_place(const struct graph *graph, place_id id)
{
    return id >= 0 && (size_t)id < graph->place_count;
}

static enum berth_code check_places(const struct graph *graph, struct berth_err *err)
{
    if (graph->place_count == 0 || graph->places[0].kind != PLACE_MACHINE)
        return err_set(err, BERTH_BAD_DATA, "the first place is not the machine");
    struct cpuset cores = {0}, pus = {0};
    for (size_t i = 0; i < graph->place_count; i++) {
        const struct place *place = &graph->places[i];
        if (i > 0 && place->kind == PLACE_MACHINE)
            return err_set(err, BERTH_BAD_DATA, "there are two machines");
        if (place->numa != PLACE_NONE &&
            (!is_place(graph, place->numa) || graph->places[place->numa].kind != PLACE_NUMA))
            return err_set(err, BERTH_BAD_DATA, "%s has a numa that is none", place->name);
        size_t steps = 0;
        for (place_id up = (place_id)i; up != 0; up = graph->places[up].parent)
            if (!is_place(graph, graph->places[up].parent) || ++steps > graph->place_count)
                return err_set(err, BERTH_BAD_DATA, "the parents of %s do not lead to the machine",
                               place->name);
        if ((place->kind != PLACE_CORE && place->kind != PLACE_PU) || place->cpus == NULL)
            continue;
        struct cpuset *used = place->kind == PLACE_CORE ? &cores : &pus;
        if (cpuset_intersects(used, place->cpus))
            return err_set(err, BERTH_BAD_DATA, "%s shares a cpu with another %s", place->name,
                           kind_names[place->kind]);
        cpuset_or(used, place->cpus);
    }
    return BERTH_OK;
}

enum berth_code graph_finish(struct graph *graph, struct berth_err *err)
{
    enum berth_code code = check_places(graph, err);
    if (code != BERTH_OK)
        return code;
    for (size_t i = 0; i < graph->link_count; i++)
        if (!is_place(graph, graph->links[i].from) || !is_place(graph, graph->links[i].to))
            return err_set(err, BERTH_BAD_DATA, "link %zu ends at no place", i);
    struct graph_index *index = index_new(graph);
    if (index == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the index of places");
    for (size_t i = 1; i < index->count; i++)
        if (index->alias[i].is_name && index->alias[i - 1].is_name &&
            strcmp(index->alias[i].text, index->alias[i - 1].text) == 0) {
            code = err_set(err, BERTH_BAD_DATA, "there are two places called %s",
                           index->alias[i].text);
            free(index);
            return code;
        }
    graph->index = index;
    return BERTH_OK;
}

place_id graph_find(const struct graph *graph, const char *name)
{
    assert(graph->index != NULL);
    size_t low = 0, high = graph->index->count;
    while (low < high) { /* the first alias not below name */
        size_t middle = low + (high - low) / 2;
        if (strcmp(graph->index->alias[middle].text, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == graph->index->count || strcmp(graph->index->alias[low].text, name) != 0)
        return PLACE_NONE;
    return graph->index->alias[low].id;
}

/* Returns the range of places that may be of a kind. */
static struct span span_of(const struct graph *graph, enum place_kind kind)
{
    return graph->index != NULL ? graph->index->span[kind] : (struct span){0, graph->place_count};
}

place_id graph_next(const struct graph *graph, enum place_kind kind, place_id start)
{
    struct span span = span_of(graph, kind);
    for (size_t i = (size_t)start > span.first ? (size_t)start : span.first; i < span.end; i++)
        if (graph->places[i].kind == kind)
            return (place_id)i;
    return PLACE_NONE;
}

size_t graph_count(const struct graph *graph, enum place_kind kind)
{
    struct span span = span_of(graph, kind);
    size_t count = 0;
    for (size_t i = span.first; i < span.end; i++)
        count += graph->places[i].kind == kind;
    return count;
}

const char *place_detail(const struct place *place, const char *key)
{
    for (size_t i = 0; i < place->detail_count; i++)
        if (strcmp(place->details[i].key, key) == 0)
            return place->details[i].value;
    return NULL;
}

static int name_index(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

const char *place_kind_name(enum place_kind kind) { return kind_names[kind]; }
const char *link_kind_name(enum link_kind kind) { return link_names[kind]; }
const char *link_state_name(enum link_state state) { return state_names[state]; }
const char *origin_name(enum origin origin) { return origin_names[origin]; }

bool place_kind_parse(const char *name, enum place_kind *ret_kind)
{
    int i = name_index(kind_names, PLACE_KIND_COUNT, name);
    if (i >= 0)
        *ret_kind = (enum place_kind)i;
    return i >= 0;
}

bool link_kind_parse(const char *name, enum link_kind *ret_kind)
{
    int i = name_index(link_names, LINK_KIND_COUNT, name);
    if (i >= 0)
        *ret_kind = (enum link_kind)i;
    return i >= 0;
}

bool link_state_parse(const char *name, enum link_state *ret_state)
{
    int i = name_index(state_names, LINK_STATE_COUNT, name);
    if (i >= 0)
        *ret_state = (enum link_state)i;
    return i >= 0;
}

bool origin_parse(const char *name, enum origin *ret_origin)
{
    int i = name_index(origin_names, ORIGIN_COUNT, name);
    if (i >= 0)
        *ret_origin = (enum origin)i;
    return i >= 0;
}
