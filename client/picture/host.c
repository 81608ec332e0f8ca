/* The host: packages, NUMA nodes, L3s with cores, and the devices attached to them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "picture/inner.h"
#include "ui/answer.h"
#include "ui/topo.h"

#define CORE        11.0
#define CORE_STEP   13.0
#define CACHE_LEAST 122.0
#define DEVICE_W    122.0
#define DEVICE_H    46.0
#define SMALL_W     52.0 /* where a node has many gpus: the name alone */
#define SMALL_H     20.0
#define MANY_GPUS   16
#define LINK_H      26.0 /* between an L3 and the devices below it */
#define TITLE_H     20.0
#define ROW_MOST    1100.0 /* packages beyond go below */
#define IN_ROW      4
#define CHILDREN    UI_CPUS_MAX

/* ---- places ---- */

static size_t children_of(const struct picture *picture, int parent, enum ui_kind kind, int *child)
{
    size_t count = 0;
    for (size_t i = 0; i < picture->node->place_count && count < CHILDREN; i++)
        if (picture->node->place[i].kind == kind && picture->node->place[i].parent == parent)
            child[count++] = (int)i;
    return count;
}

static bool is_in_cache(const struct picture *picture, int device, int cache)
{
    const char *name = ui_device_cache(picture->node, device);
    return cache < 0 ? name == NULL
                     : name != NULL && strcmp(name, picture->node->place[cache].name) == 0;
}

/* Devices of a NUMA node, gpus first, attached to that L3 (-1: to none of several). */
static size_t devices_of(const struct picture *picture, int numa, int cache, int *device)
{
    size_t count = 0;
    for (int kind = UI_GPU; kind <= UI_NIC; kind++)
        for (size_t i = 0; i < picture->node->place_count && count < CHILDREN; i++)
            if (picture->node->place[i].kind == (enum ui_kind)kind &&
                ui_place_around(picture->node, (int)i, UI_NUMA) == numa &&
                is_in_cache(picture, (int)i, cache))
                device[count++] = (int)i;
    return count;
}

static bool has_many(const struct picture *picture)
{
    int gpu[MANY_GPUS + 1];
    return ui_node_kind(picture->node, UI_GPU, gpu, MANY_GPUS + 1) > MANY_GPUS;
}

/* ---- layout: each function places a part with its corner at x and y ---- */

static size_t core_columns(size_t cores)
{
    return cores <= 8 ? 4 : cores <= 32 ? 8 : cores <= 72 ? 12 : 16;
}

/* Cores of an L3 or, without one, of a NUMA node. */
static struct picture_box place_cores(struct picture *picture, int parent, double x, double y)
{
    int core[CHILDREN];
    size_t count = children_of(picture, parent, UI_CORE, core), columns = core_columns(count),
           rows = (count + columns - 1) / columns;
    for (size_t i = 0; i < count; i++) {
        size_t row = i / columns;
        picture->box[core[i]] =
            (struct picture_box){x + PICTURE_GAP + CORE_STEP * (double)(i % columns),
                                 y + TITLE_H + CORE_STEP * (double)row, CORE, CORE};
    }
    return (struct picture_box){
        x, y, fmax(CACHE_LEAST, CORE_STEP * (double)columns + 2 * PICTURE_GAP - 2),
        TITLE_H + CORE_STEP * (double)rows + 6};
}

/* Devices in rows; returns the part that they take. */
static struct picture_box place_devices(struct picture *picture, const int *device, size_t count,
                                        size_t in_row, double x, double y)
{
    double width = has_many(picture) ? SMALL_W : DEVICE_W,
           height = has_many(picture) ? SMALL_H : DEVICE_H;
    for (size_t i = 0; i < count; i++) {
        size_t row = i / in_row;
        picture->box[device[i]] =
            (struct picture_box){x + (width + PICTURE_GAP) * (double)(i % in_row),
                                 y + (height + PICTURE_GAP) * (double)row, width, height};
    }
    size_t columns = count < in_row ? count : in_row, rows = (count + in_row - 1) / in_row;
    return (struct picture_box){x, y, (width + PICTURE_GAP) * (double)columns - PICTURE_GAP,
                                (height + PICTURE_GAP) * (double)rows};
}

