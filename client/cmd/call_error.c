/* Failed calls: the line for a person, and the exit status. */
#include "cmd/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *wire;
    int exit_status;
} exits[] = {
#define ROW_SERVICE(wire, exit_status) {wire, exit_status},
#define ROW_CALLED(wire, exit_status)  {wire, exit_status},
#define ROW_INTERNAL(wire, exit_status)
#define X(id, scope, wire, params, exit_status, about) ROW_##scope(wire, exit_status)
#include "errors.def"
#undef X
};

int cmd_daemon_exit(const struct cmd *cmd, int status)
{
    switch (status) {
    case BERTH_ERROR_NO_DAEMON:
    case BERTH_ERROR_CLOSED:
        return CMD_NO_DAEMON;
    case BERTH_ERROR_TIMED_OUT:
        return CMD_AGAIN;
    case BERTH_ERROR_PROTOCOL:
        return CMD_BUG;
    case BERTH_ERROR_OUT_OF_MEMORY:
        return CMD_SYSTEM;
    case BERTH_ERROR_BAD_ARGUMENT:
        return CMD_USAGE;
    case BERTH_ERROR_SYSTEM:
        return CMD_IO;
    default:
        break;
    }
    if ((status == BERTH_ERROR_NOT_MEASURED || status == BERTH_ERROR_UNAVAILABLE) &&
        cmd->node != NULL)
        return CMD_DATA; /* a recording will not gain it later */
    const char *name = berth_error_name(cmd->berth), *last = strrchr(name, '.');
    for (size_t i = 0; i < sizeof exits / sizeof exits[0]; i++)
        if (strcmp(last == NULL ? name : last + 1, exits[i].wire) == 0)
            return exits[i].exit_status;
    return CMD_BUG; /* an error of a newer daemon */
}

/* Prints the last error for a program: its name, and the daemon's parameters or the line for a
 * person. */
static void print_error(const struct cmd *cmd)
{
    const char *text = berth_error_parameters(cmd->berth);
    cmd_print_error(cmd, berth_error_name(cmd->berth),
                    text != NULL ? json_loads(text, 0, NULL)
                                 : json_pack("{s:s}", "detail", berth_error_detail(cmd->berth)));
}

/* Finds the place of this node with the name nearest to word; "" none. */
static void find_place(struct cmd *cmd, const char *word, char meant[64])
{
    char *text = NULL;
    json_t *node = berth_call(cmd->berth, "io.berth.Fabric.GetNode", "{}", &text) >= 0
                       ? json_loads(text, 0, NULL)
                       : NULL;
    const json_t *places = json_object_get(node, "places"), *place;
    const char **names = calloc(json_array_size(places) + 1, sizeof *names);
    size_t i, count = 0;
    json_array_foreach((json_t *)(uintptr_t)places, i, place)
    {
        const char *name = json_string_value(json_object_get(place, "name"));
        if (names != NULL && name != NULL)
            names[count++] = name;
    }
    const char *nearest = names != NULL ? cmd_nearest(word, names, count) : NULL;
    if (nearest != NULL)
        snprintf(meant, 64, "%.63s", nearest);
    free(names);
    json_decref(node);
    free(text);
}

/* Finds the nearest name to an unknown metric or place; "" where none is near. Looks for no place
 * of a known kind: the daemon's detail names the places of that kind, or their absence. */
static void find_meant(struct cmd *cmd, int status, char meant[64])
{
    static const char *const metrics[] = {
#define X(id, name, unit, better, axes, about) name,
#include "metrics.def"
#undef X
    };
    meant[0] = '\0';
    const char *text = berth_error_parameters(cmd->berth);
    json_t *parameters = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const char *metric = json_string_value(json_object_get(parameters, "metric")),
               *place = json_string_value(json_object_get(parameters, "place")),
               *kind = json_string_value(json_object_get(parameters, "kind"));
    if (status == BERTH_ERROR_NO_SUCH_METRIC && metric != NULL) {
        const char *nearest = cmd_nearest(metric, metrics, sizeof metrics / sizeof metrics[0]);
        snprintf(meant, 64, "%.63s", nearest != NULL ? nearest : "");
    } else if (status == BERTH_ERROR_NO_SUCH_PLACE && place != NULL) {
        if (kind == NULL || *kind == '\0')
            find_place(cmd, place, meant);
    }
    json_decref(parameters);
}

/* True when an option's name is that of a parameter, or its beginning: --ttl for ttl_s, --owner for
 * owner_pid. */
static bool is_name_of(const char *option, const char *name, bool is_whole)
{
    size_t length = strlen(option);
    return strncmp(option, name, length) == 0 && name[length] == (is_whole ? '\0' : '-');
}

/* Finds the option of a parameter; the daemon's detail begins with its name. Gives an option that
 * was given or is missing. NULL: the parameter came from elsewhere. */
static const struct cmd_option *option_of(const struct cmd *cmd, const char *detail,
                                          const char **ret_rest)
{
    static const char missing[] = ": it is missing";
    char name[40];
    /* index within a list, and a member of that item */
    const size_t length = strspn(detail, "abcdefghijklmnopqrstuvwxyz_"),
                 item = detail[length] == '[' ? strcspn(detail + length, ":") : 0;
    if (length >= sizeof name || length + item > strlen(detail) || detail[length + item] != ':')
        return NULL;
    for (size_t i = 0; i < length; i++)
        name[i] = detail[i] == '_' ? '-' : detail[i];
    name[length] = '\0';
    *ret_rest = detail + length + item;
    for (int is_whole = 1; is_whole >= 0; is_whole--)
        for (size_t i = 0; i < cmd->command->option_count; i++) {
            const struct cmd_option *option = &cmd->command->options[i];
            if (is_name_of(option->name, name, is_whole))
                return cmd_has(cmd, option) || strncmp(*ret_rest, missing, sizeof missing - 1) == 0
                           ? option
                           : NULL;
        }
    return NULL;
}

int cmd_fail_daemon(struct cmd *cmd, int status)
{
    if (cmd->node != NULL && (status == BERTH_ERROR_CLOSED || status == BERTH_ERROR_SYSTEM))
        return cmd_node_failed(cmd);
    print_error(cmd);
    const char *detail = berth_error_detail(cmd->berth);
    int exit_status = cmd_daemon_exit(cmd, status);
    if (status == BERTH_ERROR_NO_DAEMON)
        return cmd_fail(exit_status, "%s (start berthd, or set BERTH_SOCKET or --socket)", detail);
    if (status == BERTH_ERROR_OUT_OF_MEMORY)
        return cmd_fail_memory();
    const char *rest;
    const struct cmd_option *option =
        status != BERTH_ERROR_BAD_ARGUMENT ? option_of(cmd, detail, &rest) : NULL;
    char line[512];
    if (option != NULL)
        snprintf(line, sizeof line, "--%s%s", option->name, rest);
    else
        snprintf(line, sizeof line, "%s", detail);
    if (exit_status == CMD_USAGE && status != BERTH_ERROR_BAD_ARGUMENT)
        return cmd_usage_line(cmd, line);
    if (option != NULL)
        return cmd_fail(exit_status, "%s", line);
    char explained[1024], meant[64];
    cmd_closed_explain_error(cmd, status, explained, sizeof explained);
    find_meant(cmd, status, meant);
    return cmd_fail(exit_status, meant[0] != '\0' ? "%s; did you mean %s?" : "%s", explained,
                    meant);
}
