/* Links. Links between gpus go into a square table: a letter for the kind and a number for the
 * width. X4 means four xGMI links. Each group of equal links (kind, width, nominal rate, state)
 * then has a line with its properties and measurements. */
#include "ui/topo.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS_MOST    32 /* gpus in the table */
#define PAIRS_SHOWN  3  /* pairs of one kind by name in a group's line, of links that are up */
#define BROKEN_SHOWN 6  /* and of others */
#define ENDS_SHOWN   2  /* others by name */
#define GROUPS_MOST  40 /* most lines */
#define COLUMNS_MOST 20 /* columns of gpus and nics together */

struct group {
    const struct ui_link *first;
    double least, most; /* measured, or of pairs; NAN none */
    size_t count;
    bool in_table;
};

static bool is_gpu_pair(const struct ui_node *node, const struct ui_link *link)
{
    return node->place[link->from].kind == UI_GPU && node->place[link->to].kind == UI_GPU;
}

static bool is_up(const struct ui_link *link)
{
    return strcmp(link->state, "up") == 0 || strcmp(link->state, "unknown") == 0;
}

/* Fastest link of a device to the cpu side, without its memory bus, which leads to its own memory.
 */
static const struct ui_link *host_link(const struct ui_node *node, int place)
{
    const struct ui_link *best = NULL;
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        int other = link->from == place ? link->to : link->to == place ? link->from : -1;
        if (other < 0 || node->place[other].kind > UI_LLC || strcmp(link->kind, "membus") == 0)
            continue;
        if (best == NULL || link->nominal > best->nominal || isnan(best->nominal))
            best = link;
    }
    return best;
}

/* NUMA node whose cores share one memory with this gpu (an APU); NULL none. */
static const char *memory_shared_with(const struct ui_node *node, int gpu)
{
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        int other = link->from == gpu ? link->to : link->to == gpu ? link->from : -1;
        if (other >= 0 && strcmp(link->kind, "membus") == 0 && node->place[gpu].kind == UI_GPU &&
            node->place[other].cpus != NULL)
            return node->place[other].name;
    }
    return NULL;
}

void ui_host_link(const struct ui *ui, const struct ui_node *node, int place, char *text,
                  size_t size)
{
    const struct ui_link *link = host_link(node, place);
    const char *memory = link == NULL ? memory_shared_with(node, place) : NULL;
    text[0] = '\0';
    if (memory != NULL)
        snprintf(text, size, "one memory with %.12s", memory);
    if (link == NULL ||
        (link->width <= 0 && isnan(link->nominal) && isnan(link->measured) && is_up(link)))
        return;
    char rate[UI_NUMBER] = "", width[16] = "", slow[40] = "", slow_rate[UI_NUMBER];
    double slowly = ui_link_slow_rate(node, link);
    if (!isnan(slowly))
        snprintf(slow, sizeof slow, ", SLOW%s%s", slowly < link->measured ? " by engine: " : "",
                 slowly < link->measured ? ui_rate(slow_rate, slowly) : "");
    if (link->width > 0)
        snprintf(width, sizeof width, " %s%d", ui->utf8 ? "\u00d7" : "x", (int)link->width);
    if (!isnan(link->measured) || !isnan(link->nominal))
        ui_rate(rate, isnan(link->measured) ? link->nominal : link->measured);
    snprintf(text, size, "%.12s%s%s%s%s%s", link->kind, width, *rate == '\0' ? "" : " ", rate,
             slow[0] != '\0'                                  ? slow
             : !isnan(link->measured) || isnan(link->nominal) ? ""
                                                              : " nominal",
             is_up(link)                        ? ""
             : strcmp(link->state, "down") == 0 ? " DOWN"
                                                : " DEGRADED");
}

static void put_symbol(const struct ui_link *link, char *symbol, size_t size)
{
    char width[12] = "";
    if (link->width > 0 && link->width < 1000)
        snprintf(width, sizeof width, "%d", (int)link->width);
    snprintf(symbol, size, "%c%s%s", toupper((unsigned char)link->kind[0]), width,
             is_up(link) ? "" : "!");
}

static const struct ui_link *direct(const struct ui_node *node, int a, int b)
{
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        if ((link->from == a && link->to == b) || (link->from == b && link->to == a))
            return link;
    }
    return NULL;
}

