#include "ui/topo.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST   10
#define FOLD_MOST    1024 /* most places in one line */
#define CPUS_COLUMNS 48   /* columns for lists of cpus in one line */
#define PREFIX_BYTES 96
#define TEXT_BYTES   1024

struct drawing {
    struct ui *ui;
    struct ui_table table;
    const struct ui_node *node;
    const json_t *free_bytes; /* by place; NULL unknown */
};

/* Appends words, with a comma before all but the first. */
static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    if (used > 0 && used + 3 < TEXT_BYTES) {
        strcpy(text + used, ", ");
        used += 2;
    }
    va_start(args, format);
    vsnprintf(text + used, TEXT_BYTES - used, format, args);
    va_end(args);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* True for partitions of one device, which differ only in the function number. */
static bool same_device(const struct ui_place *a, const struct ui_place *b)
{
    if (a->pci == NULL || b->pci == NULL)
        return false;
    size_t length = strcspn(a->pci, ".");
    return length == strcspn(b->pci, ".") && strncmp(a->pci, b->pci, length) == 0;
}

/* "MCDRAM", "DRAM", ... where discovery reported it; else "". */
static const char *kind_of_memory(const struct ui_place *place)
{
    const char *memory = ui_place_detail(place, "memory");
    return memory == NULL ? "" : memory;
}

/* True when b may share a line with a. */
static bool alike(const struct ui_node *node, const struct ui_place *a, const struct ui_place *b)
{
    if (a->kind != b->kind || a->capacity_bytes != b->capacity_bytes || a->cores != b->cores ||
        a->number < 0 || b->number < 0 || !same_text(a->model, b->model))
        return false;
    bool bare = (a->first_child < 0 || node->place[a->first_child].kind >= UI_CORE) &&
                (b->first_child < 0 || node->place[b->first_child].kind >= UI_CORE);
    switch (a->kind) {
    case UI_LLC:
        return bare;
    case UI_NUMA:
        return a->first_child < 0 && b->first_child < 0 &&
               (a->cpus == NULL || ui_cpus_count(a->cpus) == 0) &&
               (b->cpus == NULL || ui_cpus_count(b->cpus) == 0) &&
               ui_place_owner(node, (int)(a - node->place)) == NULL &&
               same_text(kind_of_memory(a), kind_of_memory(b)) &&
               same_text(ui_place_detail(a, "cpu_count"), ui_place_detail(b, "cpu_count"));
    case UI_SWITCH:
        return a->first_child < 0 && b->first_child < 0;
    case UI_GPU:
        return same_device(a, b);
    default:
        return false;
    }
}

static const char *cpus_of(const struct drawing *drawing, int place)
{
    const char *list = drawing->node->place[place].cpu_list;
    return list == NULL ? "?" : list;
}

/* "0-3 | 4-7 ... 28-31": as many lists as fit, with the last one where possible. */
static void list_cpus(const struct drawing *drawing, const int *group, size_t count, char *text,
                      size_t size)
{
    const char *last = cpus_of(drawing, group[count - 1]);
    size_t used = (size_t)snprintf(text, size, "%s", cpus_of(drawing, group[0]));
    size_t i = 1;
    for (; i < count && used < size; i++) {
        const char *list = cpus_of(drawing, group[i]);
        if (used + strlen(list) + (i + 1 < count ? strlen(last) : 0) > CPUS_COLUMNS)
            break;
        used += (size_t)snprintf(text + used, size - used, " | %s", list);
    }
    if (i < count && used < size)
        snprintf(text + used, size - used, " ... %s",
                 used + strlen(last) <= CPUS_COLUMNS + 8 ? last : "");
}

static void describe_cpus(char *text, const struct drawing *drawing, const int *group, size_t count)
{
    const struct ui_place *first = &drawing->node->place[group[0]];
    if (first->cpus == NULL || ui_cpus_count(first->cpus) == 0)
        return;
    size_t cpus = ui_cpus_count(first->cpus);
    if (first->cores > 0)
        add(text, "%zu core%s%s", first->cores, first->cores == 1 ? "" : "s",
            count > 1 ? " each" : "");
    char lists[TEXT_BYTES / 2];
    list_cpus(drawing, group, count, lists, sizeof lists);
    add(text, "cpu%s %s", cpus == 1 && count == 1 ? "" : "s", lists);
}

