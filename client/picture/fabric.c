/* The fabric: GPUs on an ellipse, switches in the middle, lines as wide as they are fast. It stands
 * beside a narrow host, else below it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture/inner.h"

#define GPUS_MOST   16
#define LABELS_MOST 14 /* more lines have their rate in the list of kinds alone */
#define KINDS_MOST  12
#define NODE_W      76.0
#define NODE_H      34.0
#define PI          3.14159265358979323846
#define BESIDE_MOST 1300.0 /* width of a picture with the fabric beside the host */
#define KINDS_W     300.0  /* room for the list of kinds beside the fabric */
#define SQUARE_MOST 4      /* so many GPUs are a square, not stretched */

struct circle {
    int gpu[GPUS_MOST + 1];
    size_t gpus;
    double x, y, across, down; /* middle, and half of each diameter */
    struct picture_box *box;   /* of gpus and switches, by place */
};

struct kind {
    const struct ui_link *first;
    double least, most; /* measured, or of pairs; NAN none */
    size_t count;
};

/* True for a link between gpus, or of one to a switch. */
static bool is_in(const struct ui_node *node, const struct ui_link *link)
{
    enum ui_kind from = node->place[link->from].kind, to = node->place[link->to].kind;
    return (from == UI_GPU || from == UI_SWITCH) && (to == UI_GPU || to == UI_SWITCH);
}

static size_t count_links(const struct ui_node *node)
{
    size_t count = 0;
    for (size_t i = 0; i < node->link_count; i++)
        count += is_in(node, &node->link[i]);
    return count;
}

static struct picture_box centred(double x, double y)
{
    return (struct picture_box){x - NODE_W / 2, y - NODE_H / 2, NODE_W, NODE_H};
}

/* All switches are one box in the middle: each GPU has the same links to each of them. */
static void place_circle(struct picture *picture, struct circle *circle)
{
    double turn = 2 * PI / (double)circle->gpus;
    for (size_t i = 0; i < circle->gpus; i++) {
        double angle = -PI / 2 - turn / 2 + turn * (double)i;
        circle->box[circle->gpu[i]] =
            centred(circle->x + circle->across * cos(angle), circle->y + circle->down * sin(angle));
    }
    for (size_t i = 0; i < picture->node->place_count; i++)
        if (picture->node->place[i].kind == UI_SWITCH)
            circle->box[i] = centred(circle->x, circle->y);
}

static double middle_x(const struct picture_box *box) { return box->x + box->width / 2; }
static double middle_y(const struct picture_box *box) { return box->y + box->height / 2; }

static void draw_link(struct picture *picture, const struct circle *circle,
                      const struct ui_link *link)
{
    const struct picture_box *a = &circle->box[link->from], *b = &circle->box[link->to];
    char rate[PICTURE_RATE];
    ui_put(picture->out,
           "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
           "stroke-width=\"%.1f\" stroke-opacity=\".75\"%s><title>",
           middle_x(a), middle_y(a), middle_x(b), middle_y(b), picture_colour(link->kind),
           picture_width(picture, picture_rate(link)),
           strcmp(link->state, "down") == 0 ? " stroke-dasharray=\"6 5\"" : "");
    picture_text(picture->out, picture->node->place[link->from].name);
    ui_put(picture->out, " to ");
    picture_text(picture->out, picture->node->place[link->to].name);
    ui_put(picture->out, ": ");
    picture_text(picture->out, picture_rate_text(link, rate));
    ui_put(picture->out, ", ");
    picture_text(picture->out, link->state);
    ui_put(picture->out, "</title></line>\n");
}

/* In the middle of a line, or nearer to one end where lines cross. */
static void draw_rate(struct picture *picture, const struct circle *circle,
                      const struct ui_link *link)
{
    const struct picture_box *a = &circle->box[link->from], *b = &circle->box[link->to];
    double x = (middle_x(a) + middle_x(b)) / 2, y = (middle_y(a) + middle_y(b)) / 2;
    double slow = ui_link_slow_rate(picture->node, link);
    char text[PICTURE_RATE];
    if (hypot((x - circle->x) / circle->across, (y - circle->y) / circle->down) < 1.0 / 3) {
        x = middle_x(a) * 0.68 + middle_x(b) * 0.32;
        y = middle_y(a) * 0.68 + middle_y(b) * 0.32;
    }
    if (isnan(picture_rate(link)))
        return;
    ui_rate(text, isnan(slow) ? picture_rate(link) : slow);
    text[strcspn(text, " ")] = '\0'; /* the list of kinds has the unit */
    struct picture_box tag = {x - 15, y - 8, 30, 14};
    picture_draw_box(picture, &tag, isnan(slow) ? "tag" : "slow", "");
    picture_label(picture, x, y + 3, 0, PICTURE_MIDDLE, "s", text);
}