/* Widths of a gpu's links to each switch, by place; 0 for all others. */
static void widths_to_switches(const struct ui_node *node, int gpu, int64_t *width)
{
    memset(width, 0, node->place_count * sizeof *width);
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        int other = link->from == gpu ? link->to : link->to == gpu ? link->from : -1;
        if (other >= 0 && node->place[other].kind == UI_SWITCH)
            width[other] += link->width > 0 ? link->width : 1;
    }
}

/* Width, in links, of the paths between two gpus through switches. */
static int64_t through_switches(const struct ui_node *node, const int64_t *width_of_a, int b)
{
    int64_t width = 0;
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        int hub = link->from == b ? link->to : link->to == b ? link->from : -1;
        if (hub >= 0 && width_of_a[hub] > 0)
            width +=
                link->width > 0 && link->width < width_of_a[hub] ? link->width : width_of_a[hub];
    }
    return width < 999 ? width : 999;
}

enum { SEEN_NONE = 1, SEEN_SWITCH = 2, SEEN_BROKEN = 4, SEEN_CACHE = 8, SEEN_NUMA = 16 };

/* Writes one cell; returns the special sign that it used. */
static unsigned put_cell(const struct ui_node *node, int a, const int64_t *width_of_a, int b,
                         bool utf8, char *symbol, size_t size)
{
    const struct ui_link *link = a == b ? NULL : direct(node, a, b);
    if (a == b) {
        snprintf(symbol, size, "%s", utf8 ? "\u00b7" : "-");
        return 0;
    }
    if (link != NULL) {
        put_symbol(link, symbol, size);
        return is_up(link) ? 0 : SEEN_BROKEN;
    }
    int64_t width = through_switches(node, width_of_a, b);
    if (width > 0) {
        snprintf(symbol, size, "S%d", (int)width);
        return SEEN_SWITCH;
    }
    snprintf(symbol, size, ".");
    return SEEN_NONE;
}

/* True for the only L3 of its NUMA node: being at it says no more than the node. */
static bool is_whole(const struct ui_node *node, const char *cpus)
{
    for (size_t i = 0; i < node->place_count; i++)
        if (node->place[i].kind == UI_NUMA && node->place[i].cpu_list != NULL &&
            strcmp(node->place[i].cpu_list, cpus) == 0)
            return true;
    return false;
}

/* The L3 whose cpus are just those of a device; -1 none. */
static int cache_of(const struct ui_node *node, int device)
{
    const char *cpus = node->place[device].cpu_list;
    for (size_t i = 0; cpus != NULL && !is_whole(node, cpus) && i < node->place_count; i++)
        if (node->place[i].kind == UI_LLC && node->place[i].cpu_list != NULL &&
            strcmp(node->place[i].cpu_list, cpus) == 0)
            return (int)i;
    return -1;
}

const char *ui_device_cache(const struct ui_node *node, int device)
{
    int cache = cache_of(node, device);
    return cache >= 0 ? node->place[cache].name : NULL;
}

/* Sign of the nearest place that a gpu and a nic have in common. */
static char nearness(const struct ui_node *node, int gpu, int nic)
{
    if (cache_of(node, gpu) >= 0 && cache_of(node, gpu) == cache_of(node, nic))
        return 'L';
    if (ui_place_around(node, gpu, UI_NUMA) >= 0)
        return ui_place_around(node, gpu, UI_NUMA) == ui_place_around(node, nic, UI_NUMA) ? 'N'
                                                                                          : '.';
    return '.';
}

struct square {
    int gpu[GPUS_MOST], nic[GPUS_MOST];
    size_t gpus, nics;
    bool has_caches, has_numas, has_cpus;
};

/* List of the cpus nearest to a gpu: its own, else its NUMA node's; NULL unknown. */
static const char *cpus_near(const struct ui_node *node, int gpu)
{
    int numa = ui_place_around(node, gpu, UI_NUMA);
    const char *cpus = node->place[gpu].cpu_list;
    return cpus != NULL || numa < 0 ? cpus : node->place[numa].cpu_list;
}

static struct square square_of(const struct ui_node *node, const int *gpu, size_t gpus)
{
    struct square square = {.gpus = gpus};
    int nic[GPUS_MOST + 1];
    size_t nics = ui_node_kind(node, UI_NIC, nic, GPUS_MOST + 1);
    memcpy(square.gpu, gpu, gpus * sizeof *gpu);
    for (size_t i = 0; i < gpus; i++) {
        square.has_caches = square.has_caches || cache_of(node, gpu[i]) >= 0;
        square.has_numas = square.has_numas || ui_place_around(node, gpu[i], UI_NUMA) >= 0;
        square.has_cpus = square.has_cpus || cpus_near(node, gpu[i]) != NULL;
    }
    /* only where there is room for a column of each, and where something tells them apart */
    if (gpus + nics <= COLUMNS_MOST && (square.has_caches || square.has_numas)) {
        memcpy(square.nic, nic, nics * sizeof *nic);
        square.nics = nics;
    }
    return square;
}

