/* Explanation of answers without GPUs: closed device files, or variables that hide all GPUs. */
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

void cmd_closed_explain_error(struct cmd *cmd, int status, char *ret_text, size_t size)
{
    const char *text = berth_error_parameters(cmd->berth);
    json_t *parameters = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const char *parameter = json_string_value(json_object_get(parameters, "parameter"));
    if (status == BERTH_ERROR_NOTHING_ALLOWED && parameter != NULL &&
        strcmp(parameter, "allowed.gpus") == 0)
        cmd_closed_explain(cmd, berth_error_detail(cmd->berth), ret_text, size);
    else
        snprintf(ret_text, size, "%s", berth_error_detail(cmd->berth));
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
