/* berth topo: a drawing of the node. */
#include "ui/topo.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/answer.h"
#include "ui/matrix.h"

enum { OUTPUT, SHOW, OPTIONS };

static const char *const parts[] = {"tree", "links", "distances", NULL};

static const struct cmd_option options[] = {
    [OUTPUT] = CMD_OUTPUT("the node"),
    [SHOW] = {.name = "show",
              .value = "PARTS",
              .help = "only these parts, between commas; default tree,links",
              .choices = parts,
              .takes_several = true}};

static bool shows(const char *list, const char *part)
{
    size_t length = strlen(part);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, part, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Free memory by place, from options for a page of memory; a new object. */
static json_t *find_free(struct cmd *cmd)
{
    json_t *reply = cmd_try(cmd->berth, "io.berth.Placement.Allocate",
                            json_pack("{s:i}", "bytes", 4096)),
           *found = json_object();
    const json_t *option;
    size_t i;
    json_array_foreach(json_object_get(reply, "options"), i, option)
    {
        json_t *bytes = json_object_get(option, "free_bytes");
        if (json_is_integer(bytes))
            json_object_set(found, ui_member(option, "memory"), bytes);
    }
    json_decref(reply);
    return found;
}

static void put_distances(struct ui *ui, struct cmd *cmd)
{
    json_t *matrix = cmd_try(cmd->berth, "io.berth.Fabric.GetMatrix",
                             json_pack("{s:s}", "metric", "numa_distance"));
    ui_put(ui, "\n");
    if (matrix != NULL)
        ui_matrix(ui, matrix, &(struct ui_matrix_options){.better = -1});
    json_decref(matrix);
}

static int draw(struct cmd *cmd, const json_t *node)
{
    const char *list = cmd_value(cmd, &options[SHOW]);
    unsigned wanted = list == NULL ? UI_TOPO_TREE | UI_TOPO_LINKS
                                   : (shows(list, "tree") ? UI_TOPO_TREE : 0U) |
                                         (shows(list, "links") ? UI_TOPO_LINKS : 0U);
    json_t *free_bytes = find_free(cmd);
    struct ui ui;
    ui_init(&ui, STDOUT_FILENO);
    ui_topo(&ui, node, wanted, free_bytes);
    if (list != NULL && shows(list, "distances"))
        put_distances(&ui, cmd);
    json_decref(free_bytes);
    return cmd_print(&ui);
}

static int run(struct cmd *cmd)
{
    const char *path = cmd_value(cmd, &options[OUTPUT]);
    json_t *reply;
    if (path != NULL && !cmd_is_picture(path))
        return cmd_usage(cmd, "-o takes a file that ends with .svg, .png or .pdf, or -, not %.60s",
                         path);
    int status = cmd_ask_node(cmd, &reply);
    if (status != CMD_DONE)
        return status;
    status = path != NULL          ? cmd_file_report(cmd, path, cmd_picture(path, reply, NULL))
             : cmd_wants_json(cmd) ? cmd_print_json(cmd->reply)
                                   : draw(cmd, reply);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_topo = {
    .name = "topo",
    .operands = "",
    .about = "draw the node: packages, memory, caches, gpus, nics, links",
    .options = options,
    .option_count = OPTIONS,
    .run = run,
    .notes = {"In a picture, lines are as wide as links are fast: as measured, else nominal.",
              "A link with less than 80 % of the measured rate of another of its kind is marked "
              "SLOW, in a picture amber. One to a switch has the rate of its gpu's slowest pair."},
};
