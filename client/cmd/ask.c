/* Requests to the daemon and their output. */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/node.h"

int cmd_connect(struct cmd *cmd)
{
    if (cmd->berth != NULL)
        return CMD_DONE;
    cmd->berth = berth_new();
    if (cmd->berth == NULL)
        return cmd_fail_memory();
    const char *folder = cmd_value(cmd, &cmd_globals[CMD_NODE]),
               *path = cmd_value(cmd, &cmd_globals[CMD_SOCKET]);
    if (folder != NULL && path != NULL)
        return cmd_usage(cmd, "--socket and --node exclude each other");
    int status;
    if (folder != NULL) {
        int fd;
        status = cmd_node_start(folder, &cmd->node, &fd);
        if (status != CMD_DONE)
            return status;
        status = berth_connect_fd(cmd->berth, fd);
    } else {
        status = berth_connect(cmd->berth, path);
    }
    return status < 0 ? cmd_fail_daemon(cmd, status) : CMD_DONE;
}

int cmd_ask(struct cmd *cmd, const char *method, json_t *take_parameters, json_t **ret_reply)
{
    char *parameters = take_parameters == NULL ? NULL : json_dumps(take_parameters, JSON_COMPACT);
    json_decref(take_parameters);
    if (parameters == NULL)
        return cmd_fail_memory();
    int status = cmd_connect(cmd);
    if (status == CMD_DONE) {
        free(cmd->reply);
        cmd->reply = NULL;
        status = berth_call(cmd->berth, method, parameters, &cmd->reply);
        if (status < 0)
            status = cmd_fail_daemon(cmd, status);
    }
    free(parameters);
    if (status != CMD_DONE)
        return status;
    /* the library has checked that it is an object */
    json_t *reply = json_loads(cmd->reply, 0, NULL);
    if (reply == NULL)
        return cmd_fail_memory();
    *ret_reply = reply;
    return CMD_DONE;
}

json_t *cmd_try(struct berth *berth, const char *method, json_t *take_parameters)
{
    char *parameters = take_parameters != NULL ? json_dumps(take_parameters, JSON_COMPACT) : NULL,
         *text = NULL;
    json_t *reply = NULL;
    json_decref(take_parameters);
    if (parameters != NULL && berth != NULL && berth_call(berth, method, parameters, &text) >= 0)
        reply = json_loads(text, 0, NULL);
    free(parameters);
    free(text);
    return reply;
}

static bool has_why(const struct cmd *cmd)
{
    for (size_t i = 0; i < cmd->given_count; i++)
        if (strcmp(cmd->given[i].option->name, "why") == 0)
            return true;
    return false;
}

int cmd_show(struct cmd *cmd, const json_t *reply, void (*draw)(struct ui *ui, const json_t *reply))
{
    if (cmd_wants_json(cmd))
        return cmd_print_json(cmd->reply);
    struct ui ui;
    ui_init(&ui, STDOUT_FILENO);
    ui.why = has_why(cmd);
    draw(&ui, reply);
    return cmd_print(&ui);
}

int cmd_ask_filled(struct cmd *cmd, const char *method,
                   int (*fill)(struct cmd *cmd, json_t *parameters), json_t **ret_reply)
{
    json_t *parameters = json_object();
    int status = parameters == NULL ? cmd_fail_memory()
                 : fill == NULL     ? CMD_DONE
                                    : fill(cmd, parameters);
    if (status != CMD_DONE) {
        json_decref(parameters);
        return status;
    }
    return cmd_ask(cmd, method, parameters, ret_reply);
}

int cmd_ask_node(struct cmd *cmd, json_t **ret_node)
{
    int status = cmd_ask_filled(cmd, "io.berth.Fabric.GetNode", NULL, ret_node);
    if (status != CMD_DONE)
        return status;
    json_t *pairs =
        cmd_try(cmd->berth, "io.berth.Fabric.GetMatrix",
                json_pack("{s:s,s:{s:s,s:s,s:s}}", "metric", "gpu_gpu_copy_engine", "where",
                          "bytes", "large", "direction", "write", "sdma", "on"));
    ui_node_add_pairs(*ret_node, pairs);
    json_decref(pairs);
    return CMD_DONE;
}

int cmd_answer(struct cmd *cmd, const char *method,
               int (*fill)(struct cmd *cmd, json_t *parameters),
               void (*draw)(struct ui *ui, const json_t *reply))
{
    json_t *reply;
    int status = cmd_ask_filled(cmd, method, fill, &reply);
    if (status != CMD_DONE)
        return status;
    status = cmd_show(cmd, reply, draw);
    json_decref(reply);
    return status;
}
