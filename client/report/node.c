/* Drawing of the node, in SVG. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"
#include "ui/node.h"

/* Units of the picture: a device, a memory, the gap between them. */
#define BOX      118.0
#define GAP      14.0
#define NUMA_Y   56.0
#define NUMA_H   58.0
#define GPU_Y    190.0
#define GPU_H    52.0
#define WAY_Y    (GPU_Y + GPU_H + 110)
#define SWITCH_H 30.0

struct spot {
    double x, y, width, height; /* width 0: not drawn */
};

struct drawing {
    struct ui *page;
    const struct ui_node *node;
    struct spot *spot; /* spots by place */
    double right;
};

static const char *colour_of(const char *kind)
{
    static const struct {
        const char *kind, *colour;
    } colours[] = {{"xgmi", "#c0392b"}, {"nvlink", "#2e7d32"}, {"c2c", "#6a1b9a"},
                   {"pcie", "#607d8b"}, {"smp", "#1565c0"},    {"network", "#ef6c00"}};
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (strcmp(colours[i].kind, kind) == 0)
            return colours[i].colour;
    return "#9e9e9e";
}

/* Package of a place, -1 none. */
static int package_of(const struct ui_node *node, int place)
{
    for (int up = place, steps = 0; up >= 0 && steps < 64; up = node->place[up].parent, steps++)
        if (node->place[up].kind == UI_PACKAGE)
            return up;
    return -1;
}