static void put_header(struct ui_table *table, const struct ui_node *node,
                       const struct square *square)
{
    bool is_narrow = square->gpus + square->nics > 8;
    ui_cell(table, "%s", "");
    for (size_t i = 0; i < square->gpus; i++)
        ui_cell(table, is_narrow ? "%d" : "gpu%d", node->place[square->gpu[i]].number);
    for (size_t i = 0; i < square->nics; i++)
        ui_cell(table, "%s", node->place[square->nic[i]].name);
    if (square->has_caches)
        ui_cell(table, "L3");
    if (square->has_numas)
        ui_cell(table, "numa");
    if (square->has_cpus)
        ui_cell(table, "cpus");
}

static unsigned put_row(struct ui_table *table, const struct ui_node *node,
                        const struct square *square, int gpu, const int64_t *width)
{
    unsigned seen = 0;
    int numa = ui_place_around(node, gpu, UI_NUMA);
    ui_cell(table, "%s", node->place[gpu].name);
    for (size_t j = 0; j < square->gpus; j++) {
        char symbol[16];
        seen |= put_cell(node, gpu, width, square->gpu[j], table->ui->utf8, symbol, sizeof symbol);
        ui_cell(table, "%s", symbol);
    }
    for (size_t j = 0; j < square->nics; j++) {
        char common = nearness(node, gpu, square->nic[j]);
        seen |= common == 'L' ? SEEN_CACHE : common == 'N' ? SEEN_NUMA : SEEN_NONE;
        ui_cell(table, "%c", common);
    }
    if (square->has_caches)
        ui_cell(table, "%s", cache_of(node, gpu) < 0 ? "-" : ui_device_cache(node, gpu));
    if (square->has_numas)
        ui_cell(table, "%s", numa < 0 ? "-" : node->place[numa].name);
    if (square->has_cpus)
        ui_cell(table, "%s", cpus_near(node, gpu) == NULL ? "-" : cpus_near(node, gpu));
    return seen;
}