/* An L3 with the devices attached to it. */
static struct picture_box place_cache(struct picture *picture, int numa, int cache, double x,
                                      double y)
{
    int device[CHILDREN];
    size_t count = devices_of(picture, numa, cache, device);
    struct picture_box box = place_cores(picture, cache, x, y), below = {0};
    picture->box[cache] = box;
    if (count > 0)
        below = place_devices(picture, device, count, 1, x, y + box.height + LINK_H);
    picture->box[cache].width = fmax(box.width, below.width);
    return (struct picture_box){x, y, picture->box[cache].width,
                                box.height + (count > 0 ? LINK_H + below.height : 0)};
}

static struct picture_box place_numa(struct picture *picture, int numa, double x, double y)
{
    int cache[CHILDREN], device[CHILDREN];
    size_t caches = children_of(picture, numa, UI_LLC, cache),
           devices = devices_of(picture, numa, -1, device);
    double left = x + PICTURE_GAP, at_x = left, at_y = y + TITLE_H, row = 0, right = left;
    for (size_t i = 0; i < caches; i++) {
        if (i > 0 && i % IN_ROW == 0) {
            at_x = left;
            at_y += row + PICTURE_GAP;
            row = 0;
        }
        struct picture_box box = place_cache(picture, numa, cache[i], at_x, at_y);
        at_x += box.width + PICTURE_GAP;
        row = fmax(row, box.height);
        right = fmax(right, at_x);
    }
    if (caches == 0) {
        struct picture_box box = place_cores(picture, numa, left, at_y);
        row = box.height;
        right = left + box.width + PICTURE_GAP;
    }
    at_y += row + PICTURE_GAP;
    if (devices > 0) {
        struct picture_box box = place_devices(picture, device, devices,
                                               has_many(picture) ? 8 : IN_ROW, left, at_y + LINK_H);
        at_y += LINK_H + box.height;
        right = fmax(right, left + box.width + PICTURE_GAP);
    }
    picture->box[numa] = (struct picture_box){x, y, right - x, at_y - y};
    return picture->box[numa];
}

/* NUMA nodes of a package, or those of none (-1), with a frame around. A gpu's memory is in its own
 * box. */
static struct picture_box place_package(struct picture *picture, int package, double x, double y)
{
    double at_x = x + PICTURE_GAP, at_y = y + TITLE_H, row = 0, right = x;
    size_t count = 0;
    for (size_t i = 0; i < picture->node->place_count; i++) {
        if (picture->node->place[i].kind != UI_NUMA ||
            ui_place_around(picture->node, (int)i, UI_PACKAGE) != package ||
            ui_place_owner(picture->node, (int)i) != NULL)
            continue;
        if (count > 0 && count % IN_ROW == 0) {
            at_x = x + PICTURE_GAP;
            at_y += row + PICTURE_GAP;
            row = 0;
        }
        struct picture_box box = place_numa(picture, (int)i, at_x, at_y);
        at_x += box.width + PICTURE_GAP;
        row = fmax(row, box.height);
        right = fmax(right, at_x);
        count++;
    }
    return (struct picture_box){x, y, right - x, count > 0 ? at_y + row + PICTURE_GAP - y : 0};
}

void picture_place_host(struct picture *picture, double y)
{
    double x = PICTURE_GAP, row = 0;
    int device[CHILDREN];
    for (int package = -1; package < (int)picture->node->place_count; package++) {
        if (package >= 0 && picture->node->place[package].kind != UI_PACKAGE)
            continue;
        struct picture_box box = place_package(picture, package, x, y);
        if (x > PICTURE_GAP && box.height > 0 && x + box.width > ROW_MOST) {
            x = PICTURE_GAP;
            y += row + 2 * PICTURE_GAP;
            row = 0;
            box = place_package(picture, package, x, y);
        }
        if (box.height <= 0)
            continue;
        if (package >= 0)
            picture->box[package] = box;
        x += box.width + 3 * PICTURE_GAP;
        row = fmax(row, box.height);
        picture->right = fmax(picture->right, box.x + box.width);
    }
    picture->bottom = y + row;
    size_t count = 0; /* devices at no NUMA node that is drawn */
    for (size_t i = 0; i < picture->node->place_count && count < CHILDREN; i++) {
        enum ui_kind kind = picture->node->place[i].kind;
        if ((kind == UI_GPU || kind == UI_NIC) && picture->box[i].width <= 0)
            device[count++] = (int)i;
    }
    if (count == 0)
        return;
    struct picture_box box =
        place_devices(picture, device, count, 8, PICTURE_GAP, picture->bottom + 2 * PICTURE_GAP);
    picture->right = fmax(picture->right, box.x + box.width);
    picture->bottom = box.y + box.height;
}