/* Describes a NUMA node without numbered cpus: it has none, or its source only counts them. */
static void describe_bare(char *text, const struct drawing *drawing, const struct ui_place *numa,
                          size_t count)
{
    const char *cpus = ui_place_detail(numa, "cpu_count");
    if (*kind_of_memory(numa) != '\0' &&
        ui_place_owner(drawing->node, (int)(numa - drawing->node->place)) == NULL)
        add(text, "%s", kind_of_memory(numa));
    if (cpus == NULL)
        add(text, "no cpus");
    else
        add(text, "%s cpus%s", cpus, count > 1 ? " each" : "");
}

/* The only cache of a NUMA node or package, when both have the same cpus; the parent's line then
 * includes it. */
static int only_cache(const struct ui_node *node, int place)
{
    int cache = -1;
    for (int child = node->place[place].first_child; child >= 0; child = node->place[child].next) {
        if (node->place[child].kind == UI_LLC && cache >= 0)
            return -1;
        if (node->place[child].kind == UI_LLC)
            cache = child;
    }
    return cache >= 0 && same_text(node->place[cache].cpu_list, node->place[place].cpu_list) ? cache
                                                                                             : -1;
}

static void describe_module(const struct drawing *drawing, int module, char *text)
{
    size_t gpus = 0;
    for (int child = drawing->node->place[module].first_child; child >= 0;
         child = drawing->node->place[child].next)
        gpus += drawing->node->place[child].kind == UI_GPU;
    if (gpus > 0)
        add(text, "%zu gpu%s", gpus, gpus == 1 ? "" : "s");
}

/* Names the gpus at a switch: "between gpu0-3". */
static void describe_switch(const struct drawing *drawing, int at, char *text)
{
    const struct ui_node *node = drawing->node;
    int gpu[FOLD_MOST], number[FOLD_MOST];
    char numbers[TEXT_BYTES / 2];
    size_t gpus = ui_node_kind(node, UI_GPU, gpu, FOLD_MOST), count = 0;
    for (size_t g = 0; g < gpus; g++)
        for (size_t i = 0; i < node->link_count; i++) {
            const struct ui_link *link = &node->link[i];
            if ((link->from == gpu[g] && link->to == at) ||
                (link->to == gpu[g] && link->from == at)) {
                number[count++] = node->place[gpu[g]].number;
                break;
            }
        }
    ui_ranges(numbers, sizeof numbers, number, count);
    if (count > 0)
        add(text, "%s gpu%s", count > 1 ? "between" : "at", numbers);
}

/* Last address of a group; only its function when the device is the same. */
static const char *last_pci(const struct ui_node *node, const struct ui_place *first, int last)
{
    const struct ui_place *place = &node->place[last];
    return place->pci == NULL          ? "?"
           : same_device(first, place) ? place->pci + strcspn(place->pci, ".")
                                       : place->pci;
}

/* True for a module of gpus alone that has no more to say: its gpus' lines name it. */
static bool is_named_below(const struct ui_node *node, int place)
{
    bool is = node->place[place].kind == UI_MODULE && node->place[place].model == NULL &&
              node->place[place].first_child >= 0;
    for (int child = node->place[place].first_child; child >= 0 && is;
         child = node->place[child].next)
        is = node->place[child].kind == UI_GPU;
    return is;
}

/* An address without its domain where that is 0. */
static const char *short_pci(const char *pci)
{
    return strncmp(pci, "0000:", 5) == 0 ? pci + 5 : pci;
}

/* Writes the properties from the driver that matter most to a person. */
static void describe_gpu(const struct ui_place *gpu, char *text)
{
    const char *links = ui_place_detail(gpu, "nvlinks"), *up = ui_place_detail(gpu, "nvlinks_up"),
               *processes = ui_place_detail(gpu, "processes");
    if (same_text(ui_place_detail(gpu, "state"), "lost"))
        add(text, "lost");
    if (links != NULL && up != NULL)
        add(text, "%s%s%s NVLinks", up, same_text(links, up) ? "" : " of ",
            same_text(links, up) ? "" : links);
    if (processes != NULL && strcmp(processes, "0") != 0)
        add(text, "in use by %s process%s", processes, strcmp(processes, "1") == 0 ? "" : "es");
}