/* The signs of the table in a line. */
static void put_signs(struct ui *ui, unsigned seen, bool has_nics)
{
    static const struct {
        unsigned sign;
        const char *text;
    } signs[] = {{SEEN_SWITCH, "S through switches, that many links wide"},
                 {SEEN_CACHE, "L at one L3"},
                 {SEEN_NUMA, "N at one NUMA node"},
                 {SEEN_NONE, ". no direct link"},
                 {SEEN_BROKEN, "! down or degraded"}};
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    if (seen == 0)
        return;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if ((seen & signs[i].sign) != 0)
            ui_put(&line, "%s%s%s", line.length > 0 ? "; " : "", signs[i].text,
                   signs[i].sign == SEEN_NONE && has_nics ? ", or not at one NUMA node" : "");
    ui_put(ui, "  ");
    ui_paragraph(ui, 4, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

static void put_square(struct ui *ui, const struct ui_node *node, const int *gpu, size_t count)
{
    struct square square = square_of(node, gpu, count);
    char align[2 * GPUS_MOST + 5] = "l";
    memset(align + 1, 'r', square.gpus + square.nics);
    memset(align + 1 + square.gpus + square.nics, 'l', 3);
    align[1 + square.gpus + square.nics + square.has_caches + square.has_numas + square.has_cpus] =
        '\0';
    struct ui_table table;
    unsigned seen = 0;
    ui_table_begin(&table, ui, align);
    put_header(&table, node, &square);
    int64_t *width = calloc(node->place_count, sizeof *width);
    ui->failed = ui->failed || width == NULL;
    for (size_t i = 0; width != NULL && i < count; i++) {
        widths_to_switches(node, gpu[i], width);
        seen |= put_row(&table, node, &square, gpu[i], width);
    }
    free(width);
    table.gap = square.gpus + square.nics > 8 ? 1 : 2;
    ui_table_end(&table, 2, true);
    put_signs(ui, seen, square.nics > 0);
}

static bool same_group(const struct ui_node *node, const struct ui_link *a, const struct ui_link *b)
{
    bool same_rate = a->nominal == b->nominal || (isnan(a->nominal) && isnan(b->nominal));
    return same_rate && a->width == b->width && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->state, b->state) == 0 && is_gpu_pair(node, a) == is_gpu_pair(node, b) &&
           node->place[a->from].kind == node->place[b->from].kind &&
           node->place[a->to].kind == node->place[b->to].kind;
}

enum { FROM = 1, TO = 2 };

/* Writes "gpu0-7": all places at one end, or at both ends, of a group's links. Both ends then have
 * one kind. */
static void name_ends(const struct ui_node *node, const struct group *group, int ends, char *text,
                      size_t size)
{
    const struct ui_place *first =
        &node->place[ends & FROM ? group->first->from : group->first->to];
    bool *met = calloc(node->place_count + 1, sizeof *met);
    int *index = calloc(node->place_count + 1, sizeof *index);
    text[0] = '\0';
    if (met != NULL && index != NULL) {
        for (size_t i = 0; i < node->link_count; i++) {
            if (!same_group(node, group->first, &node->link[i]))
                continue;
            if (ends & FROM)
                met[node->link[i].from] = true;
            if (ends & TO)
                met[node->link[i].to] = true;
        }
        size_t places = ui_node_kind(node, first->kind, index, node->place_count), count = 0;
        for (size_t i = 0; i < places; i++)
            if (met[index[i]])
                index[count++] = node->place[index[i]].number;
        int used = snprintf(text, size, "%s", first->kind_name);
        if (used > 0 && (size_t)used < size)
            ui_ranges(text + used, size - (size_t)used, index, count);
    }
    free(met);
    free(index);
}

static void put_pairs(struct ui *ui, const struct ui_node *node, const struct group *group)
{
    const char *dash = ui->utf8 ? "\u2013" : "-";
    bool one_kind = node->place[group->first->from].kind == node->place[group->first->to].kind;
    size_t most = is_up(group->first) ? PAIRS_SHOWN : BROKEN_SHOWN;
    if (group->count > (one_kind ? most : ENDS_SHOWN)) {
        char from[128], to[128];
        name_ends(node, group, one_kind ? FROM | TO : FROM, from, sizeof from);
        name_ends(node, group, TO, to, sizeof to);
        if (one_kind)
            ui_put(ui, "%zu links among %s", group->count, from);
        else
            ui_put(ui, "%s to %s", from, to);
        return;
    }
    const char *separator = "";
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        if (!same_group(node, group->first, link))
            continue;
        ui_put(ui, "%s", separator);
        ui_text(ui, node->place[link->from].name);
        ui_put(ui, "%s", dash);
        ui_text(ui, node->place[link->to].name);
        separator = ", ";
    }
}

/* Names the slow links of a group. */
static void put_slow(struct ui *ui, const struct ui_node *node, const struct group *group)
{
    const char *separator = ", SLOW: ";
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        double slow = ui_link_slow_rate(node, link);
        char rate[UI_NUMBER];
        if (!same_group(node, group->first, link) || isnan(slow))
            continue;
        ui_put(ui, "%s", separator);
        ui_text(ui, node->place[link->from].name);
        ui_put(ui, "%s", ui->utf8 ? "\u2013" : "-");
        ui_text(ui, node->place[link->to].name);
        if (slow < link->measured)
            ui_put(ui, " by engine, %s", ui_rate(rate, slow));
        separator = ", ";
    }
}

static void put_group(struct ui_table *table, const struct ui_node *node, const struct group *group)
{
    struct ui *ui = table->ui;
    const struct ui_link *link = group->first;
    const char *by = isnan(link->measured) ? "slowest pair measured" : "measured";
    char symbol[16] = "", nominal[UI_NUMBER], low[UI_NUMBER], high[UI_NUMBER], width[24] = "";
    if (group->in_table)
        put_symbol(link, symbol, sizeof symbol);
    if (link->width > 0)
        snprintf(width, sizeof width, " %s%d", ui->utf8 ? "\u00d7" : "x", (int)link->width);
    ui_cell(table, "%s", symbol);
    ui_cell(table, "%s%s%s%s", link->kind, width, is_up(link) ? "" : " ",
            is_up(link) ? "" : link->state);
    ui_cell(table, "%s",
            !isnan(link->nominal) ? ui_rate(nominal, link->nominal)
            : isnan(group->least) ? "rate unknown"
                                  : "");
    if (isnan(group->least))
        ui_cell(table, "%s", "");
    else if (strcmp(ui_rate(low, group->least), ui_rate(high, group->most)) == 0)
        ui_cell(table, "%s %s", by, low);
    else
        ui_cell(table, "%s %s to %s", by, low, high);
    struct ui pairs = {.utf8 = ui->utf8, .width = ui->width};
    if (group->in_table && is_up(link))
        ui_put(&pairs, "%zu pair%s", group->count, group->count == 1 ? "" : "s");
    else
        put_pairs(&pairs, node, group);
    put_slow(&pairs, node, group);
    ui_cell(table, "%s", pairs.text == NULL ? "" : pairs.text);
    ui->failed = ui->failed || pairs.failed;
    ui_done(&pairs);
}

