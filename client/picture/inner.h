/* A picture while it is drawn: picture/picture.c, picture/host.c, picture/fabric.c. */
#pragma once
#include "picture/picture.h"

#define PICTURE_GAP         10.0
#define PICTURE_TOP         32.0 /* where the host begins, below the title */
#define PICTURE_LINE        14.0 /* a line of text */
#define PICTURE_TASKS       16   /* colours of tasks */
#define PICTURE_TASKS_NAMED 256  /* tasks of one place that are named */
#define PICTURE_LETTER      6.3  /* mean width of a letter */

struct picture_box {
    double x, y, width, height; /* width 0: not drawn */
};

struct picture {
    struct ui *out;
    const struct ui_node *node;
    const json_t *plan;      /* NULL none */
    struct picture_box *box; /* by place */
    double right, bottom;    /* of all that is drawn */
    double list_x, list_y;   /* where the next list goes */
    double fastest;          /* rate of the fastest link, bytes per second; 0 unknown */
};

/* picture/host.c: places boxes from y on, then draws them. */
void picture_place_host(struct picture *picture, double y);
void picture_draw_host(struct picture *picture);

/* picture/fabric.c: draws GPUs and their links beside the host or below, and the kinds of links. */
void picture_fabric(struct picture *picture);

/* picture/shapes.c */
/* Colour of a kind of links, static. */
const char *picture_colour(const char *kind);

/* Rate of a link: measured, else of its gpu's slowest pair, else nominal; NAN unknown. */
double picture_rate(const struct ui_link *link);

/* Width of the line of such a rate. */
double picture_width(const struct picture *picture, double bytes_per_s);

/* Writes "152 GB/s", "397 GB/s in the slowest pair" or "200 GB/s nominal"; "" unknown. */
#define PICTURE_RATE (UI_NUMBER + 24)
const char *picture_rate_text(const struct ui_link *link, char text[PICTURE_RATE]);

enum picture_align { PICTURE_LEFT, PICTURE_MIDDLE, PICTURE_RIGHT };

/* Draws a line of text that is cut to the width; 0: never. class: of the style sheet, "" none. */
void picture_label(struct picture *picture, double x, double y, double width,
                   enum picture_align align, const char *class, const char *text);

/* Draws a box with that class and a tip. */
void picture_draw_box(struct picture *picture, const struct picture_box *box, const char *class,
                      const char *tip);

/* The task that has a GPU or a NIC, or one of a core's cpus, or a memory; -1 none. */
int picture_task_of(const struct picture *picture, int place);
/* Writes "task 0", or "tasks 0-3" where several share the place, behind before; "" for none. */
void picture_tasks_text(const struct picture *picture, int place, const char *before, char *text,
                        size_t size);