static void describe(const struct drawing *drawing, const int *group, size_t count, char *text)
{
    const struct ui_node *node = drawing->node;
    const struct ui_place *place = &node->place[group[0]];
    char number[UI_NUMBER], link[64];
    text[0] = '\0';
    if (count > 1)
        add(text, "%zu %s", count, drawing->ui->utf8 ? "\u00d7" : "x");
    const char *model = place->kind == UI_GPU && ui_common_model(node) != NULL
                            ? NULL /* the header has it */
                            : ui_place_model(place);
    if (model != NULL && *model != '\0') {
        if (count > 1)
            snprintf(text + strlen(text), TEXT_BYTES - strlen(text), " %s", model);
        else
            add(text, "%s", model);
    }
    if (place->capacity_bytes >= 0 && !(place->kind == UI_NUMA && place->capacity_bytes == 0)) {
        const json_t *free_bytes =
            count == 1 ? json_object_get(drawing->free_bytes, place->name) : NULL;
        if (count > 1 && model == NULL)
            snprintf(text + strlen(text), TEXT_BYTES - strlen(text), " %s",
                     ui_bytes(number, place->capacity_bytes));
        else if (json_is_integer(free_bytes))
            add(text, "%s free",
                ui_bytes_of(number, json_integer_value(free_bytes), place->capacity_bytes));
        else
            add(text, "%s%s", ui_bytes(number, place->capacity_bytes), count > 1 ? " each" : "");
    }
    switch (place->kind) {
    case UI_PACKAGE:
        if (place->cores > 0)
            add(text, "%zu core%s", place->cores, place->cores == 1 ? "" : "s");
        break;
    case UI_NUMA:
        if (place->capacity_bytes == 0)
            add(text, "no memory");
        if (place->cpus == NULL || ui_cpus_count(place->cpus) == 0)
            describe_bare(text, drawing, place, count);
        if (count == 1 && ui_place_owner(node, group[0]) != NULL)
            add(text, "memory of %s", ui_place_owner(node, group[0]));
        describe_cpus(text, drawing, group, count);
        if (only_cache(node, group[0]) >= 0) {
            const struct ui_place *cache = &node->place[only_cache(node, group[0])];
            add(text, "L3 %s%s%s", cache->name, cache->capacity_bytes > 0 ? " " : "",
                cache->capacity_bytes > 0 ? ui_bytes(number, cache->capacity_bytes) : "");
        }
        break;
    case UI_LLC:
        describe_cpus(text, drawing, group, count);
        break;
    default:
        if (place->kind == UI_MODULE && place->model == NULL)
            describe_module(drawing, group[0], text);
        if (place->kind == UI_SWITCH)
            describe_switch(drawing, group[0], text);
        if (place->kind == UI_NIC && ui_place_detail(place, "interface") != NULL)
            add(text, "%s", ui_place_detail(place, "interface"));
        if (count == 1 && ui_device_cache(node, group[0]) != NULL)
            add(text, "L3 %s", ui_device_cache(node, group[0]));
        if (place->parent >= 0 && is_named_below(node, place->parent))
            add(text, "%s", node->place[place->parent].name);
        if (place->pci != NULL && count > 1 &&
            !same_text(place->pci, node->place[group[count - 1]].pci))
            add(text, "%s ... %s", short_pci(place->pci), last_pci(node, place, group[count - 1]));
        else if (place->pci != NULL)
            add(text, "%s", short_pci(place->pci));
        ui_host_link(drawing->ui, node, group[0], link, sizeof link);
        if (*link != '\0')
            add(text, "%s", link);
        if (place->kind == UI_GPU && count == 1)
            describe_gpu(place, text);
    }
}

