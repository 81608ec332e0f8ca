#include "ui/node.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"

#define SLOW 0.8 /* of the fastest */

static const char *const kind_names[] = {"machine", "package", "numa", "llc", "core",
                                         "pu",      "module",  "gpu",  "nic", "switch"};

bool ui_cpus_parse(const char *c, struct ui_cpus *ret_cpus)
{
    struct ui_cpus cpus = {0};
    while (isdigit((unsigned char)*c)) {
        char *end;
        unsigned long first = strtoul(c, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last >= UI_CPUS_MAX || first > last)
            return false;
        for (unsigned long n = first; n <= last; n++)
            cpus.word[n / 64] |= UINT64_C(1) << n % 64;
        c = *end == ',' ? end + 1 : end;
    }
    *ret_cpus = cpus;
    return *c == '\0';
}

size_t ui_cpus_count(const struct ui_cpus *cpus)
{
    size_t count = 0;
    for (size_t i = 0; i < UI_CPUS_MAX / 64; i++)
        count += (size_t)__builtin_popcountll(cpus->word[i]);
    return count;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static enum ui_kind kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof kind_names / sizeof kind_names[0]; i++)
        if (strcmp(name, kind_names[i]) == 0)
            return (enum ui_kind)i;
    return UI_OTHER;
}

