/* Explanation of answers about too small a part of the node: closed device files, variables that
 * hide all GPUs, and the options that ask about the whole node. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lib/allowed.h"
#include "ui/answer.h"

#define TEXT_SIZE 1024

static bool is_closed(const char *name, const char *path, char *why, size_t size)
{
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0)
        return false;
    snprintf(why, size, "%s: %s %s", name, path,
             errno == ENOENT ? "is not there" : "may not be opened");
    return true;
}

/* Checks the device files that lib_allowed checks. */
static bool find_closed(const json_t *place, char *why, size_t size)
{
    const char *kind = json_string_value(json_object_get(place, "kind")),
               *name = json_string_value(json_object_get(place, "name"));
    const char *render_node = json_string_value(json_object_get(place, "render_node"));
    const json_t *minor = json_object_get(place, "minor");
    bool has_kfd = json_object_get(json_object_get(place, "details"), "kfd_node") != NULL;
    char path[64];
    if (kind == NULL || name == NULL || strcmp(kind, "gpu") != 0)
        return false;
    snprintf(path, sizeof path, "/dev/nvidia%lld", (long long)json_integer_value(minor));
    if (!has_kfd && json_is_integer(minor))
        return is_closed(name, path, why, size);
    return render_node != NULL && (is_closed(name, render_node, why, size) ||
                                   (has_kfd && is_closed(name, "/dev/kfd", why, size)));
}

static bool find_why(struct cmd *cmd, char *why, size_t size)
{
    const struct lib_variables environment = {0};
    const struct lib_visible visible = lib_visible_variables(&environment);
    char *text = NULL;
    if (cmd->node != NULL || berth_call(cmd->berth, "io.berth.Fabric.GetNode", "{}", &text) < 0)
        return false;
    json_t *node = json_loads(text, 0, NULL);
    free(text);
    bool found = false;
    size_t i;
    const json_t *place;
    json_array_foreach(json_object_get(node, "places"), i, place) found =
        found || find_closed(place, why, size);
    json_decref(node);
    if (!found && lib_visible_is_any(&visible)) {
        snprintf(why, size, "CUDA_, ROCR_ and HIP_VISIBLE_DEVICES leave none");
        return true;
    }
    return found;
}

void cmd_closed_explain(struct cmd *cmd, const char *text, char *ret_text, size_t size)
{
    char why[160], copy[TEXT_SIZE];
    snprintf(copy, sizeof copy, "%s", text);
    if (find_why(cmd, why, sizeof why))
        snprintf(ret_text, size, "%s (%s)", copy, why);
    else
        snprintf(ret_text, size, "%s", copy);
}

/* True when the command takes the option and it is not given. */
static bool lacks(const struct cmd *cmd, const char *name)
{
    for (size_t i = 0; i < cmd->command->option_count; i++)
        if (strcmp(cmd->command->options[i].name, name) == 0)
            return !cmd_has(cmd, &cmd->command->options[i]);
    return false;
}

/* Writes the options that ask about the whole node, where this process may use a part of it; ""
 * where it may use all, and where the command runs a program on it. */
static void name_whole(struct cmd *cmd, char *text, size_t size)
{
    struct berth_allowed *here = NULL;
    char *reply = NULL;
    text[0] = '\0';
    if (cmd->node != NULL || cmd->command->takes_command ||
        berth_allowed_here(cmd->berth, 1, &here) < 0)
        return;
    json_t *node = berth_call(cmd->berth, "io.berth.Fabric.GetNode", "{}", &reply) >= 0
                       ? json_loads(reply, 0, NULL)
                       : NULL;
    const json_t *places = json_object_get(node, "places"), *place;
    const char *cpus = json_string_value(json_object_get(json_array_get(places, 0), "cpus"));
    size_t gpus = 0, i;
    json_array_foreach((json_t *)(uintptr_t)places, i, place) gpus +=
        strcmp(ui_member(place, "kind"), "gpu") == 0;
    bool is_part = cpus != NULL && here->cpus != NULL && strcmp(cpus, here->cpus) != 0,
         is_few = here->gpus.item != NULL && here->gpus.count < gpus;
    if (is_part && lacks(cmd, "cpus"))
        snprintf(text, size, " --cpus %.80s", cpus);
    if (is_few && lacks(cmd, "gpus"))
        snprintf(text + strlen(text), size - strlen(text), " --gpus 0-%zu", gpus - 1);
    json_decref(node);
    free(reply);
    berth_allowed_free(here);
}

void cmd_closed_explain_error(struct cmd *cmd, int status, char *ret_text, size_t size)
{
    const char *text = berth_error_parameters(cmd->berth);
    json_t *parameters = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const char *parameter = json_string_value(json_object_get(parameters, "parameter"));
    char whole[160] = "", detail[TEXT_SIZE];
    snprintf(detail, sizeof detail, "%s", berth_error_detail(cmd->berth));
    if (status == BERTH_ERROR_NOTHING_ALLOWED || status == BERTH_ERROR_NOT_ENOUGH)
        name_whole(cmd, whole, sizeof whole);
    if (status == BERTH_ERROR_NOTHING_ALLOWED && parameter != NULL &&
        strcmp(parameter, "allowed.gpus") == 0)
        cmd_closed_explain(cmd, detail, ret_text, size);
    else
        snprintf(ret_text, size, "%s", detail);
    if (whole[0] != '\0')
        snprintf(ret_text + strlen(ret_text), size - strlen(ret_text), "; for the whole node add%s",
                 whole);
    json_decref(parameters);
}

void cmd_closed_explain_all(struct cmd *cmd, json_t *reply)
{
    json_t *warnings = json_object_get(reply, "warnings"), *warning;
    size_t i;
    json_array_foreach(warnings, i, warning)
    {
        char explained[TEXT_SIZE];
        if (!ui_reason_is(warning, CMD_CLOSED_CODE))
            continue;
        cmd_closed_explain(cmd, ui_reason_text(warning), explained, sizeof explained);
        /* without memory the warning stays as it is */
        json_object_set_new(warning, "text", json_string(explained));
    }
}