/* "gpu0-5" for a group, the name for a single place. */
static void name_group(const struct drawing *drawing, const int *group, size_t count, char *name,
                       size_t size)
{
    const struct ui_place *place = &drawing->node->place[group[0]];
    int numbers[FOLD_MOST];
    if (count == 1) {
        snprintf(name, size, "%s", place->name);
        return;
    }
    for (size_t i = 0; i < count; i++)
        numbers[i] = drawing->node->place[group[i]].number;
    int used = snprintf(name, size, "%s", place->kind_name);
    if (used > 0 && (size_t)used < size)
        ui_ranges(name + used, size - (size_t)used, numbers, count);
}

static bool is_drawn(const struct ui_node *node, int parent, int child)
{
    enum ui_kind kind = node->place[child].kind;
    return kind != UI_CORE && kind != UI_PU &&
           !(kind == UI_LLC && child == only_cache(node, parent) &&
             node->place[parent].kind == UI_NUMA);
}

/* Places with a line below that of the parent, at most FOLD_MOST. The header has the only package.
 */
static size_t children_of(const struct ui_node *node, int parent, int *child, size_t count)
{
    for (int at = node->place[parent].first_child; at >= 0 && count < FOLD_MOST;
         at = node->place[at].next) {
        if (is_named_below(node, at) || at == ui_only_package(node))
            count = children_of(node, at, child, count);
        else if (is_drawn(node, parent, at))
            child[count++] = at;
    }
    return count;
}

static void draw_children(struct drawing *drawing, int parent, const char *prefix, int depth)
{
    const struct ui_node *node = drawing->node;
    bool utf8 = drawing->ui->utf8;
    int child[FOLD_MOST], below_it[FOLD_MOST];
    size_t all = children_of(node, parent, child, 0);
    for (size_t i = 0, count; i < all; i += count) {
        count = 1;
        while (i + count < all &&
               alike(node, &node->place[child[i]], &node->place[child[i + count]]))
            count++;
        bool is_last = i + count == all;
        char name[128], text[TEXT_BYTES], below[PREFIX_BYTES];
        const char *branch = depth == 0 ? ""
                             : is_last  ? (utf8 ? "\u2514\u2500 " : "`- ")
                                        : (utf8 ? "\u251c\u2500 " : "|- ");
        name_group(drawing, child + i, count, name, sizeof name);
        describe(drawing, child + i, count, text);
        snprintf(below, sizeof below, "%s%s", prefix,
                 depth == 0 ? ""
                 : is_last  ? "   "
                            : (utf8 ? "\u2502  " : "|  "));
        bool has_children =
            count == 1 && depth < DEPTH_MOST && children_of(node, child[i], below_it, 0) > 0;
        ui_cell(&drawing->table, "%s%s", below, has_children ? (utf8 ? "\u2502" : "|") : "");
        ui_cell(&drawing->table, "%s%s%s", prefix, branch, name);
        ui_cell(&drawing->table, "%s", text);
        if (has_children)
            draw_children(drawing, child[i], below, depth + 1);
    }
}

static void put_disagreements(struct ui *ui, const json_t *disagreements)
{
    size_t i;
    const json_t *value;
    if (json_array_size(disagreements) == 0)
        return;
    ui_put(ui, "\n");
    ui_style(ui, UI_WARN);
    ui_put(ui, "The sources disagree\n");
    ui_style(ui, UI_PLAIN);
    json_array_foreach(disagreements, i, value)
    {
        ui_put(ui, "  ");
        ui_paragraph(ui, 4, json_is_string(value) ? json_string_value(value) : "?");
    }
}

void ui_topo(struct ui *ui, const json_t *reply, unsigned parts, const json_t *free_bytes)
{
    struct ui_node *node = ui_node_new(reply);
    if (node == NULL) {
        ui->failed = true;
        return;
    }
    ui_topo_header(ui, node, reply);
    struct drawing drawing = {.ui = ui, .node = node, .free_bytes = free_bytes};
    if ((parts & UI_TOPO_TREE) != 0) {
        ui_put(ui, "\n");
        ui_table_begin(&drawing.table, ui, "cll");
        if (node->root >= 0)
            draw_children(&drawing, node->root, "", 0);
        ui_table_end(&drawing.table, 0, false);
    }
    if ((parts & UI_TOPO_LINKS) != 0)
        ui_links(ui, node);
    put_disagreements(ui, json_object_get(reply, "disagreements"));
    ui_node_free(node);
}