/* True for a link without a rate beside one with a rate between the same places: the driver of a
 * GH200 shows PCIe beside its C2C. */
static bool is_beside_better(const struct ui_node *node, const struct ui_link *link)
{
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *other = &node->link[i];
        bool is_same = (other->from == link->from && other->to == link->to) ||
                       (other->from == link->to && other->to == link->from);
        if (is_same && (!isnan(other->nominal) || !isnan(other->measured)))
            return isnan(link->nominal) && isnan(link->measured) && link->width <= 0;
    }
    return false;
}

/* True for the link of a device to the cpu side, which its line in the tree has. */
static bool is_in_tree(const struct ui_node *node, const struct ui_link *link)
{
    enum ui_kind from = node->place[link->from].kind, to = node->place[link->to].kind;
    int device = from == UI_GPU || from == UI_NIC ? link->from : link->to;
    const struct ui_link *shown =
        (from == UI_GPU || from == UI_NIC) != (to == UI_GPU || to == UI_NIC)
            ? host_link(node, device)
            : NULL;
    return shown == link;
}

/* False for facts that the tree already shows: the package of a memory, and the memory that a gpu
 * shares with cores; and for a link without a rate beside a better one. */
static bool says_something(const struct ui_node *node, const struct group *group)
{
    const struct ui_link *link = group->first;
    if (is_up(link) && (is_beside_better(node, link) || is_in_tree(node, link)))
        return false;
    if (memory_shared_with(node, link->from) != NULL || memory_shared_with(node, link->to) != NULL)
        return strcmp(link->kind, "membus") != 0;
    return strcmp(group->first->kind, "membus") != 0 || !isnan(group->first->nominal) ||
           !isnan(group->least) || !is_up(group->first);
}

static size_t collect(const struct ui_node *node, bool has_table, struct group *groups)
{
    size_t count = 0;
    for (size_t i = 0; i < node->link_count; i++) {
        const struct ui_link *link = &node->link[i];
        size_t g = 0;
        while (g < count && !same_group(node, groups[g].first, link))
            g++;
        if (g == GROUPS_MOST)
            continue; /* more kinds of links than any machine has */
        if (g == count)
            groups[count++] = (struct group){.first = link,
                                             .least = NAN,
                                             .most = NAN,
                                             .in_table = has_table && is_gpu_pair(node, link)};
        groups[g].count++;
        double measured = isnan(link->measured) ? link->pair : link->measured;
        groups[g].least = fmin(groups[g].least, measured);
        groups[g].most = fmax(groups[g].most, measured);
    }
    return count;
}

void ui_links(struct ui *ui, const struct ui_node *node)
{
    int gpu[GPUS_MOST + 1];
    size_t gpus = ui_node_kind(node, UI_GPU, gpu, GPUS_MOST + 1);
    bool has_table = false;
    for (size_t i = 0; i < node->link_count && gpus >= 2 && gpus <= GPUS_MOST; i++)
        has_table = has_table || is_gpu_pair(node, &node->link[i]) ||
                    (node->place[node->link[i].from].kind == UI_GPU &&
                     node->place[node->link[i].to].kind == UI_SWITCH);
    struct group groups[GROUPS_MOST];
    size_t count = collect(node, has_table, groups);
    bool any = has_table;
    for (size_t g = 0; g < count; g++)
        any = any || says_something(node, &groups[g]);
    if (!any)
        return;
    ui_put(ui, "\n");
    ui_style(ui, UI_BOLD);
    ui_put(ui, "Links");
    ui_style(ui, UI_PLAIN);
    ui_put(ui, " (each way; nominal unless marked)\n");
    if (has_table) {
        put_square(ui, node, gpu, gpus);
    }
    struct ui_table table;
    ui_table_begin(&table, ui, "lllll");
    for (int turn = 0; turn < 2; turn++)
        for (size_t g = 0; g < count; g++)
            if (groups[g].in_table == (turn == 0) && says_something(node, &groups[g]))
                put_group(&table, node, &groups[g]);
    ui_table_end(&table, 2, false);
}