/* ---- drawing ---- */

static void draw_core(struct picture *picture, int core)
{
    const struct picture_box *box = &picture->box[core];
    int task = picture_task_of(picture, core);
    char class[16] = "core";
    if (task >= 0)
        snprintf(class, sizeof class, "t%d", task % PICTURE_TASKS);
    ui_put(picture->out,
           "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"2\" class=\"%s\"/>\n",
           box->x, box->y, box->width, box->height, class);
}

static void draw_device(struct picture *picture, int device)
{
    const struct ui_place *place = &picture->node->place[device];
    const struct picture_box *box = &picture->box[device];
    const char *interface = ui_place_detail(place, "interface"), *model = ui_place_model(place);
    int task = picture_task_of(picture, device);
    double x = box->x + box->width / 2, width = box->width - 6;
    char class[24], text[UI_NUMBER + 32], tasks[UI_NUMBER + 16], bytes[UI_NUMBER];
    snprintf(class, sizeof class, "%s", place->kind == UI_GPU ? "gpu" : "nic");
    if (task >= 0)
        snprintf(class, sizeof class, "%s r%d", place->kind == UI_GPU ? "gpu" : "nic",
                 task % PICTURE_TASKS);
    picture_draw_box(picture, box, class, place->pci != NULL ? place->pci : "");
    picture_tasks_text(picture, device, ", ", tasks, sizeof tasks);
    snprintf(text, sizeof text, "%.16s%s", place->name, tasks);
    picture_label(picture, x, box->y + 14, width, PICTURE_MIDDLE, "b", text);
    if (box->height < DEVICE_H)
        return;
    if (place->kind == UI_GPU && model != NULL)
        picture_label(picture, x, box->y + 27, width, PICTURE_MIDDLE, "s", model);
    if (place->kind == UI_NIC && interface != NULL)
        picture_label(picture, x, box->y + 27, width, PICTURE_MIDDLE, "s", interface);
    if (place->capacity_bytes > 0)
        picture_label(picture, x, box->y + 40, width, PICTURE_MIDDLE, "s",
                      ui_bytes(bytes, place->capacity_bytes));
}

/* The link of a device to the cores: a line up to the box above it. */
static void draw_host_link(struct picture *picture, const struct ui_link *link)
{
    const struct ui_node *node = picture->node;
    enum ui_kind from = node->place[link->from].kind;
    bool is_device = from == UI_GPU || from == UI_NIC;
    int device = is_device ? link->from : link->to, host = is_device ? link->to : link->from;
    const struct picture_box *box = &picture->box[device];
    char text[PICTURE_RATE];
    if ((node->place[device].kind != UI_GPU && node->place[device].kind != UI_NIC) ||
        node->place[host].kind > UI_LLC || box->width <= 0 || strcmp(link->kind, "membus") == 0 ||
        isnan(picture_rate(link)) || has_many(picture))
        return;
    double x = box->x + box->width * 0.2;
    if (ui_device_cache(node, device) == NULL &&
        node->place[device].kind == UI_GPU) /* below the node as a whole */
        ui_put(picture->out,
               "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#7f9fc4\" "
               "stroke-width=\"3\"/>\n",
               box->x, box->y - LINK_H, box->x + box->width, box->y - LINK_H);
    ui_put(picture->out,
           "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
           "stroke-width=\"%.1f\"/>\n",
           x, box->y - (node->place[device].kind == UI_GPU ? LINK_H : PICTURE_GAP), x, box->y,
           picture_colour(link->kind), picture_width(picture, picture_rate(link)));
    double slow = ui_link_slow_rate(node, link);
    picture_rate_text(link, text);
    if (slow < link->measured) {
        ui_rate(text, slow);
        strcat(text, " by engine");
    }
    if (node->place[device].kind == UI_GPU && !isnan(slow)) {
        struct picture_box tag = {x + 7, box->y - 18, PICTURE_LETTER * ui_columns(text), 14};
        picture_draw_box(picture, &tag, "slow", "");
    }
    if (node->place[device].kind == UI_GPU)
        picture_label(picture, x + 10, box->y - 8, 0, PICTURE_LEFT, "s", text);
}