static void draw_switches(struct picture *picture, const struct circle *circle, size_t count)
{
    struct picture_box box = centred(circle->x, circle->y);
    struct ui names = {.utf8 = true};
    char text[32];
    for (size_t i = 0; i < picture->node->place_count; i++) {
        if (picture->node->place[i].kind != UI_SWITCH)
            continue;
        ui_put(&names, "%s", names.length > 0 ? ", " : "");
        ui_text(&names, picture->node->place[i].name);
    }
    snprintf(text, sizeof text, "%zu switch%s", count, count == 1 ? "" : "es");
    picture_draw_box(picture, &box, "switch", names.text == NULL ? "" : names.text);
    picture_label(picture, circle->x, circle->y + 4, NODE_W - 4, PICTURE_MIDDLE, "b", text);
    picture->out->failed = picture->out->failed || names.failed;
    ui_done(&names);
}

static void draw_nodes(struct picture *picture, const struct circle *circle)
{
    size_t switches = 0;
    for (size_t i = 0; i < picture->node->place_count; i++) {
        const struct ui_place *place = &picture->node->place[i];
        const struct picture_box *box = &circle->box[i];
        int task = place->kind == UI_GPU ? picture_task_of(picture, (int)i) : -1;
        char class[24], text[64];
        switches += place->kind == UI_SWITCH;
        if (box->width <= 0 || place->kind == UI_SWITCH)
            continue;
        snprintf(class, sizeof class, task >= 0 ? "gpu r%d" : "gpu", task % PICTURE_TASKS);
        picture_draw_box(picture, box, class, place->name);
        snprintf(text, sizeof text, "%.24s", place->name);
        picture_label(picture, middle_x(box), middle_y(box) + (task >= 0 ? -2 : 4), NODE_W - 4,
                      PICTURE_MIDDLE, "b", text);
        picture_tasks_text(picture, (int)i, "", text, sizeof text);
        if (task >= 0)
            picture_label(picture, middle_x(box), middle_y(box) + 11, NODE_W - 4, PICTURE_MIDDLE,
                          "s", text);
    }
    if (switches > 0)
        draw_switches(picture, circle, switches);
}

/* ---- kinds of links ---- */

/* The fastest first. */
static int by_rate(const void *a, const void *b)
{
    double one = picture_rate(((const struct kind *)a)->first),
           other = picture_rate(((const struct kind *)b)->first);
    return (one < other) - (one > other);
}

static size_t kinds_of(const struct picture *picture, struct kind *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < picture->node->link_count; i++) {
        const struct ui_link *link = &picture->node->link[i];
        size_t k = 0;
        if (!is_in(picture->node, link))
            continue;
        while (k < count && (strcmp(kind[k].first->kind, link->kind) != 0 ||
                             kind[k].first->width != link->width ||
                             strcmp(kind[k].first->state, link->state) != 0))
            k++;
        if (k == KINDS_MOST)
            continue;
        if (k == count)
            kind[count++] = (struct kind){.first = link, .least = NAN, .most = NAN};
        kind[k].count++;
        double measured = isnan(link->measured) ? link->pair : link->measured;
        kind[k].least = fmin(kind[k].least, measured);
        kind[k].most = fmax(kind[k].most, measured);
    }
    qsort(kind, count, sizeof *kind, by_rate);
    return count;
}