static int numa_of(const struct ui_node *node, int place)
{
    const char *name = ui_member(node->place[place].json, "numa");
    for (size_t i = 0; i < node->place_count; i++)
        if (node->place[i].kind == UI_NUMA && strcmp(node->place[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Places the devices next to a NUMA node (-1: next to none) side by side under it. */
static void place_column(struct drawing *drawing, int numa)
{
    double begin = drawing->right;
    for (int pass = 0; pass < 2; pass++) /* gpus, then nics */
        for (size_t i = 0; i < drawing->node->place_count; i++) {
            enum ui_kind kind = drawing->node->place[i].kind;
            if (kind != (pass == 0 ? UI_GPU : UI_NIC) || numa_of(drawing->node, (int)i) != numa)
                continue;
            drawing->spot[i] = (struct spot){drawing->right, GPU_Y, BOX, GPU_H};
            drawing->right += BOX + GAP;
        }
    if (numa >= 0) {
        drawing->right = fmax(drawing->right, begin + BOX + GAP);
        drawing->spot[numa] = (struct spot){begin, NUMA_Y, drawing->right - begin - GAP, NUMA_H};
    }
}

static void place_all(struct drawing *drawing)
{
    const struct ui_node *node = drawing->node;
    for (int package = -1, first = 1; first || package < (int)node->place_count;
         first = 0, package++) {
        if (package >= 0 && node->place[package].kind != UI_PACKAGE)
            continue;
        double begin = drawing->right;
        for (size_t i = 0; i < node->place_count; i++)
            if (node->place[i].kind == UI_NUMA && package_of(node, (int)i) == package)
                place_column(drawing, (int)i);
        if (package >= 0 && drawing->right > begin)
            drawing->spot[package] =
                (struct spot){begin - GAP / 2, 8, drawing->right - begin, GPU_Y + GPU_H + 8};
        drawing->right += drawing->right > begin ? GAP : 0;
    }
    place_column(drawing, -1);
    double at = GAP;
    for (size_t i = 0; i < node->place_count; i++)
        if (node->place[i].kind == UI_SWITCH) {
            drawing->spot[i] = (struct spot){at, WAY_Y, BOX, SWITCH_H};
            at += BOX + GAP;
        }
    double shift = fmax(0, (drawing->right - at) / 2); /* switches in the middle */
    for (size_t i = 0; i < node->place_count; i++)
        if (node->place[i].kind == UI_SWITCH)
            drawing->spot[i].x += shift;
    drawing->right = fmax(drawing->right, at);
}

static void put_line(struct ui *page, double x, double y, const char *text)
{
    ui_put(page, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">", x, y);
    char line[64];
    ui_clean(line, sizeof line, text);
    if (strlen(line) > 22 && (line[20] & 0xc0) != 0x80)
        strcpy(line + 20, "..");
    report_text(page, line);
    ui_put(page, "</text>");
}

static void put_place(struct drawing *drawing, size_t index)
{
    const struct ui_place *place = &drawing->node->place[index];
    const struct spot *spot = &drawing->spot[index];
    struct ui *page = drawing->page;
    const char *fill = place->kind == UI_GPU      ? "#e3f2e1"
                       : place->kind == UI_NIC    ? "#fff1dc"
                       : place->kind == UI_SWITCH ? "#ececec"
                                                  : "#e3edf9";
    double x = spot->x + spot->width / 2, y = spot->y + 15;
    char bytes[UI_NUMBER];
    if (spot->width <= 0)
        return;
    ui_put(page,
           "<g><rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"6\" fill=\"%s\" "
           "stroke=\"%s\"%s/><title>",
           spot->x, spot->y, spot->width, spot->height, place->kind == UI_PACKAGE ? "none" : fill,
           place->kind == UI_PACKAGE ? "#90a4ae" : "#78909c",
           place->kind == UI_PACKAGE ? " stroke-dasharray=\"5 3\"" : "");
    report_text(page, place->name);
    ui_put(page, " ");
    report_text(page, place->model);
    ui_put(page, " ");
    report_text(page, place->cpu_list);
    ui_put(page, "</title>");
    put_line(page, x, y, place->name);
    if (place->model != NULL)
        put_line(page, x, y += 13, place->model);
    const char *interface = ui_place_detail(place, "interface");
    if (place->kind == UI_NIC && interface != NULL)
        put_line(page, x, y += 13, interface);
    if (place->capacity_bytes > 0 && place->kind != UI_PACKAGE)
        put_line(page, x, y += 13, ui_bytes(bytes, place->capacity_bytes));
    if (place->kind == UI_NUMA && place->cores > 0) {
        char cores[48];
        snprintf(cores, sizeof cores, "%zu cores", place->cores);
        put_line(page, x, y + 13, cores);
    }
    ui_put(page, "</g>\n");
}

static void put_path(struct drawing *drawing, const struct ui_link *link)
{
    const struct spot *a = &drawing->spot[link->from], *b = &drawing->spot[link->to];
    double ax = a->x + a->width / 2, bx = b->x + b->width / 2, ay = a->y + a->height, by = b->y;
    if (a->y > b->y) {
        const struct spot *upper = b;
        by = a->y;
        ay = upper->y + upper->height;
        double x = ax;
        ax = bx;
        bx = x;
    }
    if (a->y < b->y || a->y > b->y) {
        double middle = (ay + by) / 2;
        /* a memory spans the devices below it: the line begins above the device */
        double begin =
            ay < GPU_Y ? fmin(fmax(bx, fmin(a->x, b->x)), fmax(a->x + a->width, b->x + b->width))
                       : ax;
        ui_put(drawing->page, "<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"", begin, ay,
               begin, middle, bx, middle, bx, by);
    } else if (a->y < GPU_Y) {
        ui_put(drawing->page, "<path d=\"M%.0f %.0fQ%.0f %.0f %.0f %.0f\"", ax, a->y, (ax + bx) / 2,
               a->y - 22, bx, b->y);
    } else {
        double deep = ay + fmin(140, 26 + fabs(ax - bx) * 0.13);
        ui_put(drawing->page, "<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"", ax, ay, ax,
               deep, bx, deep, bx, ay);
    }
}

/* False for links between packages and from packages to their memories, which the layout shows. */
static bool is_drawn(const struct drawing *drawing, const struct ui_link *link)
{
    return drawing->spot[link->from].width > 0 && drawing->spot[link->to].width > 0 &&
           drawing->node->place[link->from].kind != UI_PACKAGE &&
           drawing->node->place[link->to].kind != UI_PACKAGE;
}

static void put_link(struct drawing *drawing, const struct ui_link *link)
{
    struct ui *page = drawing->page;
    const struct ui_node *node = drawing->node;
    double rate = !isnan(link->measured) ? link->measured : link->nominal;
    char number[UI_NUMBER];
    if (!is_drawn(drawing, link))
        return;
    put_path(drawing, link);
    ui_put(page,
           " fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.8\" stroke-width=\"%.1f\"%s><title>",
           colour_of(link->kind), rate > 1e9 ? fmin(7, 0.8 + 1.3 * log10(rate / 1e9)) : 0.8,
           strcmp(link->state, "down") == 0 ? " stroke-dasharray=\"6 4\"" : "");
    report_text(page, node->place[link->from].name);
    ui_put(page, " to ");
    report_text(page, node->place[link->to].name);
    ui_put(page, ": ");
    report_text(page, link->kind);
    if (link->width > 0)
        ui_put(page, " x%lld", (long long)link->width);
    if (!isnan(link->nominal))
        ui_put(page, ", %s nominal", ui_rate(number, link->nominal));
    if (!isnan(link->measured))
        ui_put(page, ", %s measured", ui_rate(number, link->measured));
    ui_put(page, ", ");
    report_text(page, link->state);
    ui_put(page, "</title></path>\n");
}

static double height_of(const struct drawing *drawing)
{
    double bottom = GPU_Y + GPU_H;
    for (size_t i = 0; i < drawing->node->place_count; i++)
        bottom = fmax(bottom, drawing->spot[i].y + drawing->spot[i].height);
    for (size_t i = 0; i < drawing->node->link_count; i++) {
        const struct spot *a = &drawing->spot[drawing->node->link[i].from],
                          *b = &drawing->spot[drawing->node->link[i].to];
        if (is_drawn(drawing, &drawing->node->link[i]) && a->y >= GPU_Y && a->y <= b->y &&
            a->y >= b->y)
            bottom = fmax(bottom, WAY_Y); /* an arc below the devices */
    }
    return bottom + 40;
}

static void put_legend(struct drawing *drawing, double y)
{
    static const char *const kinds[] = {"xgmi", "nvlink", "c2c",    "pcie",
                                        "smp",  "membus", "network"};
    double x = GAP;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        bool is_any = false;
        for (size_t i = 0; i < drawing->node->link_count; i++)
            is_any = is_any || (is_drawn(drawing, &drawing->node->link[i]) &&
                                strcmp(drawing->node->link[i].kind, kinds[k]) == 0);
        if (!is_any)
            continue;
        ui_put(drawing->page,
               "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.0f\" y2=\"%.0f\" stroke=\"%s\" "
               "stroke-width=\"4\"/><text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
               x, x + 22, y, y, colour_of(kinds[k]), x + 27, y + 4, kinds[k]);
        x += 95;
    }
}

void report_node(struct ui *page, const json_t *reply)
{
    struct ui_node *node = ui_node_new(reply);
    struct drawing drawing = {
        .page = page,
        .node = node,
        .spot = node == NULL ? NULL : calloc(node->place_count + 1, sizeof *drawing.spot),
        .right = GAP};
    if (drawing.spot == NULL) {
        page->failed = true;
        ui_node_free(node);
        return;
    }
    place_all(&drawing);
    double height = height_of(&drawing);
    ui_put(page,
           "<div class=\"scroll\"><svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
           "style=\"min-width:%.0fpx;max-width:100%%\" role=\"img\" aria-label=\"topology\">\n",
           drawing.right, height, drawing.right, fmin(drawing.right, 900));
    for (size_t i = 0; i < node->link_count; i++)
        put_link(&drawing, &node->link[i]);
    for (size_t i = 0; i < node->place_count; i++)
        put_place(&drawing, i);
    put_legend(&drawing, height - 14);
    ui_put(page, "</svg></div>\n");
    free(drawing.spot);
    ui_node_free(node);
}