static int number_behind(const char *name)
{
    const char *digits = name + strlen(name);
    while (digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    return *digits == '\0' || strlen(digits) > 8 ? -1 : atoi(digits);
}

/* An index sorted by name serves the search for names. */
static int compare_names(const void *a, const void *b, void *arg)
{
    const struct ui_place *place = arg;
    return strcmp(place[*(const int *)a].name, place[*(const int *)b].name);
}

static int find(const struct ui_node *node, const int *by_name, const char *name)
{
    size_t low = 0, high = node->place_count;
    while (name != NULL && low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(node->place[by_name[middle]].name, name);
        if (order == 0)
            return by_name[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static bool read_place(const json_t *json, struct ui_place *ret_place)
{
    const json_t *capacity = json_object_get(json, "capacity_bytes");
    struct ui_place place = {
        .json = json,
        .name = text_of(json, "name"),
        .kind_name = text_of(json, "kind"),
        .model = text_of(json, "model"),
        .pci = text_of(json, "pci"),
        .cpu_list = text_of(json, "cpus"),
        .capacity_bytes = json_is_integer(capacity) ? json_integer_value(capacity) : -1,
        .parent = -1,
        .first_child = -1,
        .last_child = -1,
        .next = -1,
    };
    if (place.name == NULL)
        place.name = "?";
    if (place.kind_name == NULL)
        place.kind_name = "?";
    place.kind = kind_of(place.kind_name);
    place.number = number_behind(place.name);
    /* The many cores and pus are only counted; their sets are not needed. */
    if (place.cpu_list != NULL && place.kind != UI_CORE && place.kind != UI_PU) {
        place.cpus = malloc(sizeof *place.cpus);
        if (place.cpus == NULL)
            return false;
        if (!ui_cpus_parse(place.cpu_list, place.cpus)) {
            free(place.cpus);
            place.cpus = NULL;
        }
    }
    *ret_place = place;
    return true;
}

static int compare_places(const void *a, const void *b, void *arg)
{
    const struct ui_place *place = arg, *x = &place[*(const int *)a], *y = &place[*(const int *)b];
    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1)
                              : (x->number > y->number) - (x->number < y->number);
}

/* Attaches every place below its parent in the drawing, children in order of kind and number. An
 * llc, module or nic may state a NUMA node next to it. It goes below that node when its own parent
 * is only the package or the machine around it. */
static void hang(struct ui_node *node, const int *by_name, int *order)
{
    for (size_t i = 0; i < node->place_count; i++) {
        struct ui_place *place = &node->place[i];
        int parent = find(node, by_name, text_of(place->json, "parent")),
            numa = find(node, by_name, text_of(place->json, "numa"));
        if (numa >= 0 && place->kind != UI_NUMA && node->place[numa].kind == UI_NUMA &&
            (parent < 0 || node->place[parent].kind <= UI_PACKAGE))
            parent = numa;
        place->parent = parent == (int)i ? -1 : parent;
        if (place->kind == UI_MACHINE && node->root < 0)
            node->root = (int)i;
        order[i] = (int)i;
    }
    qsort_r(order, node->place_count, sizeof *order, compare_places, node->place);
    for (size_t i = 0; i < node->place_count; i++) {
        int child = order[i], parent = node->place[child].parent;
        if (parent < 0 && child != node->root)
            parent = node->place[child].parent = node->root;
        if (parent < 0 || child == node->root)
            continue;
        if (node->place[parent].first_child < 0)
            node->place[parent].first_child = child;
        else
            node->place[node->place[parent].last_child].next = child;
        node->place[parent].last_child = child;
    }
}

/* A core has the number of its lowest cpu, so the cores of a cpu set can be counted by number. */
static void count_cores(struct ui_node *node)
{
    struct ui_cpus cores = {0};
    for (size_t i = 0; i < node->place_count; i++)
        if (node->place[i].kind == UI_CORE && node->place[i].number >= 0 &&
            node->place[i].number < UI_CPUS_MAX)
            cores.word[node->place[i].number / 64] |= UINT64_C(1) << node->place[i].number % 64;
    for (size_t i = 0; i < node->place_count; i++) {
        struct ui_place *place = &node->place[i];
        for (size_t w = 0; place->cpus != NULL && w < UI_CPUS_MAX / 64; w++)
            place->cores += (size_t)__builtin_popcountll(place->cpus->word[w] & cores.word[w]);
    }
}

static int compare_links(const void *a, const void *b, void *arg)
{
    const struct ui_link *x = a, *y = b;
    int from = compare_places(&x->from, &y->from, arg);
    return from != 0 ? from : compare_places(&x->to, &y->to, arg);
}

static void read_links(struct ui_node *node, const json_t *links, const int *by_name)
{
    size_t i;
    const json_t *json;
    json_array_foreach(links, i, json)
    {
        struct ui_link link = {
            .from = find(node, by_name, text_of(json, "from")),
            .to = find(node, by_name, text_of(json, "to")),
            .kind = text_of(json, "kind"),
            .state = text_of(json, "state"),
            .width = json_integer_value(json_object_get(json, "width")),
            .nominal = ui_member_number(json, "nominal_bytes_per_s"),
            .measured = ui_member_number(json, "measured_bytes_per_s"),
            .engine = ui_member_number(json, "engine_bytes_per_s"),
            .pair = ui_member_number(json, "pair_bytes_per_s"),
        };
        if (link.kind == NULL)
            link.kind = "?";
        if (link.state == NULL)
            link.state = "unknown";
        if (link.from >= 0 && link.to >= 0)
            node->link[node->link_count++] = link;
    }
    qsort_r(node->link, node->link_count, sizeof *node->link, compare_links, node->place);
}

static bool is_kind(const json_t *node, const char *name, const char *kind)
{
    const json_t *place;
    size_t i;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        if (strcmp(ui_member(place, "name"), name) == 0)
            return strcmp(ui_member(place, "kind"), kind) == 0;
    }
    return false;
}

/* Lowest measured rate of the pairs of a gpu; NAN none. */
static double slowest_pair(const json_t *matrix, const char *gpu)
{
    double least = NAN;
    const json_t *cell;
    size_t i;
    json_array_foreach(json_object_get(matrix, "cells"), i, cell)
    {
        if (strcmp(ui_member(cell, "source"), "measured") == 0 &&
            (strcmp(ui_member(cell, "from"), gpu) == 0 || strcmp(ui_member(cell, "to"), gpu) == 0))
            least = fmin(least, ui_member_number(cell, "value"));
    }
    return least;
}

static void add_slowest(json_t *node, const json_t *matrix)
{
    const json_t *cell, *slowest = NULL;
    size_t i;
    json_array_foreach(json_object_get(matrix, "cells"), i, cell)
    {
        double value = ui_member_number(cell, "value");
        if (!isnan(value) && (slowest == NULL || value < ui_member_number(slowest, "value")))
            slowest = cell;
    }
    if (slowest != NULL)
        json_object_set_new(node, "slowest_pair",
                            json_pack("{s:f,s:s}", "bytes_per_s",
                                      ui_member_number(slowest, "value"), "source",
                                      ui_member(slowest, "source")));
}

void ui_node_add_pairs(json_t *node, const json_t *matrix)
{
    json_t *link;
    size_t i;
    add_slowest(node, matrix);
    json_array_foreach(json_object_get(node, "links"), i, link)
    {
        const char *from = ui_member(link, "from"), *to = ui_member(link, "to"),
                   *gpu = is_kind(node, from, "gpu") && is_kind(node, to, "switch")   ? from
                          : is_kind(node, from, "switch") && is_kind(node, to, "gpu") ? to
                                                                                      : NULL;
        double pair = gpu == NULL ? NAN : slowest_pair(matrix, gpu);
        if (!isnan(pair))
            json_object_set_new(link, "pair_bytes_per_s", json_real(pair));
    }
}

struct ui_node *ui_node_new(const json_t *reply)
{
    const json_t *places = json_object_get(reply, "places"),
                 *links = json_object_get(reply, "links"), *json;
    struct ui_node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->root = -1;
    node->place = calloc(json_array_size(places) + 1, sizeof *node->place);
    node->link = calloc(json_array_size(links) + 1, sizeof *node->link);
    int *by_name = calloc(json_array_size(places) + 1, sizeof *by_name),
        *order = calloc(json_array_size(places) + 1, sizeof *order);
    bool fine = node->place != NULL && node->link != NULL && by_name != NULL && order != NULL;
    size_t i;
    json_array_foreach(places, i, json)
    {
        fine = fine && read_place(json, &node->place[i]);
        if (!fine)
            break;
        by_name[i] = (int)i;
        node->place_count++;
    }
    if (fine) {
        qsort_r(by_name, node->place_count, sizeof *by_name, compare_names, node->place);
        hang(node, by_name, order);
        count_cores(node);
        read_links(node, links, by_name);
    } else {
        ui_node_free(node);
        node = NULL;
    }
    free(by_name);
    free(order);
    return node;
}

void ui_node_free(struct ui_node *node)
{
    if (node == NULL)
        return;
    for (size_t i = 0; i < node->place_count; i++)
        free(node->place[i].cpus);
    free(node->place);
    free(node->link);
    free(node);
}

static bool is_like(const struct ui_place *a, const struct ui_place *b)
{
    return a->kind == b->kind &&
           strcmp(a->model != NULL ? a->model : "", b->model != NULL ? b->model : "") == 0;
}

double ui_link_slow_rate(const struct ui_node *node, const struct ui_link *link)
{
    double slow = NAN;
    const struct ui_place *from = &node->place[link->from], *to = &node->place[link->to];
    bool is_with_host = from->kind <= UI_LLC || to->kind <= UI_LLC;
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *other = &node->link[i];
        if (strcmp(other->kind, link->kind) == 0 && is_like(&node->place[other->from], from) &&
            is_like(&node->place[other->to], to) && (is_with_host || other->width == link->width)) {
            if (link->measured < SLOW * other->measured)
                return link->measured;
            if (link->engine < SLOW * other->engine)
                slow = link->engine;
        }
    }
    return slow;
}

const char *ui_place_detail(const struct ui_place *place, const char *key)
{
    return json_string_value(json_object_get(json_object_get(place->json, "details"), key));
}

static int compare_indices(const void *a, const void *b, void *arg)
{
    const struct ui_place *place = arg;
    return place[*(const int *)a].number - place[*(const int *)b].number;
}

size_t ui_node_kind(const struct ui_node *node, enum ui_kind kind, int *index, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < node->place_count && count < most; i++)
        if (node->place[i].kind == kind)
            index[count++] = (int)i;
    qsort_r(index, count, sizeof *index, compare_indices, node->place);
    return count;
}

int ui_place_around(const struct ui_node *node, int place, enum ui_kind kind)
{
    int at = place;
    for (size_t depth = 0; at >= 0 && node->place[at].kind != kind; depth++)
        at = depth < node->place_count ? node->place[at].parent : -1;
    return at;
}

const char *ui_place_model(const struct ui_place *place)
{
    static const char *const prefixes[] = {"AMD Instinct ", "NVIDIA "};
    const char *model = place->model;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (model != NULL && place->kind == UI_GPU &&
            strncmp(model, prefixes[i], strlen(prefixes[i])) == 0)
            return model + strlen(prefixes[i]);
    return model;
}

const char *ui_place_owner(const struct ui_node *node, int numa)
{
    const struct ui_place *place = &node->place[numa];
    if (place->cpus != NULL && ui_cpus_count(place->cpus) > 0)
        return NULL;
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        int other = link->from == numa ? link->to : link->to == numa ? link->from : -1;
        if (other >= 0 && node->place[other].kind == UI_GPU && strcmp(link->kind, "membus") == 0)
            return node->place[other].name;
    }
    return NULL;
}