static void draw_kinds(struct picture *picture, double x, double y)
{
    struct kind kind[KINDS_MOST];
    size_t count = kinds_of(picture, kind);
    for (size_t k = 0; k < count; k++) {
        const struct ui_link *link = kind[k].first;
        struct ui line = {.utf8 = true};
        char low[UI_NUMBER], high[UI_NUMBER];
        ui_text(&line, link->kind);
        if (link->width > 0)
            ui_put(&line, " \u00d7%lld", (long long)link->width);
        ui_put(&line, ", %zu link%s", kind[k].count, kind[k].count == 1 ? "" : "s");
        if (!isnan(link->nominal))
            ui_put(&line, ", %s nominal", ui_rate(low, link->nominal));
        if (!isnan(kind[k].least)) {
            ui_rate(low, kind[k].least);
            ui_rate(high, kind[k].most);
            ui_put(&line, ", %s%s%s%s measured", isnan(link->measured) ? "slowest pair " : "", low,
                   strcmp(low, high) == 0 ? "" : " to ", strcmp(low, high) == 0 ? "" : high);
        }
        if (strcmp(link->state, "up") != 0) {
            ui_put(&line, ", ");
            ui_text(&line, link->state);
        }
        ui_put(picture->out,
               "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
               "stroke-width=\"%.1f\"/>\n",
               x, y - 4, x + 34, y - 4, picture_colour(link->kind),
               picture_width(picture, picture_rate(link)));
        picture_label(picture, x + 42, y, 0, PICTURE_LEFT, "", line.text == NULL ? "" : line.text);
        picture->out->failed = picture->out->failed || line.failed;
        picture->right = fmax(picture->right, x + 42 + 6.5 * ui_columns(line.text));
        ui_done(&line);
        y += PICTURE_LINE + 4;
    }
    picture->list_x = x;
    picture->list_y = y;
}

/* Sets the circle right of the host where there is room, else below it, stretched. Returns true for
 * the former. */
static bool set_circle(const struct picture *picture, struct circle *circle)
{
    double radius = circle->gpus <= 2   ? 90
                    : circle->gpus <= 4 ? 110
                    : circle->gpus <= 8 ? 180
                                        : 260,
           beside = picture->right + 3 * PICTURE_GAP, x = PICTURE_GAP, y = PICTURE_TOP,
           room = (picture->right - KINDS_W - NODE_W) / 2;
    bool is_beside = beside + 2 * radius + NODE_W <= BESIDE_MOST;
    circle->across = circle->down = radius;
    if (is_beside) {
        x = beside;
    } else {
        y = picture->bottom + PICTURE_GAP;
        if (circle->gpus > SQUARE_MOST)
            circle->across = fmin(2 * radius, fmax(radius, room));
    }
    circle->x = x + NODE_W / 2 + circle->across;
    circle->y = y + NODE_H + circle->down;
    return is_beside;
}

static void draw_fabric(struct picture *picture, struct circle *circle)
{
    circle->gpus = ui_node_kind(picture->node, UI_GPU, circle->gpu, GPUS_MOST + 1);
    size_t links = count_links(picture->node);
    if (circle->gpus < 2 || circle->gpus > GPUS_MOST || links == 0)
        return;
    bool is_beside = set_circle(picture, circle);
    double left = circle->x - circle->across - NODE_W / 2,
           right = circle->x + circle->across + NODE_W / 2, top = circle->y - circle->down - NODE_H,
           bottom = circle->y + circle->down + NODE_H;
    place_circle(picture, circle);
    for (size_t i = 0; i < picture->node->link_count; i++)
        if (is_in(picture->node, &picture->node->link[i]))
            draw_link(picture, circle, &picture->node->link[i]);
    for (size_t i = 0; i < picture->node->link_count && links <= LABELS_MOST; i++)
        if (is_in(picture->node, &picture->node->link[i]))
            draw_rate(picture, circle, &picture->node->link[i]);
    draw_nodes(picture, circle);
    picture->right = fmax(picture->right, right);
    if (is_beside)
        draw_kinds(picture, left, bottom + PICTURE_GAP);
    else
        draw_kinds(picture, right + 3 * PICTURE_GAP, top + 3 * PICTURE_GAP);
    picture->bottom = fmax(picture->bottom, is_beside ? picture->list_y : bottom);
}

void picture_fabric(struct picture *picture)
{
    struct circle circle = {.box = calloc(picture->node->place_count + 1, sizeof *circle.box)};
    picture->out->failed = picture->out->failed || circle.box == NULL;
    if (circle.box != NULL)
        draw_fabric(picture, &circle);
    free(circle.box);
}
