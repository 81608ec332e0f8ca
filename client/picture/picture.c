#include "picture/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "picture/inner.h"
#include "ui/answer.h"

static const char style[] =
    ".node{background:#fff}.node text{font:11px system-ui,'DejaVu Sans',sans-serif;fill:#1d2429}"
    ".node .b{font-weight:600}.node .h{font-size:15px;font-weight:600}"
    ".node .s{font-size:9.5px;fill:#5a6870}"
    ".package{fill:#f7f9fa;stroke:#90a4ae;stroke-dasharray:5 3}.numa{fill:#e8f0fa;stroke:#7f9fc4}"
    ".llc{fill:#f6f0df;stroke:#c8b888}.core{fill:#cdd6db}.gpu{fill:#dff0dc;stroke:#5d9c55}"
    ".nic{fill:#fdebd3;stroke:#d59a4a}.module{fill:none;stroke:#5d9c55;stroke-dasharray:3 2}"
    ".switch{fill:#e4e4ea;stroke:#7b7b92}.tag{fill:#fff;fill-opacity:.88}.slow{fill:#ffb74d}";

const char picture_dark[] =
    "svg.node{background:none}svg.node text{fill:#dde5e9}svg.node .s{fill:#a3b2bb}"
    "svg .package{fill:#1a2125}svg .numa{fill:#1b2838}svg .llc{fill:#2c291d}svg .core{fill:#4d5a62}"
    "svg .gpu{fill:#1c3320}svg .nic{fill:#3a2a15}svg .switch{fill:#2c2c38}svg "
    ".tag{fill:#14191c}svg .slow{fill:#8a4b00}";

static const char *const task_colours[PICTURE_TASKS] = {
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
    "#bcbd22", "#17becf", "#393b79", "#e6550d", "#31a354", "#843c39", "#756bb1", "#636363"};

/* ---- parts ---- */

static void put_styles(struct picture *picture)
{
    ui_put(picture->out, "<style>%s", style);
    for (int t = 0; picture->plan != NULL && t < PICTURE_TASKS; t++)
        ui_put(picture->out, ".t%d{fill:%s}.r%d{stroke:%s;stroke-width:3}", t, task_colours[t], t,
               task_colours[t]);
    ui_put(picture->out, "</style>\n");
}

/* Tasks as rows: colour, gpus, cpus, memory. */
static void put_plan(struct picture *picture)
{
    const json_t *task;
    size_t i;
    double x = picture->list_x, y = picture->list_y + PICTURE_GAP;
    json_array_foreach(json_object_get(picture->plan, "tasks"), i, task)
    {
        struct ui line = {.utf8 = true};
        const json_t *gpu, *memory;
        size_t k;
        ui_put(&line, "task %zu:", i);
        json_array_foreach(json_object_get(task, "gpus"), k, gpu)
        {
            ui_put(&line, " ");
            ui_text(&line, json_string_value(gpu));
        }
        ui_put(&line, " cpus ");
        ui_text(&line, ui_member(task, "cpus"));
        json_array_foreach(json_object_get(task, "memory"), k, memory)
        {
            ui_put(&line, k == 0 ? " memory " : ",");
            ui_text(&line, json_string_value(memory));
        }
        ui_put(picture->out,
               "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" class=\"t%zu\"/>\n", x, y,
               i % PICTURE_TASKS);
        picture_label(picture, x + 18, y + 10, 0, PICTURE_LEFT, "",
                      line.text == NULL ? "" : line.text);
        picture->right = fmax(picture->right, x + 18 + PICTURE_LETTER * ui_columns(line.text));
        picture->out->failed = picture->out->failed || line.failed;
        ui_done(&line);
        y += PICTURE_LINE + 2;
    }
    picture->bottom = fmax(picture->bottom, y);
}

/* ---- all of it ---- */

static void put_title(struct picture *picture, const json_t *reply)
{
    const char *origin = ui_member(json_object_get(reply, "basis"), "origin");
    struct ui line = {.utf8 = true};
    ui_text(&line, ui_member(reply, "name"));
    if (*origin != '\0' && strcmp(origin, "live") != 0) {
        ui_put(&line, " (");
        ui_text(&line, origin);
        ui_put(&line, ")");
    }
    picture_label(picture, PICTURE_GAP, 20, 0, PICTURE_LEFT, "h",
                  line.text == NULL ? "" : line.text);
    picture->out->failed = picture->out->failed || line.failed;
    ui_done(&line);
}

void picture_node(struct ui *out, const json_t *reply, const json_t *plan)
{
    struct ui body = {.utf8 = true};
    struct ui_node *node = ui_node_new(reply);
    struct picture picture = {
        .out = &body,
        .node = node,
        .plan = plan,
        .box = node == NULL ? NULL : calloc(node->place_count + 1, sizeof *picture.box)};
    if (picture.box == NULL) {
        out->failed = true;
        ui_node_free(node);
        return;
    }
    for (size_t i = 0; i < node->link_count; i++)
        if (strcmp(node->link[i].kind, "membus") != 0)
            picture.fastest = fmax(picture.fastest, picture_rate(&node->link[i]));
    put_styles(&picture);
    put_title(&picture, reply);
    picture_place_host(&picture, PICTURE_TOP);
    picture_draw_host(&picture);
    picture.list_x = PICTURE_GAP;
    picture.list_y = picture.bottom + PICTURE_GAP;
    picture_fabric(&picture);
    put_plan(&picture);
    ui_put(out,
           "<svg class=\"node\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
           "width=\"%.0f\" "
           "height=\"%.0f\" role=\"img\" aria-label=\"topology\">\n%s</svg>\n",
           picture.right + PICTURE_GAP, picture.bottom + PICTURE_GAP, picture.right + PICTURE_GAP,
           picture.bottom + PICTURE_GAP, body.text == NULL ? "" : body.text);
    out->failed = out->failed || body.failed;
    ui_done(&body);
    free(picture.box);
    ui_node_free(node);
}
