/* Shapes of a picture, and what they say: texts, boxes, rates, tasks. */
#include <math.h>
#include <string.h>

#include "picture/inner.h"
#include "ui/answer.h"

#define TEXT_MOST   128
#define WIDTH_MOST  11.0
#define WIDTH_LEAST 1.2

void picture_text(struct ui *out, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    struct ui clean = {.utf8 = true};
    ui_text(&clean, text);
    for (const char *c = clean.text == NULL ? "" : clean.text; *c != '\0';) {
        size_t plain = strcspn(c, special);
        ui_put(out, "%.*s", (int)plain, c);
        c += plain;
        if (*c != '\0')
            ui_put(out, "%s", escaped[strchr(special, *c++) - special]);
    }
    out->failed = out->failed || clean.failed;
    ui_done(&clean);
}

const char *picture_colour(const char *kind)
{
    static const struct {
        const char *kind, *colour;
    } colours[] = {{"xgmi", "#d14b3d"}, {"nvlink", "#3d9144"}, {"c2c", "#9c4dcc"},
                   {"pcie", "#78909c"}, {"smp", "#2f7fd6"},    {"network", "#ef6c00"}};
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (strcmp(colours[i].kind, kind) == 0)
            return colours[i].colour;
    return "#9e9e9e";
}

double picture_rate(const struct ui_link *link)
{
    return !isnan(link->measured) ? link->measured
           : !isnan(link->pair)   ? link->pair
                                  : link->nominal;
}

double picture_width(const struct picture *picture, double bytes_per_s)
{
    if (!(bytes_per_s > 0) || !(picture->fastest > 0))
        return WIDTH_LEAST;
    return fmax(WIDTH_LEAST, WIDTH_MOST * bytes_per_s / picture->fastest);
}

const char *picture_rate_text(const struct ui_link *link, char text[PICTURE_RATE])
{
    text[0] = '\0';
    if (isnan(picture_rate(link)))
        return text;
    ui_rate(text, picture_rate(link));
    if (isnan(link->measured))
        strcat(text, isnan(link->pair) ? " nominal" : " in the slowest pair");
    return text;
}

void picture_label(struct picture *picture, double x, double y, double width,
                   enum picture_align align, const char *class, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    char cut[TEXT_MOST];
    size_t most = width > 0 ? (size_t)(width / PICTURE_LETTER) : TEXT_MOST;
    ui_clean(cut, most + 1 < sizeof cut ? most + 1 : sizeof cut, text);
    ui_put(picture->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y,
           anchors[align], class);
    picture_text(picture->out, cut);
    ui_put(picture->out, "</text>\n");
}

void picture_draw_box(struct picture *picture, const struct picture_box *box, const char *class,
                      const char *tip)
{
    ui_put(picture->out,
           "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\" class=\"%s\"",
           box->x, box->y, box->width, box->height, class);
    bool has_tip = tip != NULL && *tip != '\0';
    if (has_tip) {
        ui_put(picture->out, "><title>");
        picture_text(picture->out, tip);
    }
    ui_put(picture->out, has_tip ? "</title></rect>\n" : "/>\n");
}

/* ---- a placement ---- */

/* True when a task has one of a core's hardware threads. */
static bool has_core(const struct ui_node *node, int core, const char *list)
{
    struct ui_cpus cpus;
    bool has = false;
    if (!ui_cpus_parse(list, &cpus))
        return false;
    for (int pu = node->place[core].first_child; pu >= 0 && !has; pu = node->place[pu].next) {
        int number = node->place[pu].number;
        has =
            number >= 0 && number < UI_CPUS_MAX && (cpus.word[number / 64] >> number % 64 & 1) != 0;
    }
    return has;
}

static bool has_place(const struct picture *picture, const json_t *task, int place)
{
    const struct ui_place *its = &picture->node->place[place];
    return its->kind == UI_CORE   ? has_core(picture->node, place, ui_member(task, "cpus"))
           : its->kind == UI_GPU  ? ui_lists(json_object_get(task, "gpus"), its->name)
           : its->kind == UI_NIC  ? ui_lists(json_object_get(task, "nics"), its->name)
           : its->kind == UI_NUMA ? ui_lists(json_object_get(task, "memory"), its->name)
                                  : false;
}

int picture_task_of(const struct picture *picture, int place)
{
    const json_t *task;
    size_t i;
    json_array_foreach(json_object_get(picture->plan, "tasks"), i, task)
    {
        if (has_place(picture, task, place))
            return (int)i;
    }
    return -1;
}

void picture_tasks_text(const struct picture *picture, int place, const char *before, char *text,
                        size_t size)
{
    int number[PICTURE_TASKS_NAMED];
    char ranges[UI_NUMBER];
    const json_t *task;
    size_t i, count = 0;
    json_array_foreach(json_object_get(picture->plan, "tasks"), i, task)
    {
        if (count < PICTURE_TASKS_NAMED && has_place(picture, task, place))
            number[count++] = (int)i;
    }
    ui_ranges(ranges, sizeof ranges, number, count);
    snprintf(text, size, "%s%s%s", count > 0 ? before : "",
             count == 0   ? ""
             : count == 1 ? "task "
                          : "tasks ",
             ranges);
}