static void draw_module(struct picture *picture, int module)
{
    double left = INFINITY, right = 0, top = INFINITY, bottom = 0;
    for (size_t i = 0; i < picture->node->place_count; i++) {
        const struct picture_box *box = &picture->box[i];
        if (picture->node->place[i].kind != UI_GPU || picture->node->place[i].parent != module ||
            box->width <= 0)
            continue;
        left = fmin(left, box->x);
        right = fmax(right, box->x + box->width);
        top = fmin(top, box->y);
        bottom = fmax(bottom, box->y + box->height);
    }
    if (!(right > left))
        return;
    struct picture_box box = {left - 4, top - 4, right - left + 8, bottom - top + 8};
    picture_draw_box(picture, &box, "module", picture->node->place[module].name);
}

static void draw_numa(struct picture *picture, int numa)
{
    const struct ui_place *place = &picture->node->place[numa];
    const struct picture_box *box = &picture->box[numa];
    char text[96], bytes[UI_NUMBER];
    if (place->capacity_bytes > 0)
        snprintf(text, sizeof text, "%.32s  %s", place->name,
                 ui_bytes(bytes, place->capacity_bytes));
    else
        snprintf(text, sizeof text, "%.32s", place->name);
    picture_draw_box(picture, box, "numa", place->cpu_list != NULL ? place->cpu_list : "");
    picture_label(picture, box->x + PICTURE_GAP, box->y + 14, box->width - 2 * PICTURE_GAP,
                  PICTURE_LEFT, "b", text);
}

static void draw_cache(struct picture *picture, int cache)
{
    const struct ui_place *place = &picture->node->place[cache];
    const struct picture_box *box = &picture->box[cache];
    char text[96], bytes[UI_NUMBER];
    snprintf(text, sizeof text, "L3 %.24s%s%s", place->name, place->capacity_bytes > 0 ? "  " : "",
             place->capacity_bytes > 0 ? ui_bytes(bytes, place->capacity_bytes) : "");
    picture_draw_box(picture, box, "llc", place->cpu_list != NULL ? place->cpu_list : "");
    picture_label(picture, box->x + 8, box->y + 13, box->width - 12, PICTURE_LEFT, "", text);
}

static void draw_kind(struct picture *picture, enum ui_kind kind)
{
    for (size_t i = 0; i < picture->node->place_count; i++) {
        const struct ui_place *place = &picture->node->place[i];
        if (place->kind != kind || (picture->box[i].width <= 0 && kind != UI_MODULE))
            continue;
        if (kind == UI_PACKAGE) {
            picture_draw_box(picture, &picture->box[i], "package", place->name);
            picture_label(picture, picture->box[i].x + PICTURE_GAP, picture->box[i].y + 14,
                          picture->box[i].width - PICTURE_GAP, PICTURE_LEFT, "",
                          place->model != NULL ? place->model : place->name);
        } else if (kind == UI_NUMA) {
            draw_numa(picture, (int)i);
        } else if (kind == UI_LLC) {
            draw_cache(picture, (int)i);
        } else if (kind == UI_CORE) {
            draw_core(picture, (int)i);
        } else if (kind == UI_MODULE) {
            draw_module(picture, (int)i);
        } else {
            draw_device(picture, (int)i);
        }
    }
}

void picture_draw_host(struct picture *picture)
{
    static const enum ui_kind before[] = {UI_PACKAGE, UI_NUMA, UI_LLC, UI_CORE, UI_MODULE},
                              after[] = {UI_GPU, UI_NIC};
    for (size_t k = 0; k < sizeof before / sizeof before[0]; k++)
        draw_kind(picture, before[k]);
    for (size_t i = 0; i < picture->node->link_count; i++)
        draw_host_link(picture, &picture->node->link[i]);
    for (size_t k = 0; k < sizeof after / sizeof after[0]; k++)
        draw_kind(picture, after[k]);
}
